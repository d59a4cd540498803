"""Calibration of the discrete Gaussian against exact sums, and the continuous formula as its negative control."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from discreet.privacy.gaussian import discrete_gaussian_delta, rho_for_approx, sigma_for_approx, zcdp_delta


def exact_delta(sigma: float, sensitivity: int, epsilon: float) -> float:
    """Largest hockey-stick divergence over all shifts, summed in 40 digits."""
    with mpmath.workdps(40):
        s, e = mpmath.mpf(sigma), mpmath.mpf(epsilon)
        reach = int(20 * sigma) + sensitivity + 20
        weight = {
            k: mpmath.exp(-(k**2) / (2 * s**2)) for k in range(-reach - sensitivity, reach + sensitivity + 1)
        }
        total = mpmath.fsum(weight.values())
        return max(
            float(
                mpmath.fsum(
                    max(mpmath.mpf(0), weight[k] - mpmath.exp(e) * weight[k + shift])
                    for k in range(-reach, reach + 1)
                )
                / total
            )
            for shift in range(1, sensitivity + 1)
        )


def continuous_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """The analytic Gaussian calibration of Balle and Wang (2018), valid for real-valued noise only."""

    def excess(log_sigma: float) -> float:
        s = np.exp(log_sigma)
        a, b = sensitivity / (2 * s), epsilon * s / sensitivity
        return float(ndtr(a - b) - np.exp(epsilon) * ndtr(-a - b) - delta)

    return float(np.exp(brentq(excess, -5, 12)))  # pyright: ignore[reportArgumentType, reportCallIssue]


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity"), [(8, 1e-6, 1), (2, 1e-3, 1), (1, 1e-6, 2), (0.5, 1e-5, 5)]
)
def test_calibrated_scale_keeps_its_promise(epsilon: float, delta: float, sensitivity: int) -> None:
    sigma = sigma_for_approx(epsilon, delta, sensitivity)
    assert exact_delta(sigma, sensitivity, epsilon) <= delta
    # and wastes nothing: one percent less noise breaks it
    assert exact_delta(0.99 * sigma, sensitivity, epsilon) > delta


def test_the_continuous_formula_would_break_it() -> None:
    """At epsilon 8 and delta 1e-6 it gives three times the delta asked for."""
    sigma = continuous_sigma(8, 1e-6, 1)
    assert exact_delta(sigma, 1, 8) > 2.9e-6


@pytest.mark.parametrize("sigma", [30.0, 200.0])
@pytest.mark.parametrize("epsilon", [0.05, 0.5])
def test_the_bound_for_long_sums_is_valid_and_tight(
    sigma: float, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = discrete_gaussian_delta(sigma, 40, epsilon)
    monkeypatch.setattr("discreet.privacy.gaussian._MOST_SHIFTS", 0)
    bound = discrete_gaussian_delta(sigma, 40, epsilon)
    assert exact <= bound <= exact + 1 / sigma


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (8, 1e-6), (0.1, 1e-9)])
def test_zcdp_conversion(epsilon: float, delta: float) -> None:
    rho = rho_for_approx(epsilon, delta)
    assert zcdp_delta(rho, epsilon) <= delta
    assert zcdp_delta(1.01 * rho, epsilon) > delta
    # never worse than the textbook epsilon = rho + 2 sqrt(rho log(1/delta))
    assert rho + 2 * np.sqrt(rho * np.log(1 / delta)) >= epsilon
    # valid for the Gaussian itself: sensitivity 1, sigma = 1 / sqrt(2 rho)
    assert exact_delta(1 / np.sqrt(2 * rho), 1, epsilon) <= delta
