"""Amplified guarantees where float64 has few digits to spare: next to 0, next to 1, and far out in the tails."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.privacy.amplification import (
    FiniteKernel,
    GaussianKernel,
    LaplaceKernel,
    MarkovKernel,
    OrnsteinUhlenbeck,
    ProjectedGaussianKernel,
    RandomizedResponseKernel,
    SGDCost,
    after_kernel,
    after_pure_ultra_mixing,
    after_ultra_mixing,
    amplifications,
    coupling_bound,
    iterated_laplace_epsilons,
    laplace_epsilons,
    renyi_divergence,
    shuffled_epsilons,
)
from discreet.privacy.amplification.differences import log_mean_exp, second_difference
from discreet.privacy.guarantees import ApproxDP, PureDP

# A few dozen operations in float64.
ROUNDING = 1e-14


# -- the helpers -----------------------------------------------------------------------------------------------------


def test_second_differences_keep_their_digits() -> None:
    points = [-40.0, -1.5, -1e-9, 0.0, 1e-12, 1e-3, 0.4, 0.9, 1.0, 3.0, 3.0000001, 100.0]
    with mpmath.workdps(60):
        for x in points:
            for y in points:
                u, v = mpmath.mpf(x), mpmath.mpf(y)
                one, other = (mpmath.expm1(t) / t if t else mpmath.mpf(1) for t in (u, v))
                # where the two are the same, the derivative of (e^t - 1) / t
                slope = (mpmath.exp(u) - one) / u if u else mpmath.mpf(1) / 2
                truth = slope if u == v else (one - other) / (u - v)
                found = float(second_difference(np.array(x), np.array(y)))
                assert abs(found / truth - 1) < ROUNDING


def test_log_means_keep_their_digits() -> None:
    values = np.array([1e-12, 3e-12, 0.0])
    assert log_mean_exp(values) == pytest.approx(4e-12 / 3, rel=1e-11)
    assert log_mean_exp(np.array([1e5, 1e5 - 1])) == pytest.approx(
        1e5 + np.log((1 + np.exp(-1)) / 2), rel=1e-14
    )
    assert log_mean_exp(np.array([[0.0, 1.0], [2.0, 2.0]]), np.array([[1.0, 0.0], [0.5, 0.5]])).tolist() == [
        0.0,
        2.0,
    ]
    # one large value among many small ones, where the log of the count would cancel
    many = np.zeros(10**6)
    many[0] = 1.0
    assert log_mean_exp(many) == pytest.approx(float(np.log1p(np.expm1(1.0) / 1e6)), rel=ROUNDING)


# -- coefficients ----------------------------------------------------------------------------------------------------


def test_pure_only_where_nothing_is_lost() -> None:
    """Underflow of a coefficient is not a proof that a guarantee is pure."""
    for guarantee in (ApproxDP(1, "1e-6"), ApproxDP(1, "1e-30")):
        for radius in (0.1, 1e-3, 1e-200):
            assert isinstance(after_kernel(guarantee, GaussianKernel(1.0, radius), "hockey_stick"), ApproxDP)
        # what is exactly 0: the kernel's ratios have a bound, or it forgets everything
        assert isinstance(after_kernel(guarantee, LaplaceKernel(1.0, 2.0), "hockey_stick"), PureDP)
        assert isinstance(after_kernel(guarantee, RandomizedResponseKernel(3, 2.0), "hockey_stick"), PureDP)
        assert isinstance(after_kernel(guarantee, GaussianKernel(1.0, 0.0), "dobrushin"), PureDP)
    after = after_kernel(PureDP(5), GaussianKernel(1.0, 1e-15, 100), "doeblin")
    assert isinstance(after, ApproxDP)
    # gamma is about radius times the mean distance from the center, 9.975, times 1 - e^-5
    assert float(after.delta) == pytest.approx(9.975e-15 * -np.expm1(-5), rel=1e-3)


def test_equal_rows_only_forget_everything() -> None:
    row = np.array([0.1, 0.2, 0.3, 0.4])
    nearly = row + 1e-16 * np.array([1, -1, 1, -1]) * np.array([1, 1, 2, 2])
    assert not np.array_equal(row, nearly)
    kernel, same = FiniteKernel([row, nearly]), FiniteKernel([row, row])
    for name in ("dobrushin", "doeblin", "ultra_mixing"):
        assert getattr(kernel, name)() > 0
        assert getattr(same, name)() == 0
    assert isinstance(after_kernel(PureDP(5), kernel, "doeblin"), ApproxDP)
    assert isinstance(after_kernel(PureDP(5), same, "doeblin"), PureDP)


def test_a_level_next_to_the_kernels_own_bound() -> None:
    """At the level the kernel has just nothing left; a rounding error must not decide that."""
    epsilon, delta = 0.3, 0.01
    level = np.log1p(np.expm1(epsilon) / delta)
    for factor in (1 - 1e-11, 1 - 1e-14, 1.0, 1 + 1e-14, 1 + 1e-11):
        t = float(level * factor)
        own = amplifications(epsilon, delta, LaplaceKernel(1.0, t))["hockey_stick"].gamma
        other = amplifications(epsilon, delta, RandomizedResponseKernel(2, t))["hockey_stick"].gamma
        if factor > 1 - 1e-12:
            assert min(own, other) > 0
        assert max(own, other) < 1e-9


@pytest.mark.parametrize("dimension", [2, 3, 10, 1000])
@pytest.mark.parametrize("ratio", [1e-15, 1e-9, 1e-6, 0.1, 1.0])
def test_doeblin_of_gaussian_noise_is_just_above_the_truth(dimension: int, ratio: float) -> None:
    with mpmath.workdps(40):
        d, r = dimension, mpmath.mpf(ratio)
        peak = mpmath.sqrt(d - 1)
        cuts = sorted({max(mpmath.mpf(0), peak + off) for off in (-16, -6, -3, -1, 0, 1, 3, 6, 16)})

        def mass(s: mpmath.mpf) -> mpmath.mpf:
            return (s / peak) ** (d - 1) * mpmath.exp((peak**2 - s**2) / 2)

        lost = mpmath.quad(lambda s: -mass(s) * mpmath.expm1(-r * (s + r / 2)), cuts)
        truth = lost / mpmath.quad(mass, cuts)  # pyright: ignore[reportOperatorIssue]
        assert truth <= GaussianKernel(2.0, 2 * ratio, dimension).doeblin() <= truth * (1 + 2e-12)


@pytest.mark.parametrize("t", [1e-9, 1e-3, 0.2, 1.0, 7.0])
@pytest.mark.parametrize("steps", [0.0, 1e-6, 0.1, 1.0, 20.0, 60.0])
def test_hockey_stick_of_gaussian_noise_is_just_above_the_truth(t: float, steps: float) -> None:
    epsilon = steps * t
    with mpmath.workdps(60):
        x, e = mpmath.mpf(t), mpmath.mpf(epsilon)
        truth = mpmath.ncdf(x / 2 - e / x) - mpmath.exp(e) * mpmath.ncdf(-x / 2 - e / x)
        found = GaussianKernel(1.0, t / 2).dobrushin(epsilon)
        # few digits of a difference of two nearly equal numbers are known; none of them is rounded down
        room = 4e-15 if steps == 0 else 1e-11 + 1e-12 * float(mpmath.ncdf(x / 2 - e / x) / truth)
        assert truth * (1 - mpmath.mpf("1e-15")) <= found <= truth * (1 + room) + mpmath.mpf("1e-300")


# -- guarantees ------------------------------------------------------------------------------------------------------


def two_responses(epsilon: float, own: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        e, o = mpmath.mpf(epsilon), mpmath.mpf(own)
        return mpmath.log((1 + mpmath.exp(e + o)) / (mpmath.exp(e) + mpmath.exp(o)))


@pytest.mark.parametrize("own", [1e-9, 0.5, 1.0, 10.0, 20.0, 30.0, 33.0, 35.0, 36.5, 40.0])
def test_pure_guarantees_after_slow_mixing(own: float) -> None:
    for epsilon in (0.5, 45.0, 1e9):
        truth = two_responses(epsilon, own)
        kernels: tuple[MarkovKernel, ...] = (
            RandomizedResponseKernel(2, own),
            LaplaceKernel(1.0, own),
            FiniteKernel(RandomizedResponseKernel(2, own).matrix)
            if own == 20
            else LaplaceKernel(3.0, 3 * own),
        )
        for kernel in kernels:
            stated = after_kernel(PureDP(epsilon), kernel, "pure_ultra_mixing").epsilon
            assert truth <= mpmath.mpf(stated.numerator) / stated.denominator
            if own <= 10:
                assert float(stated) <= truth * (1 + 1e-9)


def test_a_kernel_that_forgets_nearly_everything_at_a_large_budget() -> None:
    gamma = 1e-30
    truth = float(mpmath.log1p(mpmath.mpf(gamma) * mpmath.expm1(45)))
    assert after_ultra_mixing(45.0, 0.0, gamma)[0] == pytest.approx(truth, rel=ROUNDING)
    assert after_pure_ultra_mixing(1e12, -np.expm1(-2.0)) == pytest.approx(2.0, rel=ROUNDING)


def test_projection_next_to_where_it_hides_everything() -> None:
    width = 2.0
    with mpmath.workdps(40):
        for epsilon in (3.0, 3.08, 3.0899):
            truth = mpmath.mpf("0.5") - mpmath.exp(mpmath.mpf(epsilon)) * mpmath.ncdf(-2)
            assert ProjectedGaussianKernel(1.0, width).dobrushin(epsilon) == pytest.approx(
                float(truth), rel=1e-10
            )


def test_shuffled_curves_are_just_above_the_truth() -> None:
    given = SGDCost(1000, 1e-3, 1.0, 0.1, 0.5, 1.0)
    for order in (1.000001, 1.01, 2.0, 50.0):
        stated = given.shuffled_guarantee([order]).epsilons[0]
        with mpmath.workdps(50):
            a, rhos = mpmath.mpf(order), [mpmath.mpf(float(r)) for r in given.rhos()]
            moment = sum(mpmath.exp((a - 1) * a * rho) for rho in rhos) / len(rhos)
            truth = mpmath.log(moment) / (a - 1)
            assert truth <= mpmath.mpf(stated.numerator) / stated.denominator <= truth * (1 + 3e-10)
    assert np.isfinite(shuffled_epsilons(2.0, [1e5, 1.0]))


def iterated_laplace(order: float, shift: float, first: float, second: float) -> mpmath.mpf:
    """The moment less 1 by integrating p(x - s)^a p(x)^(1 - a) - p(x) in 50 digits."""
    with mpmath.workdps(50):
        a, s, b, c = (mpmath.mpf(v) for v in (order, shift, first, second))

        def density(x: mpmath.mpf) -> mpmath.mpf:
            x = abs(x)
            if b == c:
                return mpmath.exp(-x / b) * (b + x) / (4 * b**2)
            plus, minus = 1 / (b + c) + 1 / (b - c), 1 / (b + c) - 1 / (b - c)
            return (plus * mpmath.exp(-x / b) + minus * mpmath.exp(-x / c)) / 4

        wide, narrow = max(b, c), min(b, c)
        steps = sorted({0, s / 2, s, narrow / 8, narrow, 4 * narrow, wide, 4 * wide, 16 * wide, 100 * wide})
        cuts = sorted({*(-step for step in steps), s / 2, *(s + step for step in steps)})
        total = mpmath.quad(lambda x: density(x - s) ** a * density(x) ** (1 - a) - density(x), cuts)
        return mpmath.log1p(total) / (a - 1)


@pytest.mark.parametrize(
    "case",
    [(2, 1e-5, 1, 1), (1.001, 1e-3, 1, 1), (1.000001, 1e-4, 1, 0.3), (2, 1e-5, 1, 0.5), (3, 5, 0.1, 1)],
)
def test_iterated_laplace_keeps_its_digits(case: tuple[float, float, float, float]) -> None:
    order, *rest = case
    found = iterated_laplace_epsilons(order, *rest)
    assert abs(float(found) / iterated_laplace(*case) - 1) < 1e-12


@pytest.mark.parametrize(
    ("order", "z"), [(2.0, 1e-9), (1.000001, 1e-8), (1.5, 0.3), (50.0, 0.01), (3.0, 4.0)]
)
def test_one_laplace_keeps_its_digits(order: float, z: float) -> None:
    with mpmath.workdps(50):
        a, x = mpmath.mpf(order), mpmath.mpf(z)
        moment = (a * mpmath.exp(x * (a - 1)) + (a - 1) * mpmath.exp(-x * a)) / (2 * a - 1)
        assert abs(float(laplace_epsilons(order, z, 1.0)) / (mpmath.log(moment) / (a - 1)) - 1) < ROUNDING


def test_couplings_are_made_to_sum_to_one() -> None:
    """Rows written with ten digits are short of 1 by as much, and a small divergence is smaller than that."""
    nu, coupling = np.array([0.5, 0.5]), np.array([[0.25, 0.25], [0.25, 0.25]])
    kernel = FiniteKernel([[0.6, 0.4], [0.4, 0.6]])
    for order in (1.0, 1.5, 4.0, np.inf):
        truth = coupling_bound(order, nu, coupling, kernel)
        for factor in (1 - 9e-10, 1 + 9e-10):
            assert coupling_bound(order, nu, factor * coupling, kernel) == pytest.approx(truth, rel=1e-14)
            assert coupling_bound(order, factor * nu, coupling, kernel) == pytest.approx(truth, rel=1e-14)


def test_divergences_of_close_distributions() -> None:
    p, q = np.array([0.5 + 1e-6, 0.5 - 1e-6]), np.array([0.5, 0.5])
    for order in (1.001, 2.0, 30.0):
        with mpmath.workdps(50):
            a = mpmath.mpf(order)
            moment = sum(mpmath.mpf(x) ** a * mpmath.mpf(y) ** (1 - a) for x, y in zip(p, q, strict=True))
            truth = mpmath.log(moment) / (a - 1)
        # the ratios are known to 1e-16, and are 1e-6 away from 1
        assert renyi_divergence(p, q, order) == pytest.approx(float(truth), rel=1e-9)


@pytest.mark.parametrize("pull", [400.0, 1000.0, 1e6])
def test_a_strong_pull_hides_everything(pull: float) -> None:
    process = OrnsteinUhlenbeck(pull, 1.0, 1.0)
    assert 0 <= process.rho(1.0) < 1e-300
    assert process.equivalent_sigma > 1e100
    # the least that is stated
    assert process.guarantee(1.0).rho == Fraction(1, 10**12)
