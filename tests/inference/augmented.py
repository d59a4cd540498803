"""What the tests of the augment engine share: simulated releases, questions, comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import release_with
from discreet.families.base import Family
from discreet.families.likelihood import Likelihood
from discreet.inference.analyst import places
from discreet.inference.diagnostics import ess
from discreet.inference.engine import Answer, Question, load
from discreet.inference.engines.augment.latent import LatentRecords
from discreet.inference.record_prior import record_prior
from discreet.mechanisms.noise import NoiseMechanism
from discreet.priors.base import Prior
from tests.contracts.family_cases import Case

# Some 400 means and variances are compared; together they raise a false alarm once in a thousand runs.
LIMIT = norm.isf(1e-3 / 400 / 2)
CHAINS = 2


def release_of(
    data: Any, family: Likelihood, mechanism: NoiseMechanism, rng: np.random.Generator, **how: Any
) -> Release:
    return release_with(lambda noise: int(noise.sample(1, rng)[0]), data, family, mechanism, **how)


def ask(
    release: Release, prior: Prior, size: int, rng: np.random.Generator, chains: int = CHAINS
) -> Question:
    return Question(release, prior, record_prior(None), size, chains, rng)


def exactly(asked: Question) -> Answer:
    """Ask the most exact engine."""
    return load(places(asked.release)[0]).draw(asked)


def worst_gap(
    mine: np.ndarray, theirs: np.ndarray, weights: np.ndarray | None = None, chains: int = CHAINS
) -> float:
    """Return the largest difference of a mean or a mean square deviation, in standard errors of the difference.

    ``mine`` are correlated draws, chain after chain; ``theirs`` are independent ones, or weighted ones.
    """
    mine, theirs = (x.reshape(len(x), -1) for x in (mine, theirs))
    w = np.ones(len(theirs)) if weights is None else weights
    w = w / w.sum()
    center = w @ theirs
    gaps = []
    for power in (1, 2):
        a, b = (mine - center) ** power, (theirs - center) ** power
        expected = w @ b
        # the error of a self-normalized weighted mean
        error_b = (w**2) @ (b - expected) ** 2
        error_a = a.var(axis=0) / ess(a.reshape(chains, -1, a.shape[1]))
        gaps.append(np.abs(a.mean(axis=0) - expected) / np.sqrt(error_a + error_b))
    return float(np.max(gaps))


def importance_sample(question: Question, size: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Draw parameters and records from the model, and weigh them by the noise."""
    release, rng = question.release, question.rng
    latent, n = LatentRecords(release), release.records
    assert n is not None
    drawn = release.family.draw(question.prior, size, rng)
    log_weights = np.empty(size)
    for i in range(size):
        pair = latent.draw({name: values[i] for name, values in drawn.items()}, n, rng)
        assert pair is not None
        usable = rng.integers(0, n + 1) if release.domain.missing == "count" else n
        sums = pair[1][:usable].sum(axis=0)
        log_weights[i] = sum(
            distribution.log_mass(value - total)
            for distribution, value, total in zip(release.noise, release.totals.values, sums, strict=True)
        )
    return drawn, np.exp(log_weights - log_weights.max())


def table(family: Family, theta: Any, rng: np.random.Generator) -> Any:
    x = family.sample(theta, 3, rng)
    return x if family.n_columns == 1 else {f"c{i}": v for i, v in enumerate(x.T)}


def typical_release(case: Case, rng: np.random.Generator, **how: Any) -> Release:
    theta = case.thetas[0]
    data = case.family.sample(theta, 4, rng)
    columns: Any = data if case.family.n_columns == 1 else {f"c{i}": x for i, x in enumerate(data.T)}
    return release_of(columns, case.family, dc.mechanisms.Laplace(1.5), rng, bounds=case.bounds, **how)
