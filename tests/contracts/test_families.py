"""One contract for every family.

Oracles, in this order: quadrature (trapezoid sums of analytic integrands, exact to rounding), SciPy's densities, and
extrapolated differences with their own error estimate. Monte Carlo only checks the samplers.
"""

from __future__ import annotations

import copy
import json
import pickle
from fractions import Fraction

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from scipy import stats

from discreet import families, priors
from discreet.domain.declarations import Domain
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
from discreet.priors import Prior
from tests.contracts.family_cases import (
    CASES,
    LABELS,
    THETAS,
    Case,
    Theta,
    domain_of,
    every_family,
    every_theta,
    numeric,
)

SUITE_FALSE_ALARM = 1e-3
# Sums of a few thousand terms of size one in float64: rounding is about 1e-13 of the largest.
ROUNDING = 1e-11


def moments(case: Case, theta: Theta) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the total mass, and the mean and covariance of the statistic, by quadrature."""
    x, w = case.nodes(theta)
    mass = w * np.exp(case.family.log_density(x, theta))
    t = case.family.sufficient(x)
    mean = mass @ t
    return mass.sum(), mean, (mass[:, None] * (t - mean)).T @ (t - mean)


def test_every_registered_family_is_in_the_contract():
    # a predicate is a question; the others have no likelihood, or no conjugate prior, and tests of their own here
    without = {"predicate", "mean", "histogram", "negative_binomial"}
    # those of the how-to page are registered where its tests ran first in this process
    examples = {"share", "waiting", "two_counts"}
    assert {case.family.name for case in CASES} == set(families.names()) - without - examples


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
    """Return the chi-squared p-value of the mean statistic against its distribution at ``theta``."""
    gap = case.family.sufficient(x).mean(axis=0) - case.family.statistic_mean(theta)
    covariance = case.family.statistic_covariance(theta)
    rank = np.linalg.matrix_rank(covariance, hermitian=True)
    squared = len(x) * gap @ np.linalg.pinv(covariance, hermitian=True) @ gap
    return float(stats.chi2.sf(squared, rank))


def distribution_p_value(case: Case, theta: Theta, x: np.ndarray) -> float:
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
    assert distribution_p_value(case, theta, x) > FALSE_ALARM
    wrong = case.family.sample(moved(theta), 5 * N_DRAWS, rng)
    assert distribution_p_value(case, theta, wrong) < FALSE_ALARM


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
    sums = np.stack([np.sum(feature) for feature in family.geometry.features(z)])
    unmapped = family.geometry.unmap(np.array(50.0), sums, shift, half)
    expected = family.sufficient(x[:, 0] if family.n_columns == 1 else x).sum(axis=0)
    np.testing.assert_allclose(unmapped, expected, rtol=1e-11)


@pytest.mark.parametrize("family", [Bernoulli(), Categorical(LABELS)], ids=str)
def test_counted_labels_unmap_to_sums_of_the_statistic(family, rng):
    k = len(family.vocabulary)
    codes = rng.integers(0, k, 50)
    features = family.geometry.features_of_labels(list(np.eye(k)[codes].T))
    sums = np.stack([np.sum(feature) for feature in features])
    domain = Domain(None, family.labels, "redact", "count")
    shift, half = (np.array(v or (), dtype=float) for v in family.affine_map(domain))
    x = codes if family.labels is None else np.array(family.labels)[codes]
    expected = family.sufficient(x).sum(axis=0)
    np.testing.assert_array_equal(family.geometry.unmap(np.array(50.0), sums, shift, half), expected)


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
    lazy = nw.from_native(relation).select(u=expression).collect()["u"].to_numpy()  # pyright: ignore[reportArgumentType, reportCallIssue]
    np.testing.assert_array_equal(eager, family.measure(x))
    np.testing.assert_array_equal(lazy, family.measure(x))


@every_family
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_layouts_can_be_built(case, neighbors):
    layout = case.family.layout(domain_of(case), neighbors)
    sizes = {len(v) for v in (layout.names, layout.rows, layout.grid, layout.width)}
    assert len(sizes) == 1


@every_family
def test_constants_rebuild_the_family(case):
    written = json.loads(json.dumps(case.family.constants()))
    assert families.build(case.family.name, written) == case.family
    assert hash(families.build(case.family.name, written)) == hash(case.family)
    assert pickle.loads(pickle.dumps(case.family)) == copy.deepcopy(case.family) == case.family
