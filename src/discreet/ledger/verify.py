"""What an auditor can find out: whether the chain is whole, the sums hold, and the world outside agrees.

One pass over the entries, in order. Edits, removals, insertions and swaps break the chain. Cutting off its tail or
writing a new one from the start does not; those are found by comparing with something that is kept elsewhere: release
files, an old head, or the key of the seal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.arguments import listed, text
from discreet.domain.where import read_where
from discreet.errors import DiscreetError, LedgerError, UsageError
from discreet.ledger import hash_chain as chain
from discreet.ledger.accounts import with_partition
from discreet.ledger.filters import Terms, Totals, added, fits, read_guarantee, read_terms
from discreet.ledger.hash_chain import Entry, read_entry
from discreet.ledger.partitions import part_of, partition_from
from discreet.ledger.store import EVERYBODY, Head, Store

if TYPE_CHECKING:
    from discreet.artifact.release import Release

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
    unreleased: tuple[int, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


class _Replay:
    """Reads the entries again, and keeps the books that they imply."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.n_entries = 0
        self.last: Entry | None = None
        self.last_hash = chain.NOTHING
        self.accounts: dict[tuple[str, str], tuple[Terms, Totals]] = {}
        self.analysts: dict[str, Terms | None] = {}
        self.open_charges: dict[int, None] = {}
        self.releases: set[str] = set()
        self.ledger: str | None = None
        self.sealed = False

    def note(self, problem: str) -> None:
        self.problems.append(problem)

    def take(self, sequence: int, stored: str, charge: int | None, body: str) -> None:
        """Read one stored row."""
        if sequence != self.n_entries:
            self.note(f"entry {self.n_entries} is missing: entry {sequence} comes in its place.")
        self.n_entries = sequence + 1
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
        self.releases |= {one["id"] for one in content["releases"]}

    def _derived(self, sequence: int, content: Mapping[str, Any]) -> None:
        if content["from"] not in self.releases:
            self.note(f"entry {sequence} is for a file made from a release that is not there.")
        self.releases |= {one["id"] for one in content["releases"]}

    def compare(self, head: Head, accounts: Iterable[tuple[str, str, Terms, Totals, Any]]) -> None:
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
            if implied is None or kept.get(key) != (*_filled(implied), per and per.to_json()):
                whose = f"the data set {key[0]!r}" + (f" for the analyst {key[1]!r}" if key[1] else "")
                self.note(f"the running totals of {whose} are not what its entries add up to.")


def _filled(account: tuple[Terms, Totals]) -> tuple[Terms, Totals]:
    terms, totals = account
    return terms, replace(totals, curves=totals.curves if totals.charges else ())


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
    against = listed(against, "against", "a list of releases or paths")
    claims = [_claim(one) for one in against]
    replay = _Replay()
    wanted = {claim["sequence"] for claim in claims if claim["sequence"] is not None}
    charges: dict[int, tuple[str, str | None]] = {}
    releases: dict[int, list[Any]] = {}
    places: dict[str, int] = {}
    # writers may append while the pages are read; the last of them, the head and the totals are read in one moment
    for row in store.entries():
        replay.take(*row)
        _keep(row, wanted, charges, releases, places, head)
    with store.reading() as session:
        while rows := session.page(replay.n_entries - 1):
            for row in rows:
                replay.take(*row)
                _keep(row, wanted, charges, releases, places, head)
        now = session.head()
        replay.compare(now, session.accounts())
    problems, anchored = replay.problems, -1
    for claim in claims:
        problem = _disputed(claim, replay.ledger, charges, releases)
        if problem is None:
            anchored = max(anchored, claim["sequence"])
        else:
            problems.append(f"{claim['name']}: {problem}.")
    if head is not None:
        if head.lower() in places:
            anchored = max(anchored, places[head.lower()])
        else:
            problems.append(
                "the head that was given is no entry of this ledger: its tail was cut off, or it was rewritten."
            )
    sealed = _seal_problem(now, key, replay.sealed)
    if sealed:
        problems.append(sealed)
    shown = problems[:_MOST_PROBLEMS]
    if len(problems) > len(shown):
        shown.append(f"there are {len(problems) - len(shown)} more problems.")
    return Verification(
        ledger=replay.ledger,
        entries=replay.n_entries,
        head=replay.last_hash if replay.last else None,
        anchored=anchored,
        problems=tuple(shown),
        unseen=_unseen(anchored, replay.n_entries - 1, sealed=key is not None and not sealed),
        unreleased=tuple(replay.open_charges),
    )


def _keep(
    row: tuple[int, str, int | None, str],
    wanted: set[int],
    charges: dict[int, tuple[str, str | None]],
    releases: dict[int, list[Any]],
    places: dict[str, int],
    head: str | None,
) -> None:
    """Keep what the anchors will be compared with."""
    sequence, stored, charge, body = row
    if sequence in wanted:
        charges[sequence] = stored, _filter_of(body)
    if charge in wanted or (wanted and '"kind":"derived"' in body):
        try:
            content = read_entry(body).content
            releases.setdefault(content["charge"], []).extend(content["releases"])
        except (DiscreetError, KeyError, TypeError):
            return
    if head is not None and stored == head.lower():
        places[stored] = sequence


def _filter_of(body: str) -> str | None:
    """Return the public filter that a charge was made for, if it is about a part of the rows."""
    try:
        return read_entry(body).content.get("where")
    except DiscreetError:
        return None


def _claim(release: Release | str | Path) -> dict[str, Any]:
    """Return what a release file says about its charge."""
    from discreet.artifact.release import Release

    if not isinstance(release, Release | str | Path):
        raise UsageError(f"against must be releases or their paths, got {type(release).__name__:.40}.")
    name = str(release) if isinstance(release, str | Path) else f"the release {release.id}"
    made = release if isinstance(release, Release) else Release.load(release)
    stamp = made.ledger
    return {
        "name": name,
        "id": made.id,
        "sha256": json.loads(made.to_json())["sha256"],
        "ledger": None if stamp is None else stamp.id,
        "sequence": None if stamp is None else stamp.sequence,
        "charge": None if stamp is None else stamp.charge,
        "where": made.where,
    }


def _disputed(
    claim: Mapping[str, Any],
    ledger: str | None,
    charges: Mapping[int, tuple[str, str | None]],
    releases: Mapping[int, Sequence[Any]],
) -> str | None:
    """Return what the ledger has against a release file."""
    if claim["sequence"] is None:
        return "it was not charged to any ledger"
    if claim["ledger"] != ledger:
        return "it was charged to another ledger, or this one was rewritten"
    stored, where = charges.get(claim["sequence"], (None, None))
    if stored != claim["charge"]:
        return f"its charge, entry {claim['sequence']}, is missing or was rewritten"
    if {"id": claim["id"], "sha256": claim["sha256"]} not in releases.get(claim["sequence"], ()):
        return "the ledger does not list this release under its charge"
    if where is not None and where != claim["where"]:
        return "it was charged for a part of the rows, and is about others"
    return None


def _seal_problem(head: Head, key: bytes | None, sealed: bool) -> str | None:
    if sealed != (head.seal is not None):
        return "the seal was removed or added: it is not what the first entry says."
    if key is None:
        return None
    if head.seal is None:
        return f"{chain.KEY_VARIABLE} is set, and the ledger is not sealed: it may have been rewritten."
    if not chain.same(head.seal, chain.seal_head(key, head.ledger, head.sequence, head.hash)):
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
