"""What draws of bin probabilities say about the distribution function: values, quantiles, a simultaneous band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import numbers, probability, shown
from discreet.errors import UsageError


@dataclass(frozen=True)
class QuantileInterval:
    """One quantile: level, median bin's edges, and an interval rounded outward to bin edges."""

    level: float
    low: float
    high: float
    median: tuple[float, float]


@dataclass(frozen=True)
class Band:
    """A band that holds the whole distribution function at the inner bin edges with the stated probability."""

    edges: np.ndarray
    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Shares:
    """Intervals for P(X <= x) at each x. Between two edges of bins they hold whatever lies within the bin."""

    x: np.ndarray
    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, eq=False)
class Distribution:
    """Draws of a column's distribution: ``p`` of the population and ``counts`` of the table, draws × bins."""

    edges: np.ndarray
    p: np.ndarray
    counts: np.ndarray

    def cdf(self, x: Any, prob: float = 0.95) -> Shares:
        """Return intervals for the share of the population at or below each ``x``."""
        at = np.atleast_1d(numbers(x, "x", finite=False))
        if at.ndim != 1 or np.isnan(at).any():
            raise UsageError(f"x must be a number or a list of numbers, got x={shown(x)}.")
        tails = (1 - probability(prob, "prob")) / 2
        lower, upper = cdf(self.p, self.edges, at)
        return Shares(
            at,
            np.quantile(lower, tails, axis=0),
            np.quantile(0.5 * (lower + upper), 0.5, axis=0),
            np.quantile(upper, 1 - tails, axis=0),
        )

    def quantiles(self, levels: Any, prob: float = 0.95) -> list[QuantileInterval]:
        """Return an interval for the quantile at each level, rounded outward to edges of bins."""
        at = np.atleast_1d(numbers(levels, "levels"))
        if at.ndim != 1 or not at.size or not ((at > 0) & (at < 1)).all():
            raise UsageError(
                f"levels must lie between 0 and 1, got levels={shown(levels)}.", hint="the median is 0.5"
            )
        return quantiles(self.p, self.edges, at, probability(prob, "prob"))

    def band(self, prob: float = 0.95) -> Band:
        """Return a band that holds the whole distribution function, at the inner edges, with this probability."""
        return band(self.p, self.counts, self.edges, probability(prob, "prob"))


def cdf(p: np.ndarray, edges: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return draws of lower and upper bounds of P(X <= x), shape (n_draws, len(x)).

    They agree at bin edges, which belong to the bins below them; but the lowest edge belongs to the first bin.
    """
    inner = np.minimum(np.cumsum(p[:, :-1], axis=1), 1.0)
    below = np.concatenate([np.zeros((p.shape[0], 1)), inner, np.ones((p.shape[0], 1))], axis=1)
    x = np.atleast_1d(np.asarray(x, dtype=float))
    first = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, edges.size - 1)
    last = np.clip(np.searchsorted(edges, x, side="left"), x == edges[0], edges.size - 1)
    return below[:, np.where(x < edges[0], 0, first)], below[
        :, np.where(x >= edges[-1], edges.size - 1, last)
    ]


def quantiles(
    p: np.ndarray, edges: np.ndarray, levels: np.ndarray, prob: float = 0.95
) -> list[QuantileInterval]:
    """Return intervals for quantiles, rounded outward to bin edges.

    A draw knows in which bin its quantile lies and no more: real columns have atoms, and interpolation inside a bin
    would pretend to know where they are.
    """
    total = np.cumsum(p, axis=1)
    out = []
    for level in np.atleast_1d(levels):
        bin_of = np.minimum((total < level).sum(axis=1), p.shape[1] - 1)
        low, middle, high = np.quantile(bin_of, [(1 - prob) / 2, 0.5, (1 + prob) / 2], method="inverted_cdf")
        out.append(
            QuantileInterval(
                float(level),
                float(edges[low]),
                float(edges[high + 1]),
                (float(edges[middle]), float(edges[middle + 1])),
            )
        )
    return out


def band(p: np.ndarray, counts: np.ndarray, edges: np.ndarray, prob: float = 0.95) -> Band:
    """Return a band around the posterior median, at the inner bin edges.

    Distances are measured on the logit scale in units of the posterior's spread to either side, because far tails are
    skewed, and the band holds the share ``prob`` of the draws at all edges at once. Draws of a probability are never
    0 or 1; where the table itself may well have no record on one side of an edge, the band reaches that end.
    """
    total = np.cumsum(p, axis=1)[:, :-1]
    if total.shape[1] == 0:
        return Band(edges[1:-1], np.empty(0), np.empty(0), np.empty(0))
    logit = np.log(np.clip(total, 1e-12, 1)) - np.log(np.clip(1 - total, 1e-12, 1))
    outer, middle, inner = np.quantile(logit, [0.025, 0.5, 0.975], axis=0)
    down, up = middle - outer + 1e-9, inner - middle + 1e-9
    distance = np.where(logit > middle, (logit - middle) / up, (middle - logit) / down)
    reach = np.quantile(distance.max(axis=1), prob)
    low, center, high = (1 / (1 + np.exp(-v)) for v in (middle - reach * down, middle, middle + reach * up))
    below = np.cumsum(counts, axis=1)
    none_below = (below[:, :-1] == 0).mean(axis=0)
    none_above = (below[:, :-1] == below[:, -1:]).mean(axis=0)
    rare = (1 - prob) / 10
    low, high = np.where(none_below > rare, 0.0, low), np.where(none_above > rare, 1.0, high)
    # a distribution function rises, so what holds at one edge bounds it at all others
    return Band(
        edges[1:-1],
        np.maximum.accumulate(low),
        center,
        np.minimum.accumulate(high[::-1])[::-1],
    )
