"""Rényi divergences of sampled Gaussian steps: against quadrature, exact sums and dp-accounting."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from discreet.privacy.costs.sampled_moments import fixed_size_divergence, poisson_divergence

RATES = [Fraction(q) for q in ("1e-6", "0.001", "0.1", "0.3", "0.5", "0.8", "0.99")]
SIGMAS = [0.3, 0.7, 1.0, 3.0, 20.0, 400.0]


def by_quadrature(rate: Fraction, sigma: float, order: float) -> mpmath.mpf:
    """The divergence of the mixture from the Gaussian, integrated with 25 digits."""
    with mpmath.workdps(25):
        q, s, a = mpmath.mpf(rate.numerator) / rate.denominator, mpmath.mpf(sigma), mpmath.mpf(order)

        def integrand(z: mpmath.mpf) -> mpmath.mpf:
            return mpmath.npdf(z, 0, s) * (1 - q + q * mpmath.exp((2 * z - 1) / (2 * s * s))) ** a

        # cut around the mean of the Gaussian, and around that of the Gaussian tilted by the order
        cuts = {
            -40 * s,
            *(k * s for k in range(-12, 13, 2)),
            *(a + k * s for k in range(-4, 13, 2)),
            a + 40 * s,
        }
        return mpmath.log(mpmath.quad(integrand, sorted(cuts))) / (a - 1)


@pytest.mark.parametrize(
    "order", [1.1, 2.5, *(pytest.param(order, marks=pytest.mark.slow) for order in (1.5, 2, 4.7, 12, 30.5))]
)
@pytest.mark.parametrize(("rate", "sigma"), [("0.001", 0.5), ("0.1", 1.0), ("0.3", 10.0), ("0.7", 3.0)])
def test_poisson_samples_by_quadrature(rate: str, sigma: float, order: float) -> None:
    exact = by_quadrature(Fraction(rate), sigma, order)
    stated = poisson_divergence(Fraction(rate), sigma, order)
    assert exact <= stated <= exact * (1 + 1e-9) + 1e-11


@pytest.mark.parametrize(
    ("rate", "sigma"), [("1e-9", 1.0), ("0.001", 50.0), ("0.3", 400.0), ("0.5", 1e6), ("0.2", 0.4)]
)
def test_integer_orders_keep_their_digits(rate: str, sigma: float) -> None:
    """Sums of exact terms with 60 digits: a step that costs 1e-20 is right to nine digits too."""
    with mpmath.workdps(60):
        q, s = mpmath.mpf(Fraction(rate).numerator) / Fraction(rate).denominator, mpmath.mpf(sigma)
        for order in (2, 3, 17, 256):
            terms = (
                mpmath.binomial(order, k)
                * q**k
                * (1 - q) ** (order - k)
                * mpmath.exp(k * (k - 1) / (2 * s * s))
                for k in range(order + 1)
            )
            exact = mpmath.log(mpmath.fsum(terms)) / (order - 1)
            assert exact <= poisson_divergence(Fraction(rate), sigma, order) <= exact * (1 + 1e-9)


def theorem_27(rate: Fraction, sigma: float, order: int) -> mpmath.mpf:
    """The bound for samples of a fixed size as it is printed, with 400 digits."""
    with mpmath.workdps(400):
        q, s = mpmath.mpf(rate.numerator) / rate.denominator, mpmath.mpf(sigma)
        moments = [mpmath.exp(mpmath.mpf(k * (k - 1)) / (2 * s * s)) for k in range(order + 2)]
        central = [
            mpmath.fsum((-1) ** (k - j) * mpmath.binomial(k, j) * moments[j] for j in range(k + 1))
            for k in range(order + 2)
        ]
        total = mpmath.mpf(1)
        for k in range(2, order + 1):
            root = mpmath.sqrt(central[2 * (k // 2)] * central[2 * ((k + 1) // 2)])
            total += mpmath.binomial(order, k) * q**k * min(4 * root, 2 * moments[k])
        return min(mpmath.log(total) / (order - 1), order / (2 * s * s))


@pytest.mark.parametrize(
    ("rate", "sigma"), list(product(("1e-6", "0.1", "0.5", "0.99"), (0.2, 1.0, 3.0, 50.0, 1e4)))
)
def test_samples_of_a_fixed_size_by_exact_sums(rate: str, sigma: float) -> None:
    for order in (2, 3, 16, 32):
        exact = theorem_27(Fraction(rate), sigma, order)
        assert exact <= fixed_size_divergence(Fraction(rate), sigma, order) <= exact * (1 + 1e-9)


def test_agreement_with_dp_accounting() -> None:
    """To 1e-9; at fractional orders it adds up the sizes of alternating terms, which is a looser bound."""
    theirs = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    poisson, fixed = theirs._compute_rdp_poisson_subsampled_gaussian, theirs._compute_rdp_sample_wor_gaussian
    for rate, sigma in product(RATES, SIGMAS):
        whole = [2, 3, 5, 16, 64, 256]
        with np.errstate(all="ignore"):
            known = poisson(float(rate), sigma, whole)
            between = poisson(float(rate), sigma, [2.5, 7.3])
            known_fixed = np.minimum(
                fixed(float(rate), sigma, [2, 3, 5, 16, 2.5]), np.array([2, 3, 5, 16, 2.5]) / (2 * sigma**2)
            )
        ours = [poisson_divergence(rate, sigma, order) for order in whole]
        assert ours == pytest.approx(known, rel=1e-9, abs=1e-11)
        for order, theirs_at in zip([2.5, 7.3], between, strict=True):
            assert poisson_divergence(rate, sigma, order) <= theirs_at * (1 + 1e-9) + 1e-11
        ours = [fixed_size_divergence(rate, sigma, order) for order in (2, 3, 5, 16, 2.5)]
        assert ours == pytest.approx(known_fixed, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("divergence", [poisson_divergence, fixed_size_divergence])
def test_between_orders_and_at_extremes(divergence) -> None:
    for sigma in (1e-160, 1e-4, 1e9, 1e160):
        costs = [divergence(Fraction(1, 3), sigma, order) for order in (2, 2.5, 3, 32, 4096)]
        assert costs == sorted(costs)
        assert costs[0] > 0
    assert divergence(Fraction(1), 2.0, 8) == pytest.approx(1.0)
    # no sampling is a bound for all of them
    assert divergence(Fraction(999, 1000), 2.0, 8) <= 1.0 + 1e-12


def test_a_planted_error_is_caught() -> None:
    """A noise multiplier that is off by a millionth is told from the right one by the tolerance of these tests."""
    exact = by_quadrature(Fraction("0.1"), 1.0, 2.5)
    assert poisson_divergence(Fraction("0.1"), 1.000001, 2.5) < exact
    assert poisson_divergence(Fraction("0.1"), 0.999999, 2.5) > exact * (1 + 1e-9) + 1e-11
