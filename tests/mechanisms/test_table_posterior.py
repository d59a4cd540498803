"""Sampled probability tables: the exact privacy loss of every neighboring pair, and the distribution of the draws."""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc, betaln
from scipy.stats import norm

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.mechanisms.base import RandomSource
from discreet.models import BayesianNetwork, NaiveBayes
from discreet.models.discrete import DiscreteModel

LEAST = 0.05
# one table is [class], the other [class, feature]: three truncated beta distributions
MODEL = NaiveBayes({"c": 2}, {"f": 2})
# five truncated beta distributions; no column has more than one child
NETWORK = BayesianNetwork([("a", "b"), ("b", "c")], {"a": 2, "b": 2, "c": 2})
MODELS = pytest.mark.parametrize("model", [MODEL, NETWORK], ids=["naive bayes", "network"])


def log_mass(a: float, b: float) -> float:
    """Log of the integral of p^(a-1) (1-p)^(b-1) over [LEAST, 1 - LEAST]."""
    return float(betaln(a, b) + np.log(betainc(a, b, 1 - LEAST) - betainc(a, b, LEAST)))


def parameters(model: DiscreteModel, data: list[tuple[int, ...]], temperature: float) -> np.ndarray:
    """The beta parameters (of label 0, of label 1) of every row of every table."""
    counts = model.counts(np.array(data, dtype=np.int64))
    return 1 + np.vstack([table.reshape(-1, 2) for table in counts.values()]) / temperature


def loss(distribution: np.ndarray, other: np.ndarray) -> float:
    """The largest log-ratio of two densities, over all parameters."""
    # one count of a row grows or one shrinks, or both: the ratio is monotone, and largest at an end
    ends = [max(float(s @ np.log([p, 1 - p])) for p in (LEAST, 1 - LEAST)) for s in distribution - other]
    return sum(ends) - sum(log_mass(a, b) for a, b in distribution) + sum(log_mass(a, b) for a, b in other)


def worst_loss(model: DiscreteModel, temperature: float, n: int) -> float:
    """The largest log-ratio of densities over all pairs of neighboring tables of n records and all parameters."""
    records = list(product((0, 1), repeat=len(model.columns)))
    worst = 0.0
    for rest in combinations_with_replacement(records, n - 1):
        distributions = [parameters(model, [*rest, one], temperature) for one in records]
        worst = max(worst, *(loss(one, two) for one, two in permutations(distributions, 2)))
    return worst


def planned(model: DiscreteModel, epsilon: float) -> float:
    mechanism = dc.mechanisms.TablePosterior(epsilon=epsilon, support=LEAST)
    domain: Any = None
    return float(mechanism.plan(model, domain, 3).parameters["temperature"])


@MODELS
def test_no_pair_of_neighbors_loses_more_than_epsilon(model: DiscreteModel) -> None:
    """All tables of three records; the supremum over theta is taken where each ratio is largest."""
    for epsilon in (1.0, 5.0):
        temperature = planned(model, epsilon)
        assert worst_loss(model, temperature, 3) <= epsilon
        # and it is not idle: more than a third of it is used even at three records
        assert worst_loss(model, temperature, 3) > epsilon / 3


@MODELS
def test_the_range_of_one_column_is_too_little(model: DiscreteModel) -> None:
    """The control: a temperature from the range of the class alone, as if only one entry of a record could change."""
    alone = 2 * np.log((1 - LEAST) / LEAST)
    assert worst_loss(model, alone / 5.0, 3) > 5.0


def test_the_range_of_a_network_is_that_of_all_its_columns() -> None:
    """One pair of tables that nearly attains it, for which lemma 24's constant as printed promises too much.

    The records that both tables hold make every probability of the one record as small as it can be, and every
    probability of the other as large.
    """
    rest = [(1, 1, 1)] * 20_000 + [(0, 1, 1), (1, 0, 1), (1, 1, 0)] * 1100
    one, two = [*rest, (0, 0, 0)], [*rest, (1, 1, 1)]

    def lost(temperature: float) -> float:
        return loss(*(parameters(NETWORK, table, temperature) for table in (one, two)))

    epsilon = 2.0
    assert 0.95 * epsilon < lost(planned(NETWORK, epsilon)) <= epsilon
    # v is one more than the number of children, at most 2 in this network
    printed = 2 * 2 * np.log(1 / LEAST)
    assert lost(printed / epsilon) > 1.3 * epsilon


def test_columns_of_any_size_add_up() -> None:
    model = BayesianNetwork([("a", "c"), ("b", "c")], {"a": 2, "b": 3, "c": 4})
    mechanism = dc.mechanisms.TablePosterior(epsilon=1, support="1/100")
    domain: Any = None
    found = float(mechanism.plan(model, domain, 5).parameters["range"])
    each = [2 * np.log((1 - (k - 1) * 0.01) / 0.01) for k in (2, 3, 4)]
    np.testing.assert_allclose(found, sum(each), rtol=1e-9)


def truncated_mean(a: float, b: float) -> float:
    return float(np.exp(log_mass(a, b + 1) - log_mass(a, b)))


@MODELS
def test_draws_have_the_distribution_s_means(model: DiscreteModel, rng: np.random.Generator) -> None:
    """Means of 4000 draws at 1e-4 (eight tests); the means of an untempered posterior are rejected."""
    n_draws, width = 4000, len(model.columns)
    data = [one[:width] for one in [(0, 0, 1)] * 20 + [(0, 1, 1)] * 9 + [(1, 1, 0)] * 4]
    rows = {name: [str(one[i]) for one in data] for i, name in enumerate(model.column_names)}
    # a temperature of about 1.6
    epsilon = round(n_draws * width * 2 * np.log((1 - LEAST) / LEAST) / 1.6)
    mechanism = dc.mechanisms.TablePosterior(epsilon=epsilon, samples=n_draws, support=LEAST)
    release = sample_with(RandomSource.seeded(rng), rows, model, mechanism, missing="none")
    temperature = float(release.sampling_record.parameters["temperature"])
    assert 1.5 < temperature < 1.7
    assert dc.Release.from_json(release.to_json()) == release
    drawn = dc.infer(release).draws
    second = np.hstack([drawn[name].reshape(n_draws, -1, 2)[..., 1] for name in model.draw_names])

    def p_values(temperature: float) -> np.ndarray:
        means = np.array([truncated_mean(a, b) for a, b in parameters(model, data, temperature)])
        z = (second.mean(axis=0) - means) / (second.std(axis=0, ddof=1) / np.sqrt(n_draws))
        return 2 * norm.sf(np.abs(z))

    assert p_values(temperature).min() > 1e-4 / 8
    assert p_values(1.0).min() < 1e-4 / 8


def test_imputed_records_count() -> None:
    mechanism = dc.mechanisms.TablePosterior(epsilon=1e6, support="1/1000")
    rows = {"c": [None] * 5000, "f": ["?"] * 5000}
    release = dc.release(rows, MODEL, mechanism=mechanism, impute={"c": 1, "f": 0})
    assert release.samples is not None
    drawn = release.samples.arrays()
    # 5000 records of one cell: the rest has probability about 1e-3, the support's edge
    assert drawn["c"][0, 1] > 0.98
    assert drawn["f"][0, 1, 0] > 0.98


@pytest.mark.parametrize("neighbors", ["add_remove"])
def test_only_replacement_is_promised(neighbors: Any) -> None:
    mechanism = dc.mechanisms.TablePosterior(epsilon=1, support=0.01)
    with pytest.raises(dc.errors.UsageError, match="private for neighbors='replace'"):
        dc.release({"c": [], "f": []}, MODEL, mechanism=mechanism, missing="none", neighbors=neighbors)
