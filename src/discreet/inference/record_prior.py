"""The analyst's prior on how many records a private count stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, ClassVar

import numpy as np

from discreet.errors import UsageError
from discreet.inference.missing_prior import MissingPrior, nearest_of, read_weights


@dataclass(frozen=True)
class RecordPrior:
    """A prior on a number of usable records: flat on [low, high], or given by weights from ``low`` on.

    ``high`` is None for the flat prior on all of 0, 1, 2, ..., which is improper but harmless: noise with light
    tails makes the posterior proper.
    """

    low: int = 0
    high: int | None = None
    weights: np.ndarray | None = None
    #: Counts that must be looked at whatever the release says: none.
    likely: ClassVar[tuple[int, int]] = (1, 0)

    def log_mass(self, n: np.ndarray) -> np.ndarray:
        """Return the log prior of counts inside [low, high], up to a constant."""
        if self.weights is None:
            return np.zeros(np.shape(n))
        with np.errstate(divide="ignore"):
            return np.log(self.weights[np.asarray(n, dtype=int) - self.low])

    @property
    def log_peak(self) -> float:
        """The largest log prior."""
        return 0.0 if self.weights is None else float(np.log(self.weights.max()))

    @property
    def nodes(self) -> np.ndarray:
        """A few increasing counts, those among them where the prior peaks."""
        if self.weights is None:
            return np.unique([self.low] if self.high is None else [self.low, self.high])
        return self.low + np.unique([0, int(np.argmax(self.weights)), self.weights.size - 1])

    def nearest(self, n: float, *, above: bool) -> int | None:
        """Return the possible count nearest to ``n`` that is at least (or at most) ``n``, if there is one."""
        if self.weights is not None:
            return nearest_of(self.low + np.flatnonzero(self.weights), n, above)
        if above:
            return None if self.high is not None and n > self.high else max(ceil(n), self.low)
        most = floor(n) if self.high is None else min(floor(n), self.high)
        return most if most >= self.low else None


#: A prior on the usable count: of a private number of records, or of a public one less the missing.
CountPrior = RecordPrior | MissingPrior


def log_mass_of(prior: CountPrior, counts: np.ndarray) -> np.ndarray:
    """Return the log prior of any counts, up to a constant: -inf outside [low, high]."""
    inside = (counts >= prior.low) & (counts <= (np.inf if prior.high is None else prior.high))
    with np.errstate(divide="ignore"):
        found = prior.log_mass(np.where(inside, counts, prior.low).astype(float))
    return np.where(inside, found, -np.inf)


def closest(prior: CountPrior, count: float) -> int:
    """Return the possible number of records nearest to a reading."""
    sides = prior.nearest(count, above=True), prior.nearest(count, above=False)
    return min((n for n in sides if n is not None), key=lambda n: abs(n - count))


def capped(prior: CountPrior, count: int) -> int:
    """Return a count, or the largest possible one if that is less."""
    return count if prior.high is None else min(count, prior.high)


def widened(prior: CountPrior, low: int, high: int) -> tuple[int, int]:
    """Return the range from low to high with the counts that must be looked at whatever the release says."""
    least, most = prior.likely
    return (min(low, least), max(high, most)) if least <= most else (low, high)


def record_prior(records: Any) -> RecordPrior:
    """Read ``infer(records=...)``: None, a tuple (low, high), or an array of weights on 0, 1, 2, ..."""
    if records is None:
        return RecordPrior()
    if isinstance(records, tuple):
        if len(records) != 2 or not all(isinstance(v, int | np.integer) for v in records):
            raise UsageError("records must be a tuple (low, high) of whole numbers, or an array of weights.")
        low, high = (int(v) for v in records)
        if not 0 <= low <= high:
            raise UsageError(f"records must satisfy 0 <= low <= high, got records=({low}, {high}).")
        return RecordPrior(low, high)
    if not isinstance(records, np.ndarray | Sequence) or isinstance(records, str):
        raise UsageError("records must be a tuple (low, high) of whole numbers, or an array of weights.")
    weights = read_weights(records, "records")
    heavy = np.flatnonzero(weights)
    low, high = int(heavy[0]), int(heavy[-1])
    return RecordPrior(low, high, weights[low : high + 1])
