"""An adversary who sees many released weights of a logistic regression, and knows all records but one."""

from __future__ import annotations

import numpy as np
from scipy import stats

import discreet as dc
from discreet.models import LogisticRegression
from discreet.models.losses import LogisticLoss
from discreet.samplers.descent import descend_linear, only_noise

MODEL = LogisticRegression({"ill": ["no", "yes"]}, {"x": (-1, 1)}, radius=1)
N_RECORDS, RHO, DELTA, RUNS = 2, 0.5, 1e-3, 40_000
# The adversary is wrong about epsilon, by chance, at most this often.
FALSE_ALARM = 1e-3 / 50


def released(rng: np.random.Generator, last: int, place: int, extra: int, factor: float) -> np.ndarray:
    """Draw weights as a release does, for tables that differ in one record's features and label."""
    rows, aims = np.full((N_RECORDS, 2), [0.6, 0.1]), np.ones(N_RECORDS)
    # as far apart as gradients get: mirror images, across the direction of the weights
    rows[place], aims[place] = (np.array([0.2, 0.98]) * [1, last], -1.0)
    how = dc.mechanisms.NoisySGD(rho=RHO, step_size=0.8, extra_steps=extra).descent(MODEL, N_RECORDS)
    known = {"step_size": how.step_size, "sigma": factor * how.sigma, "radius": 1.0, "rng": rng}
    states = np.zeros((RUNS, 2))
    states = descend_linear(LogisticLoss, rows, aims, states, ridge=float(MODEL.ridge), **known)
    return only_noise(states, extra, **known)


def lower_bound(rng: np.random.Generator, place: int, extra: int, factor: float) -> float:
    """Return an epsilon that is exceeded at :data:`DELTA`, at this confidence (Clopper and Pearson).

    Which event tells the two tables apart best is decided by the first half of the draws, and judged by the second.
    """
    draws = [released(rng, sign, place, extra, factor)[:, 1] for sign in (1, -1)]
    half = RUNS // 2
    grid = np.quantile(np.concatenate([d[:half] for d in draws]), np.linspace(0.002, 0.998, 400))
    best, event = -np.inf, (0.0, True)
    for at in grid:
        for above in (True, False):
            # as unlucky as the second half may be
            p, q = (np.mean((d[:half] > at) == above) for d in draws)
            p, q = p - 5 * np.sqrt(p / half), q + 5 * np.sqrt((q + 1 / half) / half)
            gain = np.log(max(p - DELTA, 1e-12) / q)
            if gain > best:
                best, event = gain, (float(at), above)
    at, above = event
    hits = [int(np.sum((d[half:] > at) == above)) for d in draws]
    low = stats.beta.ppf(FALSE_ALARM / 2, hits[0], half - hits[0] + 1)
    high = stats.beta.isf(FALSE_ALARM / 2, hits[1] + 1, half - hits[1])
    return float(np.log((low - DELTA) / high))


def test_no_adversary_finds_more_than_was_promised(rng: np.random.Generator) -> None:
    for place, extra in ((N_RECORDS - 1, 0), (0, 0), (N_RECORDS - 1, N_RECORDS)):
        mechanism = dc.mechanisms.NoisySGD(rho=RHO, step_size=0.8, extra_steps=extra)
        promised = mechanism.guarantee_at(place + 1, MODEL, N_RECORDS).to_approx(DELTA)
        assert lower_bound(rng, place, extra, 1.0) <= promised.epsilon


def test_the_adversary_is_no_fool(rng: np.random.Generator) -> None:
    """A fifth of the noise is found out; and with all of it, a good part of the promise is."""
    everybody = float(dc.ZeroConcentratedDP(RHO).to_approx(DELTA).epsilon)
    assert lower_bound(rng, N_RECORDS - 1, 0, 0.2) > 1.3 * everybody
    # a quarter is what two normal distributions that are this far apart show to a single test at such confidence
    assert lower_bound(rng, N_RECORDS - 1, 0, 1.0) > 0.2 * everybody
