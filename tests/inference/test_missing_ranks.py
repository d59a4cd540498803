"""Ranks of the truth where values are missing: uniform if their number is drawn from inference's prior, and nearly so
on complete columns. The control is the flat prior, which expects half of a column to be missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.inference.missing_prior import missing_prior
from discreet.mechanisms.noise import NoiseMechanism
from discreet.validation.ranks import rank

# Three families in the default suite and six slow cases share a false-alarm rate of 1e-3.
ALARM = 1e-3 / 9
P = dc.priors


def ranks(
    family: Any,
    prior: Any,
    n: int,
    mechanism: NoiseMechanism,
    trials: int,
    rng: np.random.Generator,
    *,
    lost: int | None = None,
    expected: tuple[Any, ...] = (None,),
    **how: Any,
) -> np.ndarray:
    """Return ranks of the first parameter, of ``lost`` missing values or as many as the prior has it.

    One column for each prior on the missing values that the releases are read under.
    """
    out = np.empty((trials, len(expected)))
    bounds = how.pop("bounds", None)
    for i in range(trials):
        theta = {name: value[0] for name, value in family.draw(prior, 1, rng).items()}
        rows = np.ma.array(family.sample(theta, n, rng))
        k = missing_prior(None, n).sample(rng) if lost is None else lost
        rows[:k] = np.ma.masked
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            rows,
            family,
            mechanism,
            bounds=bounds,
            missing="count",
        )
        for j, missing in enumerate(expected):
            posterior = dc.infer(release, prior=prior, draws=400, missing=missing, rng=rng, **how)
            (name, values), *_ = posterior.draws.items()
            out[i, j] = rank(np.ravel(theta[name])[0], values.reshape(len(values), -1)[:, 0], rng)
    return out


CASES = {
    "bernoulli": (dc.Bernoulli(), P.Beta(2, 5), 60, {}),
    "categorical": (dc.Categorical(3), P.Dirichlet((2.0, 1.0, 1.0)), 60, {}),
    "poisson, gibbs": (dc.Poisson(), P.Gamma(4, 2), 250, {"bounds": (0, 10), "engine": "gibbs"}),
}


@pytest.mark.parametrize("case", CASES)
def test_ranks_are_uniform_if_the_prior_is_right(case: str, rng: np.random.Generator) -> None:
    family, prior, n, how = CASES[case]
    found = ranks(family, prior, n, dc.mechanisms.Laplace(0.3), 60, rng, **how)
    assert kstest(found[:, 0], "uniform").pvalue > ALARM


def test_complete_columns_and_the_control(rng: np.random.Generator) -> None:
    """With nothing missing and much noise ranks stay near uniform; the flat prior moves the same ranks upward."""
    how = (dc.Bernoulli(), P.Beta(2, 5), 1000, dc.mechanisms.Laplace(0.1), 150, rng)
    few, flat = ranks(*how, lost=0, expected=(None, (0, 1000))).T
    # a distance of .065 to uniform is allowed for, beside what 150 ranks scatter once in a thousand times
    assert kstest(few, "uniform").statistic < 0.065 + 1.95 / 150**0.5
    moved = flat - few
    assert moved.mean() > 5 * moved.std() / 150**0.5
    assert abs(few.mean() - 0.5) < 0.03 + 3.3 * 12**-0.5 / 150**0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "prior", "n", "how"),
    [
        (dc.Bernoulli(), P.Beta(2, 5), 100, {}),
        (dc.Poisson(), P.Gamma(4, 2), 40, {"bounds": (0, 10), "engine": "exact"}),
        (dc.Poisson(), P.Gamma(4, 2), 40, {"bounds": (0, 10), "engine": "augment"}),
        (dc.Exponential(), P.Gamma(4, 4), 250, {"bounds": (0, 3), "engine": "gibbs"}),
        (dc.Normal(), P.NormalInverseGamma(0, 1, 3, 3), 300, {"bounds": (-4, 4), "engine": "gibbs"}),
        (dc.Normal(), P.NormalInverseGamma(0, 1, 3, 3), 30, {"bounds": (-4, 4), "engine": "augment"}),
    ],
    ids=str,
)
def test_ranks_of_every_engine(family: Any, prior: Any, n: int, how: Any, rng: np.random.Generator) -> None:
    trials = 200 if how.get("engine") == "augment" else 500
    found = ranks(family, prior, n, dc.mechanisms.Laplace(0.5), trials, rng, **how)
    assert kstest(found[:, 0], "uniform").pvalue > ALARM


def test_where_it_does_not_apply() -> None:
    column = [True] * 30
    complete = dc.release(column, dc.Bernoulli(), epsilon=1, missing="none")
    private = dc.release(column, dc.Bernoulli(), epsilon=1, neighbors="add_remove")
    counted = dc.release(column, dc.Bernoulli(), epsilon=1)
    for release, word in ((complete, "missing='none'"), (private, "private")):
        with pytest.raises(dc.DiscreetError, match=word):
            dc.infer(release, missing=0.1)
        assert not dc.infer(release).diagnostics.missing
    posterior = dc.infer(counted, missing=0.1, rng=1)
    assert "missing values: each record with probability 0.1" in str(posterior.summary())
    assert posterior.summary().to_dict()["missing"] == posterior.diagnostics.missing
    assert "none with probability 0.45" in dc.infer(counted).diagnostics.missing
    for bad in (2, "few", (3, 1), (0, 31)):
        with pytest.raises(dc.DiscreetError):
            dc.infer(counted, missing=bad)
    table = {"a": ["x", "y"] * 20, "b": ["x", "y"] * 20}
    model = dc.models.NaiveBayes({"a": ["x", "y"]}, {"b": ["x", "y"]})
    with pytest.raises(dc.DiscreetError, match="takes no prior on the number of missing values"):
        dc.infer(dc.release(table, model, epsilon=1), missing=0.1)
