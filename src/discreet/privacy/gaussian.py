"""Calibration of the discrete Gaussian, from its own sums rather than the continuous formula.

The continuous ("analytic") calibration is not valid on integers: at sensitivity 1, epsilon = 8, delta = 1e-6 the true
delta of the calibrated discrete Gaussian is three times the one asked for. So one coordinate is calibrated from the
exact sum (or from a proven upper bound where the sum is too long), and several go through zero-concentrated privacy.

References
----------
Canonne, Kamath and Steinke (2020), The Discrete Gaussian for Differential Privacy: theorems 4 and 7, corollary 13.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from discreet.privacy.noise import DiscreteGaussian

# Beyond these sizes the exact sum is replaced by the integral bound, which is then tight to about 1/sigma.
_MOST_SHIFTS = 64
_WIDEST_SUM = 20_000.0


def discrete_gaussian_delta(sigma: float, sensitivity: int, epsilon: float) -> float:
    r"""Return a delta such that integer sums of this ``sensitivity`` plus noise are (epsilon, delta)-DP.

    For a shift s the exact value is sum_k max(0, p(k) - e^epsilon p(k + s)); all shifts 1..sensitivity count. For
    long sums it is bounded by the integral: the summand h is unimodal where positive, so its sum exceeds its integral
    by at most max h, and Z >= sigma sqrt(2 pi) (Poisson summation). The integral, the continuous Gaussian's delta,
    grows with s, and max h <= p(max(t, 0)) with t = epsilon sigma^2 / s - s / 2, which falls with s.
    """
    if sensitivity <= _MOST_SHIFTS and sigma <= _WIDEST_SUM:
        noise = DiscreteGaussian(sigma)
        reach = int(np.ceil(noise.reach(80.0))) + sensitivity
        k = np.arange(-reach, reach + 1)
        mass = np.exp(noise.log_mass(k))
        return max(
            float(np.maximum(0.0, mass - np.exp(epsilon + noise.log_mass(k + shift))).sum())
            for shift in range(1, sensitivity + 1)
        )
    half, drift = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    continuous = np.exp(log_ndtr(half - drift)) - np.exp(epsilon + log_ndtr(-half - drift))
    threshold = max(epsilon * sigma**2 / sensitivity - sensitivity / 2, 0.0)
    excess = np.exp(-0.5 * (threshold / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
    return float(continuous + excess)


@lru_cache
def sigma_for_approx(epsilon: float, delta: float, sensitivity: int) -> float:
    """Return the least sigma, to nine digits and rounded up, that gives one integer coordinate (epsilon, delta)-DP."""
    sigma = _bisect(lambda s: discrete_gaussian_delta(s, sensitivity, epsilon) <= delta, float(sensitivity))
    return sigma * (1 + 1e-9)  # dwarfs the rounding of the sums above


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return the best delta that rho-zCDP implies at this epsilon (corollary 13; any order gives a valid bound)."""
    from scipy.optimize import minimize_scalar

    def log_delta(log_order_minus_one: float) -> float:
        a = 1 + np.exp(log_order_minus_one)
        return float((a - 1) * (a * rho - epsilon) - np.log(a - 1) + a * np.log1p(-1 / a))

    best: Any = minimize_scalar(log_delta, bounds=(-12.0, 40.0), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(min(0.0, best.fun)))


@lru_cache
def rho_for_approx(epsilon: float, delta: float) -> float:
    """Return the largest rho, to nine digits and rounded down, such that rho-zCDP implies (epsilon, delta)-DP."""
    inverse = _bisect(lambda v: zcdp_delta(1 / v, epsilon) <= delta, 1.0)
    return (1 - 1e-9) / inverse


def _bisect(feasible: Callable[[float], bool], start: float) -> float:
    """Return the feasible end of a bracket of relative width 1e-10; ``feasible`` is monotone, true for large values."""
    low = high = start
    while not feasible(high):
        low, high = high, 2 * high
    while feasible(low) and low > 1e-12:
        low, high = low / 2, low
    while high - low > 1e-10 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if feasible(middle) else (middle, high)
    return high
