r"""A band that the empirical distribution function of a uniform sample stays inside as a whole.

At each point z_i = i / K, 0 < i < K, the count of values up to z_i is Binomial(N, z_i). The band at level gamma is its
central interval of probability 1 - gamma, at every point; gamma is chosen so that all intervals hold *together* with
the probability asked for. That probability is computed exactly. The counts are those of a Poisson process with N
expected points, given that there are N, so the path of counts is a sum of independent Poisson steps:

    P(all inside) = P(steps stay inside and end at N) / P(Poisson(N) = N),

one short convolution for each point.

References
----------
Säilynoja, Bürkner and Vehtari (2022), "Graphical test for discrete uniformity and its applications in goodness-of-fit
evaluation and multiple sample comparison", Statistics and Computing 32. Moscovich and Nadler (2017), "Fast calculation
of boundary crossing probabilities for Poisson processes", Statistics and Probability Letters 123.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.arguments import probability

# Points at which the band is drawn and checked; more change neither the picture nor the level that is needed by much.
_MOST_POINTS = 200
# Bisection steps on the logarithm of gamma. The probability moves in jumps, because counts do; this finds the jump.
_STEPS = 30


@dataclass(frozen=True)
class Band:
    """Lower and upper limits of an empirical distribution function at each of ``points``, both included."""

    points: np.ndarray
    low: np.ndarray
    high: np.ndarray
    prob: float

    def holds(self, values: np.ndarray) -> bool:
        """Tell whether the empirical distribution function of ``values`` stays inside at every point."""
        found = empirical(values, self.points)
        # counts divided by N: half a count is beyond any rounding
        slack = 0.5 / len(values)
        return bool(((found >= self.low - slack) & (found <= self.high + slack)).all())


def empirical(values: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the share of ``values`` up to each of ``points``."""
    return np.searchsorted(np.sort(values), points, side="right") / len(values)


def simultaneous_band(size: int, prob: float = 0.95) -> Band:
    """Return the band that holds the whole empirical distribution function of ``size`` uniform values.

    The narrowest band of its kind whose probability is at least ``prob``.
    """
    points, low, high = _limits(size, probability(prob, "prob"))
    return Band(points, low / size, high / size, prob)


@lru_cache(maxsize=64)
def _limits(size: int, prob: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    points = np.arange(1, min(size, _MOST_POINTS)) / min(size, _MOST_POINTS)
    # one point alone needs 1 - prob; K points together never more than Bonferroni asks for
    loose, tight = np.log(1 - prob), np.log((1 - prob) / max(len(points), 1)) - 1e-9
    limits = _pointwise(size, points, np.exp(tight))
    for _ in range(_STEPS):
        middle = (loose + tight) / 2
        tried = _pointwise(size, points, np.exp(middle))
        if probability_inside(size, *tried) >= prob:
            tight, limits = middle, tried
        else:
            loose = middle
    for array in (points, *limits):
        array.flags.writeable = False
    return points, *limits


def _pointwise(size: int, points: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the central interval of probability at least 1 - gamma of each binomial count."""
    from scipy.stats import binom

    low = binom.ppf(gamma / 2, size, points)
    high = binom.isf(gamma / 2, size, points)
    return low.astype(np.int64), high.astype(np.int64)


def probability_inside(size: int, low: np.ndarray, high: np.ndarray) -> float:
    """Return the probability that ``size`` uniform values have counts in [low, high] at equally spaced points.

    ``low`` and ``high`` are for the points i / K with 0 < i < K, where K is one more than their length.
    """
    from scipy.stats import poisson

    if (low > high).any():
        return 0.0
    k = len(low) + 1
    step = poisson.pmf(
        np.arange(int(np.max(high - np.concatenate([[0], low[:-1]]), initial=0)) + 1), size / k
    )
    start, mass = 0, np.ones(1)
    for first, last in zip(low, high, strict=True):
        wider = np.convolve(mass, step)
        inside = np.zeros(last - first + 1)
        # counts never fall, so the path cannot be below where it was
        begin = max(first, start)
        piece = wider[begin - start : last - start + 1]
        inside[begin - first : begin - first + len(piece)] = piece
        start, mass = int(first), inside
    rest = poisson.pmf(size - (start + np.arange(len(mass))), size / k)
    return float(mass @ rest / poisson.pmf(size, size))
