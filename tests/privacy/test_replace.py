"""From add_remove to replace: two steps through a table without the record, on triples of small distributions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.privacy import MetricDP, PseudoMetric, RenyiDP, compose
from tests.privacy.oracles import hockey_stick, max_log_ratio, random_distributions, renyi_divergence

ORDERS = [Fraction(3, 2), 2, Fraction(5, 2), 3, 4, 6, 12]
ROUND = 1e-12


def up(value: float) -> Fraction:
    return Fraction(max(value, 1e-9) * (1 + 1e-12))


def both(divergence, p: np.ndarray, q: np.ndarray, *rest: float) -> float:
    return max(divergence(p, q, *rest), divergence(q, p, *rest))


def test_what_is_known_of_each_kind() -> None:
    relation: dict[str, Any] = {"neighbors": "add_remove", "unit": "person"}
    assert dc.PureDP("0.3", **relation).to_replace() == dc.PureDP("0.6", unit="person")
    assert dc.ZeroConcentratedDP("0.1", **relation).to_replace() == dc.ZeroConcentratedDP(
        "0.4", unit="person"
    )
    approx = dc.ApproxDP(1, "1e-6", **relation).to_replace()
    assert isinstance(approx, dc.ApproxDP)
    assert approx.epsilon == 2
    assert float(approx.delta) == pytest.approx((1 + np.e) * 1e-6, rel=1e-14)
    assert float(approx.delta) >= (1 + np.e) * 1e-6
    curve = RenyiDP(ORDERS, [a * Fraction(1, 10) for a in ORDERS], **relation).to_replace()
    # a straight curve gives what zero-concentrated privacy gives
    assert curve == RenyiDP([a / 2 for a in map(Fraction, ORDERS) if a > 2], curve.epsilons, unit="person")  # pyright: ignore[reportAttributeAccessIssue]
    straight = RenyiDP([4, 5, 6], ["0.4", "0.5", "0.6"], neighbors="add_remove").to_replace()
    assert straight.at(3) == Fraction(12, 10)  # pyright: ignore[reportAttributeAccessIssue]


def test_replace_stays_replace() -> None:
    for guarantee in (dc.PureDP(1), dc.ApproxDP(1, "1e-6"), dc.ZeroConcentratedDP(1), RenyiDP([2], [1])):
        assert guarantee.to_replace() is guarantee


def test_a_composition_is_converted_part_by_part() -> None:
    parts = [dc.PureDP("0.1", neighbors="add_remove")] * 50
    whole = compose(*parts).to_replace()
    assert whole == dc.PureDP(10)
    assert whole.to_approx("1e-6") == compose(*[dc.PureDP("0.2")] * 50).to_approx("1e-6")
    mixed = compose(
        dc.ApproxDP(1, "1e-6", neighbors="add_remove"), dc.ZeroConcentratedDP(1, neighbors="add_remove")
    )
    assert mixed.to_replace().neighbors == "replace"


def test_what_has_no_form() -> None:
    with pytest.raises(dc.errors.UsageError, match="order above 2"):
        RenyiDP([2], [1], neighbors="add_remove").to_replace()
    with pytest.raises(dc.errors.UsageError, match="nothing is promised"):
        dc.ApproxDP(10, "0.01", neighbors="add_remove").to_replace()
    with pytest.raises(dc.errors.UsageError, match="nothing is promised"):
        dc.ApproxDP("1e299", "1e-9", neighbors="add_remove").to_replace()


def test_two_steps_hold_on_triples(rng: np.random.Generator) -> None:
    """P and Q, and Q and R, are within a guarantee; so P and R must be within the converted one."""
    for p, q, r in random_distributions(rng, 900, 4, 0.4).reshape(300, 3, 4):
        pure = up(max(max_log_ratio(p, q), max_log_ratio(q, r)))
        assert max_log_ratio(p, r) <= float(
            dc.PureDP(pure, neighbors="add_remove").to_replace().budgets()["epsilon"]
        )
        epsilon = 0.3
        delta = up(max(both(hockey_stick, p, q, epsilon), both(hockey_stick, q, r, epsilon)))
        if (1 + np.exp(epsilon)) * delta < 1:
            two = dc.ApproxDP("0.3", delta, neighbors="add_remove").to_replace().budgets()
            assert both(hockey_stick, p, r, float(two["epsilon"])) <= float(two["delta"]) + ROUND
        worst = [
            max(both(renyi_divergence, p, q, float(a)), both(renyi_divergence, q, r, float(a)))
            for a in ORDERS
        ]
        curve = RenyiDP(ORDERS, [up(w) for w in worst], neighbors="add_remove").to_replace()
        for a, bound in zip(curve.orders, curve.epsilons, strict=True):  # pyright: ignore[reportAttributeAccessIssue]
            assert both(renyi_divergence, p, r, float(a)) <= float(bound) + ROUND


def test_less_would_not_hold() -> None:
    """Controls: doubling delta, or a Rényi epsilon, is not enough; nor is 1.9 epsilon."""
    e, d = 1.0, 0.01
    # mass d appears at Q, is multiplied by e^epsilon at P, where another d appears
    r = np.array([0.5, 1e-9, 0.5 - 1e-9])
    q = np.array([0.5 * np.exp(-0.5), d, 0.0])
    q[2] = 1 - q.sum()
    p = np.array([0.0, np.exp(e) * d + d, 0.0])
    p[0], p[2] = q[0] * 0.98, 0.0
    p[2] = 1 - p.sum()
    assert max(both(hockey_stick, p, q, e), both(hockey_stick, q, r, e)) <= d + 1e-6
    assert both(hockey_stick, p, r, 2 * e) > 2 * d
    assert both(hockey_stick, p, r, 2 * e) <= (1 + np.exp(e)) * d + 1e-6
    # shifts of a discretized Gaussian: twice the shift, four times the divergence
    x = np.arange(-100, 101)
    normal = [np.exp(-((x - m) ** 2) / 200.0) for m in (0, 2, 4)]
    distributions = [weights / weights.sum() for weights in normal]
    one, two = (
        renyi_divergence(distributions[1], distributions[0], 3.0),
        renyi_divergence(distributions[2], distributions[0], 3.0),
    )
    assert two == pytest.approx(4 * one, rel=1e-6)
    # shifts of discrete Laplace noise attain 2 epsilon
    steps = [np.tanh(0.25) * np.exp(-0.5 * np.abs(x - m)) for m in (0, 1, 2)]
    assert max_log_ratio(steps[0], steps[1]) == pytest.approx(0.5)
    assert max_log_ratio(steps[0], steps[2]) == pytest.approx(1.0)


def geometric(count: int, n: int, rate: float) -> np.ndarray:
    """Return the distribution of the exponential mechanism on 0..n with score -rate |k - count| / 2."""
    weights = np.exp(-rate / 2 * np.abs(np.arange(n + 1) - count))
    return weights / weights.sum()


def test_a_metric_guarantee_is_worth_its_diameter() -> None:
    """One record in [0, 4] moves the sum by up to 4: rate 0.25 per unit makes 1 for neighbors."""
    rate, n = 0.25, 12
    metric = PseudoMetric.absolute(0, 4)
    promise = MetricDP("0.25", 0, metric)
    assert promise.to_neighbors() == dc.PureDP(1)
    for x in range(n + 1):
        for y in range(max(0, x - 4), min(n, x + 4) + 1):
            ratio = max_log_ratio(geometric(x, n, rate), geometric(y, n, rate))
            assert ratio <= rate * abs(x - y) + ROUND
            assert ratio <= float(promise.to_neighbors().epsilon) + ROUND
    # control: the diameter is needed. Half of it is not enough
    assert max_log_ratio(geometric(2, n, rate), geometric(6, n, rate)) > rate * 2


def test_metric_guarantees_add_up_under_one_metric() -> None:
    absolute = PseudoMetric.absolute(-1, 1)
    one, two = MetricDP("0.1", 0, absolute), MetricDP("0.2", "1e-7", absolute)
    both_of_them = compose(one, two)
    assert both_of_them == MetricDP("0.3", "1e-7", absolute)
    assert both_of_them.to_approx("1e-5") == compose(one.to_neighbors(), two.to_neighbors()).to_approx("1e-5")
    assert compose(one, MetricDP(1, 0, "hamming")) == dc.PureDP("1.2")
    assert compose(one, dc.PureDP(1)) == dc.PureDP("1.2")
    assert one.to_renyi([2]) == dc.PureDP("0.2").to_renyi([2])


def test_metric_nonsense() -> None:
    hamming = PseudoMetric.hamming()
    for epsilon, delta in ((0, 0), (-1, 0), (1, -1), (float("nan"), 0)):
        with pytest.raises(dc.errors.UsageError):
            MetricDP(epsilon, delta, hamming)
    with pytest.raises(dc.errors.UsageError, match="metric must be"):
        MetricDP(1, 0, "euclidean")  # pyright: ignore[reportArgumentType]
    with pytest.raises(dc.errors.UsageError, match="same length"):
        MetricDP(1, 0, "hamming", neighbors="add_remove")
    with pytest.raises(dc.errors.UsageError, match="diameter"):
        PseudoMetric("mine", 0)
    with pytest.raises(dc.errors.UsageError, match="below high"):
        PseudoMetric.absolute(1, 1)
    # a bound on total variation that the theory gives for the square root of a metric, and that says nothing
    with pytest.raises(dc.errors.UsageError, match="nothing is promised"):
        MetricDP(0, "0.8", PseudoMetric.absolute(0, 2).root()).to_neighbors()
    assert MetricDP(0, "0.1", hamming).to_neighbors().budgets() == {
        "epsilon": Fraction(1, 10**12),
        "delta": Fraction(1, 10),
    }


def test_a_metric_for_add_remove_goes_through_neighbors() -> None:
    sizes = PseudoMetric("number of records", 1)
    promise = MetricDP("0.5", 0, sizes, neighbors="add_remove")
    assert promise.to_replace() == dc.PureDP(1)
