"""The contract of the negative binomial: what every family keeps, for a likelihood that has no conjugate prior."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet import families
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.inference.engine import Question
from discreet.inference.engines.augment import augment_engine
from discreet.inference.engines.gibbs.nodes import nodes
from discreet.inference.record_prior import record_prior
from tests.inference.augmented import release_of, worst_gap

FAMILY = dc.NegativeBinomial()
THETAS = [(0.3, 4.0), (3.0, 0.7), (40.0, 0.02), (5.0, 1e-8), (2000.0, 1.5)]
every_theta = pytest.mark.parametrize(("mean", "dispersion"), THETAS)
PRIOR = dc.priors.MeanDispersion(2, 1, 2, 2)
# about 30 comparisons; together they raise a false alarm once in a thousand runs
FALSE_ALARM = 1e-3 / 30


def theta_of(mean, dispersion):
    return {"mean": np.array(mean), "dispersion": np.array(dispersion)}


def oracle(mean, dispersion):
    # SciPy loses digits as its number of failures grows; a Poisson distribution is the limit
    if dispersion < 1e-6:
        return stats.poisson(mean)
    return stats.nbinom(1 / dispersion, 1 / (1 + dispersion * mean))


@every_theta
def test_density_equals_scipy_and_is_normalised(mean, dispersion):
    x = np.arange(0.0, 200.0) * max(1, int(mean / 20))
    found = FAMILY.log_density(x, theta_of(mean, dispersion))
    expected = oracle(mean, dispersion).logpmf(x)  # pyright: ignore[reportAttributeAccessIssue]
    near = expected > -300
    np.testing.assert_allclose(found[near], expected[near], rtol=1e-6, atol=1e-6)
    many = {name: value.reshape(1) for name, value in theta_of(mean, dispersion).items()}
    points, probability = nodes(FAMILY, many, 0, 1e6)
    assert probability.sum() == pytest.approx(1, abs=1e-6)
    assert (probability * points).sum() == pytest.approx(mean, rel=1e-6)
    second = (probability * (points - mean) ** 2).sum()
    assert second == pytest.approx(mean + dispersion * mean**2, rel=1e-5)


@every_theta
def test_samples_follow_the_density(mean, dispersion, rng):
    distribution = oracle(mean, dispersion)
    edges = np.unique(distribution.ppf(np.linspace(0.05, 0.95, 15)))

    def p_value(x):
        observed = np.bincount(np.searchsorted(edges, x), minlength=len(edges) + 1)
        expected = len(x) * np.diff([0, *distribution.cdf(edges), 1])
        return stats.chisquare(observed[expected > 0], expected[expected > 0]).pvalue

    assert p_value(FAMILY.sample(theta_of(mean, dispersion), 20_000, rng)) > FALSE_ALARM
    assert p_value(FAMILY.sample(theta_of(1.25 * mean, dispersion), 100_000, rng)) < FALSE_ALARM


def test_nothing_outside_the_support():
    assert (FAMILY.log_density(np.array([-1.0, 0.5, np.inf, np.nan]), theta_of(1, 1)) == -np.inf).all()


def log_posterior(x, log_m, log_d, prior=PRIOR):
    """The posterior of the logarithms given records, up to a constant, on the grid of both."""
    m, d = np.meshgrid(np.exp(log_m), np.exp(log_d), indexing="ij")
    values, times = np.unique(x, return_counts=True)
    many = {"mean": m.ravel(), "dispersion": d.ravel()}
    terms = FAMILY.log_densities(np.broadcast_to(values, (m.size, values.size)).astype(float), many) @ times
    return terms.reshape(m.shape) + prior.log_density((m, d)) + np.log(m) + np.log(d)


@pytest.mark.parametrize(
    ("n", "mean", "dispersion"), [(1, 3, 1.0), (3, 0.2, 2.0), (60, 3, 0.7), (400, 6, 0.05)]
)
def test_update_is_bayes_theorem(n, mean, dispersion, rng):
    """Draws of the updated prior have the moments of the posterior on a fine grid."""
    x = FAMILY.sample(theta_of(mean, dispersion), n, rng)
    updated = FAMILY.update(PRIOR, FAMILY.sufficient(x).sum(axis=0), n)
    found = [np.log(values) for values in updated.sample(20_000, rng)]
    axes = [np.linspace(one.mean() - 12 * one.std(), one.mean() + 12 * one.std(), 161) for one in found]
    log_p = log_posterior(x, *axes)
    p = np.exp(log_p - log_p.max())
    for at, (axis, values) in enumerate(zip(axes, found, strict=True)):
        marginal = p.sum(axis=1 - at) / p.sum()
        center = marginal @ axis
        spread = np.sqrt(marginal @ (axis - center) ** 2)
        assert abs(values.mean() - center) < 4.5 * spread / np.sqrt(20_000) + 0.01 * spread
        # a grid of 48 points makes standard deviations larger, by less than one in fifty
        assert values.std() == pytest.approx(spread, rel=0.04)
    # control: a posterior that saw each of many records twice
    wrong = FAMILY.update(PRIOR, 2 * FAMILY.sufficient(x).sum(axis=0), 2 * n)
    assert n < 60 or np.log(wrong.sample(20_000, rng)[0]).std() < 0.9 * found[0].std()


def test_without_records_the_prior_is_drawn(rng):
    size = FAMILY.sufficient(np.zeros(1)).shape[1]
    values = FAMILY.update(PRIOR, np.zeros(size), 0).sample(20_000, rng)
    assert stats.kstest(values[0], stats.gamma(2, scale=1).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(values[1], stats.gamma(2, scale=0.5).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("shape", [0.01, 1, 1e6])
def test_extreme_priors_and_counts_are_drawn_from(shape, rng):
    prior = dc.priors.MeanDispersion(shape, 1, shape, 1)
    for x in (np.zeros(3), np.array([0, 10**9]), np.full(1000, 7.0)):
        for values in FAMILY.update(prior, FAMILY.sufficient(x).sum(axis=0), len(x)).sample(50, rng):
            assert np.isfinite(values).all()


def test_weak_prior_is_scaled_to_the_bounds(rng):
    domain = Domain(FAMILY.parse_bounds((0, 100)), None, "clip", "count")
    prior = FAMILY.suggested_prior(domain)
    assert str(prior) == "mean_dispersion:1,0.02,1,1"
    draws = FAMILY.draw(prior, 400, rng)
    x = np.array([FAMILY.sample({k: v[i] for k, v in draws.items()}, 1, rng)[0] for i in range(400)])
    assert (x <= 200).mean() > 0.3
    assert np.quantile(x, 0.9) - np.quantile(x, 0.1) > 10


def test_declarations():
    with pytest.raises(UsageError, match="needs bounds"):
        dc.release([1, 2], FAMILY, epsilon=1)
    with pytest.raises(UsageError, match="must be integers"):
        dc.release([1, 2], FAMILY, bounds=(0, 1.5), epsilon=1)
    with pytest.raises(UsageError, match="clipped to its bounds"):
        dc.release([1, 2], FAMILY, bounds=(0, 9), outside="redact", epsilon=1)
    with pytest.raises(UsageError, match="takes a MeanDispersion prior"):
        FAMILY.check_prior(dc.priors.Gamma(1, 1))
    sampling = dc.mechanisms.PosteriorSampling("gamma:1,1", epsilon=1, support=(1, 2))
    with pytest.raises(UsageError, match="samples a family, and negative_binomial is none"):
        dc.release([1, 2], FAMILY, bounds=(0, 9), mechanism=sampling, impute=0)


def test_name_constants_and_layout():
    assert families.parse("negative-binomial") == FAMILY
    assert families.build("negative_binomial", json.loads(json.dumps(FAMILY.constants()))) == FAMILY
    assert pickle.loads(pickle.dumps(FAMILY)) == FAMILY
    domain = Domain(FAMILY.parse_bounds((0, 20)), None, "clip", "count")
    for neighbors in ("replace", "add_remove"):
        assert FAMILY.layout(domain, neighbors) == dc.Normal().layout(domain, neighbors)


def enumerated(release, prior, highest):
    """Return log-spaced means and dispersions, and the weight of each pair: all tables of clipped counts summed."""
    log_m, log_d = np.linspace(-7, 4, 90), np.linspace(-9, 4, 70)
    m, d = (axis.ravel() for axis in np.meshgrid(np.exp(log_m), np.exp(log_d), indexing="ij"))
    counts = np.arange(highest + 1.0)
    p = np.exp(
        FAMILY.log_densities(np.broadcast_to(counts, (m.size, counts.size)), {"mean": m, "dispersion": d})
    )
    p[:, -1] = 1 - p[:, :-1].sum(axis=1)
    shift, half = (float(value[0]) for value in (release.layout.shift, release.layout.half))
    z = (counts - shift) / half
    likelihood = np.zeros(m.size)
    for table in itertools.product(range(highest + 1), repeat=release.records):
        sums = [len(table), sum(z[list(table)]), sum(z[list(table)] ** 2)]
        log_noise = 0.0
        for distribution, value, row, grid in zip(
            release.noise, release.totals.values, release.layout.rows, release.layout.grid, strict=True
        ):
            total = sum(float(c) * s for c, s in zip(row, sums, strict=True)) / float(grid)
            log_noise += float(distribution.log_mass(np.array(float(value) - round(total))))
        likelihood += np.exp(log_noise) * np.prod(p[:, list(table)], axis=1)
    weights = likelihood * np.exp(prior.log_density((m, d))) * m * d
    return m, d, weights / weights.sum()


@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(dc.mechanisms.Laplace(4), id="laplace"),
        pytest.param(dc.mechanisms.Gaussian(rho=2), id="gauss", marks=pytest.mark.slow),
    ],
)
def test_augment_agrees_with_enumeration(mechanism, rng):
    """Three records of counts clipped at 3: every table is summed over."""
    release = release_of([0, 3, 9], FAMILY, mechanism, rng, bounds=(0, 3), missing="none")
    m, d, weights = enumerated(release, PRIOR, 3)
    drawn = augment_engine.draw(Question(release, PRIOR, record_prior(None), 1500, 2, rng)).draws
    picked = rng.choice(m.size, 20_000, p=weights)
    # the grid of the enumeration is as coarse as a seventh of a unit of the logarithm
    jitter = rng.uniform(-0.5, 0.5, (2, picked.size)) * np.array([[11 / 89], [13 / 69]])
    for values, grid, off in zip(drawn.values(), (m, d), jitter, strict=True):
        assert worst_gap(np.log(values), np.log(grid[picked]) + off) < stats.norm.isf(FALSE_ALARM / 2)


def test_visits_are_overdispersed_where_poisson_sees_one_rate(rng):
    """Counts whose personal rates are gamma distributed: Poisson's interval is too narrow, and clipping moves it."""
    x = rng.negative_binomial(0.7, 0.7 / (0.7 + 2.9), 2000)
    release = release_of(x, FAMILY, dc.mechanisms.Laplace(1), rng, bounds=(0, 10))
    posterior = dc.infer(release, rng=rng)
    low, high = posterior.interval(0.999)["mean"]
    assert low < 2.9 < high
    low, high = posterior.interval(0.999)["dispersion"]
    assert low < 1 / 0.7 < high
    assert low > 0.5
    poisson = dc.infer(release_of(x, dc.Poisson(), dc.mechanisms.Laplace(1), rng, bounds=(0, 10)), rng=rng)
    assert poisson.interval(0.999)["rate"][1] < 2.9
