"""Reports of one person over time: the rules of composition, kept on the person's own device.

The file of a device is the person's own, mode 0600. It is written whole or not at all and is durable before anybody
sees a report; while one process reads and writes it, no other one does.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from glob import escape
from pathlib import Path
from threading import Lock
from typing import Any

from discreet.arguments import FilePath, instance
from discreet.arguments import path as read_path
from discreet.artifact.codec import checksum, has_checksum
from discreet.artifact.files import LONGEST_STEM
from discreet.artifact.readers import exact_fields, rational, text_of, tuple_of
from discreet.errors import BudgetError, DataError, ReleaseFileError, UsageError
from discreet.objects import plain_value
from discreet.profiles.base import FittedMechanism
from discreet.profiles.bins import Bins
from discreet.profiles.composition import ProfileGuarantee
from discreet.profiles.exact import read_epsilon
from discreet.profiles.graph import Name
from discreet.profiles.graph_file import graph_to_json, load_json, save_json
from discreet.rational import Number, plain, text

# Observations that one device remembers, and the longest name of one.
_MOST_REPORTS, _LONGEST_KEY = 100_000, 200
FORMAT, VERSION = "discreet/profile-reporter", 1
_FIELDS = "format version graph profile bins budget spent reports sha256"


@dataclass(frozen=True)
class Memory:
    """The content of a device's file.

    ``graph`` stands for the graph, because losses on different edges do not add up. ``reports`` has a report for each
    key, or None where one was paid for and none was made yet.
    """

    graph: str
    profile: Name
    budget: Fraction
    bins: Bins | None = None
    spent: Fraction = Fraction(0)
    reports: Mapping[str, Name | None] = field(default_factory=dict)


@dataclass(eq=False, repr=False)
class Reporter:
    """Perturbs one person's observations, one after the other, within a budget for all of them.

    Parameters
    ----------
    mechanism
        The fitted mechanism that the device carries.
    profile
        The person's profile. It never leaves the device.
    epsilon
        The loss that all reports together may come to. It is declared once: a device that has a file keeps to the
        budget in it.
    path
        Where the device remembers what it has sent; without it, nowhere, and the budget ends with the program. The
        file is the person's own. If it is there, it is continued, and must be about the same person.
    bins
        For numbers: the declared :class:`Bins` whose categories are the graph's.

    Privacy
    -------
    Two rules (:mod:`discreet.profiles.composition`). Reports of *new* observations, independent given the profile, add
    up: a report is made only if the sum of all stays within ``epsilon``. Two reports of *one* observation promise
    nothing together, so an observation has a key, such as its day, and a key that was reported gets the same report
    again, which is post-processing and free. The charge is durable before a report is drawn, and a report before it is
    returned; several processes that share a file take turns. That observations under different keys are independent
    given the profile is for whoever chooses the keys to know.

    References
    ----------
    Geumlek (2020), observations 8 and 13.
    """

    mechanism: FittedMechanism
    profile: Name
    epsilon: Number
    path: Path | None = None
    bins: Bins | None = None
    _memory: Memory = field(init=False)
    _turn: Any = field(default_factory=Lock, init=False)

    def __post_init__(self) -> None:
        instance(self.mechanism, "mechanism", FittedMechanism, "a fitted mechanism")
        graph = self.mechanism.graph
        self.profile = graph.profiles[graph.position(self.profile)]
        self.epsilon = read_epsilon(self.epsilon)
        if self.mechanism.epsilon > self.epsilon:
            raise UsageError(
                f"one report costs {plain(self.mechanism.epsilon)}, more than the budget for all of them.",
                hint="fit a mechanism with a smaller epsilon, or declare a larger budget",
            )
        if self.bins is not None:
            instance(self.bins, "bins", Bins, "declared bins")
            if self.bins.categories != graph.categories:
                raise UsageError("the bins are not the categories of the mechanism's graph.")
        self._memory = Memory(checksum(graph_to_json(graph)), self.profile, self.epsilon, self.bins)
        if self.path is not None:
            self.path = read_path(self.path)
            with held(self.path):
                if self.path.exists():
                    self._memory = self._own(read_memory(self.path))
                else:
                    write_memory(self._memory, self.path)

    @classmethod
    def load(cls, path: FilePath, mechanism: FittedMechanism) -> Reporter:
        """Continue a device from its file, with the profile, the budget and the bins that are in it."""
        place = read_path(path)
        found = read_memory(place)
        return cls(mechanism, found.profile, found.budget, place, found.bins)

    @property
    def spent(self) -> Fraction:
        """The loss of all reports so far."""
        return self._now().spent

    @property
    def left(self) -> int | None:
        """How many new observations can still be reported; None if a report costs nothing."""
        cost, memory = self.mechanism.epsilon, self._now()
        return None if cost == 0 else int((memory.budget - memory.spent) // cost)

    @property
    def guarantee(self) -> ProfileGuarantee:
        """What all reports so far promise together."""
        return ProfileGuarantee.of(self.mechanism.graph, self.spent)

    def statement(self) -> str:
        """Return what all reports of the device promise together, in plain words."""
        from discreet.profiles.statement import over_time

        memory = self._now()
        return over_time(self.mechanism, memory.budget, memory.spent, len(memory.reports))

    def report(self, value: Any, key: str) -> Name:
        """Return the report of one observation: a new one within the budget, or the one that its key has had.

        Raises :class:`~discreet.errors.BudgetError` if the budget does not allow a new one.
        """
        if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY or not key.isprintable():
            raise UsageError(
                f"key must be a text of at most {_LONGEST_KEY} characters that names the observation.",
                hint='such as its day, "2026-11-17"',
            )
        with self._held():
            sent = self._memory.reports.get(key)
            if sent is not None:
                return sent
            category = plain_value(value) if self.bins is None else self.bins.labels([value])[0]
            if category not in self.mechanism.graph.categories:
                # the error repeats nothing that was observed
                raise UsageError("the observation is none of the categories.")
            if key not in self._memory.reports:
                self._charge(key)
            drawn: Any = plain_value(self.mechanism.privatize(category, self.profile))
            self._keep(key, drawn, self._memory.spent)
            return drawn

    def _charge(self, key: str) -> None:
        """Add one report's loss, durably, before anything is drawn; a key without a report has sent nothing yet."""
        total, budget = self._memory.spent + self.mechanism.epsilon, self._memory.budget
        if total > budget:
            raise BudgetError(
                f"another report would bring the loss to {plain(total)}, and the budget is {plain(budget)}.",
                hint="send an earlier report again, which is free",
            )
        if len(self._memory.reports) >= _MOST_REPORTS:
            raise BudgetError(f"a device remembers {_MOST_REPORTS:,} observations, and this one has as many.")
        self._keep(key, None, total)

    # -- the device's memory --------------------------------------------------------------------------

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Let nobody else report, and look again at what others have reported meanwhile."""
        with self._turn:
            if self.path is None:
                yield
            else:
                with held(self.path):
                    self._memory = self._own(read_memory(self.path))
                    yield

    def _now(self) -> Memory:
        with self._held():
            return self._memory

    def _keep(self, key: str, report: Name | None, spent: Fraction) -> None:
        """Remember what is written, and nothing that is not."""
        memory = replace(self._memory, spent=spent, reports={**self._memory.reports, key: report})
        if self.path is not None:
            write_memory(memory, self.path)
        self._memory = memory

    def _own(self, found: Memory) -> Memory:
        """Return what was read if it is about this person, this graph and this budget."""
        mine = self._memory
        if found.graph != mine.graph:
            raise UsageError(
                "the reports so far are about another graph of profiles: their losses do not add up."
            )
        if found.profile != mine.profile:
            raise UsageError("the reports so far are of another profile: a device is one person's.")
        if found.bins != mine.bins:
            raise UsageError("the device was set up with other bins, or without.")
        if found.budget != mine.budget:
            raise UsageError(
                f"the budget of this device is {plain(found.budget)}, declared once, got epsilon={plain(mine.budget)}.",
                hint="Reporter.load(path, mechanism) takes the device as it is",
            )
        known = (None, *self.mechanism.graph.categories)
        if any(report not in known for report in found.reports.values()):
            raise UsageError("the reports so far are none of the graph's categories.")
        return found

    def __repr__(self) -> str:
        n, amounts = len(self._memory.reports), (self._memory.spent, self._memory.budget)
        return f"<Reporter: {n} observations, epsilon = {plain(amounts[0])} of {plain(amounts[1])}>"


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Keep other processes and threads away from a device's file; wait for those that have it."""
    beside = path.with_name(f".{path.name}.lock")
    try:
        lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as problem:
        raise DataError(f"cannot write {path}: {problem.strerror or 'no lock beside it'}.") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if len(path.name) <= LONGEST_STEM:
            # what a process left that was killed while it wrote: nobody else writes now
            for left in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 16}.part"):
                left.unlink(missing_ok=True)
        yield
    finally:
        os.close(lock)


def write_memory(memory: Memory, path: Path) -> None:
    """Write a device's file, durably and for its owner alone."""
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "graph": memory.graph,
        "profile": memory.profile,
        "bins": None if memory.bins is None else [text(edge) for edge in memory.bins.edges],
        "budget": text(memory.budget),
        "spent": text(memory.spent),
        "reports": dict(memory.reports),
    }
    body["sha256"] = checksum(body)
    save_json(body, path, private=True)


def read_memory(path: Path) -> Memory:
    """Read a device's file; whatever is not as it was written is refused, and nothing is begun anew."""
    # unlike that of a path, it also answers for a name that is too long
    if not os.path.exists(path):
        raise DataError(
            f"cannot read {path!s:.200}: there is no such file.",
            hint="discreet profiles device sets up a device",
        )
    body = load_json(path, float)
    if not isinstance(body, dict) or body.get("format") != FORMAT or body.get("version") != VERSION:
        raise ReleaseFileError(f"{path}: this is not the file of a device.")
    if not has_checksum(body):
        raise ReleaseFileError(f"{path}: the file was altered or damaged, so what was spent is not known.")
    try:
        return _read(body)
    except (UsageError, ValueError, TypeError, KeyError, ArithmeticError):
        raise ReleaseFileError(f"{path}: the file does not hang together.") from None


def _read(body: dict[str, Any]) -> Memory:
    exact_fields("the file", body, _FIELDS)
    edges, reports = body["bins"], body["reports"]
    budget, spent = (read_epsilon(rational(body[amount])) for amount in ("budget", "spent"))
    if spent > budget or not isinstance(reports, dict) or not all(reports):
        raise ValueError
    if any(not isinstance(name, str | int | None) for name in (body["profile"], *reports.values())):
        raise ValueError
    bins = None if edges is None else Bins(tuple_of(rational, edges))
    return Memory(text_of(body["graph"]), body["profile"], budget, bins, spent, reports)
