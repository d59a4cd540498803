"""Compiled moments of (z, z^2) for the two families that are asked for most.

For the normal, the recursion of closed-form moments to order 4 takes 50 ns a parameter, 28 quadrature nodes 470 ns.
But the recursion loses digits as the fourth power of mean and standard deviation in half-widths of the bounds (at a
standard deviation of 1000 none is left), so it is used up to 8 half-widths, where it is right to 1e-10, and the nodes
beyond.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.compiled import numba
from discreet.inference.engines.gibbs.nodes import CUT, SMOOTH, rule

_T, _W = rule(SMOOTH)
_ROOT_2PI = math.sqrt(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
# mean and standard deviation, in half-widths of the bounds, up to which the recursion keeps ten digits
_NEAR = 8.0


@numba.njit(cache=True, error_model="numpy")
def _moments(z: np.ndarray, p: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> None:
    """Fill mean and covariance of (z, z^2) for points z with probabilities p, the rest of the mass at zero."""
    total = first = second = 0.0
    for i in range(z.size):
        total += p[i]
        first += p[i] * z[i]
        second += p[i] * z[i] * z[i]
    rest = max(1.0 - total, 0.0)
    c11, c12, c22 = rest * first * first, rest * first * second, rest * second * second
    for i in range(z.size):
        a, b = z[i] - first, z[i] * z[i] - second
        c11 += p[i] * a * a
        c12 += p[i] * a * b
        c22 += p[i] * b * b
    mean[0], mean[1] = first, second
    covariance[0, 0], covariance[0, 1], covariance[1, 0], covariance[1, 1] = c11, c12, c12, c22


@numba.njit(cache=True, error_model="numpy")
def _recursion(m: float, s: float, clip: bool, raw: np.ndarray) -> None:
    """Fill the moments of order 0 to 4 of a normal variable within [-1, 1], or clipped to it."""
    a, b = (-1.0 - m) / s, (1.0 - m) / s
    below, above = 0.5 * math.erfc(-a * _ROOT_HALF), 0.5 * math.erfc(b * _ROOT_HALF)
    if a > 0:
        raw[0] = 0.5 * math.erfc(a * _ROOT_HALF) - above
    elif b < 0:
        raw[0] = 0.5 * math.erfc(-b * _ROOT_HALF) - below
    else:
        raw[0] = 1.0 - below - above
    at_low, at_high = math.exp(-0.5 * a * a) * s / _ROOT_2PI, math.exp(-0.5 * b * b) * s / _ROOT_2PI
    sign = 1.0
    raw[1] = m * raw[0] - at_high + at_low
    for k in range(2, 5):
        sign = -sign
        raw[k] = m * raw[k - 1] + (k - 1) * s * s * raw[k - 2] - at_high + sign * at_low
    if clip:
        for k in range(5):
            raw[k] += above + (below if k % 2 == 0 else -below)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _normal(
    mu: np.ndarray, sd: np.ndarray, clip: bool, t: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    n, q = mu.size, t.size
    mean, covariance = np.empty((n, 2)), np.empty((n, 2, 2))
    z, p = np.zeros(q + 2), np.zeros(q + 2)
    z[q], z[q + 1] = -1.0, 1.0
    raw = np.empty(5)
    for k in range(n):
        m, s = mu[k], sd[k]
        if abs(m) + s < _NEAR:
            _recursion(m, s, clip, raw)
            mean[k, 0], mean[k, 1] = raw[1], raw[2]
            covariance[k, 0, 0] = raw[2] - raw[1] * raw[1]
            covariance[k, 0, 1] = covariance[k, 1, 0] = raw[3] - raw[1] * raw[2]
            covariance[k, 1, 1] = raw[4] - raw[2] * raw[2]
            continue
        near = min(max(m, -1.0), 1.0)
        away = abs(near - m)
        reach = 2 * CUT * s * s / (math.hypot(away, math.sqrt(2 * CUT) * s) + away)
        left, right = max(-1.0, near - reach), min(1.0, near + reach)
        for i in range(q):
            z[i] = left + (right - left) * t[i]
            u = (z[i] - m) / s
            p[i] = math.exp(-0.5 * u * u) * w[i] * (right - left) / (s * _ROOT_2PI)
        if clip:
            p[q] = 0.5 * math.erfc((m + 1.0) / s * _ROOT_HALF)
            p[q + 1] = 0.5 * math.erfc((1.0 - m) / s * _ROOT_HALF)
        _moments(z, p, mean[k], covariance[k])
    return mean, covariance


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _exponential(
    rate: np.ndarray, low: float, high: float, clip: bool, t: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    n, q = rate.size, t.size
    mean, covariance = np.empty((n, 2)), np.empty((n, 2, 2))
    z, p = np.zeros(q + 2), np.zeros(q + 2)
    z[q], z[q + 1] = -1.0, 1.0
    for k in range(n):
        width = min(high - low, CUT / rate[k])
        steps, inside = rate[k] * width, math.exp(-rate[k] * low)
        for i in range(q):
            z[i] = -1.0 + 2.0 * (width / (high - low)) * t[i]
            p[i] = inside * math.exp(-steps * t[i]) * steps * w[i]
        if clip:
            p[q], p[q + 1] = -math.expm1(-rate[k] * low), math.exp(-rate[k] * high)
        _moments(z, p, mean[k], covariance[k])
    return mean, covariance


def normal_moments(mu: np.ndarray, sd: np.ndarray, *, clip: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of (z, z^2) for normal z, redacted or clipped to [-1, 1]."""
    return _normal(np.ascontiguousarray(mu), np.ascontiguousarray(sd), clip, _T, _W)


def exponential_moments(
    rate: np.ndarray, low: float, high: float, *, clip: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of (z, z^2) for exponential x, z mapping [low, high] to [-1, 1]."""
    return _exponential(np.ascontiguousarray(rate), low, high, clip, _T, _W)
