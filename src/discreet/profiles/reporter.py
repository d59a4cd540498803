"""Reports of one person over time: the rules of composition, kept on the person's own device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import Any

from discreet.arguments import FilePath, instance
from discreet.arguments import path as read_path
from discreet.errors import BudgetError, UsageError
from discreet.objects import plain_value
from discreet.profiles.base import FittedMechanism
from discreet.profiles.bins import Bins
from discreet.profiles.composition import ProfileGuarantee
from discreet.profiles.device_file import Memory, fingerprint, held, read_memory, write_memory
from discreet.profiles.exact import read_epsilon
from discreet.profiles.graph import Name
from discreet.rational import Number, plain

# Observations that one device remembers, and the longest name of one.
_MOST_REPORTS, _LONGEST_KEY = 100_000, 200


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
        self._memory = Memory(fingerprint(graph), self.profile, self.epsilon, self.bins)
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
