"""The exact engine of a categorical release: the cell counts are enumerated and drawn, then the probabilities.

No approximation beyond dropping less than 1e-12 of the mass, either noise distribution, either neighbor relation,
missing values counted or declared absent. The cost follows the width of the noise, not the number of records.
"""

from __future__ import annotations

import numpy as np

from discreet.artifact import Release
from discreet.inference.counts.latent_cells import CellCounts, cell_counts
from discreet.inference.counts.weights import dirichlet_columns
from discreet.inference.engine import Answer, Engine, Question
from discreet.inference.record_prior import CountPrior, RecordPrior
from discreet.priors import Dirichlet
from discreet.privacy.published import Correlated

# Labels whose counts in the table are kept beside their probabilities.
_MOST_KEPT = 1000


def draw(question: Question) -> Answer:
    """Draw from the exact posterior, independently."""
    prior, rng = question.prior, question.rng
    counts = categorical_counts(question.release, prior, question.usable).sample(question.size, rng)
    p = dirichlet_columns((np.asarray(prior.alpha) + counts).T, rng).T
    # of 100,000 labels one such array is a gigabyte
    kept = len(prior.alpha) <= _MOST_KEPT
    return Answer({"p": p}, table={"usable": counts.sum(axis=1), "count": counts} if kept else None)


def categorical_counts(release: Release, prior: Dirichlet, records: CountPrior) -> CellCounts:
    """Return the posterior of the cell counts; ``records`` is the prior on how many are usable."""
    values, noise = release.totals.values, release.noise
    alpha = np.asarray(prior.alpha, dtype=float)
    k = alpha.size
    usable = (values[k], noise[k]) if len(values) > k else None
    if release.records is not None and usable is None:
        records = RecordPrior(release.records, release.records)
    elif release.records is not None and records.high is None:
        records = RecordPrior(0, release.records)
    return cell_counts(alpha, np.array(values[:k]), noise[:k], records, usable)


def _refusal(release: Release) -> str | None:
    correlated = release.mechanism.foreign and any(isinstance(one, Correlated) for one in release.noise)
    return "the noise of its counts hangs together" if correlated else None


EXACT = Engine("exact", _refusal, draw, any_noise=True)
