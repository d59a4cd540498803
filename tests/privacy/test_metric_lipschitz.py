"""Lipschitz constants and distances: pairs of records never exceed the closed form, and attain it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.families.base import Family
from discreet.privacy.metric import (
    RecordDistance,
    finite_bernoulli,
    lipschitz,
    lipschitz_by_pairs,
    smooth_set,
    statistic_slope,
)

D = RecordDistance
#: Family, distance, parameter values, records that are dense or all there are.
CASES: dict[str, tuple[Family, RecordDistance, dict[str, Any], np.ndarray]] = {
    "bernoulli": (dc.Bernoulli(), D.hamming(), {"p": [0.1, 0.5, 0.97]}, np.arange(2.0)),
    "bernoulli-quadratic": (dc.Bernoulli(), D.quadratic(0, 1), {"p": [0.1, 0.97]}, np.arange(2.0)),
    "exponential": (dc.Exponential(), D.absolute(0, 3), {"rate": [0.2, 5]}, np.linspace(0, 3, 31)),
    "exponential-hamming": (dc.Exponential(), D.hamming(0, 3), {"rate": [0.2, 5]}, np.linspace(0, 3, 31)),
    "gamma": (dc.Gamma(shape=2.5), D.absolute(0.5, 3), {"rate": [0.2, 5]}, np.linspace(0.5, 3, 31)),
    "laplace": (dc.Laplace(location=1), D.absolute(-3, 4), {"rate": [0.2, 5]}, np.linspace(-3, 4, 29)),
    "laplace-hamming": (dc.Laplace(location=1), D.hamming(-3, 4), {"rate": [2]}, np.linspace(-3, 4, 29)),
    "poisson": (dc.Poisson(), D.absolute(1, 9), {"rate": [0.2, 1, 7]}, np.arange(1.0, 10)),
    "geometric": (dc.Geometric(), D.hamming(0, 12), {"p": [0.1, 0.8]}, np.arange(13.0)),
    "normal-mean": (dc.Normal(mean=1), D.absolute(-3, 4), {"variance": [0.5, 3]}, np.linspace(-3, 4, 701)),
    "normal-quadratic": (dc.Normal(mean=1), D.quadratic(-3, 4), {"variance": [2]}, np.linspace(-3, 4, 701)),
    "normal-far": (dc.Normal(mean=5), D.quadratic(-1, 1), {"variance": [2]}, np.linspace(-1, 1, 801)),
    "normal-variance": (dc.Normal(variance=4), D.absolute(-3, 5), {"mean": [-2, 6]}, np.linspace(-3, 5, 41)),
    "labels": (
        dc.Categorical(3),
        D.hamming(),
        {"p": [[0.2, 0.3, 0.5], [0.9, 0.09, 0.01]]},
        np.array(["0", "1", "2"]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_closed_form_is_the_supremum_over_pairs_of_records(name: str) -> None:
    family, distance, values, records = CASES[name]
    theta = {key: np.array(value, dtype=float) for key, value in values.items()}
    closed = lipschitz(family, theta, distance)
    found = lipschitz_by_pairs(family, theta, distance, records)
    # at rate 1 both are 0, up to rounding of log-densities
    assert (found <= closed * (1 + 1e-9) + 1e-12).all()
    # a step of 1/100 away from the steepest place costs 1% at most
    assert (found >= closed * 0.99).all()
    # tables: what one record can do, n records can do per unit of distance, and not more (lemma 5)
    reach = float(distance.metric.diameter)
    largest = max(float(np.max(distance.between(records, np.roll(records, k)))) for k in range(len(records)))
    assert largest <= reach * (1 + 1e-9)
    assert largest >= 0.99 * reach or family.name == "labels"


def test_multivariate_normal(rng: np.random.Generator) -> None:
    """Lemma 23 holds, and is attained where the precision is a rank-one matrix seen along its axis."""
    family = dc.MultivariateNormal(2)
    for scale in (0.1, 1.0, 3.0):
        for _ in range(10):
            root = rng.normal(size=(2, 2))
            theta = {"normal_mean": scale * rng.normal(size=2), "covariance": root @ root.T + 0.1 * np.eye(2)}
            records = rng.normal(size=(60, 2)) * rng.choice([0.1, 1, 10], size=(60, 1))
            found = lipschitz_by_pairs(family, theta, D.outer_product(1, 2), records)
            assert found <= lipschitz(family, theta, D.outer_product(1, 2))
    steep = {"normal_mean": np.zeros(2), "covariance": np.diag([1, 1e6])}
    axis = np.array([[0.0, 0.0], [1.0, 0.0]])
    centered = D.outer_product(1, 2, centered=True)
    assert lipschitz_by_pairs(family, steep, centered, axis) == pytest.approx(0.5, rel=1e-6)
    assert lipschitz(family, steep, centered) == pytest.approx(0.5, rel=1e-6)
    with pytest.raises(dc.errors.UsageError, match="zero"):
        lipschitz(family, {**steep, "normal_mean": np.ones(2)}, centered)


def test_records_of_norm_one_can_be_more_than_three_apart(rng: np.random.Generator) -> None:
    """Which is what "implies 3 epsilon for bounded data" takes them to be, after lemmas 22 and 23."""
    for dim, known in ((2, 4.7097), (5, 4.7097)):
        x, y = rng.normal(size=(2, 40_000, dim))
        x, y = (v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1) for v in (x, y))
        distance = D.outer_product(1, dim)
        reach = float(distance.metric.diameter)
        assert reach == pytest.approx(known, abs=2e-4)
        assert np.max(distance.between(x, y)) <= reach
    angle = np.linspace(0, np.pi, 2001)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for radius in (0.1, 1.0, 7.0):
        distance = D.outer_product(radius, 2)
        found = float(np.max(distance.between(radius * circle[:1], radius * circle)))
        assert found <= float(distance.metric.diameter) <= found * (1 + 1e-6)
        # nor do shorter vectors get further away
        pairs = [
            (s * circle[:1], t * circle) for s in np.linspace(0, radius, 6) for t in np.linspace(0, radius, 6)
        ]
        assert max(float(np.max(distance.between(*pair))) for pair in pairs) <= float(
            distance.metric.diameter
        )
    assert D.quadratic(0, 1).metric.diameter == 3
    assert D.quadratic(-1, 1).metric.diameter == D.outer_product(1, 1).metric.diameter == 4
    assert D.outer_product(3, 1, centered=True).metric.diameter == 9


@pytest.mark.parametrize("ends", [(-1, 1), (0, 1), (2, 3), (-5, 1), (Fraction(-1, 3), 4)])
def test_how_far_apart_numbers_can_be(ends: Any) -> None:
    distance = D.quadratic(*ends)
    x = np.linspace(float(ends[0]), float(ends[1]), 1001)
    found = float(np.max(distance.between(x[:, None], x[None, :])))
    assert found <= float(distance.metric.diameter) * (1 + 1e-12)
    assert found >= 0.999 * float(distance.metric.diameter)


@pytest.mark.parametrize("name", [name for name in CASES if name != "labels"])
def test_the_smooth_set_is_where_the_constant_is_at_most_the_level(name: str) -> None:
    family, distance, values, _ = CASES[name]
    key = next(iter(values))
    level = Fraction(3, 2)
    low, high = smooth_set(family, level, distance)
    for end, outward in ((low, -1), (high, 1)):
        if end in (None, 0):
            continue
        # at the end the constant is the level, and a millionth outside it is more
        for shift, above in ((0.0, False), (1e-6, True)):
            at = float(end) + outward * shift * abs(float(end))
            steep = float(lipschitz(family, {key: np.array(at)}, distance))
            assert (steep > 1.5 * (1 + 1e-8)) == above
            assert steep == pytest.approx(1.5, rel=1e-4)
    inner = 2 * float(low or 1) if high is None else float(((low or 0) + high) / 2)
    assert lipschitz(family, {key: np.array(inner)}, distance) <= 1.5


def test_the_finite_family_of_coins() -> None:
    """Example 1: the printed log(1/step) counts the parameter 1, where the constant is infinite."""
    for step, constant in (("0.2", np.log(4)), ("0.05", np.log(19)), ("0.3", np.log(9))):
        points, found = finite_bernoulli(step)
        p = np.array([float(point) for point in points])
        assert ((p > 0) & (p < 1)).all()
        exact = lipschitz_by_pairs(dc.Bernoulli(), {"p": p}, D.hamming(), np.arange(2.0)).max()
        assert exact == pytest.approx(constant, rel=1e-12)
        assert constant <= float(found) <= constant * (1 + 1e-11)
    # with a step that does not divide 1 the printed constant is too small
    assert np.log(1 / 0.3) < np.log(9)
    for wrong in (0, 0.5, 1, -0.1, "1e-9"):
        with pytest.raises(dc.errors.UsageError, match="step"):
            finite_bernoulli(wrong)


def test_a_distance_that_ignores_part_of_a_record_has_no_constant() -> None:
    """Section 2.2.2: if the distance is zero, the probabilities must be equal."""
    signs = D("absolute", D.absolute(0, 1).metric, lambda x, y: np.abs(np.sign(x) - np.sign(y)))
    found = lipschitz_by_pairs(dc.Exponential(), {"rate": np.array(1.0)}, signs, np.array([0.0, 1.0, 2.0]))
    assert found == np.inf


def test_the_base_measure_counts_on_request_only() -> None:
    """Lemma 21's log n is a binomial coefficient, like the factorial of a Poisson distribution."""
    x, theta = np.arange(6.0), {"rate": np.array(1.0)}
    assert lipschitz_by_pairs(dc.Poisson(), theta, D.absolute(0, 5), x) == pytest.approx(0, abs=1e-12)
    with_base = lipschitz_by_pairs(dc.Poisson(), theta, D.absolute(0, 5), x, base_measure=True)
    assert with_base == pytest.approx(np.log(5))


def test_what_has_no_closed_form_is_refused() -> None:
    with pytest.raises(dc.errors.UsageError, match="no closed form"):
        statistic_slope(dc.Normal(), D.absolute(0, 1))
    with pytest.raises(dc.errors.UsageError, match="needs bounds"):
        statistic_slope(dc.Exponential(), D.hamming())
    with pytest.raises(dc.errors.UsageError, match="vectors"):
        statistic_slope(dc.Laplace(location=0), D.outer_product(1, 1))
    with pytest.raises(dc.errors.UsageError, match="Hamming"):
        lipschitz(dc.Categorical(2), {"p": np.array([0.5, 0.5])}, D.absolute(0, 1))
    for wrong in ((1, 1), (2, 1)):
        with pytest.raises(dc.errors.UsageError, match="low must be below high"):
            D.quadratic(*wrong)
    with pytest.raises(dc.errors.UsageError, match="two numbers"):
        D.hamming(low=1)
