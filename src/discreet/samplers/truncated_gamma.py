"""Gamma distributions above a floor: exact draws by rejection, and the two numbers that tune a sampler built on them.

The distribution of shape a above a floor c has density t^(a-1) e^(-t) / Gamma(a, c) for t >= c. Draws come from
rejection alone, so no quantile function and no series has a part in what they are distributed as; :func:`mean_above`
and :func:`log_peak` are ordinary numerics, and only ever steer how often a proposal is accepted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import EllipsisType

import numpy as np
from scipy.special import exp1, gammaincc, gammaln, xlogy

Array = np.ndarray
Cells = Array | EllipsisType
Size = tuple[int, ...]

# Below this much mass the incomplete gamma function loses digits; the continued fraction takes over.
_LEAST_MASS = 1e-200
_DEPTH = 64
# Where less is left, an exponential tail is the better proposal for every shape.
_SOME_MASS = 0.01
# Below this shape Gamma(a, c) is its limit, the exponential integral, to double precision.
_TINY_SHAPE = 1e-12
# Where the exponential integral is about to underflow.
_FAR = 500.0
# From this shape on Stirling's series beats a difference of logarithms.
_LARGE_SHAPE = 100.0


def draw_above(shape: Array, floor: Array, rows: int, rng: np.random.Generator) -> Array:
    """Draw ``rows`` independent vectors, cell k from the gamma distribution of shape ``shape[k]`` above ``floor[k]``.

    Each cell is drawn by one of four rejections, and no proposal is accepted with less than one chance in three,
    wherever the floor is:

    ==================================  ==================================  ===========================
    the floor c is                      proposal                            accepted with probability
    ==================================  ==================================  ===========================
    0, or low, a > 1                    gamma of shape a                    1 above c
    high, a >= 1                        c + exponential of rate             exp(-(a-1)(z - log(1+z)))
                                        1 - (a-1)/c
    1 or more, a < 1                    c + exponential of rate 1           (1+z)^(a-1)
    between 0 and 1, a < 1              t^(a-1) on [c, 1] or e^(-t) beyond  e^(c-t), or t^(a-1)
    ==================================  ==================================  ===========================

    where z = (t - c) / c. Low and high are told apart by which of the two accepts more often.
    """
    power = (shape < 1) & (floor > 0) & (floor < 1)
    body = ~power & ((floor == 0) | ((shape >= 1) & _is_low(shape, floor)))
    kinds = ((body, _Body), (power, _Power), (~body & ~power, _Tail))
    parts = [
        (cells, _until_accepted(kind(shape[cells], floor[cells]), rows, rng))
        for cells, kind in kinds
        if cells.any()
    ]
    if len(parts) == 1:
        return parts[0][1]
    drawn = np.empty((rows, shape.size))
    for cells, part in parts:
        drawn[:, cells] = part
    return drawn


def _is_low(shape: Array, floor: Array) -> Array:
    mass = gammaincc(shape, floor)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        by_tail = (floor - shape + 1) / _edge(shape, floor, mass)
    # the median is above a - 1; far out the comparison would be between underflows
    return (floor <= shape - 1) | ((mass > _SOME_MASS) & (mass >= by_tail))


class _Distribution(ABC):
    def __init__(self, shape: Array, floor: Array) -> None:
        self.shape, self.floor = shape, floor

    @abstractmethod
    def propose(self, cells: Cells, size: Size, rng: np.random.Generator) -> tuple[Array, Array]:
        """Make one proposal for each of the cells named, and say which of them are accepted."""


def _until_accepted(distribution: _Distribution, rows: int, rng: np.random.Generator) -> Array:
    n_cells = distribution.shape.size
    drawn, accepted = distribution.propose(..., (rows, n_cells), rng)
    drawn = drawn.ravel()
    missing = np.flatnonzero(~accepted)
    while missing.size:
        again, accepted = distribution.propose(missing % n_cells, (missing.size,), rng)
        drawn[missing[accepted]] = again[accepted]
        missing = missing[~accepted]
    return drawn.reshape(rows, n_cells)


class _Body(_Distribution):
    def propose(self, cells: Cells, size: Size, rng: np.random.Generator) -> tuple[Array, Array]:
        t = rng.standard_gamma(self.shape[cells], size)
        return t, t >= self.floor[cells]


class _Tail(_Distribution):
    def __init__(self, shape: Array, floor: Array) -> None:
        super().__init__(shape, floor)
        # log t^(a-1) lies below its tangent at the floor if a >= 1, and below its value there if a < 1
        self.slope = np.maximum(shape - 1, 0.0)
        self.width = 1 / (1 - self.slope / floor)
        self.exact = bool((shape == 1).all())

    def propose(self, cells: Cells, size: Size, rng: np.random.Generator) -> tuple[Array, Array]:
        c = self.floor[cells]
        t = rng.standard_exponential(size)
        t *= self.width[cells]
        if self.exact:
            t += c
            return t, np.ones(size, dtype=bool)
        z = t / c
        short = self.slope[cells] * z - (self.shape[cells] - 1) * np.log1p(z)
        t += c
        return t, rng.standard_exponential(size) >= short


class _Power(_Distribution):
    def __init__(self, shape: Array, floor: Array) -> None:
        super().__init__(shape, floor)
        self.lost = -np.expm1(shape * np.log(floor))  # 1 - c^a
        below = np.exp(-floor) * self.lost / shape
        self.share = below / (below + np.exp(-1.0))

    def propose(self, cells: Cells, size: Size, rng: np.random.Generator) -> tuple[Array, Array]:
        c, a = self.floor[cells], self.shape[cells]
        # t^a is uniform on [c^a, 1]; 1 - random() is never 0
        low = np.exp(np.log1p(-(1 - rng.random(size)) * self.lost[cells]) / a)
        low = np.clip(low, c, 1.0)
        high = 1 + rng.standard_exponential(size)
        inside = rng.random(size) < self.share[cells]
        short = np.where(inside, low - c, (1 - a) * np.log(high))
        return np.where(inside, low, high), rng.standard_exponential(size) >= short


def mean_above(shape: Array, floor: Array) -> Array:
    """Return E[t] - c, how far the mean is above the floor; for tuning, to about eight digits."""
    mass = gammaincc(shape, floor)
    deep = _deep(shape, floor, mass)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        beyond = shape - floor + _edge(shape, floor, mass)
    # the recurrence Gamma(a+1, c) = a Gamma(a, c) + c^a e^(-c), and Legendre's continued fraction for the last term
    if deep.any():
        beyond[deep] = 1 + (shape[deep] - 1) / _fraction(shape[deep], floor[deep], 1)
    return beyond


def log_peak(shape: Array, floor: Array) -> Array:
    """Return the logarithm of the largest value of the density; infinite if a < 1 and the floor is 0."""
    mass = gammaincc(shape, floor)
    top = np.maximum(shape - 1, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inside = xlogy(top, top) - top - gammaln(shape) - np.log(mass)
        # at the floor the density is the hazard there
        hazard = _edge(shape, floor, mass) / floor
        deep = _deep(shape, floor, mass)
        if deep.any():
            hazard[deep] = _fraction(shape[deep], floor[deep], 0) / floor[deep]
        edge = np.where(floor > 0, np.log(hazard), np.where(shape < 1, np.inf, -np.inf))
    return np.where((shape >= 1) & (floor < top), inside, np.where((shape == 1) & (floor == 0), 0.0, edge))


def _deep(shape: Array, floor: Array, mass: Array) -> Array:
    return np.where(shape > _TINY_SHAPE, mass < _LEAST_MASS, floor > _FAR)


def _edge(shape: Array, floor: Array, mass: Array) -> Array:
    """Return c^a e^(-c) / Gamma(a, c)."""
    large = np.maximum(shape, _LARGE_SHAPE)
    off = (floor - large) / large
    stirling = large * (np.log1p(off) - off) + 0.5 * np.log(large / (2 * np.pi)) - 1 / (12 * large)
    plain = xlogy(shape, floor) - floor - gammaln(shape)
    edge = np.exp(np.where(shape >= _LARGE_SHAPE, stirling, plain)) / mass
    return np.where(shape > _TINY_SHAPE, edge, np.where(floor > 0, np.exp(-floor) / exp1(floor), 0.0))


def _fraction(shape: Array, floor: Array, start: int) -> Array:
    """Return b_s - (s+1)(s+1-a) / (b_(s+1) - ...) with b_i = c + 2i + 1 - a, from s = ``start`` on."""
    value = floor + 2 * (start + _DEPTH) + 1 - shape
    for i in range(start + _DEPTH, start, -1):
        value = floor + 2 * i - 1 - shape - i * (i - shape) / value
    return value
