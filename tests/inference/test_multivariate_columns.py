"""Mean and sd of every column of a multivariate normal, on real columns that are not normal."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.inference.engine import Question
from discreet.inference.models import multivariate_normal as engines
from discreet.inference.record_prior import record_prior
from tests.inference.augmented import release_of


def table_of(name):
    """Three skewed columns of a table that scikit-learn brings along, with public bounds."""
    from sklearn import datasets

    if name == "breast cancer":
        return datasets.load_breast_cancer().data[:, [6, 3, 0]], [(0, 0.5), (100, 2600), (5, 30)]  # pyright: ignore[reportAttributeAccessIssue]
    return datasets.load_diabetes(scaled=False).data[:, [2, 4, 9]], [(15, 50), (80, 320), (50, 150)]  # pyright: ignore[reportAttributeAccessIssue]


def covered(name, resamples, n, epsilon, rng):
    """Return how many 95% intervals hold the mean, and the sd, of the resampled population: columns × (mean, sd)."""
    population, bounds = table_of(name)
    low, high = np.array(bounds, dtype=float).T
    clipped = np.clip(population, low, high)
    truth = {"mean": clipped.mean(axis=0), "sd": clipped.std(axis=0)}
    model, hits = dc.MultivariateNormal(3), np.zeros((3, 2))
    for _ in range(resamples):
        rows = population[rng.integers(0, len(population), n)]
        data = {f"c{i}": x for i, x in enumerate(rows.T)}
        release = release_of(data, model, dc.mechanisms.Laplace(epsilon), rng, bounds=bounds)
        question = Question(release, model.read_prior(None, release.domain), record_prior(None), 1000, 1, rng)
        for at, (key, draws) in enumerate(engines.column_moments(question).items()):
            ends = np.quantile(draws, [0.025, 0.975], axis=0)
            hits[:, at] += (ends[0] <= truth[key]) & (truth[key] <= ends[1])
    return hits


@pytest.mark.slow
@pytest.mark.parametrize("name", ["breast cancer", "diabetes"])
@pytest.mark.parametrize(("n", "epsilon"), [(500, 1), (2000, 1), (2000, 3)])
def test_intervals_cover_real_columns(name, n, epsilon, rng):
    hits = covered(name, 100, n, epsilon, rng)
    # each at least 92% by a binomial test at a thousandth over all
    assert stats.binomtest(int(hits.min()), 100, 0.92, alternative="less").pvalue > 1e-3 / 36
    assert hits.mean() > 93


def test_columns_are_read_beside_the_normal(rng):
    data = {"a": rng.normal(0, 1, 60), "b": rng.exponential(1, 60)}
    release = release_of(
        data, dc.MultivariateNormal(2), dc.mechanisms.Laplace(20), rng, bounds=[(-4, 4), (0, 5)]
    )
    posterior = dc.infer(release, engine="naive", rng=rng)
    assert list(posterior.draws) == ["mean", "sd", "normal_mean", "covariance"]
    assert posterior.scalars().keys() >= {"mean[a]", "sd[b]", "normal_mean[a]", "covariance[a, b]"}
    question = Question(
        release, release.model.read_prior(None, release.domain), record_prior(None), 400, 1, rng
    )
    found = engines.column_moments(question)
    for key, truth in (("mean", [np.mean(data["a"]), np.mean(np.clip(data["b"], 0, 5))]),):
        assert (np.abs(found[key].mean(axis=0) - truth) < 5 * found[key].std(axis=0)).all()


def test_many_columns_have_means_but_no_covariance(rng):
    data = {f"c{i}": rng.normal(0, 1, 30_000) for i in range(4)}
    release = release_of(data, dc.MultivariateNormal(4), dc.mechanisms.Laplace(1), rng, bounds=[(-4, 4)] * 4)
    posterior = dc.infer(release, rng=rng)
    assert posterior.diagnostics.engine == "grid"
    assert list(posterior.draws) == ["mean", "sd"]
    assert "only mean and sd were read" in posterior.diagnostics.warnings[0]
