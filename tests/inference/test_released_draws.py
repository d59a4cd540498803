"""Released draws of a posterior are read through the latent sum: against enumeration, quadrature and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betainc, betaln, gammaln, logsumexp
from scipy.stats import beta

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.inference.engine import Question
from discreet.inference.engines.released_draws import label_reading, line_reading
from discreet.inference.engines.released_draws.expected_weight import log_expected
from discreet.inference.engines.released_draws.sum_weights import prior_statistics, sum_weight
from discreet.inference.engines.scalar.record_distribution import RecordDistribution
from discreet.inference.engines.scalar.transforms import Atoms
from discreet.inference.record_prior import RecordPrior
from discreet.mechanisms.base import RandomSource

OPS = dc.mechanisms.PosteriorSampling
RENYI = dc.mechanisms.RenyiPosterior


def mechanisms(prior: str, support: Any, order: float = 1.2) -> list[Any]:
    """Two tempered draws, and one each from a diffused and a concentrated posterior."""
    return [
        OPS(prior, epsilon=2, samples=2, support=support),
        RENYI(prior, order=order, epsilon=0.2),
        RENYI(prior, order=order, epsilon=0.2, mode="concentrated"),
    ]


def released(rows: Any, family: Any, mechanism: Any, rng: np.random.Generator, **how: Any) -> dc.Release:
    return sample_with(RandomSource.seeded(rng), rows, family, mechanism, missing="none", **how)


def log_binomial(n: int, p: np.ndarray) -> np.ndarray:
    s = np.arange(n + 1)
    return (
        gammaln(n + 1)
        - gammaln(s + 1)
        - gammaln(n - s + 1)
        + s * np.log(p)[:, None]
        + (n - s) * np.log1p(-p)[:, None]
    )


@pytest.mark.parametrize("n", [1, 4, 30, 500, 3000])
@pytest.mark.parametrize("which", range(3))
def test_of_bernoulli_it_is_the_finite_sum_over_the_count(
    n: int, which: int, rng: np.random.Generator
) -> None:
    mechanism = mechanisms("beta:3,5", (0.05, 0.9))[which]
    release = released((rng.random(n) < 0.3).astype(int).tolist(), dc.Bernoulli(), mechanism, rng)
    weight, p = sum_weight(release), np.array([0.001, 0.04, 0.3, 0.5, 0.97])
    exact = np.asarray(logsumexp(log_binomial(n, p) + weight(2.0 * np.arange(n + 1) - n), axis=1))
    records = Atoms(np.array([-1.0, 1.0]), np.stack([1 - p, p], axis=1))
    # the approximation's own bound: a taper of erfc(6), some 1e-7 of what lies under it
    np.testing.assert_allclose(log_expected(records, weight), exact, rtol=0, atol=5e-6)


@pytest.mark.parametrize("which", range(3))
def test_the_weight_is_the_density_of_the_released_draws(which: int, rng: np.random.Generator) -> None:
    """Against the mechanism's own distribution, computed from exact sums."""
    mechanism, n = mechanisms("beta:3,5", (0.05, 0.9))[which], 12
    release = released([1, 0] * 6, dc.Bernoulli(), mechanism, rng)
    record, drawn = release.sampling_record, release.samples.arrays()["p"]  # pyright: ignore
    s = np.arange(n + 1)
    if which == 0:
        t = float(record.parameters["temperature"])
        grid = 1 / (1 + np.exp(-np.linspace(np.log(0.05 / 0.95), np.log(9), 4096)))
        half = np.r_[0.5, np.ones(4094), 0.5]

        def log_weight(p: np.ndarray) -> np.ndarray:
            return (
                np.log(p**3 * (1 - p) ** 5) + (s[:, None] * np.log(p) + (n - s[:, None]) * np.log1p(-p)) / t
            )

        exact = log_weight(drawn).sum(axis=1) - 2 * np.log((np.exp(log_weight(grid)) * half).sum(axis=1))
    else:
        r, m = (float(record.parameters[name]) for name in "rm")
        exact = beta.logpdf(drawn, 3 / m + r * s, 5 / m + r * (n - s))
    found = sum_weight(release)(2.0 * s - n)
    np.testing.assert_allclose(np.diff(found), np.diff(exact), rtol=0, atol=1e-7)


@pytest.mark.parametrize("which", range(3))
def test_the_posterior_of_bernoulli_is_a_mixture_of_betas(which: int, rng: np.random.Generator) -> None:
    n, mechanism = 25, mechanisms("beta:3,5", (0.05, 0.9))[which]
    release = released((rng.random(n) < 0.6).astype(int).tolist(), dc.Bernoulli(), mechanism, rng)
    a, b, s = 2.0, 1.0, np.arange(n + 1)
    log_w = (
        sum_weight(release)(2.0 * s - n)
        + gammaln(a + s)
        + gammaln(b + n - s)
        - gammaln(s + 1)
        - gammaln(n - s + 1)
    )
    w = np.exp(log_w - logsumexp(log_w))
    draws = dc.infer(release, prior=dc.priors.Beta(a, b), draws=40_000, rng=rng).draws["p"]
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    at = np.quantile(draws, levels)
    exact = (w * beta.cdf(at[:, None], a + s, b + n - s)).sum(axis=1)
    # five quantiles of 40,000 draws, false alarm 1e-3 over three tests: 4.2 standard errors
    assert (np.abs(exact - levels) < 4.2 * np.sqrt(levels * (1 - levels) / 40_000)).all()
    bare = beta.cdf(at, a + float(release.samples.arrays()["p"].mean()) * n, b + n)  # pyright: ignore
    assert np.abs(bare - levels).max() > 0.02


def test_of_counts_it_is_the_sum_over_all_tables(rng: np.random.Generator) -> None:
    """Poisson counts clipped to 0..5: the distribution of the sum by convolution."""
    n, high = 7, 5
    for mechanism in mechanisms("gamma:9,3", (0.2, 9)):
        release = released(rng.poisson(3, n).tolist(), dc.Poisson(), mechanism, rng, bounds=(0, high))
        weight, rates = sum_weight(release), np.array([0.05, 1.0, 3.0, 12.0])
        found = log_expected(RecordDistribution.of(release, few=True).at({"rate": rates}), weight)
        for rate, one in zip(rates, found, strict=True):
            x = np.arange(high)
            inside = np.exp(x * np.log(rate) - rate - gammaln(x + 1))
            mass = np.array([1.0])
            for _ in range(n):
                mass = np.convolve(mass, np.append(inside, 1 - inside.sum()))
            sums = 2 * np.arange(mass.size) / high - n
            assert one == pytest.approx(logsumexp(weight(sums), b=mass), abs=5e-6)


def test_of_one_number_it_is_an_integral(rng: np.random.Generator) -> None:
    """One exponential record clipped to [0, 4]: an atom at the bound and a density."""
    for mechanism in mechanisms("gamma:20,10", (0.2, 9)):
        release = released([1.3], dc.Exponential(), mechanism, rng, bounds=(0, 4))
        weight = sum_weight(release)
        for rate in (0.1, 0.7, 3.0):
            found = log_expected(
                RecordDistribution.of(release, few=True).at({"rate": np.array([rate])}), weight
            )
            level = float(weight(np.array([0.0]))[0])

            def integrand(x: float, rate: float = rate, level: float = level, weight: Any = weight) -> float:
                return rate * np.exp(-rate * x) * float(np.exp(weight(np.array([x / 2 - 1])) - level)[0])

            inside = quad(integrand, 0, 4, epsabs=1e-12)[0]
            atom = np.exp(-rate * 4) * float(np.exp(weight(np.array([1.0])) - level)[0])
            assert found[0] == pytest.approx(np.log(inside + atom) + level, abs=1e-5)


@pytest.mark.parametrize("prior", ["beta:2,3", "gamma:2,3", "normal:1,2"])
def test_statistics_of_a_prior(prior: str) -> None:
    made, x = dc.priors.parse(prior), np.array([0.2, 0.7])
    known = {
        "beta": np.stack([np.log(x), np.log1p(-x)], axis=1),
        "gamma": np.stack([np.log(x), -x], axis=1),
        "normal": np.stack([x, -(x**2) / 2], axis=1),
    }
    np.testing.assert_allclose(prior_statistics(made, x), known[made.name], atol=1e-12)


def log_simplex(alpha: np.ndarray, least: float) -> float:
    """Log of the integral of a Dirichlet's kernel over three probabilities above ``least``, by quadrature."""
    a1, a2, a3 = alpha

    def inner(x: float) -> float:
        r = 1 - x
        share = betainc(a2, a3, 1 - least / r) - betainc(a2, a3, least / r)
        return x ** (a1 - 1) * r ** (a2 + a3 - 1) * float(np.exp(betaln(a2, a3))) * share

    return float(np.log(quad(inner, least, 1 - 2 * least, epsabs=0, epsrel=1e-10, limit=200)[0]))


@pytest.mark.parametrize(("least", "unlike"), [(0.05, 1e-3), (0.2, 0.02)])
def test_counts_of_three_labels_against_enumeration(
    least: float, unlike: float, rng: np.random.Generator
) -> None:
    n, alpha, own = 9, np.array([1.0, 0.7, 2.0]), np.array([1.0, 1.5, 2.0])
    mechanism = OPS("dirichlet:1,1.5,2", epsilon=3, samples=2, support=least)
    release = released(list("aabbbccca"), dc.Categorical(list("abc")), mechanism, rng)
    t, drawn = float(release.sampling_record.parameters["temperature"]), release.samples.arrays()["p"]  # pyright: ignore
    counts = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)])
    log_w = np.array(
        [
            (gammaln(alpha + c) - gammaln(c + 1)).sum()
            + ((own + c / t - 1) * np.log(drawn)).sum()
            - 2 * log_simplex(own + c / t, least)
            for c in counts
        ]
    )
    exact = np.exp(log_w - logsumexp(log_w))
    cells = label_reading.drawn_cells(release, alpha)
    product = np.sum([cell.rough(counts[:, k].astype(float)) for k, cell in enumerate(cells)], axis=0)
    corrected = product - 2 * label_reading.log_density_at_one(cells, counts)
    distance = 0.5 * np.abs(np.exp(corrected - logsumexp(corrected)) - exact).sum()
    assert distance < 1e-5
    # the control: without the density at 1 the normalizing constant is another one
    assert 0.5 * np.abs(np.exp(product - np.asarray(logsumexp(product))) - exact).sum() > unlike
    question = Question(release, dc.priors.Dirichlet(alpha), RecordPrior(), 20_000, 1, rng)
    answer = label_reading.draw(question)
    assert answer.table is not None
    seen = (answer.table["count"][:, None] == counts).all(axis=2).mean(axis=0)
    # total variation of 20,000 resampled draws: about half the sum of their standard errors
    assert 0.5 * np.abs(seen - exact).sum() < np.sqrt(2 * exact * (1 - exact) / 20_000).sum()


def test_a_diffused_posterior_of_labels(rng: np.random.Generator) -> None:
    n, alpha = 8, np.array([1.0, 0.7, 2.0])
    mechanism = RENYI("dirichlet:4,4,4", order=2, epsilon=0.05)
    release = released(list("aabbbcca"), dc.Categorical(list("abc")), mechanism, rng)
    r, drawn = float(release.sampling_record.parameters["r"]), release.samples.arrays()["p"]  # pyright: ignore
    counts = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)])
    shape = 4 + r * counts
    log_w = (gammaln(alpha + counts) - gammaln(counts + 1) + shape * np.log(drawn) - gammaln(shape)).sum(
        axis=1
    )
    exact = np.exp(log_w - logsumexp(log_w))
    cells = label_reading.drawn_cells(release, alpha)
    found = np.sum([cell.rough(counts[:, k].astype(float)) for k, cell in enumerate(cells)], axis=0)
    np.testing.assert_allclose(np.exp(found - np.asarray(logsumexp(found))), exact, atol=1e-12)


def test_many_records_take_no_longer(rng: np.random.Generator) -> None:
    """Ten million records, whose sums are tabled near the draws alone."""
    release = released(
        [1, 0], dc.Bernoulli(), OPS("beta:1,1", epsilon=2, samples=2, support=(0.05, 0.95)), rng
    )
    from dataclasses import replace

    large = replace(release, records=10**7)
    question = Question(large, dc.priors.Beta(1, 1), RecordPrior(), 1000, 1, rng)
    drawn = line_reading.draw(question)["p"]
    middle = float(np.mean(large.samples.arrays()["p"]))  # pyright: ignore
    assert abs(drawn.mean() - middle) < 0.5
    assert 0 < drawn.std() < 1


@pytest.mark.parametrize("mode", ["diffused", "concentrated"])
def test_a_heavy_prior_of_the_mechanism_is_undone(mode: Any, rng: np.random.Generator) -> None:
    """The mechanism's prior pulls the draw far off; the reading knows, and takes the analyst's prior instead."""
    rows = rng.normal(0, 2, 2000)
    mechanism = RENYI("gamma:6,10", order=1.1, epsilon=0.5, mode=mode)
    release = released(rows, dc.Normal(mean=0), mechanism, rng, bounds=(-10, 10))
    posterior = dc.infer(release, prior="gamma:2,8", rng=rng)
    low, high = np.quantile(posterior.draws["variance"], [1e-4, 1 - 1e-4])
    assert low < rows.var() < high
    if mode == "concentrated":
        assert release.samples.arrays()["variance"][0] < low  # pyright: ignore
