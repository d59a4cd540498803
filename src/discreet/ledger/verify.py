"""What an auditor can find out: whether the chain is whole, the sums hold, and the world outside agrees.

One pass over the entries, in order. Edits, removals, insertions and swaps break the chain. Cutting off its tail or
writing a new one from the start does not; those are found by comparing with something that is kept elsewhere: release
files, an old head, or the key of the seal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.arguments import listed, text
from discreet.domain.where import read_where
from discreet.errors import DiscreetError, LedgerError, UsageError
from discreet.ledger import hash_chain as chain
from discreet.ledger.accounts import with_partition
from discreet.ledger.filters import Terms, Totals, added, fits, read_guarantee, read_terms
from discreet.ledger.hash_chain import Entry, Head, read_entry
from discreet.ledger.partitions import part_of, partition_from
from discreet.ledger.store import EVERYBODY, Store

if TYPE_CHECKING:
    from discreet.artifact import Release

# a ledger that was rewritten differs everywhere; a reader needs the first few places
_MOST_PROBLEMS = 20


@dataclass(frozen=True)
class Verification:
    """What :meth:`Ledger.verify` found.

    ``problems`` is empty if nothing is wrong; ``unseen`` says what could be wrong all the same, because nothing that
    was given could show it. ``unreleased`` are charges without a release: spent, though nothing came of them.
    """

    ledger: str | None
    entries: int
    head: str | None
    anchored: int
    problems: tuple[str, ...]
    unseen: tuple[str, ...]
    unreleased: tuple[int, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


class _Replay:
    """Reads the entries again, keeps the books that they imply, and looks for the charges and the head asked for."""

    def __init__(self, wanted: set[int], head: str | None) -> None:
        self.wanted, self.head = wanted, head
        self.at_head = -1
        self.charges: dict[int, tuple[str, str | None]] = {}
        self.released: dict[int, list[Any]] = {}
        self.problems: list[str] = []
        self.note = self.problems.append
        self.n_entries = 0
        self.last: Entry | None = None
        self.last_hash = chain.NOTHING
        self.accounts: dict[tuple[str, str], tuple[Terms, Totals]] = {}
        self.analysts: dict[str, Terms | None] = {}
        self.open_charges: dict[int, None] = {}
        self.releases: set[str] = set()
        self.ledger: str | None = None
        self.sealed = False

    def take(self, sequence: int, stored: str, charge: int | None, body: str) -> None:
        """Read one stored row."""
        if sequence != self.n_entries:
            self.note(f"entry {self.n_entries} is missing: entry {sequence} comes in its place.")
        self.n_entries = sequence + 1
        if stored == self.head:
            self.at_head = sequence
        if sequence in self.wanted:
            self.charges[sequence] = stored, None
        try:
            entry = read_entry(body)
        except LedgerError:
            self.note(f"entry {sequence} is not one that this library writes.")
            self.last_hash = stored
            return
        if entry.hash != stored:
            self.note(f"entry {sequence} was edited: it does not match its hash.")
        if entry.sequence != sequence:
            self.note(f"entry {sequence} says that it is entry {entry.sequence}.")
        if entry.previous != self.last_hash:
            self.note(f"entry {sequence} does not follow the entry before it.")
        if self.ledger is None:
            self.ledger = entry.ledger
        elif entry.ledger != self.ledger:
            self.note(f"entry {sequence} belongs to another ledger.")
        self.last, self.last_hash = entry, stored
        if sequence in self.wanted:
            self.charges[sequence] = stored, entry.content.get("where")
        said = entry.content.get("charge") if entry.kind == "released" else None
        if said != charge:
            self.note(f"entry {sequence} is filed under another charge than it names.")
        try:
            getattr(self, f"_{entry.kind}")(sequence, entry.content)
        except (KeyError, TypeError, ValueError, ArithmeticError, DiscreetError):
            self.note(f"entry {sequence} makes no sense after those before it.")

    def _ledger(self, sequence: int, content: Mapping[str, Any]) -> None:
        if sequence != 0:
            self.note(f"entry {sequence} begins a second ledger.")
        self.sealed = content["sealed"]

    def _open(self, sequence: int, content: Mapping[str, Any]) -> None:
        dataset, per = content["dataset"], content["per_analyst"]
        if dataset in self.analysts:
            self.note(f"entry {sequence} opens the data set {dataset!r} a second time.")
            return
        self.analysts[dataset] = None if per is None else read_terms(per)
        self.accounts[dataset, EVERYBODY] = read_terms(content["terms"]), Totals()

    def _partition(self, sequence: int, content: Mapping[str, Any]) -> None:
        dataset, made = content["dataset"], partition_from(content)
        for key, (terms, totals) in self.accounts.items():
            if key[0] == dataset:
                self.accounts[key] = with_partition(terms, made), totals
        per = self.analysts[dataset]
        self.analysts[dataset] = None if per is None else with_partition(per, made)

    def _charge(self, sequence: int, content: Mapping[str, Any]) -> None:
        self.open_charges[sequence] = None
        dataset, analyst = content["dataset"], content["analyst"]
        parts = [read_guarantee(part) for part in content["guarantees"]]
        scopes = [EVERYBODY]
        if self.analysts[dataset] is not None:
            scopes.append(analyst)
            self.accounts.setdefault((dataset, analyst), (self.analysts[dataset], Totals()))  # pyright: ignore[reportArgumentType]
        said, terms = content.get("part"), self.accounts[dataset, EVERYBODY][0]
        about = part_of(terms.partitions, read_where(content.get("where")))
        if about != (None if said is None else tuple(said)):
            self.note(f"entry {sequence} is charged about another part than its filter names.")
        for scope in scopes:
            terms, totals = self.accounts[dataset, scope]
            totals = added(terms, totals, parts, about)
            if not fits(terms, totals):
                self.note(f"entry {sequence} spends more than the budget of the data set {dataset!r} allows.")
            self.accounts[dataset, scope] = terms, totals

    def _released(self, sequence: int, content: Mapping[str, Any]) -> None:
        if content["charge"] not in self.open_charges:
            self.note(f"entry {sequence} is for a charge that is not there, or was released before.")
        self.open_charges.pop(content["charge"], None)
        self._list(content)

    def _derived(self, sequence: int, content: Mapping[str, Any]) -> None:
        if content["from"] not in self.releases:
            self.note(f"entry {sequence} is for a file made from a release that is not there.")
        self._list(content)

    def _list(self, content: Mapping[str, Any]) -> None:
        if content["charge"] in self.wanted:
            self.released.setdefault(content["charge"], []).extend(content["releases"])
        self.releases |= {one["id"] for one in content["releases"]}

    def compare(self, head: Head, accounts: Iterable[tuple[str, str, Terms, Totals, Terms | None]]) -> None:
        """Compare the head and the running totals with what the entries imply."""
        if self.last is None or (head.ledger, head.sequence, head.hash) != (
            self.ledger,
            self.n_entries - 1,
            self.last_hash,
        ):
            self.note("the head is not the newest entry: entries were removed or added behind its back.")
        kept = {(dataset, analyst): (terms, totals, per) for dataset, analyst, terms, totals, per in accounts}
        for key in sorted(kept.keys() | self.accounts.keys()):
            implied = self.accounts.get(key)
            per = self.analysts.get(key[0]) if key[1] == EVERYBODY else None
            if implied is None or kept.get(key) != (*implied, per):
                whose = f"the data set {key[0]!r}" + (f" for the analyst {key[1]!r}" if key[1] else "")
                self.note(f"the running totals of {whose} are not what its entries add up to.")

    def place_of(self, release: Release) -> int | str:
        """Return the entry that a release file was charged by, or what the ledger has against the file."""
        stamp = release.ledger
        if stamp is None:
            return "it was not charged to any ledger"
        if stamp.id != self.ledger:
            return "it was charged to another ledger, or this one was rewritten"
        stored, where = self.charges.get(stamp.sequence, (None, None))
        if stored != stamp.charge:
            return f"its charge, entry {stamp.sequence}, is missing or was rewritten"
        known = {"id": release.id, "sha256": json.loads(release.to_json())["sha256"]}
        if known not in self.released.get(stamp.sequence, ()):
            return "the ledger does not list this release under its charge"
        if where is not None and where != release.where:
            return "it was charged for a part of the rows, and is about others"
        return stamp.sequence


def verify(
    store: Store,
    key: bytes | None,
    *,
    against: Sequence[Release | str | Path] = (),
    head: str | None = None,
) -> Verification:
    """Check a ledger; see :meth:`Ledger.verify`."""
    if head is not None:
        text(head, "head")
    claims = [_claim(one) for one in listed(against, "against", "a list of releases or paths")]
    replay = _Replay({made.ledger.sequence for _, made in claims if made.ledger}, head and head.lower())
    # writers may append while the pages are read; the last of them, the head and the totals are read in one moment
    for row in store.entries():
        replay.take(*row)
    with store.reading() as session:
        while rows := session.page(replay.n_entries - 1):
            for row in rows:
                replay.take(*row)
        now = session.head()
        replay.compare(now, session.accounts())
    problems, anchored = replay.problems, replay.at_head
    for name, made in claims:
        place = replay.place_of(made)
        if isinstance(place, str):
            problems.append(f"{name}: {place}.")
        else:
            anchored = max(anchored, place)
    if head is not None and replay.at_head < 0:
        problems.append(
            "the head that was given is no entry of this ledger: its tail was cut off, or it was rewritten."
        )
    sealed = _seal_problem(now, key, replay.sealed)
    if sealed:
        problems.append(sealed)
    if len(problems) > _MOST_PROBLEMS:
        problems[_MOST_PROBLEMS:] = [f"there are {len(problems) - _MOST_PROBLEMS} more problems."]
    return Verification(
        ledger=replay.ledger,
        entries=replay.n_entries,
        head=replay.last_hash if replay.last else None,
        anchored=anchored,
        problems=tuple(problems),
        unseen=_unseen(anchored, replay.n_entries - 1, sealed=key is not None and not sealed),
        unreleased=tuple(replay.open_charges),
    )


def _claim(release: Release | str | Path) -> tuple[str, Release]:
    """Return what to call a release, and the release."""
    from discreet.artifact.release import Release

    if not isinstance(release, Release | str | Path):
        raise UsageError(f"against must be releases or their paths, got {type(release).__name__:.40}.")
    if isinstance(release, Release):
        return f"the release {release.id}", release
    return str(release), Release.load(release)


def _seal_problem(head: Head, key: bytes | None, sealed: bool) -> str | None:
    if sealed != (head.seal is not None):
        return "the seal was removed or added: it is not what the first entry says."
    if key is None:
        return None
    if head.seal is None:
        return f"{chain.KEY_VARIABLE} is set, and the ledger is not sealed: it may have been rewritten."
    if not chain.same(head.seal, chain.seal_head(key, head)):
        return "the seal does not fit: the ledger was altered without the key, or sealed with another one."
    return None


def _unseen(anchored: int, last: int, *, sealed: bool) -> tuple[str, ...]:
    """Say what could have happened without a trace."""
    if sealed:
        if anchored == last:
            return ()
        return (
            f"whether the database was put back to an older copy, from after entry {max(anchored, 0)}: compare with "
            "the newest release files or head.",
        )
    if anchored < 0:
        return (
            "whether the newest entries were cut off, or the whole ledger was rewritten by somebody who can write to "
            "the database: compare with release files or a head kept elsewhere, or seal the ledger with a key.",
        )
    if anchored == last:
        return ()
    return (
        f"whether entries after entry {anchored} were rewritten or cut off: nothing that was given is newer.",
    )
