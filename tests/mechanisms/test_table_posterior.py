"""Sampled probability tables: the exact privacy loss of every neighboring pair, and the law of the draws."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc, betaln
from scipy.stats import norm

import discreet as dc
from discreet.mechanisms.curator import sample_with
from discreet.mechanisms.sampling import RandomSource
from discreet.models import NaiveBayes

LEAST = 0.05
MODEL = NaiveBayes({"c": 2}, {"f": 2})
# one table is [class], the other [class, feature]: three truncated beta laws
RECORDS = list(product((0, 1), (0, 1)))


def log_mass(a: float, b: float) -> float:
    """Log of the integral of p^(a-1) (1-p)^(b-1) over [LEAST, 1 - LEAST]."""
    return float(betaln(a, b) + np.log(betainc(a, b, 1 - LEAST) - betainc(a, b, LEAST)))


def parameters(data: list[tuple[int, int]], temperature: float) -> np.ndarray:
    """The beta parameters (of label 0, of label 1) of pi, theta given class 0, theta given class 1."""
    counts = MODEL.counts(np.array(data, dtype=np.int64))
    rows = np.vstack([counts["c"][None], counts["f"]])
    return 1 + rows / temperature


def worst_loss(temperature: float, n: int) -> float:
    """The largest log-ratio of densities over all pairs of neighboring tables of n records and all parameters."""
    worst = 0.0
    for rest in product(RECORDS, repeat=n - 1):
        laws = [parameters([*rest, one], temperature) for one in RECORDS]
        masses = [sum(log_mass(a, b) for a, b in law) for law in laws]
        for i, j in product(range(4), repeat=2):
            # one count of a law grows or one shrinks, or both: the ratio is monotone, and largest at an end
            slope = laws[i] - laws[j]
            ends = [max(float(s @ np.log([p, 1 - p])) for p in (LEAST, 1 - LEAST)) for s in slope]
            worst = max(worst, sum(ends) - masses[i] + masses[j])
    return worst


def planned(epsilon: float) -> float:
    mechanism = dc.TablePosteriorMechanism(epsilon=epsilon, support=LEAST)
    domain: Any = None
    return float(mechanism.plan(MODEL, domain, 3).parameters["temperature"])


def test_no_pair_of_neighbors_loses_more_than_epsilon() -> None:
    """All tables of three records; the supremum over theta is taken where each ratio is largest."""
    for epsilon in (1.0, 5.0):
        temperature = planned(epsilon)
        assert worst_loss(temperature, 3) <= epsilon
        # and it is not idle: more than a third of it is used even at three records
        assert worst_loss(temperature, 3) > epsilon / 3


def test_the_range_of_one_column_is_too_little() -> None:
    """The control: a temperature from the range of the class alone, as if only one entry of a record could change."""
    alone = 2 * np.log((1 - LEAST) / LEAST)
    assert worst_loss(alone / 5.0, 3) > 5.0


def truncated_mean(a: float, b: float) -> float:
    return float(np.exp(log_mass(a, b + 1) - log_mass(a, b)))


def test_draws_have_the_law_s_means(rng: np.random.Generator) -> None:
    """Means of 4000 draws at 1e-4 (three tests); the means of an untempered posterior are rejected."""
    n_draws, data = 4000, [(0, 0)] * 20 + [(0, 1)] * 9 + [(1, 1)] * 4
    rows = {"c": [str(c) for c, _ in data], "f": [str(f) for _, f in data]}
    mechanism = dc.TablePosteriorMechanism(epsilon=30_000, samples=n_draws, support=LEAST)
    release = sample_with(RandomSource.seeded(rng), rows, MODEL, mechanism, missing="none")
    temperature = float(release.sampling_record.parameters["temperature"])
    assert 1.4 < temperature < 1.8
    assert release.samples is not None
    drawn = release.samples.arrays()
    second = np.column_stack([drawn["c"][:, 1], drawn["f"][:, 0, 1], drawn["f"][:, 1, 1]])

    def p_values(temperature: float) -> np.ndarray:
        means = np.array([truncated_mean(a, b) for a, b in parameters(data, temperature)])
        z = (second.mean(axis=0) - means) / (second.std(axis=0, ddof=1) / np.sqrt(n_draws))
        return 2 * norm.sf(np.abs(z))

    assert p_values(temperature).min() > 1e-4 / 3
    assert p_values(1.0).min() < 1e-4 / 3


def test_imputed_records_count() -> None:
    mechanism = dc.TablePosteriorMechanism(epsilon=1e6, support="1/1000")
    rows = {"c": [None] * 5000, "f": ["?"] * 5000}
    release = dc.release(rows, MODEL, mechanism=mechanism, impute={"c": 1, "f": 0})
    assert release.samples is not None
    drawn = release.samples.arrays()
    # 5000 records of one cell: the rest has probability about 1e-3, the support's edge
    assert drawn["c"][0, 1] > 0.98
    assert drawn["f"][0, 1, 0] > 0.98


@pytest.mark.parametrize("neighbors", ["add_remove"])
def test_only_replacement_is_promised(neighbors: Any) -> None:
    mechanism = dc.TablePosteriorMechanism(epsilon=1, support=0.01)
    with pytest.raises(dc.UsageError, match="private for neighbors='replace'"):
        dc.release({"c": [], "f": []}, MODEL, mechanism=mechanism, missing="none", neighbors=neighbors)
