"""Naive Bayes is calibrated: ranks of every probability over 300 simulated releases; and where naive reading is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.inference.missing_prior import missing_prior
from discreet.models import NaiveBayes
from tests.statistical.ranks import N_DRAWS, least_p, table_prior_draw, table_ranks

TRIALS = 300
MODEL = NaiveBayes({"c": 2}, {"f": 2, "g": 3})
# one alarm in a thousand for all assertions of this file: 8 settings, 9 scalars, 2 tests
THRESHOLD = 1e-3 / (8 * 9 * 2)

SETTINGS: dict[str, tuple[Any, int, dict[str, Any]]] = {
    "laplace, 60 records, epsilon 0.2": (dc.mechanisms.Laplace(0.2), 60, {"missing": "none"}),
    "laplace, 60 records, epsilon 2": (dc.mechanisms.Laplace(2), 60, {"missing": "none"}),
    "laplace, 1000 records, epsilon 0.1": (dc.mechanisms.Laplace(0.1), 1000, {"missing": "none"}),
    "gaussian, 200 records, rho 0.01": (dc.mechanisms.Gaussian(rho=0.01), 200, {"missing": "none"}),
    "missing values, epsilon 1": (dc.mechanisms.Laplace(1), 200, {"missing": "count"}),
    "private count, epsilon 1": (
        dc.mechanisms.Laplace(1),
        100,
        {"missing": "none", "neighbors": "add_remove"},
    ),
}


def simulate(name: str, trials: int, rng: np.random.Generator, engine: Any = "auto") -> np.ndarray:
    """Ranks, trials × scalars. What the engine takes as unknown is drawn from its prior: sizes and missing values."""
    mechanism, size, how = SETTINGS[name]
    out = []
    for _ in range(trials):
        theta = table_prior_draw(MODEL, rng)
        n, records = size, None
        if how.get("neighbors") == "add_remove":
            n, records = int(rng.integers(0, 2 * size + 1)), (0, 2 * size)
        rows: dict[str, Any] = {k: v.astype(object) for k, v in MODEL.sample_rows(theta, n, rng).items()}
        if how["missing"] == "count":
            lose(rows, rng)
        release = release_with(lambda noise: int(noise.sample(1, rng)[0]), rows, MODEL, mechanism, **how)
        posterior = dc.infer(release, draws=N_DRAWS, chains=1, records=records, engine=engine, rng=rng)
        out.append(table_ranks(posterior.draws, theta, rng))
    return np.array(out)


def lose(rows: dict[str, Any], rng: np.random.Generator) -> None:
    """Drop classes, and in each group features, as the engine expects it; a group without class has its own."""
    n = len(rows["c"])
    gone = rng.permutation(n)[: missing_prior(None, n).sample(rng)]
    rows["c"][gone] = None
    for feature in ("f", "g"):
        k = 2 if feature == "f" else 3
        own = rng.dirichlet(np.ones(k))
        rows[feature][gone] = rng.choice(k, size=gone.size, p=own).astype(str)
        for group in ("0", "1", None):
            mine = np.flatnonzero([label == group for label in rows["c"]])
            rows[feature][rng.permutation(mine)[: int(rng.binomial(mine.size, rng.beta(0.15, 2)))]] = None


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_ranks_are_uniform(name: str, rng: np.random.Generator) -> None:
    assert least_p(simulate(name, TRIALS, rng)) > THRESHOLD


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace, 60 records, epsilon 0.2", "laplace, 1000 records, epsilon 0.1"])
def test_the_naive_engine_is_rejected(name: str, rng: np.random.Generator) -> None:
    assert least_p(simulate(name, TRIALS, rng, engine="naive")) < THRESHOLD


def test_a_short_run(rng: np.random.Generator) -> None:
    """Eighty trials by default: enough to reject the naive engine, not enough to prove the exact one."""
    name = "laplace, 60 records, epsilon 0.2"
    assert least_p(simulate(name, 80, rng)) > THRESHOLD
    assert least_p(simulate(name, 80, rng, engine="naive")) < THRESHOLD
