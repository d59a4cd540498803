"""Sampled Gaussian steps: the stated curve against divergences by quadrature and exact sums."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.privacy.amplification import renyi_divergence
from discreet.privacy.costs.sampled_gaussian import ORDERS, SampledGaussian, least_multiplier


def mixture(rate: float, shift: float, sd: float) -> np.ndarray:
    """The sum over a sample, in which one record of value ``shift`` is with probability ``rate``, plus noise."""
    # as far out as float64 goes, and further than the tilted distribution of order 12 has any mass
    x = np.linspace(-36 * sd, 36 * sd, 40_001)
    distribution = (1 - rate) * np.exp(-0.5 * (x / sd) ** 2) + rate * np.exp(-0.5 * ((x - shift) / sd) ** 2)
    return distribution / distribution.sum()


@pytest.mark.parametrize(("rate", "multiplier"), [(0.01, 0.8), (0.1, 2.0), (0.5, 3.0), (1.0, 1.5)])
def test_poisson_sampling_of_records_that_come_or_go(rate: float, multiplier: float) -> None:
    stated = SampledGaussian(multiplier, rate, 1, "poisson").guarantee()
    assert stated.neighbors == "add_remove"
    present, absent = mixture(rate, 1.0, multiplier), mixture(0.0, 0.0, multiplier)
    for order in (2, 5, 12):
        actual = max(renyi_divergence(present, absent, order), renyi_divergence(absent, present, order))
        bound = float(stated.at(order) or 0)
        assert actual <= bound <= actual * (1 + 1e-4) + 1e-10


@pytest.mark.parametrize(("rate", "multiplier"), [(0.01, 0.8), (0.1, 2.0), (0.5, 3.0), (0.9, 3.0)])
def test_samples_of_a_fixed_size_of_records_that_are_replaced(rate: float, multiplier: float) -> None:
    """The record's vector has length 1 before and after, and points the other way: a distance of 2."""
    stated = SampledGaussian(multiplier, rate, 1, "fixed_size").guarantee()
    assert stated.neighbors == "replace"
    before, after = (mixture(rate, sign, 2 * multiplier) for sign in (1.0, -1.0))
    for order in (2, 5, 12):
        assert renyi_divergence(before, after, order) <= float(stated.at(order) or 0)
    # taking the length for the distance is caught where sampling hardly helps
    if rate == 0.9:
        before, after = (mixture(rate, sign, multiplier) for sign in (1.0, -1.0))
        assert renyi_divergence(before, after, 2) > 2 * float(stated.at(2) or 0)


def test_rounding_is_covered() -> None:
    """The stated curve is above the exact sums, also for steps that cost next to nothing."""
    with mpmath.workdps(50):
        for rate, multiplier in ((0.001, 50.0), (0.3, 400.0), (0.2, 1.0)):
            stated = SampledGaussian(multiplier, rate, 1, "poisson").guarantee()
            q = mpmath.mpf(float(rate))
            for order in (2, 16, 128):
                moment = mpmath.fsum(
                    mpmath.binomial(order, k)
                    * q**k
                    * (1 - q) ** (order - k)
                    * mpmath.exp(mpmath.mpf(k * (k - 1)) / (2 * mpmath.mpf(multiplier) ** 2))
                    for k in range(order + 1)
                )
                exact = mpmath.log(moment) / (order - 1)
                bound = stated.at(order)
                assert bound is not None
                assert exact <= mpmath.mpf(bound.numerator) / bound.denominator <= exact * (1 + 1e-3) + 1e-11


def test_steps_add_up_and_the_budget_ends_them() -> None:
    one = SampledGaussian(1.1, 0.02, 1, "poisson")
    many = SampledGaussian(1.1, 0.02, 50, "poisson")
    assert many.epsilons() == pytest.approx(50 * one.epsilons())
    most = one.most_steps(2.0, 1e-6)
    assert SampledGaussian(1.1, 0.02, most, "poisson").epsilon(1e-6) <= 2.0
    assert SampledGaussian(1.1, 0.02, most + 1, "poisson").epsilon(1e-6) > 2.0
    assert SampledGaussian(0.05, 1, 1, "poisson").most_steps(0.1, 1e-6) == 0


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_the_least_noise_for_a_budget(sampling) -> None:
    found = least_multiplier(1.5, 1e-5, rate=0.2, steps=40, sampling=sampling)
    assert found.epsilon(1e-5) <= 1.5
    less = SampledGaussian(found.multiplier * 0.999, 0.2, 40, sampling)
    assert less.epsilon(1e-5) > 1.5
    # its curve is what the ledger and composition are given
    stated = found.guarantee()
    assert stated.orders == ORDERS[sampling]
    assert stated.to_approx(1e-5).epsilon <= 1.5


def test_hardly_any_noise() -> None:
    nothing = SampledGaussian(1e-4, 0.5, 10, "poisson")
    assert nothing.epsilon(1e-6) == np.inf
    with pytest.raises(UsageError, match="nothing is promised"):
        nothing.guarantee()
    # orders that would promise nothing are left out
    assert 0 < len(SampledGaussian(0.1, 0.5, 10, "poisson").guarantee().orders) < len(ORDERS["poisson"])


@pytest.mark.parametrize(
    "call",
    [
        lambda: SampledGaussian(0.0, 0.1, 1, "poisson"),
        lambda: SampledGaussian(1.0, 0, 1, "poisson"),
        lambda: SampledGaussian(1.0, 1.5, 1, "poisson"),
        lambda: SampledGaussian(1.0, 0.1, 0, "poisson"),
        lambda: SampledGaussian(1.0, 0.1, 1, "shuffled"),  # pyright: ignore[reportArgumentType]
        lambda: least_multiplier(1e-9, 1e-9, rate=1, steps=10**9, sampling="poisson"),
    ],
)
def test_meaningless_arguments_are_refused(call) -> None:
    with pytest.raises(UsageError):
        call()
