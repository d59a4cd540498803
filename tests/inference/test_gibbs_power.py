"""Small errors of calibration hide: ten thousand trials where the printed sampler and half a correction must fail.

Truncated exponential, n = 1000, epsilon = 1, Gamma(10, 10), bounds at the central 95% of the prior predictive.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import release_with
from discreet.inference.engine import Question
from discreet.inference.engines.gibbs import gibbs_engine as gibbs
from discreet.inference.engines.gibbs.marginal import log_marginal
from discreet.inference.engines.gibbs.target import Target
from discreet.inference.engines.scalar import line_draws as exact
from discreet.inference.record_prior import record_prior
from discreet.priors import Gamma
from tests.statistical.controls import Truncated, Variant, ranks
from tests.statistical.ranks import N_DRAWS, THRESHOLD, tails_p, uniform_p

TRIALS = 10_000
#: Wrong samplers are told from right ones by all of them; that right ones pass is seen with fewer by default.
LENGTHS = [2000, pytest.param(TRIALS, marks=pytest.mark.slow)]
MODEL = Truncated()
PRIOR = Gamma(MODEL.shape, MODEL.rate)


def template() -> Release:
    low, high = MODEL.bounds
    return release_with(
        lambda distribution: 0,
        np.full(MODEL.n, 1.0),
        dc.Exponential(),
        dc.mechanisms.Laplace(MODEL.epsilon),
        bounds=(f"{low:.6f}", f"{high:.6f}"),
        outside="redact",
        missing="none",
    )


def readings(release: Release, trials: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """True rates, and noisy sums in grid steps: what the curator's side makes of simulated records."""
    shift, half = float(release.layout.shift[0]), float(release.layout.half[0])  # pyright: ignore[reportOptionalSubscript]
    steps = float(1 / release.layout.grid[0])
    rate = PRIOR.sample(trials, rng)
    sums = np.empty(trials, dtype=np.int64)
    for i in range(trials):
        z = (rng.exponential(1 / rate[i], MODEL.n) - shift) / half
        sums[i] = np.floor(np.where(np.abs(z) <= 1, z, 0.0) * steps + 0.5).sum()
    return rate, sums + release.noise[0].sample(trials, rng)


def ask(release: Release, value: int, size: int, rng: np.random.Generator) -> Question:
    read = replace(release, statistics=replace(release.totals, values=(int(value),)))
    return Question(read, PRIOR, record_prior(None), size, 1, rng)


def spread_p(u: np.ndarray) -> float:
    """P-value of the mean squared normal score, 1 for uniform ranks: the most powerful look at a wrong width."""
    squares = norm.ppf(u) ** 2
    return float(2 * norm.sf(abs(squares.mean() - 1) / np.sqrt(2 / u.size)))


def least_p(u: np.ndarray) -> float:
    return min(uniform_p(u), tails_p(u), spread_p(u))


def check_uniform(u: np.ndarray) -> None:
    assert least_p(u) > THRESHOLD


@pytest.mark.parametrize(
    ("variant", "trials"),
    # the errors of the print partly cancel: its squared scores are 8% too large, eight standard errors in 20,000 trials
    [pytest.param("printed", 2 * TRIALS, marks=pytest.mark.slow), ("given readings", TRIALS)],
)
def test_wrong_samplers_are_rejected(variant: Variant, trials: int, rng: np.random.Generator) -> None:
    assert least_p(ranks(MODEL, variant, trials, rng, thin=20)) < THRESHOLD


@pytest.mark.parametrize("trials", LENGTHS)
def test_the_harness_accepts_the_joint_distribution(trials: int, rng: np.random.Generator) -> None:
    check_uniform(ranks(MODEL, "joint", trials, rng, thin=20))


@pytest.mark.parametrize("trials", LENGTHS)
def test_the_coherent_distribution_is_calibrated(trials: int, rng: np.random.Generator) -> None:
    """The distribution function of the target at the true rate, on a grid, in up to ten thousand trials."""
    release = template()
    rate, values = readings(release, trials, rng)
    target = Target(ask(release, 0, N_DRAWS, rng))
    x = np.linspace(np.log(0.15), np.log(4.5), 1200)
    place = target.place(x[:, None])
    u = np.empty(trials)
    for i in range(trials):
        y = values[i] / release.noise[0].scale  # pyright: ignore[reportAttributeAccessIssue]
        residual = place.residual - target.readings.y[:, None] + y
        log_p = place.log_prior + log_marginal(residual, place.covariance)
        p = np.exp(log_p - log_p.max())
        u[i] = np.interp(np.log(rate[i]), x, (np.cumsum(p) - p / 2) / p.sum())
    check_uniform(u)


def spread_ratio(trials: int, rng: np.random.Generator) -> np.ndarray:
    """Posterior standard deviation of gibbs over that of exact, for simulated readings."""
    release = template()
    _, values = readings(release, trials, rng)
    out = []
    for value in values:
        asked = ask(release, value, 4000, rng)
        out.append(gibbs.draw(asked).draws["rate"].std() / exact.draw(asked).draws["rate"].std())
    return np.array(out)


def test_spread_is_that_of_the_exact_posterior(rng: np.random.Generator) -> None:
    ratio = spread_ratio(30, rng)
    assert abs(ratio.mean() - 1) < 0.05


@pytest.mark.slow
def test_draws_are_calibrated(rng: np.random.Generator) -> None:
    """The engine itself, draws and all, in ten thousand trials."""
    release = template()
    rate, values = readings(release, TRIALS, rng)
    u = np.empty(TRIALS)
    for i in range(TRIALS):
        draws = gibbs.draw(ask(release, values[i], N_DRAWS, rng)).draws["rate"]
        u[i] = ((draws < rate[i]).sum() + rng.random()) / (N_DRAWS + 1)
    check_uniform(u)


@pytest.mark.slow
def test_spread_at_length(rng: np.random.Generator) -> None:
    ratio = spread_ratio(300, rng)
    assert abs(ratio.mean() - 1) < 0.01
