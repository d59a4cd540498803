"""What every engine hands back, and what it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.inference.records import RecordPrior


@dataclass(frozen=True)
class Question:
    """A release and everything the analyst says about it.

    ``size`` draws are asked for in all, filed under ``chains`` chains of equal length.
    """

    release: Release
    prior: Any
    records: RecordPrior
    size: int
    chains: int
    rng: np.random.Generator

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
    """Draws by parameter name, draws first and chain after chain, and how far they can be trusted."""

    draws: dict[str, np.ndarray]
    approximation: str = "none"
    warnings: tuple[str, ...] = ()
    independent: bool = True
