"""The spend over time: every charge, and how much of the budget was gone after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.ledger.accounts import with_partition
from discreet.ledger.amounts import asked_of
from discreet.ledger.filters import (
    Chargeable,
    Countable,
    Terms,
    Totals,
    added,
    counted,
    read_guarantee,
    read_terms,
    spent,
)
from discreet.ledger.ledger import Ledger
from discreet.ledger.partitions import partition_from


@dataclass(frozen=True)
class Step:
    """One charge of a data set, and what the data set had spent after it."""

    sequence: int
    time: str
    dataset: str
    analyst: str | None
    model: str | None
    charged: str
    #: What the charge counts as, if that is something else: one for ``add_remove`` under a budget for ``replace``, one
    #: per unit of a distance.
    counts_as: str | None
    spent: Mapping[str, Fraction]
    share: float
    released: bool

    def to_json(self) -> dict[str, Any]:
        """Return the step as JSON."""
        amounts = {name: str(value) for name, value in self.spent.items()}
        return {**self.__dict__, "spent": amounts}


def history(ledger: Ledger) -> list[Step]:
    """Return all charges in order, from the entries alone.

    ``share`` is how much of the budget was gone: of the amount of which most is gone, if there are two.
    """
    accounts: dict[str, tuple[Terms, Totals]] = {}
    steps: list[Step] = []
    released: set[int] = set()
    for entry in ledger.entries():
        content = entry.content
        if entry.kind == "open":
            accounts[content["dataset"]] = read_terms(content["terms"]), Totals()
        elif entry.kind == "partition":
            terms, totals = accounts[content["dataset"]]
            accounts[content["dataset"]] = with_partition(terms, partition_from(content)), totals
        elif entry.kind == "released":
            released.add(content["charge"])
        elif entry.kind == "charge":
            terms, totals = accounts[content["dataset"]]
            parts = [read_guarantee(part) for part in content["guarantees"]]
            part = content.get("part")
            totals = added(terms, totals, parts, None if part is None else tuple(part))
            accounts[content["dataset"]] = terms, totals
            gone, limits = spent(terms, totals), terms.budget.budgets()
            steps.append(
                Step(
                    entry.sequence,
                    entry.time,
                    content["dataset"],
                    content["analyst"],
                    content["model"],
                    asked_of(parts),
                    _counts_as(parts, terms.budget),
                    gone,
                    float(max(gone[name] / limit for name, limit in limits.items())),
                    released=False,
                )
            )
    return [replace(step, released=step.sequence in released) for step in steps]


def openings(ledger: Ledger) -> dict[str, str]:
    """Return when each data set was opened."""
    return {entry.content["dataset"]: entry.time for entry in ledger.entries() if entry.kind == "open"}


def _counts_as(parts: Sequence[Chargeable], budget: Countable) -> str | None:
    counts = [counted(part, budget) for part in parts]
    return None if counts == list(parts) else asked_of(counts)
