"""Posteriors of numbers that others published, against enumeration with SciPy's densities."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, gammaln

import discreet as dc
from discreet.inference.models.bernoulli import bernoulli_counts
from discreet.inference.models.categorical import categorical_counts
from discreet.inference.record_prior import RecordPrior
from tests.inference.count_probabilities import probability


def published(law: str, scale: float, value: float, total: np.ndarray, how: dict[str, Any]) -> np.ndarray:
    """Return how likely a published number is given totals, from SciPy's distributions alone."""
    made: Any
    if law == "discrete_gaussian":
        every = np.arange(-300, 301)
        pmf = np.exp(-0.5 * (every / scale) ** 2)
        made = stats.rv_discrete(values=(every, pmf / pmf.sum()))
    elif law in ("discrete_laplace", "geometric"):
        made = stats.dlaplace(1 / scale)
    else:
        made = stats.laplace(scale=scale) if law == "laplace" else stats.norm(scale=scale)
    half = 0.5 if how.get("rounded") and law in ("laplace", "gaussian") else 0.0
    if how.get("clipped") is not None and value <= how["clipped"]:
        return made.cdf(value - total + half)
    if half:
        return made.cdf(value - total + half) - made.cdf(value - total - half)
    return made.pmf(value - total) if "discrete" in law or law == "geometric" else made.pdf(value - total)


CASES = [
    ("laplace", 4.0, 7.3, {}),
    ("gaussian", 4.0, 7.3, {}),
    ("discrete_laplace", 4.0, 7, {}),
    ("discrete_gaussian", 4.0, 7, {}),
    ("geometric", 4.0, -3, {}),
    ("laplace", 4.0, 7, {"rounded": True}),
    ("gaussian", 4.0, 0, {"rounded": True, "clipped": 0}),
    ("laplace", 4.0, 0, {"clipped": 0}),
    ("discrete_laplace", 4.0, 0, {"clipped": 0}),
    ("discrete_gaussian", 4.0, 0, {"clipped": 0}),
]


@pytest.mark.parametrize(("law", "scale", "value", "how"), CASES)
@pytest.mark.parametrize("of", ["yes", "no"])
def test_a_share_is_read_exactly(of: str, law: str, scale: float, value: float, how: dict[str, Any]) -> None:
    n, a, b = 23, 2.0, 3.0
    release = dc.foreign(dc.Bernoulli(), records=n, values={of: value}, noise=law, scale=scale, **how)
    counts: Any = bernoulli_counts(release, dc.priors.Beta(a, b), RecordPrior(n, n))
    found = counts.probabilities()
    yes = np.arange(n + 1)
    log_prior = gammaln(n + 1) - gammaln(yes + 1) - gammaln(n - yes + 1) + betaln(a + yes, b + n - yes)
    weight = np.exp(log_prior) * published(law, scale, value, yes if of == "yes" else n - yes, how)
    weight /= weight.sum()
    np.testing.assert_allclose([found[n, c] for c in yes], weight, rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize(("law", "scale", "value", "how"), CASES)
def test_shares_are_read_exactly(law: str, scale: float, value: float, how: dict[str, Any]) -> None:
    n, alpha, others = 12, np.array([1.0, 2.0, 0.5]), (3.0, 5.0)
    model = dc.Categorical(["a", "b", "c"])
    release = dc.foreign(model, records=n, values=[value, *others], noise=law, scale=scale, **how)
    cells = categorical_counts(release, dc.priors.Dirichlet(alpha), RecordPrior(n, n))
    tables = np.array([c for c in product(range(n + 1), repeat=3) if sum(c) == n])
    log_prior = (gammaln(alpha + tables) - gammaln(tables + 1)).sum(axis=1)
    weight = np.exp(log_prior)
    for k, one in enumerate((value, *others)):
        weight *= published(law, scale, one, tables[:, k], how)
    np.testing.assert_allclose(probability(cells, tables), weight / weight.sum(), rtol=1e-8, atol=1e-13)


def test_truncated_noise_rules_counts_out() -> None:
    """Noise that goes 5 far leaves hard ends, of cells and of their sum."""
    model = dc.Categorical(["a", "b"])
    release = dc.foreign(model, values=[4.5, 9], noise="laplace", scale=6, truncated=5)
    cells = categorical_counts(release, dc.priors.Dirichlet([1, 1]), RecordPrior(0, None))
    tables = np.array(list(product(range(30), repeat=2)))
    away = np.abs(np.array([4.5, 9]) - tables)
    weight = np.exp(-away.sum(axis=1) / 6) * (away <= 5).all(axis=1) / (1 + tables.sum(axis=1))
    np.testing.assert_allclose(probability(cells, tables), weight / weight.sum(), rtol=1e-8, atol=1e-13)


def test_both_answers_and_a_noisy_count_are_read_together() -> None:
    """The number of records is not known: flat between 0 and 40."""
    release = dc.foreign(
        dc.Bernoulli(),
        values={"yes": 7.5, "count": 20.25},
        noise={"yes": "laplace", "count": "gaussian"},
        scale={"yes": 3, "count": 2},
    )
    cells = bernoulli_counts(release, dc.priors.Beta(1, 2), RecordPrior(0, 40))
    tables = np.array([(no, yes) for no in range(41) for yes in range(41) if no + yes <= 40])
    n, yes = tables.sum(axis=1), tables[:, 1]
    prior = np.exp(gammaln(n + 1) - gammaln(yes + 1) - gammaln(n - yes + 1) + betaln(1 + yes, 2 + n - yes))
    weight = prior * stats.laplace.pdf(7.5 - yes, scale=3) * stats.norm.pdf(20.25 - n, scale=2)
    np.testing.assert_allclose(probability(cells, tables), weight / weight.sum(), rtol=1e-8, atol=1e-13)  # pyright: ignore


def test_yes_and_no_of_a_known_number_are_two_readings_of_one_count() -> None:
    values = {"yes": 7.5, "no": 11.25}
    release = dc.foreign(dc.Bernoulli(), records=20, values=values, noise="gaussian", scale=3)
    counts: Any = bernoulli_counts(release, dc.priors.Beta(1, 1), RecordPrior(20, 20))
    found = counts.probabilities()
    yes = np.arange(21)
    weight = stats.norm.pdf(7.5 - yes, scale=3) * stats.norm.pdf(11.25 - (20 - yes), scale=3)
    np.testing.assert_allclose([found[20, c] for c in yes], weight / weight.sum(), rtol=1e-9, atol=1e-14)


def test_a_label_of_which_nothing_was_published_takes_what_is_left() -> None:
    model = dc.Categorical(["a", "b", "c"])
    release = dc.foreign(model, records=12, values={"a": 3, "b": 4}, noise="laplace", scale=2)
    cells = categorical_counts(release, dc.priors.Dirichlet([1, 1, 1]), RecordPrior(12, 12))
    tables = np.array([c for c in product(range(13), repeat=3) if sum(c) == 12])
    weight = stats.laplace.pdf(3 - tables[:, 0], scale=2) * stats.laplace.pdf(4 - tables[:, 1], scale=2)
    np.testing.assert_allclose(probability(cells, tables), weight / weight.sum(), rtol=1e-8, atol=1e-13)


def test_bins_may_carry_noise_of_their_own(rng: np.random.Generator) -> None:
    model = dc.Histogram(3, branching=3)
    values = {"bin 0": 40.5, "bin 1": 0, "bin 2": 60.25}
    release = dc.foreign(
        model,
        values=values,
        noise={"bin 0": "laplace", "bin 1": "geometric", "bin 2": "gaussian"},
        scale={"bin 0": 0.01, "bin 1": 2, "bin 2": 0.01},
        clipped={"bin 1": 0},
        bounds=(0, 30),
    )
    table = dc.infer(release, draws=400, rng=rng).table
    assert table is not None
    counts = table.draws["count"]
    # 40.5 is as far from 40 as from 41; 60.25 is 25 deviations from 60 and 75 from 61
    assert set(counts[:, 0]) == {40, 41}
    assert set(counts[:, 2]) == {60}
    assert counts[:, 1].max() > 1


def moments(release: dc.Release, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    table = dc.infer(release, draws=8000, rng=rng).table
    assert table is not None
    return np.asarray(table.draws["usable"], dtype=float), np.asarray(table.draws["sum"], dtype=float)


@pytest.mark.parametrize("sharp", [1.0, 150.0])
def test_a_sum_and_a_count_in_their_own_units(sharp: float, rng: np.random.Generator) -> None:
    """A sum of large numbers is a narrow ridge in count and mean, and both still have their own noise."""
    release = dc.foreign(
        dc.Mean(),
        values={"sum": 30_000.5, "count": 201},
        noise={"sum": "gaussian", "count": "laplace"},
        scale={"sum": sharp, "count": 4},
        bounds=(100, 200),
    )
    count, total = moments(release, rng)
    # a sum between 100 and 200 for each record leaves 151 to 300 of them, so that noise decides: four standard errors
    assert count.mean() == pytest.approx(201, abs=4 * 32**0.5 / 8000**0.5 + 0.2)
    assert count.std() == pytest.approx(32**0.5, rel=0.06)
    assert total.std() == pytest.approx(sharp, rel=0.05)
    assert total.mean() == pytest.approx(30_000.5, abs=4 * sharp / 8000**0.5 + 0.03 * sharp)


def test_a_covariance_is_read(rng: np.random.Generator) -> None:
    covariance = np.array([[40_000.0, 700.0], [700.0, 25.0]])
    values = {"sum": 12_000.25, "count": 203}
    release = dc.foreign(dc.Mean(), values=values, noise="gaussian", covariance=covariance, bounds=(0, 100))
    count, total = moments(release, rng)
    found = np.cov(total, count)
    # the prior of the mean is nearly flat here: within a tenth
    np.testing.assert_allclose(found, covariance, rtol=0.1)


def test_several_numbers_of_one_table_and_of_others(rng: np.random.Generator) -> None:
    first, second = (
        dc.foreign(dc.Bernoulli(), records=300, values={"yes": yes}, noise="laplace", scale=9, dataset="x")
        for yes in (120.5, 131.25)
    )
    both = dc.infer([first, second], same_table=True, rng=rng).interval(0.9)
    alone = dc.infer(first, rng=rng).interval(0.9)
    assert both["p"][1] - both["p"][0] < alone["p"][1] - alone["p"][0]  # pyright: ignore
    assert 0.3 < dc.infer([first, second], same_table=False, rng=rng).mean()["p"] < 0.5  # pyright: ignore


def test_noise_is_ignored_only_on_request() -> None:
    release = dc.foreign(dc.Bernoulli(), records=300, values={"yes": 123}, noise="laplace", scale=30)
    naive, ours = (dc.infer(release, engine=engine, rng=1) for engine in ("naive", "exact"))
    assert naive.draws["p"].std() < 0.5 * ours.draws["p"].std()
    release = dc.foreign(dc.Mean(), records=30, values={"sum": 12}, noise="laplace", scale=3, bounds=(0, 1))
    with pytest.raises(dc.DiscreetError, match="no sum of squares"):
        dc.infer(release, engine="naive")
