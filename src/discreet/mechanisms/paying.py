"""Charge, then release: the order that a crash cannot turn into overspending."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.artifact import LedgerStamp, Release
from discreet.errors import DataError, UsageError
from discreet.mechanisms.base import Choose, Draw
from discreet.mechanisms.pending import Declared
from discreet.names import check_name

if TYPE_CHECKING:
    from discreet.privacy import Guarantee
    from discreet.privacy.ledger import Ledger


@dataclass(frozen=True)
class Payer:
    """Who pays for a release: a data set of a ledger and, if analysts have budgets, an analyst of it."""

    ledger: Ledger
    dataset: str
    analyst: str | None


def payer_of(ledger: Ledger | str | None, dataset: str | None, analyst: str | None) -> Payer | None:
    """Return who pays, or None if no ledger is kept; check the names that files and ledgers will show."""
    for what, name in {"dataset": dataset, "analyst": analyst}.items():
        if name is not None:
            check_name(name, what)
    if ledger is None:
        if analyst is not None:
            raise UsageError("analyst is for a ledger: give the ledger, or leave it out.")
        return None
    from discreet.privacy.ledger import Ledger

    if isinstance(ledger, str):
        ledger = Ledger(ledger)
    if not isinstance(ledger, Ledger):
        raise UsageError(f"ledger must be a dc.Ledger or the URL of one, got {type(ledger).__name__}.")
    if dataset is None:
        raise UsageError("a ledger needs to know which data set to charge: give dataset='…'.")
    return Payer(ledger, dataset, analyst)


def pay_and_draw(
    payer: Payer | None,
    asked: Mapping[str, Declared],
    draw: Draw,
    choose: Choose,
    dataset: str | None,
) -> dict[str, Release]:
    """Read the rows, charge all releases at once, and draw their noise.

    Privacy
    -------
    The charge is durable before the first random number is drawn. What comes after it (noise, the entry ``released``,
    the file) may fail, and then the budget is spent for nothing. An entry ``released`` precedes every file.
    """
    parts: list[Guarantee] = [part for one in asked.values() for part in one.guarantees.values()]
    if payer is not None:
        # refused before the rows are read, where that can be known; the charge below decides
        payer.ledger.check(payer.dataset, *parts, analyst=payer.analyst)
    pending = {name: one.read() for name, one in asked.items()}
    if len({one.n_records for one in pending.values()}) > 1:
        raise DataError("the data did not stay the same while it was read.")
    if payer is None:
        return {name: one.finish(draw, choose, dataset) for name, one in pending.items()}
    model = "; ".join(one.label for one in asked.values())
    charge = payer.ledger.charge(payer.dataset, *parts, analyst=payer.analyst, model=model)
    stamp = LedgerStamp(charge.ledger, charge.sequence, charge.hash)
    made = {name: one.finish(draw, choose, dataset, stamp) for name, one in pending.items()}
    seals = [(one.id, json.loads(one.to_json())["sha256"]) for one in made.values()]
    payer.ledger.released(charge, seals)
    return made
