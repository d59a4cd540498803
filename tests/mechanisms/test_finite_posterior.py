"""Posterior samples on finite sets: the loss over all neighboring tables by enumeration, with controls; draws."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.data import summarize
from discreet.families.base import Family
from discreet.families.record_sums import Support
from discreet.families.vector_family import VectorFamily
from discreet.mechanisms.base import RandomSource, Totals
from discreet.privacy.costs.parameter_set import ParameterSet
from discreet.samplers.secure import secure_select
from tests.mechanisms.test_posterior_sampling import ALARM, ROUNDING, log_mass

ON = dc.mechanisms.FinitePosterior


@dataclass(frozen=True)
class TwoShapes(VectorFamily):
    """A beta distribution with both parameters unknown: a user's family with two statistics."""

    name = "two_shapes_here"
    draw_names = ("a", "b")
    low: float = 0.05
    high: float = 0.95

    @property
    def support(self) -> Support:
        return Support(0.0, 1.0)

    def statistics(self, x: np.ndarray) -> list[np.ndarray]:
        return [np.log(x), np.log1p(-x)]

    def natural(self, theta: Any) -> np.ndarray:
        return np.stack([theta["a"], theta["b"]], axis=-1)

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        a, b = eta[..., 0], eta[..., 1]
        return gammaln(a) + gammaln(b) - gammaln(a + b)

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        return -np.log(x) - np.log1p(-x)


@dataclass(frozen=True)
class Case:
    """A family, its set of parameters, what records can be, and bounds."""

    family: Family
    parameters: list[Any]
    records: list[Any]
    bounds: Any = None
    weights: Any = None


_TWO = {"mean": 0, "variance": 1}, {"mean": 1, "variance": 2}, {"mean": -1, "variance": 4}
CASES = {
    "bernoulli": Case(dc.Bernoulli(), [0.1, 0.35, 0.9], [0, 1]),
    "bernoulli-weights": Case(dc.Bernoulli(), [0.1, 0.35, 0.9], [0, 1], weights=[0.9, 0.09, 0.01]),
    "bernoulli-one-sided": Case(dc.Bernoulli(), [0.05, 0.2, 0.5], [0, 1], weights="sensitivity"),
    "categorical": Case(
        dc.Categorical(["a", "b", "c"]), [[0.1, 0.2, 0.7], [0.5, 0.4, 0.1], [0.3, 0.3, 0.4]], ["a", "b", "c"]
    ),
    "poisson": Case(dc.Poisson(), [0.5, 1, 3], [0, 1, 2, 3], (0, 3)),
    "normal": Case(dc.Normal(), list(_TWO), [-3.0, -1.0, 0.0, 1.0, 2.0, 3.0], (-3, 3)),
    "user": Case(
        TwoShapes(), [{"a": 1, "b": 2}, {"a": 3, "b": 1}, {"a": 2, "b": 2}], [0.05, 0.2, 0.5, 0.7, 0.95]
    ),
}


def made(case: Case, epsilon: Any = 1, samples: int = 1) -> tuple[ParameterSet, Fraction]:
    """Return the set with its weights and the temperature of a release."""
    domain = case.family.read_domain(case.bounds, "clip", "none")
    mechanism = ON(case.parameters, case.weights, epsilon=epsilon, samples=samples)
    record = mechanism.check(case.family, domain)
    return record.scored_points(case.family, domain), record.parameters["temperature"]


def features(case: Case, points: ParameterSet) -> list[tuple[Fraction, ...]]:
    """The exact features of each possible record, as the private side computes them."""
    layout = case.family.layout(points.domain, "replace")
    out = []
    for record in case.records:
        summary = summarize([record], case.family, points.domain, layout)
        out.append(Totals(case.family, points.domain, summary.values, 1).features())
    return out


def worst(case: Case, points: ParameterSet, temperature: Fraction, tables: Any) -> float:
    """The largest log-ratio of the exact mass functions between a table and all tables with one record replaced."""
    known, largest = features(case, points), 0.0
    for rest in tables:
        n = len(rest) + 1
        sums = [sum((known[at][j] for at in rest), Fraction(0)) for j in range(len(known[0]))]
        masses = np.array(
            [
                log_mass(points.distribution([s + f for s, f in zip(sums, one, strict=True)], n, temperature))
                for one in known
            ]
        )
        largest = max(largest, float((masses.max(axis=0) - masses.min(axis=0)).max()))
    return largest


def all_rests(case: Case) -> list[tuple[int, ...]]:
    """All tables of up to four records, but for the one that is replaced."""
    return [rest for n in range(4) for rest in combinations_with_replacement(range(len(case.records)), n)]


def long_rests(case: Case, n: int = 300) -> list[tuple[int, ...]]:
    """Long tables of one or two kinds of records, where posteriors lean on one parameter."""
    kinds = range(len(case.records))
    return [
        (a,) * k + (b,) * (n - k) for a in kinds for b in kinds if a <= b for k in range(0, n + 1, n // 6)
    ]


@pytest.mark.parametrize("name", CASES)
def test_no_neighbors_exceed_epsilon_and_the_bound_is_tight(name: str) -> None:
    case = CASES[name]
    points, temperature = made(case)
    assert worst(case, points, temperature, all_rests(case)) <= 1 + ROUNDING
    attained = worst(case, points, temperature, long_rests(case))
    assert 0.9 <= attained <= 1 + ROUNDING
    # controls: half the temperature; and C, the most that one parameter tells of two records, in place of the range
    generous = [temperature / 2]
    if name in ("bernoulli", "categorical", "poisson", "user"):
        generous.append(Fraction(float(points.changes().max())))
    for each in generous:
        assert worst(case, points, each, long_rests(case, 120)) > 1.25


@pytest.mark.parametrize("name", CASES)
def test_the_range_is_that_of_the_likelihood_itself(name: str) -> None:
    """Against the family's own density at many records, h(x) left in: it cancels."""
    case = CASES[name]
    points, _ = made(case)
    x = np.array(case.records)
    if points.domain.bounds is not None and not case.family.support.discrete:
        low, high = (float(end) for end in points.domain.bounds[0])
        x = np.linspace(low, high, 4097)
    thetas = [{k: v[i] for k, v in points.points.items()} for i in range(len(points.weights))]
    log_p = np.array([case.family.log_density(x, theta) for theta in thetas])
    brute = max(np.ptp(one - other) for one in log_p for other in log_p)
    # a user's statistics are rounded to 2^-20 of their range
    assert brute * (1 - 1e-5) <= float(points.range()) <= brute * (1 + 1e-5)
    change = [np.ptp(row - case.family.log_base_measure(x)) for row in log_p]
    np.testing.assert_allclose(points.changes(), change, rtol=1e-5)


def test_several_samples_share_the_budget() -> None:
    case = CASES["bernoulli"]
    points, temperature = made(case, epsilon=2, samples=4)
    assert 4 * worst(case, points, temperature, long_rests(case)) <= 2 + 4 * ROUNDING
    assert made(case, epsilon=50)[1] == 1


def test_draws_follow_prior_times_likelihood() -> None:
    """Scores against the prior's weights times the likelihood^(1/T); real draws against both, and a control."""
    case = Case(dc.Bernoulli(), [0.1, 0.35, 0.9], [0, 1], weights=[0.3, 0.2, 0.5])
    points, temperature = made(case)
    n, yes = 12, 4
    distribution = points.distribution([Fraction(2 * yes - n)], n, temperature)
    p, weights = np.array(case.parameters), np.array(case.weights)
    wanted = weights * (p**yes * (1 - p) ** (n - yes)) ** (1 / float(temperature))
    np.testing.assert_allclose(distribution.mass(), wanted / wanted.sum(), rtol=1e-12)
    draws = np.bincount([secure_select(distribution) for _ in range(800)], minlength=3)
    flat = points.distribution([Fraction(0)], n, temperature).mass()
    for mass, alike in ((distribution.mass(), True), (flat, False)):
        expected = mass * 800
        assert expected.min() > 5
        statistic = float(((draws - expected) ** 2 / expected).sum())
        # two degrees of freedom: the tail is exp(-x / 2)
        assert (np.exp(-statistic / 2) > ALARM) == alike


def test_sensitivity_weights_and_a_restricted_prior() -> None:
    """Weights e^(-l), l = |logit p| for yes and no; and only the parameters with l <= L, whose range is at most 2L."""
    values, family = [0.05, 0.3, 0.5, 0.8], dc.Bernoulli()
    domain = family.read_domain(None, "clip", "none")
    record = ON(values, "sensitivity", epsilon=1).check(family, domain)
    change = np.abs(np.log(np.array(values) / (1 - np.array(values))))
    points = record.scored_points(family, domain)
    np.testing.assert_allclose(points.changes(), change, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.exp(points.log_base), np.exp(-change) / np.exp(-change).sum(), rtol=1e-12)
    kept = ON(values, [0.1, 0.2, 0.3, 0.4], epsilon=1, largest_change=1.5).check(family, domain)
    assert [float(v) for v in kept.paths["p"]] == [0.3, 0.5, 0.8]
    np.testing.assert_allclose(
        [float(w) for w in kept.paths["prior weights"]], np.array([2, 3, 4]) / 9, rtol=1e-12
    )
    assert kept.parameters["range"] <= 3
    # less than the whole set costs
    assert kept.parameters["range"] < record.parameters["range"]


def test_multivariate_normal_bounds_are_never_too_small(rng: np.random.Generator) -> None:
    family = dc.MultivariateNormal(2)
    domain = family.read_domain([(-3, 3), (0, 8)], "clip", "none")
    chosen = [
        {"normal_mean": [0, 4], "covariance": [[1, 0.5], [0.5, 2]]},
        {"normal_mean": [1, 3], "covariance": [[2, -0.3], [-0.3, 1]]},
    ]
    points = ON(chosen, epsilon=1).check(family, domain).scored_points(family, domain)
    corners = np.array([(a, b) for a in (-3, 3) for b in (0, 8)], dtype=float)
    x = np.concatenate([corners, rng.uniform((-3, 0), (3, 8), (2000, 2))])
    thetas = [{k: v[i] for k, v in points.points.items()} for i in range(2)]
    difference = np.ptp(family.log_density(x, thetas[0]) - family.log_density(x, thetas[1]))
    assert difference <= float(points.range()) <= 2 * difference


def test_every_family_can_be_released_and_kept(rng: np.random.Generator) -> None:
    for name, case in CASES.items():
        mechanism = ON(case.parameters, case.weights, epsilon=1, samples=3)
        release = sample_with(
            RandomSource.seeded(rng),
            case.records * 4,
            case.family,
            mechanism,
            bounds=case.bounds,
            missing="none",
        )
        assert release.samples is not None
        assert release.samples.arithmetic == "exact"
        assert "declared values" in release.statement()
        if name != "user":
            assert dc.Release.from_json(release.to_json()) == release


def test_a_dense_set_agrees_with_the_grid_of_a_conjugate_prior() -> None:
    """Two mechanisms for one posterior."""
    family, n = dc.Bernoulli(), 30
    domain = family.read_domain(None, "clip", "none")
    values = np.linspace(0.05, 0.95, 181).round(6).tolist()
    weights = np.ones(181)
    weights[[0, -1]] = 0.5
    record = ON(values, (weights / weights.sum()).tolist(), epsilon=1).check(family, domain)
    points = record.scored_points(family, domain)
    mass = points.distribution([Fraction(-10)], n, record.parameters["temperature"]).mass()
    conjugate = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.05, 0.95))
    other = conjugate.plan(family, domain, n)
    grid = other.scored_points(family, domain)
    assert grid is not None
    wanted = grid.distribution([Fraction(-10)], n, other.parameters["temperature"]).mass()
    assert mass @ points.points["p"] == pytest.approx(wanted @ grid.points["p"], abs=1e-4)
