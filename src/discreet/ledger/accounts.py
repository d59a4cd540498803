"""Accounts: whose budget a charge is on, and whether it allows the charge."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.arguments import shown
from discreet.errors import BudgetError, UsageError
from discreet.ledger.amounts import asked_of, in_words
from discreet.ledger.filters import (
    Countable,
    Terms,
    Totals,
    added,
    counted,
    fits,
    read_terms,
    remaining,
    spent,
    terms_of,
)
from discreet.ledger.store import EVERYBODY, Session
from discreet.privacy.guarantees import Guarantee

_LONGEST_NAME = 200
# What Unicode calls default ignorable and Python printable: two names that differ in these alone look the same.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
_OPEN_HINT = "open it first: ledger.open(dataset, budget)"


@dataclass(frozen=True)
class Charge:
    """A charge that is durably in the ledger: what a release made under it refers to."""

    ledger: str
    sequence: int
    hash: str
    dataset: str
    analyst: str | None


@dataclass(frozen=True, repr=False)
class Account:
    """A budget, and how much of it is gone, for a data set or for one analyst of it."""

    dataset: str
    analyst: str | None
    terms: Terms
    totals: Totals

    def __repr__(self) -> str:
        whose = f"{self.dataset!r}" if self.analyst is None else f"{self.analyst!r} in {self.dataset!r}"
        charges = "1 charge" if self.totals.charges == 1 else f"{self.totals.charges} charges"
        spent_of = f"spent {in_words(self.spent)} of {in_words(self.budget.budgets())}"
        return f"<Account of {whose}: {spent_of}, in {charges}>"

    @property
    def budget(self) -> Countable:
        """What the account allows."""
        return self.terms.budget

    @property
    def spent(self) -> dict[str, Fraction]:
        """What was spent, by the names of the budget's amounts."""
        return spent(self.terms, self.totals)

    @property
    def remaining(self) -> dict[str, Fraction]:
        """What is left: any pure or approximate charge up to it will be allowed."""
        return remaining(self.terms, self.totals)


def after_charge(
    session: Session, default: Countable | None, dataset: str, analyst: str | None, parts: Sequence[Guarantee]
) -> list[tuple[str, Terms, Totals]]:
    """Return the totals after a charge, for the data set and, if analysts have budgets, for the analyst; or refuse."""
    if not parts:
        raise UsageError("there is nothing to charge.")
    found = session.account(checked_name(dataset, "dataset"))
    if analyst is not None:
        checked_name(analyst, "analyst")
    if found is None:
        if default is None:
            raise unknown(dataset)
        found = terms_of(default), Totals(), None
    scopes = [(EVERYBODY, found[0], found[1])]
    if found[2] is not None:
        if analyst is None:
            raise UsageError(
                f"analysts of the data set {dataset!r} have budgets of their own: name the analyst."
            )
        own = session.account(dataset, analyst)
        scopes.append((analyst, *((read_terms(found[2]), Totals()) if own is None else own[:2])))
    after = []
    for scope, terms, totals in scopes:
        wanted = added(terms, totals, parts)
        if not fits(terms, wanted):
            raise _refused(dataset, scope, terms, totals, parts)
        after.append((scope, terms, wanted))
    return after


def _refused(
    dataset: str, analyst: str, terms: Terms, totals: Totals, parts: Sequence[Guarantee]
) -> BudgetError:
    whose = f"the data set {dataset!r}" if analyst == EVERYBODY else f"the analyst {analyst!r} of {dataset!r}"
    asked = asked_of([counted(part, terms.budget) for part in parts])
    gone, left = in_words(spent(terms, totals)), in_words(remaining(terms, totals), down=True)
    return BudgetError(
        f"the budget of {whose} does not allow this: of {in_words(terms.budget.budgets())}, spent {gone}; "
        f"asked {asked}; remaining {left}.",
        hint="nothing was charged",
    )


def asked_terms(terms: Terms) -> tuple[Countable, Fraction]:
    """Return what the curator chose; orders are the library's, perhaps an older version's."""
    return terms.budget, terms.renyi_share


def unknown(dataset: str) -> UsageError:
    """Return the error that a data set was never opened."""
    return UsageError(f"the ledger has no data set {dataset!r:.60}.", hint=_OPEN_HINT)


def checked_name(value: str, argument: str) -> str:
    """Return a name that every database can keep and a reader can tell from others, or say what is wrong with it."""
    if not isinstance(value, str) or not value.strip() or value != value.strip():
        raise UsageError(
            f"{argument} must be a name without blanks around it, got {argument}={shown(value)}."
        )
    if len(value) > _LONGEST_NAME or not value.isprintable() or _INVISIBLE.search(value):
        raise UsageError(
            f"{argument} must have at most {_LONGEST_NAME} characters, all of them printable and visible."
        )
    if not unicodedata.is_normalized("NFC", value):
        raise UsageError(
            f"{argument} must be in Unicode's normal form C, in which a text has one spelling.",
            hint='unicodedata.normalize("NFC", name) gives it',
        )
    return value
