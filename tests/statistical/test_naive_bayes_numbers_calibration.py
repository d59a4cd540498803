"""Naive Bayes with a number is calibrated: ranks over 200 simulated releases; and where naive reading is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.inference.missing_prior import missing_prior
from discreet.inference.models.class_moments import clipped_moments
from discreet.models import NaiveBayes
from tests.statistical.ranks import N_DRAWS, tails_p, uniform_p

TRIALS = 200
MODEL = NaiveBayes({"c": 2}, {"f": 2, "x": (-20, 100)})
NORMAL = dc.priors.NormalInverseGamma(45, 2, 5, 1500)
# classes that are large enough for a central limit
PRIOR: dict[str, Any] = {"c": 20, "x": NORMAL}
# one alarm in a thousand for all assertions of this file: 5 runs, 10 scalars, 2 tests
THRESHOLD = 1e-3 / (5 * 10 * 2)

SETTINGS: dict[str, tuple[Any, int, dict[str, Any]]] = {
    "laplace, redacted": (dc.mechanisms.Laplace(0.4), 1000, {"missing": "none"}),
    "laplace, clipped, missing values": (
        dc.mechanisms.Laplace(1),
        2000,
        {"missing": "count", "outside": "clip"},
    ),
    "gaussian, private count": (
        dc.mechanisms.Gaussian(rho=0.005),
        1000,
        {"missing": "none", "neighbors": "add_remove"},
    ),
}


def prior_draw(rng: np.random.Generator) -> dict[str, np.ndarray]:
    mean, variance = NORMAL.sample(2, rng)
    return {
        "c": rng.dirichlet([20, 20]),
        "f": rng.dirichlet([1, 1], size=2),
        "x.mean": mean,
        "x.sd": np.sqrt(variance),
    }


def simulate(name: str, trials: int, rng: np.random.Generator, engine: Any = "gibbs") -> np.ndarray:
    """Ranks, trials × scalars. What the engine takes as unknown is drawn from its prior: sizes and missing values."""
    mechanism, size, how = SETTINGS[name]
    out = []
    for _ in range(trials):
        theta = prior_draw(rng)
        n, records = size, None
        if how.get("neighbors") == "add_remove":
            n, records = int(rng.integers(size // 2, 2 * size + 1)), (size // 2, 2 * size)
        rows: dict[str, Any] = {k: v.astype(object) for k, v in MODEL.sample_rows(theta, n, rng).items()}
        if how["missing"] == "count":
            lose(rows, rng)
        release = release_with(lambda noise: int(noise.sample(1, rng)[0]), rows, MODEL, mechanism, **how)
        posterior = dc.infer(
            release, prior=PRIOR, draws=N_DRAWS, chains=1, records=records, engine=engine, rng=rng
        )
        # what is handed back are the moments of the column as clipped
        (number,) = MODEL.numeric_columns
        own = clipped_moments({"mean": theta["x.mean"], "variance": theta["x.sd"] ** 2}, number)
        truth = {**theta, "x.mean": own["mean"], "x.sd": own["sd"]}
        found = np.concatenate([(posterior.draws[k] < truth[k]).sum(axis=0).ravel() for k in truth])
        out.append((found + rng.random(found.size)) / (N_DRAWS + 1))
    return np.array(out)


def lose(rows: dict[str, Any], rng: np.random.Generator) -> None:
    """Drop up to a quarter of the classes, and in each group any number of labels and up to a quarter of the numbers.

    Drawn from the priors of the engine, cut off at a quarter: the noisy counts tell to a few records, so that this is
    as good; more, and a class may have too few for a central limit.
    """
    n = len(rows["c"])
    lost = next(k for k in iter(lambda: missing_prior(None, n).sample(rng), -1) if k <= n // 4)
    rows["c"][rng.permutation(n)[:lost]] = None
    for feature, part in (("f", 1), ("x", 4)):
        for group in ("0", "1", None):
            mine = np.flatnonzero([label == group for label in rows["c"]])
            shares = iter(lambda: float(rng.beta(0.15, 2)), -1.0)
            counts = (int(rng.binomial(mine.size, share)) for share in shares)
            rows[feature][rng.permutation(mine)[: next(k for k in counts if k <= mine.size // part)]] = None


def least_p(ranks: np.ndarray) -> float:
    return min(min(uniform_p(column), tails_p(column)) for column in ranks.T)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_ranks_are_uniform(name: str, rng: np.random.Generator) -> None:
    assert least_p(simulate(name, TRIALS, rng)) > THRESHOLD


@pytest.mark.slow
def test_the_naive_engine_is_rejected(rng: np.random.Generator) -> None:
    """Both because noise is ignored, and in the numbers alone, which are the last four scalars."""
    ranks = simulate("laplace, redacted", TRIALS, rng, engine="naive")
    assert least_p(ranks) < THRESHOLD
    assert least_p(ranks[:, -4:]) < THRESHOLD


def test_a_short_run_rejects_the_naive_engine(rng: np.random.Generator) -> None:
    ranks = simulate("laplace, redacted", 60, rng, engine="naive")
    assert least_p(ranks[:, -4:]) < THRESHOLD
