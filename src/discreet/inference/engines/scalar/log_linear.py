"""A prior on the usable count as pieces on which it is exponential, so that its power series have closed forms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.inference.engines.scalar.series import flat_sum
from discreet.inference.record_prior import CountPrior

# Where within a piece its deviation from the prior is looked at.
_CHECKED = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


@dataclass(frozen=True)
class Pieces:
    """On first, ..., last of each piece the log weight is ``log_first`` plus ``slope`` times the way from first."""

    first: np.ndarray
    last: np.ndarray
    log_first: np.ndarray
    slope: np.ndarray

    @classmethod
    def of(cls, prior: CountPrior, cuts: list[int], most_error: float) -> Pieces:
        """Cut the range of a prior until its log differs from a line by at most ``most_error`` on every piece.

        The logs agree at both ends of a piece. ``cuts`` are counts at which pieces begin; those that the prior rules
        out are left out, as are all it gives no weight.
        """
        assert prior.high is not None
        marks = np.concatenate([prior.nodes, cuts])
        edges = np.unique(marks[(marks >= prior.low) & (marks <= prior.high)].astype(np.int64))
        low, high = edges[:-1], edges[1:]
        kept: list[tuple[np.ndarray, np.ndarray]] = [(edges[-1:], edges[-1:])]
        while low.size:
            inside = np.round(low + (high - low) * _CHECKED[:, None])
            with np.errstate(invalid="ignore"):
                ends = prior.log_mass(low), prior.log_mass(high)
                line = ends[0] + (ends[1] - ends[0]) * (inside - low) / (high - low)
                off = np.abs(prior.log_mass(inside) - line).max(axis=0)
                straight = (high - low <= 1) | (off <= most_error)
            kept.append((low[straight], high[straight] - 1))
            low, high = low[~straight], high[~straight]
            middle = (low + high) // 2
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        first, last = (np.concatenate(part) for part in zip(*kept, strict=True))
        log_first, after = prior.log_mass(first), prior.log_mass(np.minimum(last + 1, edges[-1]))
        steps = np.maximum(last + 1 - first, 1)
        with np.errstate(invalid="ignore"):
            slope = np.where(first == last, 0.0, (after - log_first) / steps)
        some = np.isfinite(log_first)
        order = np.flatnonzero(some)[np.argsort(first[some])]
        return cls(first[order], last[order], log_first[order], slope[order])

    def sum(
        self,
        log_x: np.ndarray,
        log_c: np.ndarray | float,
        low: int,
        high: int,
        peak: tuple[float, float],
    ) -> np.ndarray:
        """Return c times the sum over u = low, ..., high of x^u, these weights, and exp(-beta |u - count|).

        ``peak`` is (count, beta). Pieces must begin next to the count.
        """
        count, beta = peak
        total = np.zeros(np.broadcast_shapes(np.shape(log_x), np.shape(log_c)), dtype=np.asarray(log_x).dtype)
        first, last = np.maximum(self.first, low), np.minimum(self.last, high)
        for i in np.flatnonzero(first <= last):
            a, b = int(first[i]), int(last[i])
            # numbers of records are counted from near the reading, where there may be billions of them
            rate = float(self.slope[i]) + (beta if b <= count else -beta)
            start = self.log_first[i] + self.slope[i] * (a - self.first[i]) - beta * abs(a - count)
            total = total + flat_sum(log_x + rate, log_c + a * log_x + start, 0, b - a)
        return total
