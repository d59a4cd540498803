"""Bayesian networks are calibrated: ranks over 300 simulated releases; and where naive reading is not.

Chains are thinned, so that a rank is among draws that hardly know of each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.models import BayesianNetwork
from tests.statistical.ranks import least_p, table_prior_draw, table_ranks

TRIALS = 300
# a diamond: the last node has two parents
EDGES = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
MODEL = BayesianNetwork(EDGES, dict.fromkeys("abcd", 2))
# the same with a third label, which MODEL does not declare: it is the level of missing values
WITH_MISSING = BayesianNetwork(EDGES, dict.fromkeys("abcd", 3))
# one alarm in a thousand for all assertions of this file: 6 runs, 18 scalars, 2 tests
THRESHOLD = 1e-3 / (6 * 18 * 2)

# mechanism, size, declarations; draws in a rank, and how many sweeps apart they are
SETTINGS: dict[str, tuple[Any, int, dict[str, Any], int, int]] = {
    "laplace, 150 records, epsilon 0.3": (dc.mechanisms.Laplace(0.3), 150, {"missing": "none"}, 39, 20),
    "gaussian, 300 records, rho 0.02": (dc.mechanisms.Gaussian(rho=0.02), 300, {"missing": "none"}, 39, 20),
    "private count, epsilon 1": (
        dc.mechanisms.Laplace(1),
        100,
        {"missing": "none", "neighbors": "add_remove"},
        39,
        8,
    ),
    "missing values, epsilon 2": (dc.mechanisms.Laplace(2), 200, {"missing": "count"}, 19, 25),
}


def simulate(name: str, trials: int, rng: np.random.Generator, engine: Any = "auto") -> np.ndarray:
    """Ranks, trials × scalars. What the engine takes as unknown is drawn from its prior.

    Of a private number of records that is any number, up to one that the noise hardly reaches beyond.
    """
    mechanism, size, how, n_draws, thin = SETTINGS[name]
    counted = how["missing"] == "count"
    full = WITH_MISSING if counted else MODEL
    out = []
    for _ in range(trials):
        tables = table_prior_draw(full, rng)
        if counted:
            # the level of missing values, which is the last, has a smaller weight
            tables = {k: rng.dirichlet([1, 1, 0.15], size=v.shape[:-1]) for k, v in tables.items()}
        n = int(rng.integers(0, 2 * size + 1)) if how.get("neighbors") == "add_remove" else size
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            full.sample_rows(tables, n, rng),
            MODEL,
            mechanism,
            **how,
        )
        thin_by = 1 if engine == "naive" else thin
        posterior = dc.infer(release, draws=n_draws * thin_by, chains=1, engine=engine, rng=rng)
        kept = {name: draws[thin_by - 1 :: thin_by] for name, draws in posterior.draws.items()}
        out.append(
            table_ranks(kept, {k: given_seen(v) for k, v in tables.items()} if counted else tables, rng)
        )
    return np.array(out)


def given_seen(table: np.ndarray) -> np.ndarray:
    """Return the probabilities of labels among those that are not missing, by parents that are not missing."""
    seen = table[(slice(2),) * table.ndim]
    return seen / seen.sum(axis=-1, keepdims=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_ranks_are_uniform(name: str, rng: np.random.Generator) -> None:
    found = least_p(simulate(name, TRIALS, rng))
    print(f"{name}: least p-value {found:.2g}")
    assert found > THRESHOLD


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace, 150 records, epsilon 0.3", "missing values, epsilon 2"])
def test_the_naive_engine_is_rejected(name: str, rng: np.random.Generator) -> None:
    found = least_p(simulate(name, TRIALS, rng, engine="naive"))
    print(f"{name}, naive: least p-value {found:.2g}")
    assert found < THRESHOLD
