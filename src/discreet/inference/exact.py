"""The exact engine: enumerate the latent counts, then draw independently.

No approximation beyond dropping less than 1e-12 of the mass. Applies to families of labels, Bernoulli and
Categorical, with either noise law, either neighbor relation, missing values counted or declared absent. The cost
follows the width of the noise, not the number of records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.families import Bernoulli, Categorical
from discreet.inference.binary import BinaryCounts, binary_counts
from discreet.inference.cells import CellCounts, cell_counts
from discreet.inference.records import RecordPrior
from discreet.priors import Beta, Dirichlet


def applies(release: Release) -> bool:
    """Whether this engine can read the release."""
    return type(release.family) in _ENGINES


def draw(
    release: Release, prior: Any, records: RecordPrior, size: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Draw parameters from their exact posterior, independently."""
    return _ENGINES[type(release.family)](release, prior, records, size, rng)


def _bernoulli(
    release: Release, prior: Beta, records: RecordPrior, size: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    counts = bernoulli_counts(release, prior, records)
    if isinstance(counts, BinaryCounts):
        no, yes = counts.sample(size, rng)
    else:
        no, yes = counts.sample(size, rng).T
    # a ratio of gammas, which NumPy draws faster than betas
    a, b = rng.standard_gamma(prior.a + yes), rng.standard_gamma(prior.b + no)
    return {"p": a / (a + b)}


def _categorical(
    release: Release, prior: Dirichlet, records: RecordPrior, size: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    counts = categorical_counts(release, prior, records).sample(size, rng)
    p = rng.standard_gamma(np.asarray(prior.alpha) + counts)
    return {"p": p / p.sum(axis=1, keepdims=True)}


def bernoulli_counts(release: Release, prior: Beta, records: RecordPrior) -> BinaryCounts | CellCounts:
    """Return the posterior of the no and yes counts."""
    values, noise = release.statistics.values, release.noise
    if release.records is None:
        alpha = np.array([prior.b, prior.a], dtype=float)
        return cell_counts(alpha, np.array(values), noise, records, None)
    usable = (values[1], noise[1]) if len(values) == 2 else (None, None)
    return binary_counts(prior.a, prior.b, release.records, values[0], noise[0], *usable)


def categorical_counts(release: Release, prior: Dirichlet, records: RecordPrior) -> CellCounts:
    """Return the posterior of the cell counts."""
    values, noise = release.statistics.values, release.noise
    alpha = np.asarray(prior.alpha, dtype=float)
    k = alpha.size
    if release.records is None:
        return cell_counts(alpha, np.array(values), noise, records, None)
    n = release.records
    if len(values) == k:
        return cell_counts(alpha, np.array(values), noise, RecordPrior(n, n), None)
    usable = values[k], noise[k]
    return cell_counts(alpha, np.array(values[:k]), noise[:k], RecordPrior(0, n), usable)


_ENGINES: dict[type, Callable[..., dict[str, np.ndarray]]] = {
    Bernoulli: _bernoulli,
    Categorical: _categorical,
}
