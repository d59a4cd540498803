r"""Integrals and draws of a product of noise mass functions along a line.

With everything else fixed, the residual of each released coordinate is linear in one unknown r in [0, 1]: it is
``offset_j - slope_j r`` grid steps. The likelihood of r is then the product of the noise's mass functions along that
line, piecewise exponential for discrete Laplace noise and a normal density for discrete Gaussian noise. If the prior of
r is constant on each of a few steps, its integral and draws from the posterior are in closed form: no grid over r.

Arrays ``offset`` and ``slope`` have the coordinates first: shape (n_coordinates, ...).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from discreet.privacy.noise import DiscreteGaussian, DiscreteLaplace, Noise

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


def log_integral(
    offset: np.ndarray, slope: np.ndarray, noise: Sequence[Noise], prior: Steps = UNIFORM
) -> np.ndarray:
    """Return the log of the integral over r of the prior times the product of masses at ``offset - slope r``."""
    if isinstance(noise[0], DiscreteGaussian):
        line = _normal(offset, slope, noise)
        return line.log_peak + _log_sum(line.log_steps(prior))
    moving = [j for j in range(len(noise)) if np.any(slope[j])]
    if len(moving) == 1:
        return _log_sum(_laplace_steps(offset, slope, noise, prior, moving[0]))
    return _log_sum(_pieces(offset, slope, noise, prior)[0])


def draw(
    offset: np.ndarray,
    slope: np.ndarray,
    noise: Sequence[Noise],
    rng: np.random.Generator,
    prior: Steps = UNIFORM,
) -> np.ndarray:
    """Draw r from the density proportional to the prior times the product of masses at ``offset - slope r``."""
    shape = np.broadcast_shapes(offset.shape, slope.shape)[1:]
    uniform = 1.0 - rng.random(shape)  # in (0, 1], so that logs are finite
    if isinstance(noise[0], DiscreteGaussian):
        line = _normal(offset, slope, noise)
        step = _choose(line.log_steps(prior), rng)
        return line.draw(prior.edges[step], prior.edges[step + 1], uniform)
    log_weight, start, length, fall = _pieces(offset, slope, noise, prior)
    piece = _choose(log_weight, rng)[None]
    start, length, fall = (np.take_along_axis(a, piece, axis=0)[0] for a in (start, length, fall))
    # inverse distribution function of exp(-fall s) on s in [0, 1]; measured from the likelier end
    steep = np.abs(fall)
    s = np.where(steep > 1e-9, -np.log1p(uniform * np.expm1(-steep)) / np.maximum(steep, 1e-9), uniform)
    return np.clip(start + length * np.where(fall < 0, 1.0 - s, s), 0.0, 1.0)


def _log_sum(log_weight: np.ndarray) -> np.ndarray:
    peak = log_weight.max(axis=0)
    return peak + np.log(np.exp(log_weight - peak).sum(axis=0))


def _choose(log_weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw an index along the first axis in proportion to the weights."""
    cumulative = np.cumsum(np.exp(log_weight - log_weight.max(axis=0)), axis=0)
    index = (rng.random(log_weight.shape[1:]) * cumulative[-1] > cumulative).sum(axis=0)
    return np.minimum(index, log_weight.shape[0] - 1)


def _pieces(
    offset: np.ndarray, slope: np.ndarray, noise: Sequence[Noise], prior: Steps
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cut [0, 1] where a residual changes sign; return log mass, start, length and decline of each piece.

    Between two cuts the log likelihood is linear, so its integral is length x exp(larger end) x (1 - e^-d)/d, with d
    the difference of the ends.
    """
    moving = [j for j in range(len(noise)) if np.any(slope[j])]
    shape = np.broadcast_shapes(offset.shape, slope.shape)[1:]
    knots = np.empty((prior.edges.size + len(moving), *shape))
    knots[: prior.edges.size] = prior.edges.reshape(-1, *(1 for _ in shape))
    for i, j in enumerate(moving):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            cut = np.nan_to_num(offset[j] / slope[j], nan=0.0, posinf=1.0, neginf=0.0)
        knots[prior.edges.size + i] = np.clip(cut, 0.0, 1.0)
    knots.sort(axis=0)
    height = np.zeros(knots.shape)
    for j, each in enumerate(noise):
        if not isinstance(each, DiscreteLaplace):
            raise TypeError("all coordinates must carry the same kind of noise")
        height += each.log_mass(offset[j] - slope[j] * knots if j in moving else offset[j])
    length = np.diff(knots, axis=0)
    fall = height[:-1] - height[1:]
    steep = np.maximum(np.abs(fall), 1e-9)
    log_weight = np.maximum(height[:-1], height[1:]) + np.log(
        np.maximum(length * -np.expm1(-steep) / steep, _TINY)
    )
    if prior is not UNIFORM:
        middle = knots[:-1] + 0.5 * length
        log_weight += prior.log_density[np.searchsorted(prior.edges[1:-1], middle, side="right")]
    return log_weight, knots[:-1], length, fall


def _laplace_steps(
    offset: np.ndarray, slope: np.ndarray, noise: Sequence[Noise], prior: Steps, moving: int
) -> np.ndarray:
    """Return the log mass of each step of the prior where a single residual moves."""
    scale = noise[moving].width
    fixed = sum(law.log_mass(offset[j] if j != moving else np.zeros(1)) for j, law in enumerate(noise))
    column = (-1, *(1 for _ in offset.shape[1:]))
    edges, density = prior.edges.reshape(column), prior.log_density.reshape(column)
    x = (edges * slope[moving] - offset[moving]) / scale
    low, high = np.minimum(x[:-1], x[1:]), np.maximum(x[:-1], x[1:])
    length = np.diff(edges, axis=0)
    # the mean of exp(-|x|) between two points, on one side of zero or on both
    nearest, apart = np.maximum(np.maximum(low, -high), 0.0), np.maximum(high - low, 1e-9)
    across = (low < 0) & (high > 0)
    area = -np.expm1(np.where(across, low, -apart)) - np.expm1(-np.where(across, high, 0.0))
    return fixed + density + np.log(length * area / apart) - nearest


@dataclass(frozen=True)
class _Normal:
    """A normal density along the line; where no residual moves ``flat`` holds and the density is constant."""

    log_peak: np.ndarray
    center: np.ndarray
    sd: np.ndarray
    flat: np.ndarray

    def log_steps(self, prior: Steps) -> np.ndarray:
        """Return the log mass of each step of the prior, relative to the peak."""
        edges = prior.edges.reshape(-1, *(1 for _ in self.center.shape))
        z = (edges - self.center) / self.sd
        log_mass = _log_between(z[:-1], z[1:]) + (np.log(self.sd) + 0.5 * np.log(2 * np.pi))
        density = prior.log_density.reshape(-1, *(1 for _ in self.center.shape))
        return np.where(self.flat, np.log(np.diff(edges, axis=0)), log_mass) + density

    def draw(self, low: np.ndarray, high: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """Draw from the density between two ends."""
        a, b = (low - self.center) / self.sd, (high - self.center) / self.sd
        # by symmetry both ends are brought to the left, where log_ndtr keeps all digits
        flip = a + b > 0
        a, b = np.where(flip, -b, a), np.where(flip, -a, b)
        with np.errstate(divide="ignore"):
            level = np.logaddexp(np.log(uniform) + log_ndtr(b), np.log1p(-uniform) + log_ndtr(a))
        z = np.clip(ndtri_exp(level), a, b)
        r = low + np.where(flip, b - z, z - a) * self.sd
        return np.clip(np.where(self.flat, low + uniform * (high - low), r), low, high)


def _normal(offset: np.ndarray, slope: np.ndarray, noise: Sequence[Noise]) -> _Normal:
    precision = cross = np.zeros(np.broadcast_shapes(offset.shape, slope.shape)[1:])
    for j, each in enumerate(noise):
        if not isinstance(each, DiscreteGaussian):
            raise TypeError("all coordinates must carry the same kind of noise")
        precision = precision + (slope[j] / each.sigma) ** 2
        cross = cross + slope[j] * offset[j] / each.sigma**2
    flat = precision <= 0
    safe = np.where(flat, 1.0, precision)
    center = np.where(flat, 0.0, cross / safe)
    log_peak = sum(each.log_mass(offset[j] - slope[j] * center) for j, each in enumerate(noise))
    return _Normal(np.asarray(log_peak), center, 1 / np.sqrt(safe), flat)


def _log_between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return log(Phi(high) - Phi(low)) without cancellation in either tail."""
    flip = low + high > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    log_high = log_ndtr(high)
    with np.errstate(divide="ignore"):
        return log_high + np.log(np.maximum(-np.expm1(log_ndtr(low) - log_high), _TINY))
