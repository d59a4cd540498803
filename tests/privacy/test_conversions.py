"""Each conversion against divergences computed by definition on small mechanisms, with a wrong one as control."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import mpmath
import numpy as np
import pytest

import discreet as dc
from discreet.privacy import RenyiDP, compose
from discreet.privacy.curves import randomized_response_divergence
from discreet.privacy.tight import _FOURIER_ERROR, composed_epsilon
from discreet.privacy.tight import response_losses as grid_losses
from tests.privacy.oracles import (
    gaussian_delta,
    hockey_stick,
    max_log_ratio,
    random_distributions,
    renyi_divergence,
    response,
    response_losses,
)

ORDERS = [Fraction(3, 2), 2, 3, 5, 9, 33]
# float64 sums of a handful of masses
ROUND = 1e-12


def up(value: float) -> Fraction:
    """Return a budget that a computed divergence does not exceed."""
    return Fraction(max(value, 1e-9) * (1 + 1e-12))


@pytest.mark.parametrize("epsilon", ["1e-6", "0.1", "1", "5", "50"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-3", "0.3"])
def test_a_pure_guarantee_is_that_of_randomized_response(epsilon: str, delta: str) -> None:
    found = dc.PureDP(epsilon).to_approx(delta).epsilon
    with mpmath.workdps(60):
        e, d = mpmath.mpf(epsilon), mpmath.mpf(delta)
        # p - e^x (1 - p) = delta with p = e^epsilon / (1 + e^epsilon)
        inside = mpmath.exp(e) - d * (1 + mpmath.exp(e))
        exact = mpmath.log(inside) if inside > 1 else mpmath.mpf(0)
        stated = mpmath.mpf(found.numerator) / found.denominator
        assert exact <= stated <= max(exact * (1 + mpmath.mpf("2e-10")), mpmath.mpf("1e-12"))
    assert found <= Fraction(epsilon)


def test_the_stated_epsilon_is_enough_and_a_little_less_is_not() -> None:
    for epsilon, delta in ((1.0, 0.01), (0.2, 0.05), (3.0, 1e-3)):
        tight = float(dc.PureDP(epsilon).to_approx(delta).epsilon)
        assert hockey_stick(*response(epsilon), tight) <= delta
        assert hockey_stick(*response(epsilon), tight * (1 - 1e-6)) > delta


def test_no_pure_mechanism_exceeds_the_curve_of_randomized_response(rng: np.random.Generator) -> None:
    orders = np.array([float(a) for a in ORDERS])
    for p, q in zip(
        random_distributions(rng, 200, 4, 0.5), random_distributions(rng, 200, 4, 0.5), strict=True
    ):
        epsilon = max_log_ratio(p, q)
        bounds = randomized_response_divergence(epsilon, orders)
        assert all(renyi_divergence(p, q, a) <= b + ROUND for a, b in zip(orders, bounds, strict=True))
    # attained, and never above the two looser bounds
    for epsilon in (1e-3, 0.1, 1.0, 8.0):
        bounds = randomized_response_divergence(epsilon, orders)
        exact = [renyi_divergence(*response(epsilon), a) for a in orders[:4]]
        assert bounds[:4] == pytest.approx(exact, rel=1e-9)
        assert (bounds <= np.minimum(epsilon, orders * epsilon**2 / 2) * (1 + ROUND)).all()


@pytest.mark.parametrize("epsilon", [1e-8, 1e-4, 0.3, 2.0, 30.0, 700.0])
@pytest.mark.parametrize("order", [1.0001, 1.5, 7.0, 300.0])
def test_the_curve_keeps_its_digits(epsilon: float, order: float) -> None:
    with mpmath.workdps(60):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(order)
        exact = mpmath.log(mpmath.cosh((a - mpmath.mpf(1) / 2) * e) / mpmath.cosh(e / 2)) / (a - 1)
        value = randomized_response_divergence(epsilon, np.array([order]))[0]
        assert value == pytest.approx(float(exact), rel=1e-11)
    (stated,) = dc.PureDP(epsilon).to_renyi([order]).epsilons
    assert float(exact) <= float(stated) * (1 + 1e-15)
    assert float(stated) <= max(float(exact) * (1 + 1e-9), 1e-12)


@pytest.mark.parametrize("rho", ["1e-4", "0.01", "0.5", "4"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "0.01"])
def test_concentrated_conversion(rho: str, delta: str) -> None:
    """The best order, in high precision; valid for the Gaussian; below the textbook's."""
    found = dc.ZeroConcentratedDP(rho).to_approx(delta)
    assert found.method == "zero-concentrated composition"
    with mpmath.workdps(40):
        r, d = mpmath.mpf(rho), mpmath.mpf(delta)

        def bound(u: mpmath.mpf) -> mpmath.mpf:
            a = 1 + mpmath.exp(u)
            return a * r + mpmath.log((a - 1) / a) - (mpmath.log(d) + mpmath.log(a)) / (a - 1)

        start = mpmath.log(mpmath.sqrt(-mpmath.log(d) / r))
        best = bound(mpmath.findroot(lambda u: mpmath.diff(bound, u), start))
    assert float(best) <= float(found.epsilon) <= max(float(best) * (1 + 1e-8), 1e-12)
    textbook = float(rho) + 2 * np.sqrt(float(rho) * np.log(1 / float(delta)))
    assert float(found.epsilon) < textbook
    mu = np.sqrt(2 * float(rho))
    assert gaussian_delta(mu, np.array(float(found.epsilon))) <= float(delta)
    # control: two thirds of it is not enough for the Gaussian
    assert found.epsilon == Fraction(1, 10**12) or gaussian_delta(
        mu, np.array(0.66 * float(found.epsilon))
    ) > float(delta)


def test_renyi_conversion_holds_for_finite_mechanisms(rng: np.random.Generator) -> None:
    for p, q in zip(
        random_distributions(rng, 100, 5, 0.3), random_distributions(rng, 100, 5, 0.3), strict=True
    ):
        worst = [max(renyi_divergence(p, q, float(a)), renyi_divergence(q, p, float(a))) for a in ORDERS]
        curve = RenyiDP(ORDERS, [up(w) for w in worst])
        for delta in (1e-4, 0.05):
            e = float(curve.to_approx(delta).epsilon)
            assert max(hockey_stick(p, q, e), hockey_stick(q, p, e)) <= delta + ROUND
        # between the orders by convexity
        for between in (Fraction(5, 4), Fraction(7, 2), Fraction(20)):
            bound = curve.at(between)
            assert bound is not None
            assert renyi_divergence(p, q, float(between)) <= float(bound) + ROUND


def test_between_orders_the_straight_line_is_not_valid_for_the_divergence_itself() -> None:
    """Control: the weights matter. A curve that bends the other way lies above the chord of D_a."""
    p, q = np.array([0.01, 0.99]), np.array([0.001, 0.999])
    a, b, m = 1.5, 40.0, 10.0
    low, high = renyi_divergence(p, q, a), renyi_divergence(p, q, b)
    bound = RenyiDP([a, b], [up(low), up(high)]).at(m)
    assert bound is not None
    assert low + (high - low) * (m - a) / (b - a) < renyi_divergence(p, q, m) <= float(bound) + ROUND


@pytest.mark.parametrize("count", [2, 10, 60])
@pytest.mark.parametrize("delta", [1e-8, 1e-3])
def test_equal_guarantees_have_a_closed_form(count: int, delta: float) -> None:
    """Kairouz, Oh and Viswanath (2015), theorem 3.3, at the epsilon that is stated, and just below it."""
    epsilon, each = 0.3, 1e-10
    parts = [dc.ApproxDP("0.3", "1e-10")] * count
    found = compose(*parts).to_approx(delta)

    def closed(total: float) -> float:
        with mpmath.workdps(40):
            e = mpmath.mpf(epsilon)
            terms = (
                comb(count, i) * (mpmath.exp((count - i) * e) - mpmath.exp(total + i * e))
                for i in range(count + 1)
                if (count - 2 * i) * epsilon > total
            )
            inner = mpmath.fsum(terms) / (1 + mpmath.exp(e)) ** count
            return float(1 - (1 - mpmath.mpf(each)) ** count * (1 - inner))

    e = float(found.epsilon)
    assert closed(e) <= delta
    assert closed(e * (1 - 1e-4) - 1e-6) > delta
    assert e <= count * epsilon


def test_the_error_of_fourier_transforms_is_below_what_is_charged(rng: np.random.Generator) -> None:
    """dp-accounting's convolutions against sums of positive numbers, at thirty epsilons."""
    for _ in range(5):
        epsilons = [Fraction(int(k), 100) for k in rng.integers(1, 60, size=4) for _ in range(5)]
        losses, mass = response_losses(epsilons)
        step = Fraction(1, 400)
        pieces = [grid_losses(e, step, epsilons.count(e)) for e in dict.fromkeys(epsilons)]
        composed = pieces[0]
        for piece in pieces[1:]:
            composed = composed.compose(piece)
        points = np.linspace(0, float(sum(epsilons)), 30)
        exact = [float((mass * np.maximum(0, -np.expm1(np.minimum(e - losses, 0)))).sum()) for e in points]
        error = np.abs(np.array([composed.get_delta_for_epsilon(float(e)) for e in points]) - exact)
        assert error.max() < _FOURIER_ERROR


def test_losses_between_grid_points_are_split_safely() -> None:
    """A loss off the grid costs more than one on it, and converges to the truth with the step."""
    epsilon, target = Fraction(1, 7), 1e-5
    losses, mass = response_losses([epsilon] * 20)
    truth = lambda e: float((mass * np.maximum(0, -np.expm1(np.minimum(e - losses, 0)))).sum())  # noqa: E731
    found = [
        grid_losses(epsilon, Fraction(1, k), 20).get_epsilon_for_delta(target - 1e-12) for k in (5, 50, 500)
    ]
    assert all(truth(e) <= target for e in found)
    assert found[0] > found[1] > found[2]
    assert truth(found[2] * (1 - 1e-4)) > target


def test_too_small_a_delta_is_left_to_other_methods() -> None:
    assert composed_epsilon([Fraction(1, 10)] * 50, None, 1e-13) is None
    found = compose(*[dc.PureDP("0.1")] * 200).to_approx("1e-20")
    assert found.method == "Rényi composition"
    assert found.epsilon < 20


def test_failure_probabilities_of_the_parts_are_a_floor() -> None:
    both = compose(dc.ApproxDP(1, "0.1"), dc.ApproxDP(1, "0.1"))
    assert both.to_approx("0.19").epsilon == 2  # 1 - 0.9^2, where the sum would be 0.2
    with pytest.raises(dc.errors.UsageError, match=r"at least 0\.19"):
        both.to_approx("0.18")
    mixed = compose(dc.ApproxDP(1, "0.1"), dc.ZeroConcentratedDP(1))
    with pytest.raises(dc.errors.UsageError, match=r"above 0\.1"):
        mixed.to_approx("0.1")
    assert mixed.to_approx("0.100001").epsilon > 1


def test_budgets_without_meaning_are_added_and_not_converted() -> None:
    assert compose(dc.PureDP("1e299"), dc.PureDP(1)).to_approx("1e-6").epsilon == Fraction(10) ** 299 + 1
    assert compose(*[dc.PureDP("1e-290")] * 2).to_approx("1e-6").epsilon == Fraction(1, 10**12)
    assert compose(*[dc.PureDP(800)] * 2).to_approx("1e-6").epsilon <= 1600
    for huge in (dc.ZeroConcentratedDP("1e7"), RenyiDP([2], ["1e7"])):
        with pytest.raises(dc.errors.UsageError, match="above 1e6"):
            huge.to_approx("1e-6")


def test_the_method_is_the_best_and_is_named() -> None:
    many = compose(*[dc.PureDP("0.1")] * 100)
    assert many == dc.PureDP(10)
    found = many.to_approx("1e-6")
    assert found.method == "privacy-loss distribution"
    assert float(found.epsilon) == pytest.approx(4.774567588, rel=1e-7)
    assert found.delta == Fraction(1, 10**6)
    assert dc.PureDP(10).to_approx("1e-6").epsilon > 9.9
    assert compose(dc.PureDP("0.1"), dc.PureDP("1e-9")).to_approx("1e-30").method == "basic composition"
    curve = RenyiDP([2, 8], ["0.1", "0.4"], neighbors="add_remove", unit="person")
    one = curve.to_approx("1e-5").guarantee
    assert (one.neighbors, one.unit) == ("add_remove", "person")
