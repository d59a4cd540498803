"""What a release says of the sum of z and of the number of usable records, as kernels that invert transforms.

A reading is the likelihood of the latent pair (u, S): u usable records whose z sum to S. It is a function of S - y,
known on a window around y that holds all of S; its Fourier coefficients on that window, tilted by exp(-s x) with
complex s, are elementary, and so is their dependence on u. On a lattice of sums, integrals become geometric series.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import ClassVar

import numpy as np

from discreet.artifact import Release
from discreet.errors import EngineError
from discreet.inference.records import RecordPrior
from discreet.inference.scalar.series import flat_sum, power_sum, table_sum
from discreet.privacy import DiscreteGaussian, DiscreteLaplace

#: Log of what is neglected of the noise on a count.
DEPTH = 27.0
# The first block of small numbers of records, and how much longer each next one is.
_FIRST_BLOCK, _GROWTH = 16, 4
# Numbers of records in a table of weights, and how many of them stand for all where precision is no matter.
_MOST_RECORDS, _SAMPLE = 50_000, 128
# Readings of two cells whose sum must not be negative, in scales of their noise.
_CONTRADICTION = 100.0
_CIRCLE = np.exp(2j * np.pi * (np.arange(32) + 0.5) / 32)


@dataclass(frozen=True)
class Window:
    """Half widths right and left of y, offsets of the nearest lattice points, and the lattice's step (0 for none)."""

    right: np.ndarray
    left: np.ndarray
    first_right: float
    first_left: float
    step: float

    @classmethod
    def around(cls, y: float, reach: np.ndarray, lattice: float | None) -> Window:
        """Return windows that reach at least so far on both sides; on a lattice they hold an odd number of points."""
        if lattice is None:
            return cls(reach, reach, 0.0, 0.0, 0.0)
        first_right = ceil(y / lattice) * lattice - y
        first_left = lattice - first_right
        n = np.ceil(reach / lattice) + 1
        return cls(
            first_right + n * lattice, first_left + (n - 1) * lattice, first_right, first_left, lattice
        )

    def rows(self, index: np.ndarray) -> Window:
        """Return some of the windows."""
        return replace(self, right=self.right[index], left=self.left[index])

    @property
    def length(self) -> np.ndarray:
        """Length of the circle that the window is wrapped on."""
        return self.right + self.left - self.step

    def inverse(self, rate: np.ndarray) -> np.ndarray:
        """Return the integral of exp(-rate x) over x > 0, or its sum over the lattice times the step."""
        return self.step / -np.expm1(-self.step * rate) if self.step else 1 / rate


class Reading(ABC):
    """The likelihood of (u, S), with S seen at ``y``."""

    y: float
    #: Whether all parameter values must share one window, because what is read of u depends on it.
    shares_window: ClassVar[bool] = False

    @property
    @abstractmethod
    def most_tilt(self) -> float:
        """Largest tilt for which the kernel stays bounded; infinite for normal noise."""

    @property
    def kinked(self) -> bool:
        """Whether the kernel has a kink, so that its transform decays slowly."""
        return np.isfinite(self.most_tilt)

    @abstractmethod
    def reach(self) -> float:
        """Return how far beyond the sums a window must extend."""

    @abstractmethod
    def records(self, tilt: np.ndarray, log_x: np.ndarray) -> tuple[int, int]:
        """Return the range of u that matters, if S is tilted and each record multiplies the likelihood by x."""

    @abstractmethod
    def all_records(self, low: int, high: int) -> bool:
        """Tell whether a range of u leaves no possible u out."""

    @abstractmethod
    def log_total(self, log_x: np.ndarray, tilt: np.ndarray) -> np.ndarray:
        """Return the log of the sum over u of x^u, x real, weighted by what the tilted reading says of u alone."""

    @abstractmethod
    def coefficients(
        self, s: np.ndarray, log_x: np.ndarray, log_c: np.ndarray, block: tuple[int, int], window: Window
    ) -> np.ndarray:
        """Return c times the sum over the block of x^u and the kernel's coefficient at s, times the window's length."""

    def distance(self, block: tuple[int, int]) -> float:
        """Return how far a block is from the number of records that was read, or 0 if that is not private."""
        return 0.0

    def clearance(self, block: tuple[int, int]) -> float:
        """Return how far from y all sums must stay for the kernel to be one-sided, exp(-most_tilt |S - y|)."""
        return np.inf

    def one_sided(self, log_x: np.ndarray, log_c: np.ndarray, block: tuple[int, int]) -> np.ndarray:
        """Return c times the sum over the block of x^u and what is read of u alone, x real."""
        raise NotImplementedError

    def log_noise_transform(self, tilt: np.ndarray) -> np.ndarray:
        """Return what a tilt adds to the log likelihood besides the records' part; only for normal noise."""
        return np.zeros_like(tilt)

    def blocks(self, tilt: np.ndarray, log_x: np.ndarray) -> list[tuple[int, int]]:
        """Cut the range of u into blocks: small numbers need high frequencies, large ones wide windows."""
        low, high = self.records(tilt, log_x)
        edges = [low]
        size = _FIRST_BLOCK
        while size < high:
            if size > low and (edges[-1] < size / 2):
                edges.append(size)
            size *= _GROWTH
        return [(a, b - 1) for a, b in zip(edges, [*edges[1:], high + 1], strict=True)]


@dataclass(frozen=True)
class LaplaceSum(Reading):
    """exp(-beta |S - y|), with u known or read with Laplace noise of the same kind, exp(-count_beta |u - count|)."""

    y: float
    beta: float
    n: int
    count: float | None
    count_beta: float

    @property
    def most_tilt(self) -> float:
        return self.beta

    def reach(self) -> float:
        return 0.0

    def records(self, tilt: np.ndarray, log_x: np.ndarray) -> tuple[int, int]:
        if self.count is None:
            return self.n, self.n
        center = int(np.clip(round(self.count), 0, self.n))
        return _range(center, self.count_beta * np.ones_like(log_x), self.count_beta, log_x, 0, self.n)

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
        self, s: np.ndarray, log_x: np.ndarray, log_c: np.ndarray, block: tuple[int, int], window: Window
    ) -> np.ndarray:
        kernel = self._side(s, window, right=True) + self._side(-s, window, right=False)
        return kernel * self._series(log_x, log_c, *block)

    def _side(self, s: np.ndarray, window: Window, *, right: bool) -> np.ndarray:
        first, last = (window.first_right, window.right) if right else (window.first_left, window.left)
        rate = self.beta + s
        rate = np.where(np.abs(rate) < 1e-9 * self.beta, 1e-9 * self.beta, rate)
        ends = np.exp(-rate * first) - np.exp(-rate * last[:, None])
        return ends * window.inverse(rate)

    def distance(self, block: tuple[int, int]) -> float:
        return 0.0 if self.count is None else _gap(self.count, block)

    def clearance(self, block: tuple[int, int]) -> float:
        return 0.0

    def one_sided(self, log_x: np.ndarray, log_c: np.ndarray, block: tuple[int, int]) -> np.ndarray:
        return self._series(log_x, log_c, *block)


@dataclass(frozen=True)
class LaplaceCells(Reading):
    """Laplace noise on both cells, (u - S) / 2 and (u + S) / 2: exp(-beta max(|u - total|, |S - y|)).

    For any real p and q, |p + q| / 2 + |p - q| / 2 = max(|p|, |q|).
    """

    shares_window: ClassVar[bool] = True
    y: float
    total: float
    beta: float
    prior: RecordPrior

    @property
    def most_tilt(self) -> float:
        return self.beta

    def reach(self) -> float:
        return 0.0

    def records(self, tilt: np.ndarray, log_x: np.ndarray) -> tuple[int, int]:
        center = _nearest(self.prior, self.total)
        low, high = _range(
            center, self.beta - np.abs(tilt), self.beta, log_x, self.prior.low, self.prior.high
        )
        # a sum beyond the total speaks for more records
        beyond = ceil(max(0.0, abs(self.y) - max(self.total, 0.0)))
        return low, high + beyond if self.prior.high is None else min(high + beyond, self.prior.high)

    def all_records(self, low: int, high: int) -> bool:
        return low <= self.prior.low and self.prior.high is not None and high >= self.prior.high

    def _pieces(self, low: int, high: int, most: float) -> list[tuple[int, int, int]]:
        """Cut the range where |u - total| turns and where it exceeds ``most``; the last entry is its slope, or 0."""
        turn = floor(self.total)
        most = min(most, abs(self.total) + high + 1)
        inner_low, inner_high = ceil(self.total - most), floor(self.total + most)
        pieces = []
        for a, b, slope in (
            (low, min(high, inner_low - 1), 0),
            (max(low, inner_low), min(high, turn), -1),
            (max(low, turn + 1), min(high, inner_high), 1),
            (max(low, inner_high + 1), high, 0),
        ):
            if a <= b:
                pieces.append((a, b, slope))
        return pieces

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
        self, s: np.ndarray, log_x: np.ndarray, log_c: np.ndarray, block: tuple[int, int], window: Window
    ) -> np.ndarray:
        # at s = 0 and s = +-beta the formula has singularities that cancel: there, its mean over a circle
        nearest = np.min([np.abs(s), np.abs(s - self.beta), np.abs(s + self.beta)], axis=0)
        row, column = np.nonzero(nearest < 1e-3 * self.beta)
        away = s.copy()
        away[row, column] += 1e-3 * self.beta
        value = self._formula(away, log_x, log_c, block, window)
        if row.size:
            at = window.rows(row)
            radius = np.minimum(self.beta / 4, 4 / np.maximum(at.right, at.left))
            circle = s[row, column, None] + radius[:, None] * _CIRCLE
            log_x, log_c = log_x[row, column, None] + 0 * circle, log_c[row, column, None]
            value[row, column] = self._formula(circle, log_x, log_c, block, at).mean(axis=1)
        return value

    def _formula(
        self, s: np.ndarray, log_x: np.ndarray, log_c: np.ndarray, block: tuple[int, int], window: Window
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

    def distance(self, block: tuple[int, int]) -> float:
        return _gap(self.total, block)

    def clearance(self, block: tuple[int, int]) -> float:
        return max(abs(u - self.total) for u in block)

    def one_sided(self, log_x: np.ndarray, log_c: np.ndarray, block: tuple[int, int]) -> np.ndarray:
        return self._sum(log_x, log_c + self._origin * log_x, *block)

    @property
    def _origin(self) -> int:
        return max(round(self.total), 0)

    def _sum(self, log_x: np.ndarray, log_c: np.ndarray | float, low: int, high: int) -> np.ndarray:
        return power_sum(self.prior, log_x, log_c, low, high, self._origin)


@dataclass(frozen=True)
class NormalSum(Reading):
    """exp(-(S - y)^2 / 2 sigma^2), with weights on u = low, low + 1, ... in a table."""

    y: float
    sigma: float
    low: int
    log_weights: np.ndarray

    @property
    def most_tilt(self) -> float:
        return np.inf

    def reach(self) -> float:
        return self.sigma * float(np.sqrt(2 * DEPTH))

    def records(self, tilt: np.ndarray, log_x: np.ndarray) -> tuple[int, int]:
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
        u = np.arange(0, self.log_weights.size, stride)
        terms = self.log_weights[u] + (u + self.low) * log_x[..., None]
        peak = terms.max(axis=-1)
        return peak + np.log(stride * np.exp(terms - peak[..., None]).sum(axis=-1))

    def log_noise_transform(self, tilt: np.ndarray) -> np.ndarray:
        return (tilt * self.sigma) ** 2 / 2

    def coefficients(
        self, s: np.ndarray, log_x: np.ndarray, log_c: np.ndarray, block: tuple[int, int], window: Window
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
        integral = (s * self.sigma) ** 2 / 2 + np.log(self.sigma * np.sqrt(2 * np.pi))
        return smooth * window.step * np.exp(log_point - integral[..., None]).sum(axis=-1)


def _gap(count: float, block: tuple[int, int]) -> float:
    return max(block[0] - count, count - block[1], 0.0)


def _nearest(prior: RecordPrior, count: float) -> int:
    """Return the possible number of records nearest to a reading."""
    sides = prior.nearest(count, above=True), prior.nearest(count, above=False)
    return min((u for u in sides if u is not None), key=lambda u: abs(u - count))


def _range(
    center: int, beta: np.ndarray, most: float, log_x: np.ndarray, lowest: int, highest: int | None
) -> tuple[int, int]:
    """Return where the weights exp(-beta |u - center|) x^u are not negligible; beta is between 0 and ``most``."""
    up = DEPTH / max(float((beta - log_x).min()), 1e-2 * most)
    down = DEPTH / max(float((beta + log_x).min()), 1e-2 * most)
    low, high = max(lowest, center - ceil(down) - 1), center + ceil(up) + 1
    return low, high if highest is None else min(high, highest)


def reading_of(release: Release, records: RecordPrior) -> Reading:
    """Return what a release of one bounded statistic says."""
    values = [v * float(g) for v, g in zip(release.statistics.values, release.statistics.grid, strict=True)]
    widths = [_width(law, float(g)) for law, g in zip(release.noise, release.statistics.grid, strict=True)]
    laplace = isinstance(release.noise[0], DiscreteLaplace)
    n = release.records
    if n is None:
        total, y, width = values[0] + values[1], values[1] - values[0], max(widths)
        if laplace:
            if abs(y) - max(total, 0.0) > _CONTRADICTION * width:
                raise EngineError(
                    "the two readings contradict each other by more than noise of their scale could explain."
                )
            return LaplaceCells(y, total, 1 / width, records)
        # both cells seen with sigma: their sum and their difference, with sigma sqrt(2) each, independently
        return _normal_counted(y, width * 2**0.5, total, width * 2**0.5, records)
    y, width = values[0], widths[0]
    if laplace:
        counted = len(values) > 1
        return LaplaceSum(y, 1 / width, n, values[1] if counted else None, 1 / widths[-1] if counted else 1.0)
    if len(values) == 1:
        return NormalSum(y, width, n, np.zeros(1))
    return _normal_counted(y, width, values[1], widths[1], RecordPrior(0, n))


def _normal_counted(
    y: float, sigma: float, count: float, count_sigma: float, prior: RecordPrior
) -> NormalSum:
    center = _nearest(prior, count)
    # the log weight is a parabola around the reading; from the nearest possible count it falls by at least this much
    reach = count_sigma * np.sqrt(2 * DEPTH)
    # sums beyond the count speak for more records than it: leave room for that
    reach = reach + max(0.0, abs(y) - max(count, 0.0))
    low, high = max(prior.low, floor(center - reach)), ceil(center + reach)
    high = high if prior.high is None else min(high, prior.high)
    if high - low > _MOST_RECORDS:
        raise EngineError(
            f"the exact engine sums over at most {_MOST_RECORDS:,} numbers of records, and these readings leave more."
        )
    u = np.arange(low, high + 1)
    log_weights = prior.log_mass(u) - (u - count) ** 2 / (2 * count_sigma**2)
    return NormalSum(y, sigma, low, log_weights - log_weights.max())


def _width(law: object, grid: float) -> float:
    """Return the noise's scale (Laplace) or sigma (normal) in mapped units."""
    if isinstance(law, DiscreteLaplace):
        return law.scale * grid
    assert isinstance(law, DiscreteGaussian)
    return law.sigma * grid
