"""Redacted sums that a narrow near mode and a broad far one explain alike: engines must weigh both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.inference.engine import Question
from discreet.inference.engines.augment import augment_engine as augment
from discreet.inference.engines.augment.mode_jumps import ModeJumps
from discreet.inference.engines.gibbs import cell_tree as tree
from discreet.inference.engines.gibbs import gibbs_engine as gibbs
from discreet.inference.engines.gibbs import walkers
from discreet.inference.engines.gibbs.global_proposals import GlobalProposals
from discreet.inference.engines.gibbs.target import Target
from discreet.inference.engines.gibbs.unconstrain import TRANSFORMS
from tests.inference.augmented import ask, importance_sample, release_of

PRIOR = dc.priors.NormalInverseGamma(0, 1, 0.5, 1)
#: Variances above are those of the far mode: most records are out of range.
FAR = 10.0
DRAWS = 4000
# Some ten shares are compared in this file; together they raise a false alarm once in a thousand runs.
LIMIT = stats.norm.isf(1e-3 / 10 / 2)


def ambiguous(n: int, epsilon: float, rng: np.random.Generator, missing: str = "none") -> Question:
    """Squares sum to a twentieth of what they could: a small variance, or a large one with most values redacted."""
    release = release_of(
        rng.normal(0, 0.7, n),
        dc.Normal(),
        dc.mechanisms.Laplace(epsilon),
        rng,
        bounds=(-3, 3),
        missing=missing,
        outside="redact",
    )
    sums = [0.0, 0.05 * n, float(n)][: len(release.totals.values)]
    values = tuple(round(v / float(g)) for v, g in zip(sums, release.totals.grid, strict=True))
    return ask(
        replace(release, statistics=replace(release.totals, values=values)), PRIOR, DRAWS, rng, chains=4
    )


def share_by_grid(target: Target) -> float:
    """Integrate the density over both modes by brute force."""

    def log_mass(low: tuple[float, float], high: tuple[float, float], size: int) -> float:
        axes = [np.linspace(a, b, size) for a, b in zip(low, high, strict=True)]
        x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
        cell = np.prod([axis[1] - axis[0] for axis in axes])
        return float(np.logaddexp.reduce(target.log_posterior(target.place(x))) + np.log(cell))

    near = log_mass((-0.6, -2.5), (0.6, 1.0), 400)
    far = log_mass((-9.0, np.log(FAR)), (9.0, 20.0), 500)
    return 1 / (1 + np.exp(near - far))


def far_share(target: Target, x: np.ndarray) -> float:
    return float((target.theta(x)["variance"] > FAR).mean())


@pytest.mark.parametrize(
    ("n", "epsilon"),
    [*(pytest.param(*each, marks=pytest.mark.slow) for each in ((300, 2), (3000, 6))), (100_000, 6)],
)
def test_gibbs_finds_the_narrow_mode(n: int, epsilon: float, rng: np.random.Generator) -> None:
    target = Target(ambiguous(n, epsilon, rng))
    expected = share_by_grid(target)
    # proposals are at least a quarter effective; walkers thin until their correlation is 0.4
    error = np.sqrt(expected * (1 - expected) / (DRAWS * tree.LEAST_EFFECTIVE))
    x = tree.sample(target, DRAWS, 4, rng)
    if x is not None:
        assert abs(far_share(target, x) - expected) < LIMIT * error
    x, doubts = walkers.sample(target, DRAWS, 4, rng)
    assert not doubts
    assert abs(far_share(target, x) - expected) < LIMIT * error


def test_without_strangers_it_would_not(rng: np.random.Generator) -> None:
    """Negative control: closing in from the prior alone passes the near mode by."""
    target = Target(ambiguous(100_000, 6, rng))
    target.face_value = None
    x, _ = walkers.sample(target, DRAWS, 4, rng)
    assert share_by_grid(target) < 0.96
    assert far_share(target, x) > 0.999


def test_a_latent_count_hides_no_mode(rng: np.random.Generator) -> None:
    """With missing values counted there are three coordinates; the near mode keeps its share."""
    question = ambiguous(1000, 6, rng, missing="count")
    known = share_by_grid(Target(ambiguous(1000, 6, rng)))
    answer = gibbs.draw(question)
    # the count is known to a record or two of a thousand, which moves the share little
    assert abs((answer.draws["variance"] > FAR).mean() - known) < 0.04


def test_global_proposals_are_drawn_from_their_density(rng: np.random.Generator) -> None:
    proposals = GlobalProposals.of(Target(ambiguous(300, 2, rng)), rng)
    assert len(proposals.centers) >= 2
    check_density(proposals.reference(4000, rng), proposals.log_reference)


def test_jumps_are_drawn_from_their_density(rng: np.random.Generator) -> None:
    jumps = ModeJumps.of(ambiguous(300, 2, rng))
    space = jumps.space
    x = np.array([jumps.draw(rng) for _ in range(2000)])
    check_density(x, lambda x: space.log_density(x) - np.array([jumps.log_weight(row) for row in x]))


def check_density(x: np.ndarray, log_density: Callable[[np.ndarray], np.ndarray]) -> None:
    """For draws of q and any density r, the mean of r / q is 1; here r is a wide normal within the bulk."""
    center, sd = np.median(x, axis=0), 0.3 * stats.iqr(x, axis=0)
    log_r = stats.norm.logpdf(x, center, sd).sum(axis=1)
    ratio = np.exp(log_r - log_density(x))
    assert abs(ratio.mean() - 1) < LIMIT * ratio.std() / np.sqrt(len(x))


@pytest.mark.parametrize(
    "prior",
    [
        dc.priors.Beta(2, 3),
        dc.priors.Gamma(2, 3),
        dc.priors.Normal(1, 2),
        dc.priors.Dirichlet([1, 2, 3]),
        dc.priors.NormalInverseGamma(1, 2, 3, 4),
        dc.priors.NormalInverseWishart([0, 1], 2, 5, [[2, 0.3], [0.3, 1]]),
    ],
    ids=lambda prior: type(prior).__name__,
)
def test_coordinates_invert_values(prior: Any, rng: np.random.Generator) -> None:
    space = TRANSFORMS[type(prior)](prior)
    x = space.sample(50, rng)
    assert np.allclose(space.coordinates(space.values(x)), x, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_jumps_weigh_far_modes(rng: np.random.Generator) -> None:
    question = ambiguous(100, 2, rng)
    drawn, weights = importance_sample(question, 40_000)
    weights = weights / weights.sum()
    far = drawn["variance"] > FAR
    expected = weights @ far
    error = np.sqrt(weights**2 @ (far - expected) ** 2)
    answer = augment.draw(question)
    assert not answer.warnings
    mine = (answer.draws["variance"] > FAR).mean()
    # draws are worth a quarter of the thousand that are wanted, or a warning is given
    assert abs(mine - expected) < LIMIT * np.hypot(error, np.sqrt(expected * (1 - expected) / 250))


@pytest.mark.slow
def test_gibbs_is_not_recommended_where_it_refuses() -> None:
    release = dc.release(
        np.zeros((10, 4)), dc.MultivariateNormal(4), bounds=[(-1, 1)] * 4, outside="redact", epsilon=50
    )
    prior = dc.priors.NormalInverseWishart([0.0] * 4, 1, 6, np.eye(4).tolist())
    assert gibbs.refusal(release) is not None
    warnings = dc.infer(release, prior=prior, engine="augment", draws=4, rng=1).diagnostics.warnings
    (mine,) = [words for words in warnings if "second mode" in words]
    assert mine.endswith("does not read this release, so compare a few calls with different rng")
