r"""Integrals and draws of a product of noise mass functions along a line.

With everything else fixed, the residual of each released coordinate is linear in one unknown r in [0, 1]: it is
``offset_j - slope_j r`` grid steps. The likelihood of r is then the product of the noise's mass functions along that
line, piecewise exponential for discrete Laplace noise and a normal density for discrete Gaussian noise. If the prior of
r is constant on each of a few steps, its integral and draws from the posterior are in closed form: no grid over r.

Arrays ``offset`` and ``slope`` have the coordinates first: shape (n_coordinates, n_lines).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from discreet.privacy.noise import Noise

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Steps:
    """A density on [0, 1] that is constant between ``edges``, which begin with 0 and end with 1."""

    edges: np.ndarray
    mass: np.ndarray

    @cached_property
    def log_density(self) -> np.ndarray:
        """Log density on each step."""
        return np.log(self.mass / np.diff(self.edges))

    @classmethod
    def arcsine(cls, edges: Sequence[float]) -> Steps:
        """Return the steps with the masses of Beta(1/2, 1/2)."""
        e = np.asarray(edges, dtype=float)
        return cls(e, np.diff(np.arcsin(np.sqrt(e))) * 2 / np.pi)

    def with_parts(self, parts: Mapping[tuple[float, float], float]) -> Steps:
        """Return a mixture of uniform parts, by their ends, and this density for the rest."""
        edges = np.unique(np.concatenate([self.edges, *parts]))
        middle = 0.5 * (edges[:-1] + edges[1:])
        step = np.searchsorted(self.edges[1:-1], middle, side="right")
        mass = (1 - sum(parts.values())) * np.exp(self.log_density[step]) * np.diff(edges)
        for (low, high), share in parts.items():
            inside = (middle > low) & (middle < high)
            mass += share * inside * np.diff(edges) / (high - low)
        return Steps(edges, mass)


UNIFORM = Steps(np.array([0.0, 1.0]), np.array([1.0]))


def along(
    offset: np.ndarray, slope: np.ndarray, noise: Sequence[Noise], prior: Steps = UNIFORM
) -> _Still | _Normal | _OneLaplace | _Pieces:
    """Return the prior of r times the product of masses at ``offset - slope r``; both have shape (k, n_lines).

    It has a ``log_integral``, one for each line, and draws r on the lines with given positions.
    """
    moving = [j for j in range(len(noise)) if np.any(slope[j])]
    shapes = {noise[j].kind for j in moving} or {noise[0].kind}
    if not moving and {each.kind for each in noise} not in ({"laplace"}, {"gaussian"}):
        return _Still(offset, noise, prior)
    if shapes == {"gaussian"}:
        return _Normal(offset, slope, noise, prior)
    if shapes != {"laplace"}:
        raise TypeError("all coordinates that move must carry the same kind of noise")
    if len(moving) == 1:
        return _OneLaplace(offset, slope, noise, prior, moving[0])
    return _Pieces(offset, slope, noise, prior, moving)


def _log_sum(log_weight: np.ndarray) -> np.ndarray:
    peak = log_weight.max(axis=0)
    return peak + np.log(np.exp(log_weight - peak).sum(axis=0))


def _choose(log_weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw an index along the first axis in proportion to the weights."""
    return _pick(np.exp(log_weight - log_weight.max(axis=0)), rng)


def _pick(weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    cumulative = np.cumsum(weight, axis=0)
    index = (rng.random(weight.shape[1]) * cumulative[-1] > cumulative).sum(axis=0)
    return np.minimum(index, weight.shape[0] - 1)


def _exponential(steep: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Draw from exp(-steep s) on s in [0, 1]; ``uniform`` is in (0, 1]."""
    safe = np.maximum(steep, 1e-9)
    return np.where(steep > 1e-9, -np.log1p(uniform * np.expm1(-safe)) / safe, uniform)


class _Still:
    """No residual moves, and they carry noise of any kind: r stays what its prior says."""

    def __init__(self, offset: np.ndarray, noise: Sequence[Noise], prior: Steps) -> None:
        self.prior = prior
        self.log_integral = np.sum([each.log_mass(offset[j]) for j, each in enumerate(noise)], axis=0)

    def draw(self, lines: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        edges = self.prior.edges
        step = rng.choice(self.prior.mass.size, lines.size, p=self.prior.mass / self.prior.mass.sum())
        return edges[step] + rng.random(lines.size) * np.diff(edges)[step]


class _Pieces:
    """Laplace noise on several residuals that move: [0, 1] is cut where one of them changes sign.

    Between two cuts the log likelihood is linear, so its integral is length x exp(larger end) x (1 - e^-d)/d, with d
    the difference of the ends.
    """

    def __init__(
        self,
        offset: np.ndarray,
        slope: np.ndarray,
        noise: Sequence[Noise],
        prior: Steps,
        moving: Sequence[int],
    ) -> None:
        edges = prior.edges
        knots = np.empty((edges.size + len(moving), offset.shape[1]))
        knots[: edges.size] = edges[:, None]
        for i, j in enumerate(moving):
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                cut = np.nan_to_num(offset[j] / slope[j], nan=0.0, posinf=1.0, neginf=0.0)
            knots[edges.size + i] = np.clip(cut, 0.0, 1.0)
        knots.sort(axis=0)
        height = np.zeros(knots.shape)
        for j, each in enumerate(noise):
            height += each.log_mass(offset[j] - slope[j] * knots if j in moving else offset[j])
        self.start, self.length = knots[:-1], np.diff(knots, axis=0)
        self.fall = height[:-1] - height[1:]
        steep = np.maximum(np.abs(self.fall), 1e-9)
        self.log_weight = np.maximum(height[:-1], height[1:]) + np.log(
            np.maximum(self.length * -np.expm1(-steep) / steep, _TINY)
        )
        if prior is not UNIFORM:
            middle = self.start + 0.5 * self.length
            self.log_weight += prior.log_density[np.searchsorted(edges[1:-1], middle, side="right")]
        self.log_integral = _log_sum(self.log_weight)

    def draw(self, lines: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        piece = _choose(self.log_weight[:, lines], rng)
        start, length, fall = (a[piece, lines] for a in (self.start, self.length, self.fall))
        # measured from the likelier end
        s = _exponential(np.abs(fall), 1.0 - rng.random(lines.size))
        return np.clip(start + length * np.where(fall < 0, 1.0 - s, s), 0.0, 1.0)


class _OneLaplace:
    """Laplace noise on a single residual that moves: exp(-|x|) along x, and the prior's steps."""

    def __init__(
        self, offset: np.ndarray, slope: np.ndarray, noise: Sequence[Noise], prior: Steps, moving: int
    ) -> None:
        self.prior = prior
        fixed = sum(law.log_mass(offset[j] if j != moving else np.zeros(1)) for j, law in enumerate(noise))
        self.x = (prior.edges[:, None] * slope[moving] - offset[moving]) / noise[moving].width
        first, last = np.minimum(self.x[0], self.x[-1]), np.maximum(self.x[0], self.x[-1])
        nearest = np.maximum(np.maximum(first, -last), 0.0)
        # one exponential for each edge, relative to the highest point: what underflows has no weight
        e = np.exp(nearest - np.abs(self.x))
        apart = np.abs(np.diff(self.x, axis=0))
        across = (self.x[:-1] < 0) != (self.x[1:] < 0)
        area = np.where(across, 2.0 - e[:-1] - e[1:], np.abs(np.diff(e, axis=0)))
        # differences of close numbers have no digits left
        mean = np.where(apart > 1e-6, area / np.maximum(apart, 1e-6), e[:-1])
        self.weight = prior.mass[:, None] * mean
        self.log_integral = np.asarray(fixed) - nearest + np.log(self.weight.sum(axis=0))

    def draw(self, lines: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        step = _pick(self.weight[:, lines], rng)
        begin, end = self.x[step, lines], self.x[step + 1, lines]
        low, high = np.minimum(begin, end), np.maximum(begin, end)
        uniform = 1.0 - rng.random(lines.size)
        # on both sides of the peak: first the side, then how far from the peak
        below = np.maximum(np.minimum(high, 0.0) - low, 0.0)
        left, right = -np.expm1(np.minimum(low, 0.0)), -np.expm1(-np.maximum(high, 0.0))
        to_the_left = np.where(
            low >= 0, False, np.where(high <= 0, True, rng.random(lines.size) * (left + right) < left)
        )
        reach = np.where(to_the_left, below, high - np.maximum(low, 0.0))
        s = reach * _exponential(reach, uniform)
        x = np.where(to_the_left, np.minimum(high, 0.0) - s, np.maximum(low, 0.0) + s)
        apart = high - low
        share = np.where(apart > 1e-9, np.abs(x - begin) / np.maximum(apart, 1e-9), uniform)
        edges = self.prior.edges
        return np.clip(edges[step] + share * np.diff(edges)[step], 0.0, 1.0)


class _Normal:
    """Gaussian noise: a normal density along the line, constant where no residual moves."""

    def __init__(self, offset: np.ndarray, slope: np.ndarray, noise: Sequence[Noise], prior: Steps) -> None:
        precision = cross = np.zeros(offset.shape[1])
        for j, each in enumerate(noise):
            precision = precision + (slope[j] / each.width) ** 2
            cross = cross + slope[j] * offset[j] / each.width**2
        self.edges, self.flat = prior.edges, precision <= 0
        safe = np.where(self.flat, 1.0, precision)
        self.center, self.sd = np.where(self.flat, 0.0, cross / safe), 1 / np.sqrt(safe)
        log_peak = sum(each.log_mass(offset[j] - slope[j] * self.center) for j, each in enumerate(noise))
        z = (self.edges[:, None] - self.center) / self.sd
        log_mass = _log_between(z[:-1], z[1:]) + (np.log(self.sd) + 0.5 * np.log(2 * np.pi))
        log_length = np.log(np.diff(self.edges))[:, None]
        self.log_weight = np.where(self.flat, log_length, log_mass) + prior.log_density[:, None]
        self.log_integral = np.asarray(log_peak) + _log_sum(self.log_weight)

    def draw(self, lines: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        step = _choose(self.log_weight[:, lines], rng)
        low, high = self.edges[step], self.edges[step + 1]
        center, sd = self.center[lines], self.sd[lines]
        uniform = 1.0 - rng.random(lines.size)
        a, b = (low - center) / sd, (high - center) / sd
        # by symmetry both ends are brought to the left, where log_ndtr keeps all digits
        flip = a + b > 0
        a, b = np.where(flip, -b, a), np.where(flip, -a, b)
        with np.errstate(divide="ignore"):
            level = np.logaddexp(np.log(uniform) + log_ndtr(b), np.log1p(-uniform) + log_ndtr(a))
        z = np.clip(ndtri_exp(level), a, b)
        r = low + np.where(flip, b - z, z - a) * sd
        return np.clip(np.where(self.flat[lines], low + uniform * (high - low), r), low, high)


def _log_between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return log(Phi(high) - Phi(low)) without cancellation in either tail."""
    flip = low + high > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    log_high = log_ndtr(high)
    with np.errstate(divide="ignore"):
        return log_high + np.log(np.maximum(-np.expm1(log_ndtr(low) - log_high), _TINY))
