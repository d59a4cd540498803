r"""The density of one or two readings with the noise variances integrated out as well.

A reading is a normal sum plus Laplace noise. For one, the convolution has a closed form (Reed 2006), the normal-Laplace
density. For two, with covariance C between the sums, the first sum is integrated numerically against the closed form of
the second given the first. The log integrand is concave, with kinks where either noise is zero: it is cut there and
near its mode, each piece ends where concavity says that nothing is left, and 10 Gauss points do the rest. Log densities
are right to 1e-6, and to 2e-4 for sums with a correlation of 0.9999. Everything is in units of the noise scale.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.compiled import njit
from discreet.inference.engines.gibbs.nodes import rule

_FINE, _ROUGH = rule(10), rule(5)
# what lies this many nats under the peak is left out
_DROP = 20.0


@njit(cache=True)
def _erfcx(x: float) -> float:
    """Return exp(x^2) erfc(x) for x >= -3, to 2e-7 relative (a Chebyshev fit, Press et al. 1992, section 6.2)."""
    t = 1.0 / (1.0 + 0.5 * abs(x))
    fit = -0.82215223 + t * 0.17087277
    fit = 1.48851587 + t * fit
    fit = -1.13520398 + t * fit
    fit = 0.27886807 + t * fit
    fit = -0.18628806 + t * fit
    fit = 0.09678418 + t * fit
    fit = 0.37409196 + t * fit
    fit = 1.00002368 + t * fit
    value = t * math.exp(-1.26551223 + t * fit)
    return value if x >= 0 else 2.0 * math.exp(x * x) - value


@njit(cache=True)
def _normal_laplace(r: float, s: float) -> tuple[float, float]:
    """Return the log density at r of N(0, s^2) plus standard Laplace noise, and its slope."""
    if r < 0:
        value, slope = _normal_laplace_right(-r, s)
        return value, -slope
    return _normal_laplace_right(r, s)


@njit(cache=True)
def _normal_laplace_right(r: float, s: float) -> tuple[float, float]:
    if s * s < 1e-14:
        return -r - 0.6931471805599453, -1.0 if r > 0 else 0.0
    q = (s - r / s) * 0.7071067811865476
    if q > -3.0:
        a, b = _erfcx(q), _erfcx((s + r / s) * 0.7071067811865476)
        return -0.5 * (r / s) * (r / s) + math.log(0.25 * (a + b)), (b - a) / (a + b)
    # far to the right the normal part only shifts the exponential tail
    a, b = math.erfc(q), math.exp(-q * q) * _erfcx((s + r / s) * 0.7071067811865476)
    return 0.5 * s * s - r + math.log(0.25 * (a + b)), (b - a) / (a + b)


@njit(cache=True)
def _integrand(g: float, r1: float, r2: float, s1: float, rho: float, s2: float) -> tuple[float, float]:
    """Return the log integrand at g, and its slope without that of the kink at r1 (1 to the left, -1 to the right)."""
    value, slope = _normal_laplace(r2 - rho * g, s2)
    return value - 0.5 * (g / s1) * (g / s1) - abs(r1 - g), -rho * slope - g / (s1 * s1)


@njit(cache=True)
def _mode(r1: float, r2: float, s1: float, rho: float, s2: float) -> float:
    """Find where the slope changes sign: at the kink r1, or in a bracket on one side of it."""
    _, smooth = _integrand(r1, r1, r2, s1, rho, s2)
    if smooth >= 1.0:  # still rising to the right of the kink
        sign, low, high = -1.0, r1, max(r1, 0.0) + s1 * s1 * (1.0 + abs(rho))
    elif smooth <= -1.0:  # falling already to its left
        sign, low, high = 1.0, min(r1, 0.0) - s1 * s1 * (1.0 + abs(rho)), r1
    else:
        return r1
    # the curvature of the normal part alone bounds how far the mode is from any point of known slope
    middle, close = r1, 0.3 * min(s1, 1.0)
    for _ in range(60):
        slope = _integrand(middle, r1, r2, s1, rho, s2)[1] + sign
        if slope > 0:
            low = max(low, middle)
            high = min(high, middle + slope * s1 * s1)
        else:
            high = min(high, middle)
            low = max(low, middle + slope * s1 * s1)
        middle = 0.5 * (low + high)
        if high - low < close:
            break
    return middle


@njit(cache=True)
def _two(r1: float, r2: float, c11: float, c12: float, c22: float, t: np.ndarray, w: np.ndarray) -> float:
    if c22 > c11:
        r1, r2, c11, c22 = r2, r1, c22, c11
    if c11 < 1e-14:
        return -abs(r1) - abs(r2) - 1.3862943611198906
    s1, rho = math.sqrt(c11), c12 / c11
    s2 = math.sqrt(max(c22 - rho * c12, 0.0))
    mode = _mode(r1, r2, s1, rho, s2)
    top = _integrand(mode, r1, r2, s1, rho, s2)[0]
    kink = r2 / rho if abs(rho) > 1e-12 else mode
    total = 0.0
    for side in (-1.0, 1.0):
        # cuts on this side of the mode, nearest first
        first, second = (r1 - mode) * side, (kink - mode) * side
        if first > second:
            first, second = second, first
        start = 0.0
        for piece in range(3):
            end = first if piece == 0 else second if piece == 1 else math.inf
            if end <= start + 1e-12:
                continue
            here = mode + side * start
            just = mode + side * (start + 1e-9 * (1.0 + s1))
            value = _integrand(here, r1, r2, s1, rho, s2)[0]
            left = _DROP - (top - value)
            if left <= 0:
                break
            smooth = _integrand(just, r1, r2, s1, rho, s2)[1]
            steep = -side * (smooth + (1.0 if just < r1 else -1.0))
            steep = max(steep, 0.0)
            reach = 2 * left / (steep + math.sqrt(steep * steep + 2 * left / c11))
            length = min(end - start, reach)
            for _ in range(8):
                if _integrand(here + side * 0.5 * length, r1, r2, s1, rho, s2)[0] > top - _DROP:
                    break
                length *= 0.5
            for i in range(t.size):
                # squaring the points gathers them at the steep end
                g = here + side * length * t[i] * t[i]
                total += 2 * t[i] * w[i] * length * math.exp(_integrand(g, r1, r2, s1, rho, s2)[0] - top)
            if length < end - start:
                break
            start = end
    # the integrand lacks the constants of the normal and of the Laplace noise of the outer reading
    return top + math.log(total) - math.log(s1) - 1.612085713764618


@njit(cache=True, nogil=True)
def _log_one(r: np.ndarray, c: np.ndarray) -> np.ndarray:
    out = np.empty(r.size)
    for i in range(r.size):
        out[i] = _normal_laplace(r[i], math.sqrt(max(c[i], 0.0)))[0]
    return out


@njit(cache=True, nogil=True)
def _log_two(r: np.ndarray, c: np.ndarray, t: np.ndarray, w: np.ndarray) -> np.ndarray:
    n = r.shape[1]
    out = np.empty(n)
    for i in range(n):
        out[i] = _two(r[0, i], r[1, i], max(c[0, 0, i], 0.0), c[0, 1, i], max(c[1, 1, i], 0.0), t, w)
    return out


def log_marginal(residual: np.ndarray, covariance: np.ndarray, *, rough: bool = False) -> np.ndarray:
    """Return the log density of one or two readings: normal sums plus standard Laplace noise on each.

    Parameters
    ----------
    residual
        Readings less their means, (readings, points).
    covariance
        Covariance of the sums, (readings, readings, points); it may be singular.
    """
    if len(residual) == 1:
        return _log_one(residual[0], covariance[0, 0])
    return _log_two(residual, covariance, *(_ROUGH if rough else _FINE))
