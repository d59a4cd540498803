"""Likelihoods of releases: against enumeration, against the posteriors of ``infer``, and in other libraries."""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc

GRID = (np.arange(4000) + 0.5) / 4000


def test_a_share_against_enumeration() -> None:
    release = dc.foreign(dc.Bernoulli(), records=30, values={"yes": 12.4}, noise="laplace", scale=3)
    p, yes = np.array([[0.0, 0.1], [0.4, 1.0]]), np.arange(31)
    expected = (stats.binom.pmf(yes, 30, p[..., None]) * stats.laplace.pdf(12.4 - yes, scale=3)).sum(axis=-1)
    np.testing.assert_allclose(release.likelihood().log_prob(p=p), np.log(expected), rtol=1e-9)


@pytest.mark.parametrize("known", [True, False])
def test_shares_against_enumeration(known: bool) -> None:
    """With a number of records that is known, and with any number up to 20, all alike."""
    y = np.array([3.5, 4.0, 6.0])
    release = dc.foreign(
        dc.Categorical(["a", "b", "c"]),
        records=12 if known else None,
        values=y.tolist(),
        noise="laplace",
        scale=1,
    )
    tables = np.array([c for c in product(range(21), repeat=3) if (sum(c) == 12 if known else sum(c) <= 20)])
    weight = np.prod(stats.laplace.pdf(y - tables, scale=1), axis=1)
    likelihood = release.likelihood(records=None if known else (0, 20))
    p = np.array([[0.2, 0.3, 0.5], [0.01, 0.01, 0.98], [0.6, 0.2, 0.2]])
    expected = [(stats.multinomial.pmf(tables, tables.sum(axis=1), q) * weight).sum() for q in p]
    found = likelihood.log_prob(p=p)
    np.testing.assert_allclose(found - found[0], np.log(expected) - np.log(expected[0]), rtol=1e-7)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_the_posterior_of_a_share_is_the_likelihood_times_the_prior(
    neighbors: Any, mechanism: str, rng: np.random.Generator
) -> None:
    noise = dc.mechanisms.Laplace(0.5) if mechanism == "laplace" else dc.mechanisms.Gaussian(rho="0.1")
    release = dc.release([1, 0, 0, 1, 1, None] * 30, dc.Bernoulli(), neighbors=neighbors, mechanism=noise)
    log_p = release.likelihood().log_prob(p=GRID) + stats.beta.logpdf(GRID, 2, 3)
    weight = np.exp(log_p - log_p.max())
    mean = (weight * GRID).sum() / weight.sum()
    sd = np.sqrt((weight * (GRID - mean) ** 2).sum() / weight.sum())
    draws = dc.infer(release, prior=dc.priors.Beta(2, 3), draws=20_000, rng=rng).draws["p"]
    assert draws.mean() == pytest.approx(mean, abs=4.5 * sd / np.sqrt(20_000))
    assert draws.std() == pytest.approx(sd, rel=0.03)


def test_a_family_of_one_parameter_has_a_curve(rng: np.random.Generator) -> None:
    release = dc.release([1, 2, 3, 0, 5] * 40, dc.Poisson(), bounds=(0, 12), epsilon=1, missing="none")
    likelihood = release.likelihood()
    assert likelihood.approximation == "a cubic curve through exact values"
    rate = 6 * GRID
    log_p = likelihood.log_prob(rate=rate) + stats.gamma.logpdf(rate, 3, scale=1)
    weight = np.exp(log_p - log_p.max())
    mean = (weight * rate).sum() / weight.sum()
    draws = dc.infer(release, prior=dc.priors.Gamma(3, 1), draws=20_000, rng=rng).draws["rate"]
    assert draws.mean() == pytest.approx(mean, abs=4.5 * draws.std() / np.sqrt(20_000))


def test_stan_programs_hold_the_numbers() -> None:
    """No compiler is at hand: that brackets close, and that the numbers are those of the form."""
    two = dc.foreign(dc.Bernoulli(), records=9, values={"yes": 3.5}, noise="laplace", scale=1)
    three = dc.foreign(
        dc.Categorical(["a", "b", "c"]), records=9, values=[3, 4, 2], noise="gaussian", scale=1
    )
    for release, declared in ((two, "real<lower=0, upper=1> p;"), (three, "simplex[3] p;")):
        code = release.to_stan()
        assert declared in code
        assert all(code.count(a) == code.count(b) for a, b in ("()", "[]", "{}"))
        assert "target += private_log_prob(p);" in code
    assert "vector[10] yes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]';" in two.to_stan()


def test_bad_input_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    sampled = dc.release(
        [1, 0] * 40,
        dc.Bernoulli(),
        mechanism=dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.1, 0.9)),
        missing="none",
    )
    with pytest.raises(dc.errors.UsageError, match="holds samples"):
        sampled.likelihood()
    mean = dc.foreign(dc.Mean(), records=9, values={"sum": 3}, noise="laplace", scale=1, bounds=(0, 1))
    with pytest.raises(dc.errors.UsageError, match="mean has no likelihood"):
        mean.likelihood()
    share = dc.foreign(dc.Bernoulli(), records=9, values={"yes": 3}, noise="laplace", scale=1)
    with pytest.raises(dc.errors.UsageError, match="one of p, got q"):
        share.likelihood().log_prob(q=0.3)
    wide = dc.foreign(dc.Bernoulli(), values={"yes": 3e6, "no": 3e6}, noise="laplace", scale=1e5)
    with pytest.raises(dc.errors.UsageError, match="terms for noise this wide"):
        wide.likelihood()
    labels = dc.foreign(dc.Categorical(["a", "b"]), records=9, values=[3, 6], noise="laplace", scale=1)
    with pytest.raises(dc.errors.UsageError, match="p is a vector"):
        labels.likelihood().log_prob(p=0.3)
    # as if it were not installed, which benchmarks do
    monkeypatch.setitem(sys.modules, "jax.numpy", None)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(dc.errors.MissingPackageError, match="needs jax"):
        share.likelihood().jax(p=0.3)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_totals_behind_the_noise_are_latent(mechanism: str, rng: np.random.Generator) -> None:
    noise = dc.mechanisms.Laplace(0.5) if mechanism == "laplace" else dc.mechanisms.Gaussian(rho="0.1")
    bayes = dc.models.NaiveBayes({"c": ["no", "yes"]}, {"f": ["a", "b"], "g": ["u", "v"]})
    rows = {name: rng.choice(labels, 60).tolist() for name, labels in _LABELS.items()}
    table = dc.release(rows, bayes, mechanism=noise)
    found = table.likelihood()
    totals = rng.integers(0, 30, (5, len(table.totals.names)))
    away = np.array(table.totals.values) - totals
    masses = sum(
        noise.log_mass(away[:, j]) - noise.log_mass(np.array(0)) for j, noise in enumerate(table.noise)
    )
    np.testing.assert_allclose(found.log_prob(totals=totals), masses, rtol=1e-12)
    assert found.parameter == "totals"
    # sums are in the units they are released in, and have a likelihood if it is asked for
    mean = dc.release([1.0, 2, 3, 4] * 20, dc.Mean(), bounds=(0, 5), mechanism=noise)
    grid = np.array(mean.totals.grid, dtype=float)
    at = np.array(mean.totals.values, dtype=float) * grid
    likelihood = mean.likelihood(latent=True)
    step = np.array([mean.noise[0].width * grid[0], 0, 0])
    drop = 1.0 if mechanism == "laplace" else 0.5
    assert likelihood.log_prob(totals=at) == 0
    assert likelihood.log_prob(totals=at + step) == pytest.approx(-drop)


_LABELS = {"c": ["no", "yes"], "f": ["a", "b"], "g": ["u", "v"]}


def test_what_a_latent_likelihood_refuses() -> None:
    share = dc.release([0, 1] * 20, dc.Bernoulli(), epsilon=1)
    with pytest.raises(dc.errors.UsageError, match="part of your own model"):
        share.likelihood(latent=True, missing=0.05)
    clipped = dc.foreign(dc.Bernoulli(), records=60, values={"yes": 0}, noise="geometric", scale=6, clipped=0)
    with pytest.raises(dc.errors.UsageError, match="no closed form"):
        clipped.likelihood(latent=True)
