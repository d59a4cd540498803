"""One contract for every family.

Oracles, in this order: quadrature (trapezoid sums of analytic integrands, exact to rounding), SciPy's densities, and
extrapolated differences with their own error estimate. Monte Carlo only checks the samplers.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from scipy import stats

from discreet import families, priors
from discreet.errors import UsageError
from discreet.families import (
    Bernoulli,
    Categorical,
    Exponential,
    Family,
    Gamma,
    Geometric,
    Laplace,
    MultivariateNormal,
    Normal,
    Poisson,
)
from discreet.families.derivatives import gradient, hessian
from discreet.families.layout import Domain, layout_for
from discreet.priors import Prior

SUITE_FALSE_ALARM = 1e-3
# Sums of a few thousand terms of size one in float64: rounding is about 1e-13 of the largest.
ROUNDING = 1e-11

Theta = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A family with parameters to try, its oracle, its prior, and declared bounds."""

    family: Family
    thetas: tuple[Theta, ...]
    prior: Prior
    oracle: Callable[[Theta], Any]
    value: Callable[[Theta], Any]
    nodes: Callable[[Theta], tuple[np.ndarray, np.ndarray]] = field(repr=False)
    bounds: Any = None

    def __str__(self) -> str:
        return str(self.family).replace(" ", "")


def counts(_: Theta) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(2000.0), np.ones(2000)


def positive(_: Theta) -> tuple[np.ndarray, np.ndarray]:
    u, step = np.linspace(-80, 12, 3000, retstep=True)
    return np.exp(u), np.exp(u) * step


def around(location: float) -> tuple[np.ndarray, np.ndarray]:
    x, w = positive({})
    return np.concatenate([location - x, location + x]), np.concatenate([w, w])


def real(mean: float, variance: float) -> tuple[np.ndarray, np.ndarray]:
    u, step = np.linspace(-13, 13, 600, retstep=True)
    return mean + np.sqrt(variance) * u, np.full(u.size, np.sqrt(variance) * step)


def plane(theta: Theta) -> tuple[np.ndarray, np.ndarray]:
    u, step = np.linspace(-10, 10, 250, retstep=True)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(u, u)], axis=-1)
    root = np.linalg.cholesky(theta["covariance"])
    return theta["mean"] + grid @ root.T, np.full(len(grid), step**2 * np.linalg.det(root))


def precision(theta: Theta) -> Any:
    return 1 / theta["variance"]


def both(theta: Theta) -> tuple[Any, Any]:
    return theta["mean"], theta.get("variance", theta.get("covariance"))


RATES = ({"rate": 0.3}, {"rate": 7.0})
VARIANCES = ({"variance": 0.2}, {"variance": 30.0})
LABELS = ("a", "b", "c")
TILTED = np.array([[2.0, -0.7], [-0.7, 0.5]])

CASES = [
    Case(
        Bernoulli(),
        ({"p": 0.03}, {"p": 0.6}),
        priors.Beta(2, 3),
        lambda t: stats.bernoulli(t["p"]),
        lambda t: t["p"],
        lambda t: (np.array([0.0, 1.0]), np.ones(2)),
    ),
    Case(
        Categorical(LABELS),
        ({"p": np.array([0.1, 0.6, 0.3])}, {"p": np.array([0.98, 0.01, 0.01])}),
        priors.Dirichlet([1, 2, 0.5]),
        lambda t: None,
        lambda t: t["p"],
        lambda t: (np.array(LABELS), np.ones(3)),
    ),
    Case(
        Poisson(),
        RATES,
        priors.Gamma(2, 0.5),
        lambda t: stats.poisson(t["rate"]),
        lambda t: t["rate"],
        counts,
        (0, 100),
    ),
    Case(
        Geometric(),
        ({"p": 0.05}, {"p": 0.7}),
        priors.Beta(2, 3),
        lambda t: stats.geom(t["p"], loc=-1),
        lambda t: t["p"],
        counts,
        (0, 40),
    ),
    Case(
        Exponential(),
        RATES,
        priors.Gamma(2, 0.5),
        lambda t: stats.expon(scale=1 / t["rate"]),
        lambda t: t["rate"],
        positive,
        (0, 100),
    ),
    Case(
        Gamma(shape=0.6),
        RATES,
        priors.Gamma(2, 0.5),
        lambda t: stats.gamma(0.6, scale=1 / t["rate"]),
        lambda t: t["rate"],
        positive,
        ("0.5", 100),
    ),
    Case(
        Gamma(shape=5),
        RATES,
        priors.Gamma(2, 0.5),
        lambda t: stats.gamma(5, scale=1 / t["rate"]),
        lambda t: t["rate"],
        positive,
        (0, 100),
    ),
    Case(
        Laplace(location=-2),
        RATES,
        priors.Gamma(2, 0.5),
        lambda t: stats.laplace(-2, 1 / t["rate"]),
        lambda t: t["rate"],
        lambda t: around(-2),
        (-3, 100),
    ),
    Case(
        Normal(variance=4),
        ({"mean": -1.5}, {"mean": 30.0}),
        priors.Normal(1, 3),
        lambda t: stats.norm(t["mean"], 2),
        lambda t: t["mean"],
        lambda t: real(t["mean"], 4),
        (-3, 100),
    ),
    Case(
        Normal(mean=0.1),
        VARIANCES,
        priors.Gamma(2, 0.5),
        lambda t: stats.norm(0.1, np.sqrt(t["variance"])),
        precision,
        lambda t: real(0.1, t["variance"]),
        (-3, 100),
    ),
    Case(
        Normal(),
        ({"mean": -1.5, "variance": 0.2}, {"mean": 20.0, "variance": 30.0}),
        priors.NormalInverseGamma(1, 0.5, 3, 2),
        lambda t: stats.norm(t["mean"], np.sqrt(t["variance"])),
        both,
        lambda t: real(t["mean"], t["variance"]),
        (-3, 100),
    ),
    Case(
        MultivariateNormal(2),
        (
            {"mean": np.array([1.0, -2.0]), "covariance": TILTED},
            {"mean": np.array([0.5, 10.0]), "covariance": np.diag([0.1, 5.0])},
        ),
        priors.NormalInverseWishart([1, 0], 0.5, 4.5, TILTED),
        lambda t: stats.multivariate_normal(t["mean"], t["covariance"]),
        both,
        plane,
        [(-3, 100), (0, 1)],
    ),
]
THETAS = [
    pytest.param(case, theta, id=f"{case}-{i}") for case in CASES for i, theta in enumerate(case.thetas)
]
every_family = pytest.mark.parametrize("case", CASES, ids=str)
every_theta = pytest.mark.parametrize(("case", "theta"), THETAS)
numeric = pytest.mark.parametrize("case", [case for case in CASES if case.bounds is not None], ids=str)


def domain_of(case: Case) -> Domain:
    return Domain(case.family.parse_bounds(case.bounds), case.family.labels, "redact", "count")


def moments(case: Case, theta: Theta) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the total mass, and the mean and covariance of the statistic, by quadrature."""
    x, w = case.nodes(theta)
    mass = w * np.exp(case.family.log_density(x, theta))
    t = case.family.sufficient(x)
    mean = mass @ t
    return mass.sum(), mean, (mass[:, None] * (t - mean)).T @ (t - mean)


def test_every_registered_family_is_in_the_contract():
    assert {case.family.name for case in CASES} == set(families.names())


# -- the likelihood -----------------------------------------------------------------------------------------


@every_theta
def test_density_is_normalised_and_its_moments_are_the_declared_ones(case, theta):
    total, mean, covariance = moments(case, theta)
    assert total == pytest.approx(1, abs=ROUNDING)
    np.testing.assert_allclose(case.family.statistic_mean(theta), mean, rtol=ROUNDING)
    size = np.abs(covariance).max() + np.abs(mean).max() ** 2
    np.testing.assert_allclose(case.family.statistic_covariance(theta), covariance, atol=ROUNDING * size)


@every_theta
def test_moments_are_derivatives_of_the_log_partition(case, theta):
    eta = case.family.natural(theta)
    for (value, error), closed in (
        (gradient(case.family.log_partition, eta), case.family.statistic_mean(theta)),
        (hessian(case.family.log_partition, eta), case.family.statistic_covariance(theta)),
    ):
        assert (np.abs(value - closed) <= 10 * error).all()
        # the estimate itself must be small, or the line above would check nothing
        assert error.max() <= 1e-6 * np.abs(closed).max()


@every_theta
def test_default_moments_agree_with_the_closed_forms(case, theta):
    mean, covariance = case.family.statistic_mean(theta), case.family.statistic_covariance(theta)
    np.testing.assert_allclose(
        Family.statistic_mean(case.family, theta), mean, atol=1e-7 * np.abs(mean).max()
    )
    numeric = Family.statistic_covariance(case.family, theta)
    np.testing.assert_allclose(numeric, covariance, atol=1e-6 * np.abs(covariance).max())


@every_theta
def test_density_equals_scipy(case, theta):
    oracle = case.oracle(theta)
    x = case.nodes(theta)[0]
    if oracle is None:
        expected = np.log(theta["p"])
    else:
        x = x[:: max(1, len(x) // 500)]
        expected = oracle.logpmf(x) if case.family.support.discrete else oracle.logpdf(x)
    far = ~np.isfinite(expected)  # SciPy's Laplace and geometric take the logarithm of an underflowed density
    assert far.mean() < 0.7
    actual = case.family.log_density(x, theta)
    np.testing.assert_allclose(actual[~far], expected[~far], rtol=1e-9, atol=1e-9)
    assert (actual[far] < -700).all()


@every_theta
def test_natural_parameters_both_ways(case, theta):
    eta = case.family.natural(theta)
    back = case.family.from_natural(eta)
    assert set(back) == set(case.family.draw_names) == set(theta)
    for name, value in theta.items():
        np.testing.assert_allclose(back[name], value, rtol=1e-12)
    np.testing.assert_allclose(case.family.natural(back), eta, rtol=1e-12)


@every_family
def test_parameters_may_be_arrays(case):
    stacked = {name: np.stack([np.asarray(t[name]) for t in case.thetas]) for name in case.family.draw_names}
    for function in (case.family.natural, case.family.statistic_mean, case.family.statistic_covariance):
        separate = np.stack([function(theta) for theta in case.thetas])
        np.testing.assert_allclose(function(stacked), separate, rtol=1e-14)
    eta = case.family.natural(stacked)
    separate = np.stack([case.family.log_partition(case.family.natural(theta)) for theta in case.thetas])
    np.testing.assert_allclose(case.family.log_partition(eta), separate, rtol=1e-14)


@pytest.mark.parametrize(
    ("family", "x"),
    [
        (Bernoulli(), [2.0, -1.0, 0.5]),
        (Categorical(LABELS), ["z", "A", ""]),
        (Poisson(), [-1.0, 0.5, np.inf]),
        (Geometric(), [-1.0, 0.5, np.inf]),
        (Exponential(), [-1.0, -0.1, np.inf]),
        (Gamma(shape=2), [-1.0, -0.1, np.inf]),
        (Laplace(location=0), [np.inf, -np.inf, np.nan]),
        (Normal(), [np.inf, -np.inf, np.nan]),
        (Normal(variance=1), [np.inf, -np.inf, np.nan]),
        (Normal(mean=1), [np.inf, -np.inf, np.nan]),
        (MultivariateNormal(2), [[np.inf, 0.0], [0.0, -np.inf], [np.nan, 0.0]]),
    ],
    ids=str,
)
def test_nothing_outside_the_support(family, x):
    assert (family.log_base_measure(np.array(x)) == -np.inf).all()


def test_a_label_of_probability_zero_does_not_spoil_the_others():
    theta = {"p": np.array([0.25, 0.75, 0.0])}
    np.testing.assert_allclose(
        Categorical(LABELS).log_density(np.array(LABELS), theta), np.log([0.25, 0.75, 1.0]) - [0, 0, np.inf]
    )


# -- conjugacy ----------------------------------------------------------------------------------------------


def log_evidence(
    case: Case, x: np.ndarray, posterior: Prior, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return log prior + log likelihood - log posterior at several parameters, and the size of the terms."""
    draws = case.family.draw(case.prior, 12, rng)
    values, largest = [], 0.0
    for i in range(12):
        theta = {name: draw[i] for name, draw in draws.items()}
        terms = [
            case.prior.log_density(case.value(theta)),
            *case.family.log_density(x, theta),
            -posterior.log_density(case.value(theta)),
        ]
        values.append(sum(terms))
        largest = max(largest, np.abs(terms).max())
    return np.array(values), largest


@every_theta
def test_update_is_bayes_theorem(case, theta, rng):
    n = 9
    x = case.family.sample(theta, n, rng)
    posterior = case.family.update(case.prior, case.family.sufficient(x).sum(axis=0), n)
    case.family.check_prior(posterior)
    evidence, largest = log_evidence(case, x, posterior, rng)
    assert np.ptp(evidence) <= ROUNDING * n * largest
    # control: a posterior that saw each record twice is not Bayes'
    wrong = case.family.update(case.prior, 2 * case.family.sufficient(x).sum(axis=0), 2 * n)
    assert np.ptp(log_evidence(case, x, wrong, rng)[0]) > 0.1


@every_family
def test_updates_add_up(case, rng):
    t = case.family.sufficient(case.family.sample(case.thetas[0], 8, rng))
    at_once = case.family.update(case.prior, t.sum(axis=0), 8)
    in_turn = case.family.update(case.family.update(case.prior, t[:3].sum(axis=0), 3), t[3:].sum(axis=0), 5)
    np.testing.assert_allclose(in_turn.natural(), at_once.natural(), rtol=1e-11)
    unchanged = case.family.update(case.prior, np.zeros(t.shape[-1]), 0)
    np.testing.assert_allclose(unchanged.natural(), case.prior.natural(), rtol=1e-14)


@every_family
def test_draws_have_the_declared_names_and_lead_with_draws(case, rng):
    draws = case.family.draw(case.prior, 5, rng)
    assert tuple(draws) == case.family.draw_names
    for name, draw in draws.items():
        assert draw.shape == (5, *np.shape(case.thetas[0][name]))


@every_family
def test_priors_suggested_and_refused(case):
    suggested = case.family.suggested_prior(domain_of(case))
    case.family.check_prior(suggested)
    case.family.check_prior(case.prior)
    neutral = isinstance(case.family, Bernoulli | Categorical)
    assert (case.family.default_prior is not None) == neutral
    other = priors.Gamma(1, 1) if not isinstance(case.prior, priors.Gamma) else priors.Beta(1, 1)
    with pytest.raises(UsageError, match=f"takes a {case.family.prior_type.__name__} prior"):
        case.family.check_prior(other)


def test_priors_of_the_wrong_dimension_are_refused():
    with pytest.raises(UsageError, match="2 entries for 3 labels"):
        Categorical(LABELS).check_prior(priors.Dirichlet([1, 1]))
    with pytest.raises(UsageError, match="on 2 columns"):
        MultivariateNormal(3).check_prior(priors.NormalInverseWishart([0, 0], 1, 3, np.eye(2)))


@numeric
def test_suggested_prior_is_weak_and_of_the_right_size(case, rng):
    """Under the suggested prior, records are neither mostly far outside the bounds nor all in one place."""
    domain = domain_of(case)
    suggested = case.family.suggested_prior(domain)
    draws = case.family.draw(suggested, 400, rng)
    x = np.array([case.family.sample({k: v[i] for k, v in draws.items()}, 1, rng)[0] for i in range(400)])
    low, high = np.array(domain.bounds, dtype=float).T
    inside = ((x >= low - (high - low)) & (x <= high + (high - low))).mean()
    assert inside > 0.3
    assert np.quantile(x, 0.9) - np.quantile(x, 0.1) > 0.1 * (high - low).min()


@every_theta
def test_projection_leaves_possible_sums_alone(case, theta, rng):
    n = 30
    s = case.family.sufficient(case.family.sample(theta, n, rng)).sum(axis=0)
    np.testing.assert_allclose(case.family.project(s, n), s, rtol=1e-9, atol=1e-9)


@every_family
def test_projected_sums_are_possible(case, rng):
    size = case.family.sufficient(case.family.sample(case.thetas[0], 1, rng)).shape[-1]
    for scale, n in ((1.0, 4.0), (1e3, 4.0), (1e6, 2.5)):
        for _ in range(20):
            s = case.family.project(rng.normal(scale=scale, size=size), n)
            case.family.check_prior(
                case.family.update(case.prior, s, n)
            )  # its hyperparameters were checked, too
            np.testing.assert_allclose(case.family.project(s, n), s, rtol=1e-6, atol=1e-6 * np.abs(s).max())
    for n in (0.0, -3.0):
        np.testing.assert_array_equal(case.family.project(rng.normal(size=size), n), np.zeros(size))


def test_projected_counts_are_the_nearest(rng):
    family, n = Categorical(4), 10.0
    for _ in range(20):
        s = rng.normal(2.5, 5, 4)
        nearest = family.project(s, n)
        assert nearest.min() >= 0
        assert nearest.sum() == pytest.approx(n)
        others = n * rng.dirichlet(np.full(4, 0.5), 2000)
        assert (np.linalg.norm(others - s, axis=1) >= np.linalg.norm(nearest - s) - 1e-9).all()


# -- sampling -----------------------------------------------------------------------------------------------

N_DRAWS = 20_000
FALSE_ALARM = SUITE_FALSE_ALARM / (2 * len(THETAS))


def mean_p_value(case: Case, theta: Theta, x: np.ndarray) -> float:
    """Return the chi-squared p-value of the mean statistic against its law at ``theta``."""
    gap = case.family.sufficient(x).mean(axis=0) - case.family.statistic_mean(theta)
    covariance = case.family.statistic_covariance(theta)
    rank = np.linalg.matrix_rank(covariance, hermitian=True)
    squared = len(x) * gap @ np.linalg.pinv(covariance, hermitian=True) @ gap
    return float(stats.chi2.sf(squared, rank))


def law_p_value(case: Case, theta: Theta, x: np.ndarray) -> float:
    """Return the p-value of the sample against SciPy's distribution: KS, or chi-squared for counts."""
    oracle = case.oracle(theta)
    if not case.family.support.discrete:
        return float(stats.kstest(x, oracle.cdf).pvalue)
    edges = np.unique(oracle.ppf(np.linspace(0.02, 0.98, 25)))  # cells of at least about 2%
    expected = len(x) * np.diff([0, *oracle.cdf(edges), 1])
    observed = np.bincount(np.searchsorted(edges, x), minlength=len(edges) + 1)
    keep = expected > 0
    return float(stats.chisquare(observed[keep], expected[keep]).pvalue)


def moved(theta: Theta) -> Theta:
    """A quarter more of everything: what the tests must be able to see."""
    if "p" in theta and np.ndim(theta["p"]):
        shifted = theta["p"] * np.array([1.25, 1.0, 1.0])
        return {"p": shifted / shifted.sum()}
    return {name: 1.25 * np.asarray(value) for name, value in theta.items()}


@every_theta
def test_samples_have_the_right_mean_statistic(case, theta, rng):
    x = case.family.sample(theta, N_DRAWS, rng)
    assert mean_p_value(case, theta, x) > FALSE_ALARM
    wrong = case.family.sample(moved(theta), 5 * N_DRAWS, rng)
    assert mean_p_value(case, theta, wrong) < FALSE_ALARM


@pytest.mark.parametrize(
    ("case", "theta"),
    [p for p in THETAS if not isinstance(p.values[0].family, Categorical | MultivariateNormal)],  # pyright: ignore[reportAttributeAccessIssue]
)
def test_samples_follow_the_density(case, theta, rng):
    x = case.family.sample(theta, N_DRAWS, rng)
    assert law_p_value(case, theta, x) > FALSE_ALARM
    wrong = case.family.sample(moved(theta), 5 * N_DRAWS, rng)
    assert law_p_value(case, theta, wrong) < FALSE_ALARM


# -- the private side's half --------------------------------------------------------------------------------


@numeric
def test_mapped_sums_unmap_to_sums_of_the_statistic(case, rng):
    family, domain = case.family, domain_of(case)
    low, high = np.array(domain.bounds, dtype=float).T
    x = rng.uniform(low, high, (50, family.n_columns))
    x = np.floor(x) if family.support.discrete else x
    shift, half = (np.array(v, dtype=float) for v in family.affine_map(domain))
    z = [(family.measure(x[:, j]) - shift[j]) / half[j] for j in range(family.n_columns)]
    assert max(np.abs(column).max() for column in z) <= 1 + 1e-15
    sums = np.stack([np.sum(feature) for feature in family.shape.features(z)])
    unmapped = family.shape.unmap(np.array(50.0), sums, shift, half)
    expected = family.sufficient(x[:, 0] if family.n_columns == 1 else x).sum(axis=0)
    np.testing.assert_allclose(unmapped, expected, rtol=1e-11)


@pytest.mark.parametrize("family", [Bernoulli(), Categorical(LABELS)], ids=str)
def test_counted_labels_unmap_to_sums_of_the_statistic(family, rng):
    k = len(family.vocabulary)
    codes = rng.integers(0, k, 50)
    features = family.shape.features_of_labels(list(np.eye(k)[codes].T))
    sums = np.stack([np.sum(feature) for feature in features])
    domain = Domain(None, family.labels, "redact", "count")
    shift, half = (np.array(v or (), dtype=float) for v in family.affine_map(domain))
    x = codes if family.labels is None else np.array(family.labels)[codes]
    expected = family.sufficient(x).sum(axis=0)
    np.testing.assert_array_equal(family.shape.unmap(np.array(50.0), sums, shift, half), expected)


@pytest.mark.parametrize("center", ["-7", "-3", "1/3", "99.9", "100", "250"])
@pytest.mark.parametrize("kind", [lambda c: Laplace(location=c), lambda c: Normal(mean=c)])
def test_measure_range_is_exact_wherever_the_center_lies(kind, center):
    family, low, high = kind(center), Fraction(-3), Fraction(100)
    least, most = family.measure_range(low, high)
    inside = [float(center)] if center != "1/3" and -3 <= float(center) <= 100 else []
    x = np.concatenate([np.linspace(-3, 100, 10_001), [1 / 3], inside])
    u = family.measure(x)
    assert u.max() == pytest.approx(float(most), rel=1e-15)
    assert u.min() == pytest.approx(float(least), rel=1e-15, abs=1e-30)


@pytest.mark.parametrize("family", [Laplace(location=0.5), Normal(mean=0.5), Poisson()], ids=str)
def test_measure_works_inside_engines(family):
    x = np.array([-3.0, 0.25, 100.0])
    frame = pl.DataFrame({"x": x})
    relation = duckdb.sql("SELECT * FROM (VALUES (-3.0::DOUBLE), (0.25), (100.0)) AS t(x)")
    expression = family.measure(nw.col("x"))
    eager = nw.from_native(frame).select(u=expression)["u"].to_numpy()
    lazy = nw.from_native(relation).select(u=expression).collect()["u"].to_numpy()
    np.testing.assert_array_equal(eager, family.measure(x))
    np.testing.assert_array_equal(lazy, family.measure(x))


@every_family
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_layouts_can_be_built(case, neighbors):
    layout = layout_for(case.family, domain_of(case), neighbors)
    sizes = {len(v) for v in (layout.names, layout.rows, layout.grid, layout.width)}
    assert len(sizes) == 1


# -- declarations and names ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "bounds", "message"),
    [
        (Normal(), None, "needs bounds"),
        (MultivariateNormal(2), None, "needs bounds"),
        (Bernoulli(), (0, 1), "takes no bounds"),
        (Categorical(3), (0, 2), "takes no bounds"),
        (Normal(), (100, 0), "less than the upper"),
        (Normal(), (1, 1), "less than the upper"),
        (Normal(), (0, np.inf), "finite number"),
        (Normal(), (np.nan, 1), "finite number"),
        (Normal(), (0, "x"), "finite number"),
        (Normal(), (None, 1), "finite number"),
        (Normal(), (0, "1e400"), "at most 1e100"),
        (Normal(), ("1", "1.00000000000000000001"), "distinct"),
        (Normal(), (0, 1, 2), "pair"),
        (Normal(), 5, "pair"),
        (Normal(), (), "pair"),
        (Normal(), "05", "pair"),
        (Normal(), [(0, 1), (0, 1)], "1 pair"),
        (MultivariateNormal(2), (0, 1), "2 pair"),
        (MultivariateNormal(2), [(0, 1), (1, 0)], "less than the upper"),
        (Exponential(), (-1, 5), "lies in"),
        (Gamma(shape=2), (-1, 5), "lies in"),
        (Poisson(), (-1, 5), "lies in"),
        (Poisson(), (0, 5.5), "integers"),
        (Geometric(), ("1/2", 5), "integers"),
    ],
    ids=str,
)
def test_bounds_that_cannot_be_meant(family, bounds, message):
    with pytest.raises(UsageError, match=message) as caught:
        family.parse_bounds(bounds)
    assert "\n" not in caught.value.message


def test_bounds_are_read_exactly():
    tenth = ((Fraction(1, 10), Fraction(100)),)
    for bounds in ((0.1, 100), ("0.1", "100"), ["1/10", 1e2], [(0.1, 100)], np.array([0.1, 100.0])):
        assert Normal().parse_bounds(bounds) == tenth
    assert MultivariateNormal(2).parse_bounds([(0, 1), (-3, 100)]) == ((0, 1), (-3, 100))
    assert Bernoulli().parse_bounds(None) is None


@every_family
def test_constants_rebuild_the_family(case):
    written = json.loads(json.dumps(case.family.constants()))
    assert families.build(case.family.name, written) == case.family
    assert hash(families.build(case.family.name, written)) == hash(case.family)
    assert pickle.loads(pickle.dumps(case.family)) == copy.deepcopy(case.family) == case.family


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("bernoulli", Bernoulli()),
        ("normal", Normal()),
        ("normal:variance=4", Normal(variance=4)),
        ("Normal: mean = -0.5", Normal(mean="-1/2")),
        ("categorical:labels=a|b, c|d", Categorical(["a", "b, c", "d"])),
        ("categorical:k=4", Categorical(4)),
        ("gamma:shape=2", Gamma(shape=2)),
        ("laplace:location=1e-3", Laplace(location=0.001)),
        ("multivariate-normal:dim=2", MultivariateNormal(2)),
    ],
)
def test_command_line_text(text, family):
    assert families.parse(text) == family


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nrmal", "unknown family 'nrmal'"),
        ("", "unknown family"),
        ("gamma", "needs shape"),
        ("gamma:shape=-1", "positive"),
        ("gamma:shape=x", "finite number"),
        ("gamma:shape=1e999", "too large"),
        ("gamma:", "needs shape"),
        ("normal:sd=2", "does not take 'sd': it knows mean, variance"),
        ("poisson:rate=2", "has no constants"),
        ("normal:variance", "cannot read"),
        ("normal:variance=", "cannot read"),
        ("normal:variance=1,variance=2", "twice"),
        ("normal:mean=0,variance=2", "nothing to learn"),
        ("categorical", "labels or their number"),
        ("categorical:k=1", "from 2 to"),
        ("categorical:k=2.5", "from 2 to"),
        ("categorical:labels=a|a", "repeated"),
        ("categorical:labels=a|", "empty text"),
        ("categorical:labels=a", "at least two"),
        ("multivariate_normal:dim=1", "from 2 to"),
    ],
)
def test_command_line_text_that_cannot_be_meant(text, message):
    with pytest.raises(UsageError, match=message) as caught:
        families.parse(text)
    assert "\n" not in caught.value.message


def test_unknown_names_list_the_known_ones():
    with pytest.raises(UsageError) as caught:
        families.build("nrmal", {})
    assert all(name in (caught.value.hint or "") for name in families.names())


@pytest.mark.parametrize(
    "labels", [[], ["a"], ["a", "a"], ["a", ""], "ab", 1, 0, 2.5, True, [1.5, 2], [None, "a"], None]
)
def test_labels_that_cannot_be_meant(labels):
    with pytest.raises(UsageError):
        Categorical(labels)


def test_labels_by_name_or_number():
    assert Categorical(3).labels == Categorical(k=3).labels == Categorical(range(3)).labels == ("0", "1", "2")
    assert Categorical(["a", "b"]).vocabulary == (("a",), ("b",))
    np.testing.assert_array_equal(Categorical(3).sufficient(np.array([2, 0])), [[0, 0, 1], [1, 0, 0]])


def test_normal_is_one_public_class():
    assert all(isinstance(family, Normal) for family in (Normal(), Normal(variance=4), Normal(mean=0)))
    assert [family.constants() for family in (Normal(), Normal(variance=4), Normal(mean=0))] == [
        {},
        {"variance": 4.0},
        {"mean": 0.0},
    ]
    assert [repr(family) for family in (Normal(), Normal(variance=4))] == ["Normal()", "Normal(variance=4.0)"]
    for wrong in (
        {"variance": 0},
        {"variance": -1},
        {"variance": np.nan},
        {"mean": np.inf},
        {"mean": 0, "variance": 1},
    ):
        with pytest.raises(UsageError):
            Normal(**wrong)
