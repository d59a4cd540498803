"""Readings with normal noise: one kernel in S, and a table of weights on u."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from discreet.errors import OutOfReachError
from discreet.inference.engines.scalar.series import table_sum
from discreet.inference.engines.scalar.series_kernels import DEPTH, Block, SumReading, SumWindow
from discreet.inference.record_prior import CountPrior, capped, closest, widened

# Numbers of records in a table of weights, and how many of them stand for all where precision is no matter.
_MOST_RECORDS, _SAMPLE = 50_000, 128


@dataclass(frozen=True)
class NormalSum(SumReading):
    """exp(-(S - y)^2 / 2 sigma^2), with weights on u = low, low + 1, ... in a table."""

    y: float
    sigma: float
    low: int
    log_weights: np.ndarray
    beta = np.inf

    def reach(self) -> float:
        return self.sigma * float(np.sqrt(2 * DEPTH))

    def records(self, tilt: np.ndarray, log_x: np.ndarray) -> Block:
        return self.low, self.low + self.log_weights.size - 1

    def all_records(self, low: int, high: int) -> bool:
        # the table was made with room to spare
        return True

    def _series(self, log_x: np.ndarray, log_c: np.ndarray | float, low: int, high: int) -> np.ndarray:
        if self.log_weights.size == 1:
            return np.exp(log_c + self.low * log_x + self.log_weights[0])
        return table_sum(log_x, log_c, low, self.log_weights[low - self.low : high - self.low + 1])

    def log_total(self, log_x: np.ndarray, tilt: np.ndarray) -> np.ndarray:
        # weights vary slowly from one u to the next, if there are many: some of them will do for what is only a scale
        stride = -(-self.log_weights.size // _SAMPLE)
        # but for the last one, which a prior on missing values may favor
        u = np.append(np.arange(0, self.log_weights.size - 1, stride), self.log_weights.size - 1)
        terms = self.log_weights[u] + (u + self.low) * log_x[..., None]
        peak = terms.max(axis=-1)
        share = np.exp(terms - peak[..., None])
        return peak + np.log(stride * share[..., :-1].sum(axis=-1) + share[..., -1])

    def log_noise_transform(self, tilt: np.ndarray) -> np.ndarray:
        return (tilt * self.sigma) ** 2 / 2

    def coefficients(
        self, s: np.ndarray, log_x: np.ndarray, log_c: np.ndarray, block: Block, window: SumWindow
    ) -> np.ndarray:
        log_c = log_c + (s * self.sigma) ** 2 / 2 + np.log(self.sigma * np.sqrt(2 * np.pi))
        smooth = self._series(log_x, log_c, *block)
        if not window.step or self.sigma > 2 * window.step:
            return smooth
        # on a coarse lattice the kernel is a sum of few points, divided here by the integral it replaces
        n = ceil(self.reach() / window.step) + 1
        center = np.round(-np.real(s[:, :1, None]) * self.sigma**2 / window.step)
        x = window.first_right + window.step * (center + np.arange(-n, n + 1))
        log_point = -s[..., None] * x - x**2 / (2 * self.sigma**2)
        integral = self.log_noise_transform(s) + np.log(self.sigma * np.sqrt(2 * np.pi))
        return smooth * window.step * np.exp(log_point - integral[..., None]).sum(axis=-1)


def normal_counted(y: float, sigma: float, count: float, count_sigma: float, prior: CountPrior) -> NormalSum:
    """Return the reading of a sum and of a number of records, each with its own noise."""
    center = closest(prior, count)
    # the log weight is a parabola around the reading; from the nearest possible count it falls by at least this much
    reach = count_sigma * np.sqrt(2 * DEPTH)
    # sums beyond the count speak for more records than it: leave room for that
    reach = reach + max(0.0, abs(y) - max(count, 0.0))
    low, high = max(prior.low, floor(center - reach)), capped(prior, ceil(center + reach))
    low, high = widened(prior, low, high)
    if high - low > _MOST_RECORDS:
        raise OutOfReachError(
            f"the exact engine sums over at most {_MOST_RECORDS:,} numbers of records, and these readings leave more."
        )
    u = np.arange(low, high + 1)
    log_weights = prior.log_mass(u) - (u - count) ** 2 / (2 * count_sigma**2)
    return NormalSum(y, sigma, low, log_weights - log_weights.max())
