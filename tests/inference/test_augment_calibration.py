"""Calibration of the augment engine by ranks, where neither enumeration nor quadrature reaches."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import release_with
from discreet.inference.engine import Question
from discreet.inference.engines import naive
from discreet.inference.engines.augment import augment_engine as augment
from discreet.inference.missing_prior import missing_prior
from discreet.inference.record_prior import record_prior

N_DRAWS = 99
# fewer trials do not tell the naive engine from a right one at this threshold
N_TRIALS = 400
# two parameters, one engine: four times below the suite's rate, because the suite has other calibration tests
THRESHOLD = 1e-3 / 4 / 2
PRIOR = dc.priors.NormalInverseGamma(0.5, 1, 3, 2)


def trial(rng: np.random.Generator) -> tuple[dict[str, float], Release]:
    theta = {name: float(x[0]) for name, x in dc.Normal().draw(PRIOR, 1, rng).items()}
    data = rng.normal(theta["mean"], np.sqrt(theta["variance"]), 5)
    data[5 - missing_prior(None, 5).sample(rng) :] = np.nan
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        data,
        dc.Normal(),
        dc.mechanisms.Laplace(2),
        bounds=(-2, 3),
        outside="redact",
    )
    return theta, release


def ranks(engine, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Return the rank of each true parameter among the draws, as a number in (0, 1)."""
    out = []
    for _ in range(trials):
        theta, release = trial(rng)
        draws = engine.draw(Question(release, PRIOR, record_prior(None), N_DRAWS, 1, rng)).draws
        below = np.array([(draws[name] < theta[name]).sum() for name in ("mean", "variance")])
        # uniform on 0, ..., N_DRAWS; a uniform within its step makes it continuous
        out.append((below + rng.random(2)) / (N_DRAWS + 1))
    return np.array(out)


def p_values(found: np.ndarray) -> list[float]:
    return [float(kstest(column, "uniform").pvalue) for column in found.T]


def test_naive_ranks_are_not_uniform(rng: np.random.Generator) -> None:
    """Negative control: trials of the same kind, read without regard to the noise."""
    assert min(p_values(ranks(naive, N_TRIALS, rng))) < THRESHOLD


@pytest.mark.slow
def test_normal_with_five_records(rng: np.random.Generator) -> None:
    """Both unknown, values redacted, some missing, and fewer draws than a chain's worth: ranks are uniform."""
    assert min(p_values(ranks(augment, 1000, rng))) > THRESHOLD
