"""Rebalanced posterior samples: the claim against every neighboring pair, and the sampler against its distribution."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet import priors
from discreet.artifact import SamplingRecord
from discreet.curator.publish import sample_with
from discreet.domain.declarations import Domain
from discreet.mechanisms.base import RandomSource
from discreet.mechanisms.renyi_posterior import RenyiPosterior
from discreet.privacy.costs.posterior_divergence import conjugate_divergence
from discreet.privacy.costs.posterior_neighbors import NeighboringPosteriors

MODES = ("direct", "diffused", "concentrated")
#: Split over the chi-square tests of this file.
FALSE_ALARM = 1e-3 / 20
N = 200
LABELS = Domain(None, None, "clip", "none")


def distributions(record: SamplingRecord, family: Any, sums: Any, n: int) -> priors.Prior:
    """The distribution of a draw given these sums, by the family's own update and nothing of the mechanism's."""
    r, m = float(record.parameters["r"]), float(record.parameters["m"])
    prior = type(record.prior).from_natural(record.prior.natural() / m)  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
    return family.update(prior, r * np.asarray(sums, dtype=float), r * n)


def tight(prior: priors.Prior, order: float, epsilon: float, mode: str, samples: int = 1) -> Any:
    """A mechanism; for the posterior itself, with the budget that it needs."""
    if mode == "direct":
        epsilon = NeighboringPosteriors(dc.Bernoulli(), prior, N).worst_divergence(order) * samples * 1.001
    return RenyiPosterior(prior, order=order, epsilon=epsilon, mode=mode, samples=samples)  # pyright: ignore


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("order", "epsilon"), [(2.0, 0.05), (5.0, 0.2), (1.1, 0.01)])
@pytest.mark.parametrize("prior", [priors.Beta(6, 12), priors.Beta(40, 4.5)], ids=str)
def test_every_pair_is_within_the_claim_and_one_is_near_it(
    mode: str, order: float, epsilon: float, prior: priors.Beta
) -> None:
    mechanism = tight(prior, order, epsilon, mode, samples=3)
    record = mechanism.plan(dc.Bernoulli(), LABELS, N)
    claim = float(mechanism.guarantee("replace").epsilons[0])
    after = [distributions(record, dc.Bernoulli(), [k], N) for k in range(N + 1)]
    spent = [
        3 * conjugate_divergence(p, q, order)
        for low, high in itertools.pairwise(after)
        for p, q in ((low, high), (high, low))
    ]
    assert 0.95 * claim < max(spent) <= claim


@pytest.mark.parametrize("mode", ["diffused", "concentrated"])
@pytest.mark.parametrize("prior", [priors.Beta(6, 12), priors.Beta(1, 1)], ids=str)
def test_ten_percent_more_breaks_the_claim(mode: str, prior: priors.Beta) -> None:
    """Negative control of the test above: the same grid finds a weight that is 10% too large."""
    mechanism = RenyiPosterior(prior, order=2, epsilon=0.05, mode=mode)  # pyright: ignore
    record = mechanism.plan(dc.Bernoulli(), LABELS, N)
    larger = dict(record.parameters)
    larger["r" if mode == "diffused" else "m"] *= Fraction(11, 10)
    wrong = replace(record, parameters=larger)
    after = [distributions(wrong, dc.Bernoulli(), [k], N) for k in range(N + 1)]
    spent = [conjugate_divergence(p, q, 2) for p, q in itertools.pairwise(after)]
    spent += [conjugate_divergence(q, p, 2) for p, q in itertools.pairwise(after)]
    assert max(spent) > 0.05 * 1.04


@pytest.mark.parametrize("mode", ["diffused", "concentrated"])
def test_labels_stay_within_the_claim(mode: str) -> None:
    """Three labels and six records: all tables, all neighbors."""
    family, n = dc.Categorical(["a", "b", "c"]), 6
    mechanism = RenyiPosterior(
        priors.Dirichlet([1, 2, 3]),
        order=3,
        epsilon=0.1,
        mode=mode,  # pyright: ignore
    )
    record = mechanism.plan(family, Domain(None, family.labels, "clip", "none"), n)
    tables = [np.array([i, j, n - i - j]) for i in range(n + 1) for j in range(n + 1 - i)]
    spent = [
        conjugate_divergence(distributions(record, family, p, n), distributions(record, family, q, n), 3)
        for p in tables
        for q in tables
        if np.abs(p - q).sum() == 2
    ]
    assert 0.95 * 0.1 < max(spent) <= 0.1


NUMBERS = [
    (dc.Poisson(), priors.Gamma(4, 2), (0, 5)),
    (dc.Geometric(), priors.Beta(2, 5), (0, 5)),
    (dc.Exponential(), priors.Gamma(2, 3), (0, 5)),
    (dc.Gamma(shape=2.5), priors.Gamma(2, 3), (1, 5)),
    (dc.Laplace(location=1.0), priors.Gamma(2, 3), (0, 5)),
    (dc.Normal(mean=1.0), priors.Gamma(3, 2), (0, 5)),
    (dc.Normal(variance=2.0), priors.Normal(1, 2), (0, 5)),
]


@pytest.mark.parametrize("mode", ["diffused", "concentrated"])
@pytest.mark.parametrize(("family", "prior", "bounds"), NUMBERS, ids=lambda x: str(x))
def test_numbers_stay_within_the_claim(family: Any, prior: Any, bounds: Any, mode: str) -> None:
    n, order = 20, 2.0
    domain = Domain(family.parse_bounds(bounds), None, "clip", "none")
    mechanism = RenyiPosterior(prior, order=order, epsilon=0.02, mode=mode)  # pyright: ignore
    record = mechanism.plan(family, domain, n)
    low, high = (float(end) for end in family.measure_range(*domain.bounds[0]))  # pyright: ignore
    values = np.linspace(low, high, 5)
    # the other records: from all at the lower end to all at the upper
    others = np.linspace((n - 1) * low, (n - 1) * high, 25)
    spent = []
    for rest in others:
        after = [distributions(record, family, [rest + value], n) for value in values]
        spent += [conjugate_divergence(p, q, order) for p in after for q in after]
    assert 0.95 * 0.02 < max(spent) <= 0.02 * (1 + 1e-9)


# -- the sampler --------------------------------------------------------------------------------------------


def cells(draws: np.ndarray, cdf: Any, n_cells: int = 20) -> float:
    """The p-value of the draws falling into cells that are equally likely under ``cdf``."""
    counts = np.bincount(np.minimum((cdf(draws) * n_cells).astype(int), n_cells - 1), minlength=n_cells)
    return float(stats.chisquare(counts).pvalue)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("data", [[1] * N, [0] * N, [0] * (N - 1) + [1]], ids=["ones", "zeros", "one one"])
def test_draws_at_extreme_data_match_the_distribution(
    mode: str, data: list[int], rng: np.random.Generator
) -> None:
    mechanism = tight(priors.Beta(6, 12), 5.0, 1000.0, mode, samples=10_000)
    release = sample_with(RandomSource.seeded(rng), data, dc.Bernoulli(), mechanism, impute=0)
    assert release.samples is not None
    draws = release.samples.arrays()["p"]
    distribution = distributions(release.mechanism, dc.Bernoulli(), [sum(data)], N)  # pyright: ignore
    assert cells(draws, stats.beta(*distribution.natural()).cdf) > FALSE_ALARM
    # negative control: one record more or less would be noticed at the other end of the table
    wrong = distributions(release.mechanism, dc.Bernoulli(), [N - sum(data)], N)  # pyright: ignore
    assert cells(draws, stats.beta(*wrong.natural()).cdf) < 1e-12


def test_a_weight_ten_percent_off_would_be_noticed(rng: np.random.Generator) -> None:
    mechanism = tight(priors.Beta(6, 12), 2.0, 500.0, "diffused", samples=10_000)
    release = sample_with(RandomSource.seeded(rng), [1] * N, dc.Bernoulli(), mechanism, impute=0)
    record: Any = release.mechanism
    assert release.samples is not None
    off = {**record.parameters, "r": record.parameters["r"] * Fraction(11, 10)}
    wrong = distributions(replace(record, parameters=off), dc.Bernoulli(), [N], N)
    right = distributions(record, dc.Bernoulli(), [N], N)
    draws = release.samples.arrays()["p"]
    assert cells(draws, stats.beta(*right.natural()).cdf) > FALSE_ALARM
    assert cells(draws, stats.beta(*wrong.natural()).cdf) < 1e-12


def test_the_secure_generator_has_the_same_distribution() -> None:
    """Draws of a real release cannot be seeded, so the false alarm rate is one in a million."""
    mechanism = tight(priors.Beta(6, 12), 2.0, 500.0, "diffused", samples=10_000)
    release = dc.release([1] * N, dc.Bernoulli(), mechanism=mechanism, impute=0)
    assert release.samples is not None
    distribution = distributions(release.mechanism, dc.Bernoulli(), [N], N)  # pyright: ignore
    assert cells(release.samples.arrays()["p"], stats.beta(*distribution.natural()).cdf) > 1e-6


@pytest.mark.parametrize(("family", "prior", "bounds"), NUMBERS, ids=lambda x: str(x))
def test_draws_of_numbers_match_the_distribution(
    family: Any, prior: Any, bounds: Any, rng: np.random.Generator
) -> None:
    """All values beyond the upper bound: clipped, summed on the grid, and updated."""
    mechanism = RenyiPosterior(prior, order=2, epsilon=100, samples=10_000)
    release = sample_with(
        RandomSource.seeded(rng), [99.0] * 50, family, mechanism, bounds=bounds, missing="none"
    )
    high = max(float(end) for end in family.measure_range(*family.parse_bounds(bounds)[0]))
    distribution = distributions(release.mechanism, family, [50 * high], 50)  # pyright: ignore
    assert release.samples is not None
    (draws,) = release.samples.arrays().values()
    draws = 1 / draws if family.draw_names == ("variance",) else draws
    cdf = {
        "beta": lambda a, b: stats.beta(a, b).cdf,
        "gamma": lambda a, b: stats.gamma(a, scale=1 / b).cdf,
        "normal": lambda pull, precision: stats.norm(pull / precision, precision**-0.5).cdf,
    }[distribution.name](*distribution.natural())
    assert cells(draws, cdf) > FALSE_ALARM


def test_the_exact_posterior_is_the_familys_own_update() -> None:
    for family, prior, bounds in NUMBERS:
        near = NeighboringPosteriors(family, prior, 20, family.parse_bounds(bounds))
        found = near.posterior([Fraction(61, 2)])
        np.testing.assert_allclose(
            found.natural(), family.update(prior, np.array([30.5]), 20).natural(), rtol=1e-14
        )


def test_tiny_rates_stay_readable(rng: np.random.Generator) -> None:
    """A shape so small that draws underflow to 0, and their reciprocals overflow."""
    for family, name in ((dc.Poisson(), "rate"), (dc.Normal(mean=0.0), "variance")):
        mechanism = RenyiPosterior(
            priors.Gamma(1e-4, 1e-4), order=1.5, epsilon=0.01, mode="diffused", samples=200
        )
        release = sample_with(RandomSource.seeded(rng), [0], family, mechanism, bounds=(0, 1), missing="none")
        assert release.samples is not None
        draws = release.samples.arrays()[name]
        assert np.isfinite(draws).all()
        assert (draws > 0).all()
        assert dc.Release.from_json(release.to_json()) == release
