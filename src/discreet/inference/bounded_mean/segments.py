r"""Integrals and draws of a product of noise mass functions along a line.

With everything else fixed, the residual of each released coordinate is linear in one unknown r in [0, 1]: it is
``offset_j - slope_j r`` grid steps. The likelihood of r is then the product of the noise's mass functions along that
line, piecewise exponential for discrete Laplace noise and a normal density for discrete Gaussian noise, so that both
its integral over [0, 1] and draws from it are in closed form. No grid over r is needed.

Arrays ``offset`` and ``slope`` have the coordinates first: shape (n_coordinates, ...).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from discreet.privacy.noise import DiscreteGaussian, DiscreteLaplace, Noise

_TINY = 1e-300


def log_integral(offset: np.ndarray, slope: np.ndarray, noise: Sequence[Noise]) -> np.ndarray:
    """Return the log of the integral over r in [0, 1] of the product of masses at ``offset - slope r``."""
    if isinstance(noise[0], DiscreteGaussian):
        peak, low, high, _, log_width = _normal(offset, slope, noise)
        return peak + np.where(np.isfinite(log_width), log_width + _log_between(low, high), 0.0)
    log_weight, *_ = _pieces(offset, slope, noise)
    return np.logaddexp.reduce(log_weight, axis=0)


def draw(
    offset: np.ndarray, slope: np.ndarray, noise: Sequence[Noise], rng: np.random.Generator
) -> np.ndarray:
    """Draw r from the density on [0, 1] that is proportional to the product of masses at ``offset - slope r``."""
    shape = np.broadcast_shapes(offset.shape, slope.shape)[1:]
    uniform = 1.0 - rng.random(shape)  # in (0, 1], so that logs are finite
    if isinstance(noise[0], DiscreteGaussian):
        _, low, high, sd, log_width = _normal(offset, slope, noise)
        # by symmetry both ends are brought to the left, where log_ndtr keeps all digits
        flip = low + high > 0
        low, high = np.where(flip, -high, low), np.where(flip, -low, high)
        with np.errstate(divide="ignore"):
            log_low, log_high = log_ndtr(low), log_ndtr(high)
            level = np.logaddexp(np.log(uniform) + log_high, np.log1p(-uniform) + log_low)
        z = np.clip(ndtri_exp(level), low, high)
        share = np.where(flip, high - z, z - low) * sd
        return np.clip(np.where(np.isfinite(log_width), share, uniform), 0.0, 1.0)
    log_weight, start, length, fall = _pieces(offset, slope, noise)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    cumulative = np.cumsum(weight, axis=0)
    piece = (rng.random(shape) * cumulative[-1] > cumulative).sum(axis=0)
    piece = np.minimum(piece, weight.shape[0] - 1)[None]
    start, length, fall = (np.take_along_axis(a, piece, axis=0)[0] for a in (start, length, fall))
    # inverse distribution function of exp(-fall s) on s in [0, 1]; measured from the likelier end
    steep = np.abs(fall)
    s = np.where(
        steep > 1e-9,
        -np.log1p(uniform * np.expm1(-steep)) / np.maximum(steep, 1e-9),
        uniform,
    )
    return np.clip(start + length * np.where(fall < 0, 1.0 - s, s), 0.0, 1.0)


def _pieces(
    offset: np.ndarray, slope: np.ndarray, noise: Sequence[Noise]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cut [0, 1] where a residual changes sign; return log mass, start, length and decline of each piece.

    Between two cuts the log likelihood is linear, so its integral is length x exp(larger end) x (1 - e^-d)/d, with d
    the difference of the ends.
    """
    moving = [j for j in range(len(noise)) if np.any(slope[j])]
    shape = np.broadcast_shapes(offset.shape, slope.shape)[1:]
    cuts = [np.zeros(shape)]
    for j in moving:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            cut = offset[j] / slope[j]
        cuts.append(np.clip(np.nan_to_num(cut, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0) + np.zeros(shape))
    cuts.append(np.ones(shape))
    knots = np.stack(cuts)
    if len(moving) > 1:
        knots.sort(axis=0)
    height = np.zeros(knots.shape)
    for j, law in enumerate(noise):
        if not isinstance(law, DiscreteLaplace):
            raise TypeError("all coordinates must carry the same kind of noise")
        residual = offset[j] - slope[j] * knots if j in moving else offset[j]
        height = height + law.log_mass(residual)
    length = np.diff(knots, axis=0)
    fall = height[:-1] - height[1:]
    steep = np.abs(fall)
    shrink = np.where(steep > 1e-9, -np.expm1(-steep) / np.maximum(steep, 1e-9), 1.0)
    log_weight = np.maximum(height[:-1], height[1:]) + np.log(np.maximum(length * shrink, _TINY))
    return log_weight, knots[:-1], length, fall


def _normal(
    offset: np.ndarray, slope: np.ndarray, noise: Sequence[Noise]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return log height at the peak, [0, 1] in standard deviations around it, the deviation, and log sqrt(2 pi) sd.

    Where no residual moves the last is infinite, and the peak is the value everywhere.
    """
    precision = cross = np.zeros(np.broadcast_shapes(offset.shape, slope.shape)[1:])
    for j, law in enumerate(noise):
        if not isinstance(law, DiscreteGaussian):
            raise TypeError("all coordinates must carry the same kind of noise")
        precision = precision + (slope[j] / law.sigma) ** 2
        cross = cross + slope[j] * offset[j] / law.sigma**2
    flat = precision <= 0
    safe = np.where(flat, 1.0, precision)
    center = np.where(flat, 0.0, cross / safe)
    peak = sum(law.log_mass(offset[j] - slope[j] * center) for j, law in enumerate(noise))
    sd = 1 / np.sqrt(safe)
    log_width = np.where(flat, np.inf, np.log(sd) + 0.5 * np.log(2 * np.pi))
    return np.asarray(peak), -center / sd, (1 - center) / sd, sd, log_width


def _log_between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return log(Phi(high) - Phi(low)) without cancellation in either tail."""
    flip = low + high > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    log_high = log_ndtr(high)
    with np.errstate(divide="ignore"):
        return log_high + np.log(np.maximum(-np.expm1(log_ndtr(low) - log_high), _TINY))
