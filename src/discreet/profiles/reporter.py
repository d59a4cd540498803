"""Reports of one person over time: the rules of composition, kept on the person's own device."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.arguments import instance
from discreet.arguments import path as read_path
from discreet.errors import BudgetError, ReleaseFileError, UsageError
from discreet.objects import plain_value
from discreet.profiles.base import FittedMechanism
from discreet.profiles.bins import Bins
from discreet.profiles.composition import ProfileGuarantee
from discreet.profiles.exact import read_epsilon
from discreet.profiles.graph import Name
from discreet.profiles.graph_file import graph_to_json, load_json, save_json
from discreet.rational import Number, exact, plain, text

FORMAT, VERSION = "discreet/profile-reporter", 1
_FIELDS = {"format", "version", "graph", "budget", "spent", "reports"}
# Observations that one device remembers.
_MOST_REPORTS = 100_000


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
        The loss that all reports together may come to.
    path
        Where the device remembers what it has sent; without it, nowhere, and the budget ends with the program. The
        file is the person's own.
    bins
        For numbers: the declared :class:`Bins` whose categories are the graph's.

    Privacy
    -------
    Two rules (:mod:`discreet.profiles.composition`). Reports of *new* observations, independent given the profile, add
    up: a report is made only if the sum of all stays within ``epsilon``. Two reports of *one* observation promise
    nothing together, so an observation has a key, such as its day, and a key that was reported gets the same report
    again, which is post-processing and free. The charge is durable before the report is drawn. That observations under
    different keys are independent given the profile is for whoever chooses the keys to know.

    References
    ----------
    Geumlek (2020), observations 8 and 13.
    """

    mechanism: FittedMechanism
    profile: Name
    epsilon: Number
    path: Path | None = None
    bins: Bins | None = None
    _reports: dict[str, Name | None] = field(default_factory=dict, init=False)
    _spent: Fraction = field(default=Fraction(0), init=False)

    def __post_init__(self) -> None:
        instance(self.mechanism, "mechanism", FittedMechanism, "a fitted mechanism")
        self.mechanism.graph.position(self.profile)
        self.epsilon = read_epsilon(self.epsilon)
        if self.bins is not None:
            instance(self.bins, "bins", Bins, "declared bins")
            if self.bins.categories != self.mechanism.graph.categories:
                raise UsageError("the bins are not the categories of the mechanism's graph.")
        if self.path is not None:
            self.path = read_path(self.path)
            if self.path.exists():
                self._load(self.path)

    @property
    def _budget(self) -> Fraction:
        return exact(self.epsilon, "epsilon")

    @property
    def spent(self) -> Fraction:
        """The loss of all reports so far."""
        return self._spent

    @property
    def guarantee(self) -> ProfileGuarantee:
        """What all reports so far promise together."""
        return ProfileGuarantee.of(self.mechanism.graph, self._spent)

    def report(self, value: Any, key: str) -> Name:
        """Return the report of one observation: a new one within the budget, or the one that its key has had.

        Raises :class:`~discreet.errors.BudgetError` if the budget does not allow a new one.
        """
        if not isinstance(key, str) or not key:
            raise UsageError(
                "key must be a text that names the observation.", hint='such as its day, "2026-11-17"'
            )
        sent = self._reports.get(key)
        if sent is not None:
            return sent
        category = plain_value(value) if self.bins is None else self.bins.labels([value])[0]
        if category not in self.mechanism.graph.categories:
            # the error repeats nothing that was observed
            raise UsageError("the observation is none of the categories.")
        if key not in self._reports:
            self._charge(key)
        drawn = self.mechanism.privatize(category, self.profile)
        drawn = drawn.item() if hasattr(drawn, "item") else drawn  # pyright: ignore[reportAttributeAccessIssue]
        self._reports[key] = drawn
        self._save()
        return drawn

    def _charge(self, key: str) -> None:
        """Add one report's loss, durably, before anything is drawn; a key without a report has sent nothing yet."""
        total = self._spent + self.mechanism.epsilon
        if total > self._budget or len(self._reports) >= _MOST_REPORTS:
            raise BudgetError(
                f"another report would bring the loss to {plain(total)}, and the budget is {plain(self._budget)}.",
                hint="send an earlier report again, which is free",
            )
        self._spent = total
        self._reports[key] = None
        self._save()

    # -- the device's memory --------------------------------------------------------------------------

    @property
    def _fingerprint(self) -> str:
        """Stands for the graph: losses on different edges do not add up."""
        return hashlib.sha256(json.dumps(graph_to_json(self.mechanism.graph)).encode()).hexdigest()

    def _save(self) -> None:
        if self.path is not None:
            body = {"format": FORMAT, "version": VERSION, "graph": self._fingerprint}
            amounts = {"budget": text(self._budget), "spent": text(self._spent)}
            save_json({**body, **amounts, "reports": self._reports}, self.path)

    def _load(self, path: str | os.PathLike[str]) -> None:
        body = load_json(path)
        try:
            if not isinstance(body, dict) or set(body) != _FIELDS or body["format"] != FORMAT:
                raise ValueError
            spent, reports = exact(body["spent"], "spent"), body["reports"]
            known = (None, *self.mechanism.graph.categories)
            if (
                spent < 0
                or not isinstance(reports, dict)
                or any(one not in known for one in reports.values())
            ):
                raise ValueError
        except (ValueError, TypeError):
            raise ReleaseFileError(f"{os.fspath(path)}: this is not the memory of a reporter.") from None
        if body["graph"] != self._fingerprint:
            raise UsageError(
                "the reports so far are about another graph of profiles: their losses do not add up."
            )
        self._spent, self._reports = spent, dict(reports)

    def __repr__(self) -> str:
        n = len(self._reports)
        return f"<Reporter: {n} observations, epsilon = {plain(self._spent)} of {plain(self._budget)}>"
