"""Who pays for a release: charged before anything is drawn, so that a crash cannot turn into overspending."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import UsageError
from discreet.ledger import Ledger

if TYPE_CHECKING:
    from discreet.artifact import Release
    from discreet.curator.declare import Declaration
    from discreet.ledger.accounts import Charge
    from discreet.privacy import Guarantee


@dataclass(frozen=True)
class Payer:
    """Who pays for a release: a data set of a ledger and, if analysts have budgets, an analyst of it.

    With a ``request``, a charge that was made before is found again instead of being made twice.
    """

    ledger: Ledger
    dataset: str
    analyst: str | None
    request: str | None = None

    def check(self, asked: Mapping[str, Declaration]) -> None:
        """Raise if the budget does not allow all that is promised in a call together, for rows of its filter."""
        self.ledger.check(self.dataset, *parts_of(asked), **self._about(asked))

    def charge(self, asked: Mapping[str, Declaration]) -> Charge:
        """Charge it durably, or raise."""
        label = "; ".join(one.label for one in asked.values())
        return self.ledger.charge(self.dataset, *parts_of(asked), model=label, **self._about(asked))

    def _about(self, asked: Mapping[str, Declaration]) -> dict[str, Any]:
        """Return for whom it is, and the public filter of all rows that are read, None if there is no one filter."""
        found = {None if one.where is None else str(one.where) for one in asked.values()}
        where = found.pop() if len(found) == 1 else None
        return {"analyst": self.analyst, "where": where, "request": self.request}

    def released(self, charge: Charge, made: Mapping[str, Release]) -> None:
        """Record what was released for a charge: identifiers and checksums."""
        self.ledger.released(charge, [(one.id, json.loads(one.to_json())["sha256"]) for one in made.values()])


def parts_of(asked: Mapping[str, Declaration]) -> list[Guarantee]:
    """Return everything that is promised in a call."""
    return [part for one in asked.values() for part in one.guarantees.values()]


def payer_of(ledger: Ledger | str | None, dataset: str | None, analyst: str | None) -> Payer:
    """Return who pays."""
    if ledger is None:
        raise UsageError("analyst is for a ledger: give the ledger, or leave it out.")
    ledger = ledger_of(ledger)
    if dataset is None:
        raise UsageError("a ledger needs to know which data set to charge: give dataset='…'.")
    return Payer(ledger, dataset, analyst)


def ledger_of(ledger: Ledger | str) -> Ledger:
    """Return the ledger that a caller names, or hands over."""
    if isinstance(ledger, str):
        return Ledger(ledger)
    if not isinstance(ledger, Ledger):
        raise UsageError(f"ledger must be a dc.Ledger or the URL of one, got {type(ledger).__name__}.")
    return ledger
