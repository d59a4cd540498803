"""Who pays for a release: charged before anything is drawn, so that a crash cannot turn into overspending."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import UsageError
from discreet.ledger import Ledger

if TYPE_CHECKING:
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

    def check(self, *parts: Guarantee, where: str | None) -> None:
        """Raise if the budget does not allow these guarantees together, for rows that satisfy the public filter."""
        self.ledger.check(self.dataset, *parts, analyst=self.analyst, where=where, request=self.request)

    def charge(self, *parts: Guarantee, model: str, where: str | None) -> Charge:
        """Charge them durably, or raise."""
        return self.ledger.charge(
            self.dataset, *parts, analyst=self.analyst, model=model, where=where, request=self.request
        )

    def released(self, charge: Charge, checksums: Sequence[tuple[str, str]]) -> None:
        """Record what was released for a charge: identifiers and checksums."""
        self.ledger.released(charge, checksums)


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
