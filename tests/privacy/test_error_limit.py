"""Limits for every test between two distributions: against the best test by enumeration, and what was printed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError
from discreet.privacy import PseudoMetric
from discreet.privacy.metric import distinguishing_distance
from discreet.privacy.metric.error_limit import ErrorLimit

# sums of a few hundred products of float64
ROUNDING = 1e-12


def total_variation(p: np.ndarray, q: np.ndarray, n: int) -> float:
    """The advantage of the best test, by listing all outcomes of n draws."""
    products = [
        np.array([math.prod(each) for each in itertools.product(distribution, repeat=n)])
        for distribution in (p, q)
    ]
    return float(np.maximum(products[0] - products[1], 0).sum())


def response(epsilon: float, failure: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Randomized response, with outcomes that give everything away."""
    likely = (1 - failure) / (1 + math.exp(-epsilon))
    p = np.array([failure, likely, 1 - failure - likely, 0.0])
    return p, p[::-1]


def printed_distance(delta: float, n_draws: int, lipschitz: float) -> float:
    """Theorem 13 as it is printed."""
    return 3 * math.log(1 / delta) / (4 * n_draws * lipschitz)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize(("epsilon", "failure"), [(0.1, 0.0), (1.0, 0.0), (3.0, 0.0), (0.5, 0.05)])
def test_randomized_response_attains_the_limit(epsilon: float, failure: float, n: int) -> None:
    found = total_variation(*response(epsilon, failure), n)
    limit = ErrorLimit.of_epsilon(epsilon, failure)
    if failure or n > 1 or epsilon > 0.1:
        assert limit.advantage(n) == pytest.approx(found, abs=ROUNDING)
    assert limit.advantage(n) >= found - ROUNDING
    # control: a claim that is 10% too small is exceeded
    assert ErrorLimit.of_epsilon(0.9 * epsilon, 0.9 * failure).advantage(n) < found


@pytest.mark.parametrize("span", [0.05, 0.5, 2.0, 8.0])
def test_the_worst_distribution_of_a_range_has_two_points(span: float) -> None:
    limit = ErrorLimit.of_range(span)
    places = np.linspace(1e-4, 1 - 1e-4, 4001)
    p = places * np.exp(span) / (1 - places + places * np.exp(span))
    divergence = p * np.log(p / places) + (1 - p) * np.log((1 - p) / (1 - places))
    # never above, and attained up to the spacing of the places
    assert divergence.max() <= limit.divergence + ROUNDING
    assert divergence.max() > 0.99 * limit.divergence
    assert (p - places).max() == pytest.approx(math.tanh(span / 4), rel=1e-4)
    best = int(np.argmax(p - places))
    for n in (1, 3, 6):
        pair = np.array([p[best], 1 - p[best]]), np.array([places[best], 1 - places[best]])
        assert total_variation(*pair, n) <= limit.advantage(n) + ROUNDING
    # control
    assert ErrorLimit.of_range(0.9 * span).divergence < divergence.max()


def test_no_pair_of_random_distributions_beats_its_limits(rng: np.random.Generator) -> None:
    for _ in range(200):
        size, n = int(rng.integers(2, 5)), int(rng.integers(1, 5))
        q = rng.dirichlet(np.ones(size)).clip(1e-6)
        q /= q.sum()
        tilt = rng.normal(0, rng.choice([0.1, 1.0, 3.0]), size)
        p = q * np.exp(tilt) / (q * np.exp(tilt)).sum()
        ratio = np.log(p / q)
        found = total_variation(p, q, n)
        divergence = float(p @ ratio)
        for limit in (
            ErrorLimit.of_range(float(np.ptp(tilt))),
            ErrorLimit.of_epsilon(float(np.abs(ratio).max())),
            ErrorLimit(divergence=divergence),
        ):
            assert found <= limit.advantage(n) + ROUNDING
            assert limit.error(n) == pytest.approx(limit.errors(n) / 2)
            assert divergence <= limit.divergence + ROUNDING


def test_the_rigorous_theorem_13_holds_for_randomized_response_and_the_printed_one_does_not() -> None:
    lipschitz, distance = 5.0, 1.0
    p, q = response(2 * lipschitz * distance)
    error = (1 - total_variation(p, q, 1)) / 2
    assert error == pytest.approx(4.54e-5, rel=1e-3)
    assert math.log(1 / (4 * error)) / (2 * lipschitz) <= distance
    assert distinguishing_distance(lipschitz, 1, error) <= distance * (1 + ROUNDING)
    assert ErrorLimit.of_lipschitz(lipschitz, distance).error(1) == pytest.approx(error)
    # as a necessary condition the printed form asks for L rho = 7.5
    assert lipschitz * printed_distance(error, 1, lipschitz) == pytest.approx(7.5, rel=1e-4)
    assert printed_distance(error, 1, lipschitz) > distance


@pytest.mark.parametrize("epsilon", [0.02, 0.3, 2.0])
@pytest.mark.parametrize("delta", [0.2, 0.05, 1e-6])
def test_the_least_number_of_draws_is_the_first_that_is_enough(epsilon: float, delta: float) -> None:
    limit = ErrorLimit.of_epsilon(epsilon)
    n = limit.least_draws(delta)
    assert n is not None
    assert limit.error(n) <= delta
    assert n == 1 or limit.error(n - 1) > delta
    # the closed form of Bretagnolle and Huber is a bound as well, and never the larger one
    assert n >= math.log(1 / (4 * delta)) / limit.divergence


def test_errors_of_many_draws_are_small_but_not_zero() -> None:
    limit = ErrorLimit(divergence=0.125)
    assert limit.error(400) == pytest.approx(math.exp(-50) / 4, rel=1e-6)
    assert ErrorLimit().advantage(1) == 1
    assert ErrorLimit(divergence=1e-20).least_draws(0.05) is None


def test_guarantees_become_limits() -> None:
    assert ErrorLimit.of_guarantee(dc.PureDP(1)) == ErrorLimit.of_epsilon(1)
    assert ErrorLimit.of_guarantee(dc.PureDP("0.5"), 3) == ErrorLimit.of_epsilon(1.5)
    metric = dc.MetricDP(2, 0, PseudoMetric.absolute(0, 10))
    assert ErrorLimit.of_guarantee(metric, 0.25) == ErrorLimit.of_epsilon(0.5)
    assert ErrorLimit.of_guarantee(metric, 0.25) == ErrorLimit.of_lipschitz(1, 0.25)
    assert ErrorLimit.of_guarantee(dc.ApproxDP(1, "0.01")) == ErrorLimit.of_epsilon(1, 0.01)
    assert ErrorLimit.of_guarantee(dc.ZeroConcentratedDP("0.1"), 2).divergence == pytest.approx(0.4)
    assert ErrorLimit.of_guarantee(dc.RenyiDP([2, 4], ["0.3", "0.5"])).divergence == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ErrorLimit.of_guarantee(dc.ApproxDP(1, "0.01"), 2), "nothing simple"),
        (lambda: ErrorLimit.of_guarantee(dc.PureDP(1), 1.5), "whole number"),
        (lambda: ErrorLimit.of_guarantee(dc.PureDP(1), 0), "positive"),
        (lambda: ErrorLimit.of_lipschitz(-1, 1), "positive"),
        (lambda: ErrorLimit.of_epsilon(1).least_draws(0.5), "guessing"),
    ],
)
def test_what_has_no_limit_is_refused(call, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        call()
