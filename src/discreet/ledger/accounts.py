"""Accounts: whose budget a charge is on, and whether it allows the charge."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.arguments import shown
from discreet.domain.where import Condition
from discreet.errors import BudgetError, LedgerError, UsageError
from discreet.ledger.amounts import asked_of, in_words
from discreet.ledger.filters import (
    Countable,
    Terms,
    Totals,
    added,
    chargeable,
    countable,
    counted,
    fits,
    guarantee_json,
    read_guarantee,
    remaining,
    spent,
    terms_of,
)
from discreet.ledger.hash_chain import VERSION, Entry
from discreet.ledger.partitions import Part, Partition, part_of
from discreet.ledger.store import EVERYBODY, Session
from discreet.names import closest
from discreet.privacy import Guarantee

if TYPE_CHECKING:
    from discreet.artifact import LedgerStamp

_LONGEST_NAME = 200
_REQUEST = re.compile(r"[0-9A-Za-z-]{8,64}")
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

    def parts(self) -> dict[Part, Totals]:
        """Return what was charged about each part of its partitions."""
        held = self.totals.renyi_delta
        return {part: replace(own, renyi_delta=held) for part, own in self.totals.parts.items()}

    @property
    def remaining(self) -> dict[str, Fraction]:
        """What is left: any pure or approximate charge up to it will be allowed."""
        return remaining(self.terms, self.totals)


def after_charge(
    session: Session,
    default: Countable | None,
    dataset: str,
    analyst: str | None,
    parts: Sequence[Guarantee],
    where: Condition | None = None,
) -> list[tuple[str, Terms, Totals]]:
    """Return the totals after a charge, for the data set and, if analysts have budgets, for the analyst; or refuse."""
    if not parts:
        raise UsageError("there is nothing to charge.")
    found = session.account(checked_name(dataset, "dataset"))
    if analyst is not None:
        checked_name(analyst, "analyst")
    if found is None:
        if default is None:
            raise unknown(session, dataset)
        found = terms_of(default), Totals(), None
    scopes = [(EVERYBODY, found[0], found[1])]
    if found[2] is not None:
        if analyst is None:
            raise UsageError(
                f"analysts of the data set {dataset!r} have budgets of their own: name the analyst."
            )
        own = session.account(dataset, analyst)
        scopes.append((analyst, *((found[2], Totals()) if own is None else own[:2])))
    after = []
    about = part_of(found[0].partitions, where)
    for scope, terms, totals in scopes:
        wanted = added(terms, totals, parts, about)
        if not fits(terms, wanted):
            raise _refused(dataset, scope, terms, totals, parts)
        after.append((scope, terms, wanted))
    return after


def charged_before(
    session: Session,
    request: str | None,
    dataset: str,
    analyst: str | None,
    parts: Sequence[Guarantee],
    where: Condition | None,
) -> Entry | None:
    """Return the charge that was made for a request; raise if it is another one, or if its files are out."""
    if request is None:
        return None
    if not isinstance(request, str) or not _REQUEST.fullmatch(request):
        raise UsageError("request must be a text of 8 to 64 letters, digits and hyphens.")
    found = session.requested(request)
    if found is None:
        return None
    asked = [guarantee_json(chargeable(part)) for part in parts]
    said = found.content
    # what was charged about one part of a partition does not pay for another; about the whole it pays for any
    about = None if where is None else str(where)
    noted = (said["dataset"], said["analyst"], said["guarantees"], said.get("where", about))
    if noted != (dataset, analyst, asked, about):
        raise UsageError("the ledger has a charge for this request, and it is another one.")
    if session.released_under(found.sequence) is not None:
        raise UsageError(
            "what was charged for this request was released already.",
            hint="look for its file: nothing is drawn twice under one charge",
        )
    return found


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


def with_partition(terms: Terms, made: Partition) -> Terms:
    """Return the terms with one more partition, or say why there cannot be one; the same one again changes nothing."""
    if terms.budget.unit is not None:
        raise UsageError(
            f"the budget protects the unit {terms.budget.unit!r:.60}, and a person may have rows in several parts: no "
            "partition of the rows parts the people.",
            hint="release all groups in one call, with by= and max_groups=",
        )
    same = [one for one in terms.partitions if one.column == made.column]
    if same and same != [made]:
        raise UsageError(
            f"column {made.column!r:.60} has another partition, and partitions cannot be changed.",
            hint="declare a partition once, with all its labels",
        )
    return terms if same else replace(terms, partitions=(*terms.partitions, made))


def add_partition(session: Session, dataset: str, made: Partition) -> tuple[Account, bool]:
    """Give a data set and its analysts a partition; return the account, and whether the partition is a new one."""
    found = session.account(checked_name(dataset, "dataset"))
    if found is None:
        raise unknown(session, dataset)
    terms = with_partition(found[0], made)
    if terms == found[0]:
        return Account(dataset, None, *found[:2]), False
    session.set_terms(dataset, EVERYBODY, terms, found[2] and with_partition(found[2], made))
    for one, analyst, own, *_ in list(session.accounts()):
        if one == dataset and analyst != EVERYBODY:
            session.set_terms(dataset, analyst, with_partition(own, made), None)
    return Account(dataset, None, terms, found[1]), True


def check_derived(session: Session, ledger: str, stamp: LedgerStamp | None) -> None:
    """Raise unless a release was charged to this ledger, for a data set whose files may be made coarser."""
    found = None if stamp is None else session.entry(stamp.sequence)
    if stamp is None or stamp.id != ledger or found is None or found[1].hash != stamp.charge:
        raise UsageError("the release was not charged to this ledger.")
    account = session.account(found[1].content["dataset"])
    if account is not None and account[2] is not None:
        raise UsageError(
            "analysts of this data set have budgets of their own, and coarser files are charged to nobody.",
            hint="make a release of its own for that analyst",
        )


def begun(first: Entry | None, url: str, wanted: Countable | None) -> tuple[bool, Countable | None]:
    """Return whether a ledger is sealed, and its default budget, as its first entry says; raise if that is another."""
    if first is None or first.kind != "ledger" or first.content.get("version") != VERSION:
        raise LedgerError(f"the first entry of the ledger {url} is damaged, or of an unknown version.")
    stored = first.content["budget"]
    recorded = None if stored is None else countable(read_guarantee(stored), "budget")
    if wanted not in (None, recorded):
        raise UsageError(
            "this ledger has another default budget, and budgets cannot be changed.",
            hint=f"its default is {in_words(recorded.budgets()) if recorded else 'none: open data sets by name'}",
        )
    return bool(first.content["sealed"]), recorded


def opened_before(
    dataset: str, found: tuple[Terms, Totals, Terms | None], terms: Terms, analysts: Terms | None
) -> Account:
    """Return the account of a data set that is open, or raise if it was opened with another budget."""
    if [_asked(one) for one in (found[0], found[2])] != [_asked(one) for one in (terms, analysts)]:
        raise UsageError(
            f"the data set {dataset!r} is open with another budget, and budgets cannot be changed.",
            hint=f"its budget is {in_words(found[0].budget.budgets())}",
        )
    return Account(dataset, None, *found[:2])


def _asked(terms: Terms | None) -> tuple[Countable, Fraction] | None:
    """Return what the curator chose; orders are the library's, perhaps an older version's."""
    return terms and (terms.budget, terms.renyi_share)


def unknown(session: Session, dataset: str) -> UsageError:
    """Return the error that a data set was never opened; with the name that is most like it, if one is."""
    near = closest(dataset, {known for known, *_ in session.accounts()})
    hint = _OPEN_HINT if near is None else f"did you mean {near!r:.60}? otherwise {_OPEN_HINT}"
    return UsageError(f"the ledger has no data set {dataset!r:.60}.", hint=hint)


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
