"""Readings with Laplace noise: kernels that are exponential on either side, in S and in u."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, log

import numpy as np

from discreet.inference.engines.scalar.log_linear import Pieces
from discreet.inference.engines.scalar.series import flat_sum, power_sum, table_sum
from discreet.inference.engines.scalar.series_kernels import (
    DEPTH,
    Block,
    SumReading,
    SumWindow,
    gap,
    likely_range,
)
from discreet.inference.record_prior import CountPrior, RecordPrior, capped, closest, widened

# Numbers of records that are summed one by one.
_MOST_TABLED = 4096
# How far a prior on them may differ, in logs, from the pieces that stand for it: in sums, and for a sense of size.
_FINE, _ROUGH = 5e-4, 0.2
_CIRCLE = np.exp(2j * np.pi * (np.arange(32) + 0.5) / 32)


@dataclass(frozen=True)
class LaplaceSum(SumReading):
    """exp(-beta |S - y|), with u known or read with Laplace noise of the same kind, exp(-count_beta |u - count|)."""

    y: float
    beta: float
    n: int
    count: float | None
    count_beta: float

    def records(self, tilt: np.ndarray, log_x: np.ndarray) -> Block:
        if self.count is None:
            return self.n, self.n
        center = int(np.clip(round(self.count), 0, self.n))
        return likely_range(center, self.count_beta, self.count_beta, log_x, 0, self.n)

    def all_records(self, low: int, high: int) -> bool:
        return self.count is None or (low == 0 and high == self.n)

    def _series(self, log_x: np.ndarray, log_c: np.ndarray | float, low: int, high: int) -> np.ndarray:
        if self.count is None:
            return np.exp(log_c + self.n * log_x)
        # numbers of records are counted from near the reading, where there may be billions of them
        turn, beta = floor(self.count), self.count_beta
        origin = int(np.clip(turn, low, high))
        log_c, ahead = log_c + origin * log_x, self.count - origin
        total = np.zeros(log_x.shape, dtype=log_x.dtype)
        if low <= turn:
            total = total + flat_sum(
                log_x + beta, log_c - beta * ahead, low - origin, min(turn, high) - origin
            )
        if high > turn:
            total = total + flat_sum(
                log_x - beta, log_c + beta * ahead, max(turn + 1, low) - origin, high - origin
            )
        return total

    def log_total(self, log_x: np.ndarray, tilt: np.ndarray) -> np.ndarray:
        if self.count is None:
            return self.n * log_x
        # convex in u on either side of the reading, so the largest term is at one of these
        corners = (0.0, float(np.clip(self.count, 0, self.n)), float(self.n))
        height = np.max([u * log_x - self.count_beta * abs(u - self.count) for u in corners], axis=0)
        return np.log(self._series(log_x, -height, 0, self.n)) + height

    def coefficients(
        self, s: np.ndarray, log_x: np.ndarray, log_c: np.ndarray, block: Block, window: SumWindow
    ) -> np.ndarray:
        kernel = self._side(s, window, right=True) + self._side(-s, window, right=False)
        return kernel * self._series(log_x, log_c, *block)

    def _side(self, s: np.ndarray, window: SumWindow, *, right: bool) -> np.ndarray:
        first, last = (window.first_right, window.right) if right else (window.first_left, window.left)
        rate = self.beta + s
        rate = np.where(np.abs(rate) < 1e-9 * self.beta, 1e-9 * self.beta, rate)
        ends = np.exp(-rate * first) - np.exp(-rate * last[:, None])
        return ends * window.inverse(rate)

    def distance(self, block: Block) -> float:
        return 0.0 if self.count is None else gap(self.count, block)

    def clearance(self, block: Block) -> float:
        return 0.0

    def one_sided(self, log_x: np.ndarray, log_c: np.ndarray, block: Block) -> np.ndarray:
        return self._series(log_x, log_c, *block)


@dataclass(frozen=True)
class LaplaceCounted(LaplaceSum):
    """The same with u read, and a prior on it that need not be flat.

    Up to some thousand numbers of records are summed in a table. For more, the prior is taken as exponential on pieces,
    which changes it by less than a thousandth.
    """

    count: float
    prior: CountPrior

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces.of(self.prior, [floor(self.count) + 1], _FINE)

    @cached_property
    def _rough(self) -> Pieces:
        return Pieces.of(self.prior, [floor(self.count) + 1], _ROUGH)

    def records(self, tilt: np.ndarray, log_x: np.ndarray) -> Block:
        center, prior = closest(self.prior, self.count), self.prior
        found = likely_range(center, self.count_beta, self.count_beta, log_x, prior.low, prior.high)
        low, high = widened(prior, *found)
        # none missing may have far more weight than any other number
        if (self.n - self.count) * self.count_beta < DEPTH + log(self.n + 1):
            high = max(high, prior.nearest(self.n, above=False) or 0)
        return low, high

    def all_records(self, low: int, high: int) -> bool:
        return low == self.prior.low and high == self.prior.high

    def _series(self, log_x: np.ndarray, log_c: np.ndarray | float, low: int, high: int) -> np.ndarray:
        if high - low >= _MOST_TABLED:
            return self._pieces.sum(log_x, log_c, low, high, (self.count, self.count_beta))
        u = np.arange(low, high + 1)
        log_weights = self.prior.log_mass(u) - self.count_beta * np.abs(u - self.count)
        return table_sum(log_x, log_c, low, log_weights)

    def log_total(self, log_x: np.ndarray, tilt: np.ndarray) -> np.ndarray:
        rough = self._rough
        u = np.concatenate([rough.first, rough.last])
        log_weights = np.concatenate(
            [rough.log_first, rough.log_first + rough.slope * (rough.last - rough.first)]
        )
        terms = log_weights - self.count_beta * np.abs(u - self.count)
        height = np.max(terms + u * log_x[..., None], axis=-1)
        total = rough.sum(log_x, -height, self.prior.low, u.max(), (self.count, self.count_beta))
        return np.log(np.maximum(total, 1e-300)) + height


@dataclass(frozen=True)
class LaplaceCells(SumReading):
    """Laplace noise on both cells, (u - S) / 2 and (u + S) / 2: exp(-beta max(|u - total|, |S - y|)).

    For any real p and q, |p + q| / 2 + |p - q| / 2 = max(|p|, |q|).
    """

    shares_window = True
    y: float
    total: float
    beta: float
    prior: RecordPrior

    def records(self, tilt: np.ndarray, log_x: np.ndarray) -> Block:
        center = closest(self.prior, self.total)
        low, high = likely_range(
            center, self.beta - np.abs(tilt), self.beta, log_x, self.prior.low, self.prior.high
        )
        # a sum beyond the total speaks for more records
        beyond = ceil(max(0.0, abs(self.y) - max(self.total, 0.0)))
        return low, capped(self.prior, high + beyond)

    def all_records(self, low: int, high: int) -> bool:
        return low <= self.prior.low and self.prior.high is not None and high >= self.prior.high

    def _pieces(self, low: int, high: int, most: float) -> list[tuple[int, int, int]]:
        """Cut the range where |u - total| turns and where it exceeds ``most``; the last entry is its slope, or 0."""
        turn = floor(self.total)
        most = min(most, abs(self.total) + high + 1)
        inner_low, inner_high = ceil(self.total - most), floor(self.total + most)
        pieces = [
            (low, min(high, inner_low - 1), 0),
            (max(low, inner_low), min(high, turn), -1),
            (max(low, turn + 1), min(high, inner_high), 1),
            (max(low, inner_high + 1), high, 0),
        ]
        return [piece for piece in pieces if piece[0] <= piece[1]]

    def log_total(self, log_x: np.ndarray, tilt: np.ndarray) -> np.ndarray:
        # tilting S by exp(-tilt x) flattens what the kernel says of u: exp(-(beta - |tilt|) |u - total|)
        beta = self.beta - np.abs(tilt)
        low, high = self.records(tilt, log_x)
        corners = (float(low), float(np.clip(self.total, low, high)), float(high))
        shift = self._origin * log_x
        height = np.max([u * log_x - beta * abs(u - self.total) for u in corners], axis=0) - shift
        total = np.zeros(log_x.shape)
        for a, b, slope in self._pieces(low, high, np.inf):
            rate = slope * beta
            total = total + self._sum(log_x - rate, rate * (self.total - self._origin) - height, a, b)
        # with no end to u, the sum may diverge
        endless = (self.prior.high is None) & (log_x >= beta)
        return np.where(endless, np.inf, np.log(np.maximum(total, 1e-300)) + height + shift)

    def coefficients(
        self, s: np.ndarray, log_x: np.ndarray, log_c: np.ndarray, block: Block, window: SumWindow
    ) -> np.ndarray:
        # at s = 0 and s = +-beta the formula has singularities that cancel: there, its mean over a circle
        nearest = np.min([np.abs(s), np.abs(s - self.beta), np.abs(s + self.beta)], axis=0)
        row, column = np.nonzero(nearest < 1e-3 * self.beta)
        away = s.copy()
        away[row, column] += (3e-3 + 1e-3j) * self.beta
        value = self._formula(away, log_x, log_c, block, window)
        if row.size:
            at = window.rows(row)
            radius = np.minimum(self.beta / 4, 4 / np.maximum(at.right, at.left))
            circle = s[row, column, None] + radius[:, None] * _CIRCLE
            log_x, log_c = log_x[row, column, None] + 0 * circle, log_c[row, column, None]
            value[row, column] = self._formula(circle, log_x, log_c, block, at).mean(axis=1)
        return value

    def _formula(
        self, s: np.ndarray, log_x: np.ndarray, log_c: np.ndarray, block: Block, window: SumWindow
    ) -> np.ndarray:
        beta, origin = self.beta, self._origin
        # numbers of records are counted from near the reading, where there may be billions of them
        log_c, ahead = log_c + origin * log_x, self.total - origin
        right, left = window.right[:, None], window.left[:, None]
        most = float(min(window.right.min(), window.left.min())) - window.step
        total = np.zeros(s.shape, dtype=complex)
        # the part cut off at the window's ends, less its slowest decay, which belongs into the exponent of the sum
        slowest = (beta - np.abs(np.real(s))) * np.minimum(right, left)
        edge = np.exp(slowest - (beta + s) * right) * window.inverse(beta + s)
        edge = edge + np.exp(slowest - (beta - s) * left) * window.inverse(beta - s)
        for a, b, slope in self._pieces(*block, most):
            if slope == 0:
                # |u - total| exceeds all of the window: the kernel is flat there
                sign = -1 if b < self.total else 1
                log_w = log_c + sign * beta * ahead
                for side, end in ((1, right), (-1, left)):
                    flat = self._sum(log_x - sign * beta, log_w - side * s * end, a, b)
                    total -= flat * window.inverse(side * s)
                continue
            gap = slope * (a - self.total)
            for sign, first in ((1, window.first_right), (-1, window.first_left)):
                # from |u - total| to the next lattice point
                rest = (first - gap) % window.step if window.step else 0.0
                rate = beta + sign * s
                factor = np.exp(-rate * rest) * window.inverse(rate) - np.exp(
                    -sign * s * rest
                ) * window.inverse(sign * s)
                total += factor * self._sum(log_x - slope * rate, log_c + slope * rate * ahead, a, b)
            total -= edge * self._sum(log_x, log_c - slowest, a, b)
        return total

    def distance(self, block: Block) -> float:
        return gap(self.total, block)

    def clearance(self, block: Block) -> float:
        return max(abs(u - self.total) for u in block)

    def one_sided(self, log_x: np.ndarray, log_c: np.ndarray, block: Block) -> np.ndarray:
        return self._sum(log_x, log_c + self._origin * log_x, *block)

    @property
    def _origin(self) -> int:
        return max(round(self.total), 0)

    def _sum(self, log_x: np.ndarray, log_c: np.ndarray | float, low: int, high: int) -> np.ndarray:
        return power_sum(self.prior, log_x, log_c, low, high, self._origin)
