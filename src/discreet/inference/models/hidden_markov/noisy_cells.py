"""What the sampler reads: counts of labels by cell, true or noisy, and what is public about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from discreet.arguments import fill
from discreet.errors import UsageError


@dataclass(frozen=True, eq=False)
class SequenceCells:
    """Counts of labels in every cell, the labels of all features side by side.

    Parameters
    ----------
    values
        Cells by labels. Sequences follow one another, each with ``length`` time steps; after them come cells that
        belong to no place in a sequence (entries whose sequence or time is missing), which have no hidden state.
    sizes
        Number of labels of each feature.
    n_sequences, length
        How many sequences, and time steps in each.
    observed
        Which cells were read; the others are predicted. All of them if left out.
    """

    values: np.ndarray
    sizes: tuple[int, ...]
    n_sequences: int
    length: int
    observed: np.ndarray = field(default_factory=lambda: np.ones(0, dtype=bool))

    def __post_init__(self) -> None:
        values = np.ascontiguousarray(self.values, dtype=float)
        if values.ndim != 2 or values.shape[1] != sum(self.sizes) or len(values) < self.n_placed:
            raise UsageError("counts must be a table of cells by the labels of all features.")
        given = np.asarray(self.observed, dtype=bool).ravel()
        observed = np.ones(len(values), dtype=bool)
        observed[: given.size] = given
        values = np.where(observed[:, None], values, 0.0)
        fill(self, values=values, observed=observed)

    @property
    def n_placed(self) -> int:
        """Number of cells with a place in a sequence, and so with a hidden state."""
        return self.n_sequences * self.length

    @property
    def n_stateless(self) -> int:
        """Number of cells without one."""
        return len(self.values) - self.n_placed

    @cached_property
    def starts(self) -> np.ndarray:
        """Where the labels of each feature begin, and where the last ones end."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def clipped(self) -> SequenceCells:
        """Return the counts as data could have had them, if each label is looked at alone: none below zero."""
        return SequenceCells(
            np.maximum(self.values, 0.0), self.sizes, self.n_sequences, self.length, observed=self.observed
        )


@dataclass(frozen=True, eq=False)
class Noisy:
    """How noisy counts came about: the noise on each label, and what is known of the number of entries.

    Parameters
    ----------
    widths
        Scale of the discrete Laplace distribution, or sigma of the discrete Gaussian one, for each label.
    gaussian
        Which of the two.
    n_entries
        The number of all entries where it is public.
    log_prior
        Log-weights of the number of all entries from ``low`` on, where it is private.
    low
        Where they begin.
    """

    widths: np.ndarray
    gaussian: bool
    n_entries: int | None = None
    log_prior: np.ndarray = field(default_factory=lambda: np.zeros(0))
    low: int = 0

    @cached_property
    def rates(self) -> np.ndarray:
        """One over the width of the noise of each label."""
        return 1.0 / np.asarray(self.widths, dtype=float)

    @cached_property
    def sd(self) -> np.ndarray:
        """Standard deviation of the noise on each label, as for continuous noise."""
        return np.asarray(self.widths, dtype=float) * (1.0 if self.gaussian else np.sqrt(2.0))
