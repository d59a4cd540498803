"""No number is stated too small: long lists, tiny budgets, orders next to 1, and rationals of many digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import gammaln

import discreet as dc
from discreet.privacy import compose_parallel
from discreet.privacy.composition import compose
from discreet.privacy.curves import curve_at
from discreet.privacy.metric_dp import MetricDP, PseudoMetric
from discreet.privacy.renyi import LEAST_ORDER, RenyiDP
from discreet.privacy.rounding import log_mixed_up, short_up
from discreet.privacy.subsampling import subsample
from discreet.rational import exact, float_down, float_up, is_short, text

BIG = Fraction(10**300 + 1, 10**300 + 3)
PRIMES = [p for p in range(2, 1000) if all(p % q for q in range(2, p))]


def binomial_delta(epsilon: float, count: int, at: float) -> float:
    """The delta of ``count`` randomized responses. Log masses of up to 1e6 are known to 1e-9."""
    k = np.arange(count + 1)
    log_mass = gammaln(count + 1) - gammaln(k + 1) - gammaln(count - k + 1)
    log_mass -= k * np.log1p(np.exp(-epsilon)) + (count - k) * np.log1p(np.exp(epsilon))
    excess = -np.expm1(np.minimum(at - (2 * k - count) * epsilon, 0.0))
    return float((np.exp(log_mass) * excess).sum())


@pytest.mark.parametrize(
    ("count", "epsilon", "delta"),
    [(10_000, "0.01", 1e-11), (30_000, "0.01", 1e-9), (60_000, "0.005", 1e-11), (10_000, "0.01", 1e-6)],
)
def test_long_compositions_are_not_stated_too_small(count: int, epsilon: str, delta: float) -> None:
    found = compose(*[dc.PureDP(epsilon)] * count).to_approx(delta)
    assert binomial_delta(float(epsilon), count, float(found.epsilon)) <= delta * (1 + 1e-8)
    # where the transforms are good enough they are used, and what they cost is not noticed
    if delta > 1e-10:
        assert found.method == "privacy-loss distribution"
        assert binomial_delta(float(epsilon), count, float(found.epsilon) * (1 - 1e-3)) > delta


# -- Rényi orders next to 1 ------------------------------------------------------------------------------------------


def response_divergence(epsilon: Fraction, order: Fraction) -> mpmath.mpf:
    """The divergence of randomized response by its definition, with all digits that e^-epsilon takes."""
    with mpmath.workdps(60 + int(epsilon)):
        e, a = (mpmath.mpf(v.numerator) / v.denominator for v in (epsilon, order))
        p = mpmath.exp(e) / (1 + mpmath.exp(e))
        return mpmath.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)


@pytest.mark.parametrize("order", ["1.000001", "1.00000123456789", "1.001", "1.5", "2", "100"])
@pytest.mark.parametrize("epsilon", ["1e-5", "0.1", "0.999", "2", "40", "700", "5000"])
def test_curves_of_pure_guarantees_are_just_above_the_truth(epsilon: str, order: str) -> None:
    stated = curve_at(dc.PureDP(epsilon), Fraction(order))
    truth = response_divergence(Fraction(epsilon), Fraction(order))
    # a bound of 1e-12 is the least that is stated
    assert truth <= mpmath.mpf(stated.numerator) / stated.denominator <= truth * (1 + 3e-10) + 1e-12


def test_enormous_orders_and_budgets_do_not_overflow() -> None:
    assert curve_at(dc.PureDP("1e299"), Fraction(10) ** 299) == Fraction(10) ** 299
    assert curve_at(dc.PureDP("1e299"), LEAST_ORDER) == Fraction(10) ** 299


@pytest.mark.parametrize("order", ["1.0000000000000001", "1.000000000000001", "1.0000001"])
def test_orders_too_close_to_one_are_refused(order: str) -> None:
    for call in (
        lambda: dc.PureDP(2).to_renyi([order]),
        lambda: RenyiDP([order, 2], [5, 5]),
        lambda: RenyiDP([2], [5]).at(order),
    ):
        with pytest.raises(dc.errors.UsageError, match=r"at least 1\.000001") as caught:
            call()
        assert "\n" not in caught.value.message
    # two steps halve the orders; one that would fall below the least is left out
    assert RenyiDP(["2.000001", 4], [1, 2], neighbors="add_remove").to_replace().orders == (2,)  # pyright: ignore[reportAttributeAccessIssue]


def test_a_curve_whose_best_order_is_next_to_one() -> None:
    order, budget, delta = LEAST_ORDER, Fraction(5), Fraction(1, 10**6)
    stated = RenyiDP([order], [budget]).to_approx(delta).epsilon
    with mpmath.workdps(40):
        a, d = (mpmath.mpf(v.numerator) / v.denominator for v in (order, delta))
        truth = 5 + mpmath.log((a - 1) / a) - (mpmath.log(d) + mpmath.log(a)) / (a - 1)
        assert truth <= mpmath.mpf(stated.numerator) / stated.denominator <= truth * (1 + 3e-10)


def test_floats_on_either_side() -> None:
    for value in (
        Fraction(1, 3),
        Fraction(-1, 3),
        Fraction(1, 10),
        Fraction(1, 2),
        Fraction(0),
        1 + Fraction(1, 10**20),
    ):
        low, high = float_down(value), float_up(value)
        assert Fraction(low) <= value <= Fraction(high)
        assert high in (low, np.nextafter(low, np.inf))


# -- tiny budgets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1e-290", "1e-58", "1e-40", "1e-20", "9e-21", "1e-9", "0.5", "30"])
@pytest.mark.parametrize("rate", ["1e-8", "1e-3", "0.5", "0.999"])
def test_sampled_budgets_are_just_above_the_truth(epsilon: str, rate: str) -> None:
    stated = log_mixed_up(Fraction(rate), Fraction(epsilon))
    with mpmath.workdps(400):
        g, e = mpmath.mpf(rate), mpmath.mpf(epsilon)
        truth = mpmath.log1p(g * mpmath.expm1(e))
        assert truth <= mpmath.mpf(stated.numerator) / stated.denominator <= truth * (1 + mpmath.mpf("1e-19"))


def test_a_tiny_rate_leaves_a_positive_budget() -> None:
    sampled = subsample(dc.PureDP(1, neighbors="add_remove"), "1e-120", sampling="poisson")
    assert 1.71e-120 < float(sampled.budgets()["epsilon"]) < 1.72e-120


# -- rationals of many digits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        BIG,
        "0." + "123456789" * 30,
        Fraction(10**5000 + 1, 10**5000),
        f"{BIG.numerator}/{BIG.denominator}",
        10**5000,
    ],
    ids=["fraction", "decimal", "endless fraction", "text", "endless integer"],
)
def test_what_could_not_be_read_again_is_refused(value: Fraction | str | int) -> None:
    for call in (
        exact,
        lambda v, name: dc.PureDP(v),
        lambda v, name: dc.release([1], dc.Bernoulli(), epsilon=v),
    ):
        with pytest.raises(dc.errors.UsageError, match="epsilon must be") as caught:
            call(value, "epsilon")
        assert "\n" not in caught.value.message
        assert len(caught.value.message) < 200


@pytest.mark.parametrize("value", ["1e-300", "1e300", 1.2345678901234567e-300, Fraction(1, 3), "-2/7", 0])
def test_what_is_read_can_be_written_and_read_again(value: str | float | Fraction) -> None:
    number = exact(value, "x")
    assert exact(text(number), "x") == number


def test_long_sums_are_rounded_up_to_short_ones() -> None:
    parts = [dc.PureDP(Fraction(1, 100 * p)) for p in PRIMES]
    truth = sum((part.epsilon for part in parts), Fraction(0))
    assert not is_short(truth)
    both = [compose(*parts), compose_parallel(compose(*parts), dc.PureDP(Fraction(1, 7)))]
    for total, least in zip(both, (truth, truth + Fraction(1, 7)), strict=True):
        assert isinstance(total, dc.PureDP)
        assert least <= total.epsilon < least * (1 + Fraction(1, 10**30))
        assert exact(text(total.epsilon), "epsilon") == total.epsilon
    # conversions start from the parts
    assert both[0].to_approx("1e-6").epsilon <= both[0].budgets()["epsilon"]
    curves = [RenyiDP([2], [Fraction(1, 100 * p)]) for p in PRIMES]
    assert all(is_short(e) for e in compose(*curves).epsilons)  # pyright: ignore[reportAttributeAccessIssue]
    assert short_up(Fraction(1, 3)) == Fraction(1, 3)
    for exponent in (5000, -299):
        long = (1 + Fraction(1, 10**5000)) * Fraction(10) ** min(exponent, 0)
        assert long < short_up(long) < long * (1 + Fraction(1, 10**30))


# -- what raised something else than one line -------------------------------------------------------------------------


def test_a_delta_that_leaves_no_float_is_refused() -> None:
    mixed = compose(dc.ApproxDP(1, Fraction(1, 10)), dc.ZeroConcentratedDP(1))
    for spare in (Fraction(1, 10**400), Fraction(0)):
        with pytest.raises(dc.errors.UsageError, match="delta must be"):
            mixed.to_approx(Fraction(1, 10) + spare)
    assert mixed.to_approx(Fraction(1, 10) + Fraction(1, 10**150)).epsilon > 20


def test_pure_metric_guarantees_have_a_curve() -> None:
    metric = PseudoMetric.absolute(0, 2)
    both = compose(MetricDP(1, 0, metric), dc.PureDP(1))
    assert both.to_renyi([2]) == compose(dc.PureDP(2), dc.PureDP(1)).to_renyi([2])
    with pytest.raises(dc.errors.UsageError, match="bounds no Rényi divergence"):
        compose(MetricDP(1, "1e-7", metric), dc.PureDP(1)).to_renyi([2])


def test_a_conversion_is_shown_in_one_line() -> None:
    found = dc.ZeroConcentratedDP("0.005").to_approx("1e-6")
    words = repr(found)
    assert words.startswith(("<epsilon = 0.42994", "<epsilon = 0.42995"))
    assert words.endswith(" with delta = 1e-06, by zero-concentrated composition>")
    # never less than was proved
    assert Fraction(words.split()[2]) >= found.epsilon
