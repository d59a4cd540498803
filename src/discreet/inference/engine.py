"""The protocol of an engine: what it is asked, what it hands back, and how it says whether it applies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.inference.missing_prior import MissingPrior
from discreet.inference.record_prior import CountPrior, RecordPrior, count_prior


@dataclass(frozen=True)
class Question:
    """A release and everything the analyst says about it.

    ``size`` draws are asked for in all, filed under ``chains`` chains of equal length. ``missing`` is the prior on the
    number of missing values where it is latent and n is public; None stands for the default one.
    """

    release: Release
    prior: Any
    records: RecordPrior
    size: int
    chains: int
    rng: np.random.Generator
    missing: MissingPrior | None = None

    @property
    def usable(self) -> CountPrior:
        """The prior on the usable count, whether records are private or some of a public number are missing."""
        return count_prior(self.release, self.records, self.missing)

    def refuse_missing(self) -> None:
        """Raise if there is a prior on the number of missing values, for engines that have their own."""
        if self.missing is not None:
            raise UsageError(
                f"{self.release.model.name} takes no prior on the number of missing values.",
                hint="leave out missing",
            )

    def refuse_records(self) -> None:
        """Raise if there is a prior on the number of records, for engines that would ignore it."""
        if self.records != RecordPrior():
            raise UsageError(
                f"{self.release.model.name} takes no prior on the number of records.",
                hint="leave out records",
            )


def about(release: Release) -> str:
    """Say in one line which model of which data under which guarantee this is."""
    return f"{release.model.name} model of {', '.join(release.columns)}, {release.guarantee.describe()}"


@dataclass(frozen=True)
class Answer:
    """Draws by parameter name, draws first and chain after chain, and how far they can be trusted.

    ``missing`` says what was assumed of the number of missing values; None if it was ``Question.usable``.
    """

    draws: dict[str, np.ndarray]
    approximation: str = "none"
    warnings: tuple[str, ...] = ()
    independent: bool = True
    missing: str | None = None


@dataclass(frozen=True)
class Engine:
    """How a release is read.

    ``refusal`` returns why the engine cannot read a release, or None if it can; ``draw`` draws; ``predicted_seconds``
    says roughly how long that takes. ``reluctance`` returns why a later engine should be taken although this one
    applies, or None. An engine that is not ``automatic`` is taken only by name, to be compared with.
    One that is ``foretold`` says well beforehand how long it takes, and may take that long.
    """

    name: str
    refusal: Callable[[Release], str | None]
    draw: Callable[[Question], Answer]
    predicted_seconds: Callable[[Question], float] = lambda question: 0.1
    reluctance: Callable[[Release], str | None] = lambda release: None
    automatic: bool = True
    foretold: bool = False


def reads_all(release: Release) -> None:
    """Return None: no release is refused."""
