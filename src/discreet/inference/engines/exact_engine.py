"""The exact engine: no approximation of the model, independent draws.

Bernoulli and Categorical: latent counts that can be enumerated (:mod:`discreet.inference.counts`) are drawn first, then
the conjugate parameter. No approximation beyond dropping less than 1e-12 of the mass; either noise distribution, either
neighbor relation, missing values counted or declared absent. The cost follows the width of the noise, not the number of
records.

Families with one bounded statistic and one parameter have a likelihood that can be computed by inverting transforms,
and a posterior on a line (:mod:`discreet.inference.engines.scalar`), which is imported when it is needed because it
takes a moment.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.artifact import Release
from discreet.families import Bernoulli, Categorical
from discreet.inference.counts.binary import BinaryCounts, YesCounts, binary_counts, yes_counts
from discreet.inference.counts.latent_cells import CellCounts, cell_counts
from discreet.inference.counts.weights import dirichlet_columns
from discreet.inference.engine import Answer, Engine, Question
from discreet.inference.record_prior import CountPrior, RecordPrior
from discreet.models.base import Model
from discreet.priors import Beta, Dirichlet

# Labels whose counts in the table are kept beside their probabilities.
_MOST_KEPT = 1000


def refusal(release: Release) -> str | None:
    """Return why this engine cannot read the release, or None if it can."""
    if release.model.closed_form(_DRAW) is not None:
        return None
    from discreet.inference.engines.scalar import line_draws as scalar

    return scalar.refusal(release)


def predicted_seconds(question: Question) -> float:
    """Return roughly how long the draws take."""
    if question.release.model.closed_form(_DRAW) is not None:
        return 0.1
    from discreet.inference.engines.scalar import line_draws as scalar

    return scalar.predicted_seconds(question)


def draw(question: Question) -> Answer:
    """Draw from the exact posterior, independently."""
    of_labels = question.release.model.closed_form(_DRAW)
    if of_labels is not None:
        return of_labels(question.release, question.prior, question.usable, question.size, question.rng)
    from discreet.inference.engines.scalar import line_draws as scalar

    return Answer(scalar.draw(question))


def _bernoulli(
    release: Release, prior: Beta, records: CountPrior, size: int, rng: np.random.Generator
) -> Answer:
    counts = bernoulli_counts(release, prior, records)
    drawn = counts.sample(size, rng)
    no, yes = drawn.T if isinstance(drawn, np.ndarray) else drawn
    usable = counts.n if isinstance(counts, YesCounts) else no + yes
    a, b = float(prior.a), float(prior.b)
    p = _betas(a + yes, b + no, a + b + usable, rng)
    return Answer({"p": p}, table={"usable": no + yes, "yes": yes})


def _categorical(
    release: Release, prior: Dirichlet, records: CountPrior, size: int, rng: np.random.Generator
) -> Answer:
    counts = categorical_counts(release, prior, records).sample(size, rng)
    p = dirichlet_columns((np.asarray(prior.alpha) + counts).T, rng).T
    # of 100,000 labels one such array is a gigabyte
    kept = len(prior.alpha) <= _MOST_KEPT
    return Answer({"p": p}, table={"usable": counts.sum(axis=1), "count": counts} if kept else None)


def _betas(a: np.ndarray, b: np.ndarray, total: np.ndarray | float, rng: np.random.Generator) -> np.ndarray:
    """Draw one Beta(a, b) variable for each pair; ``total`` is a + b, which may be one number for all.

    One round of Cheng's rejection from a log-logistic (1978, algorithm BB) accepts at least two in three with a handful
    of array operations, in less time than two gammas take; the others are drawn afresh. The log odds beyond those of
    the mean are x = s logit(u), and x is accepted with probability exp(a x) / (1 + share (e^x - 1))^total over
    4 u (1 - u), which small steps x keep accurate however large ``a`` is.
    """
    if min(a.min(), b.min()) <= 1:
        return dirichlet_columns(np.stack([b, a]), rng)[1]
    u, v = rng.random((2, a.size))
    against = 1.0 - u
    # in place from here on: arrays that stay in the cache are a twentieth of the time of ``infer``
    x = a * b
    x *= 2.0
    x -= total
    np.sqrt(np.divide(total - 2.0, x, out=x), out=x)
    v *= u
    v *= against
    v *= 4.0
    # a uniform of 0 has no logarithm; it is rejected, as minus infinity is not above itself
    with np.errstate(divide="ignore"):
        log_level = np.log(v, out=v)
        x *= np.log(np.divide(u, against, out=u), out=u)
    risen = np.expm1(x, out=u)
    out = a / total
    risen *= out
    x *= a
    x -= total * np.log1p(risen, out=against)
    accepted = x > log_level
    (rejected,) = np.logical_not(accepted, out=accepted).nonzero()
    out += risen
    risen += 1.0
    out /= risen
    out[rejected] = rng.beta(a[rejected], b[rejected])
    return out


def bernoulli_counts(
    release: Release, prior: Beta, records: CountPrior
) -> BinaryCounts | YesCounts | CellCounts:
    """Return the posterior of the no and yes counts; ``records`` is the prior on how many are usable."""
    values, noise = release.totals.values, release.noise
    if release.records is None:
        alpha = np.array([prior.b, prior.a], dtype=float)
        return cell_counts(alpha, np.array(values), noise, records, None)
    if len(values) == 1:
        return yes_counts(prior.a, prior.b, release.records, values[0], noise[0])
    usable = _at_most(records, release.records)
    return binary_counts(prior.a, prior.b, usable, (values[0], noise[0]), (values[1], noise[1]))


def categorical_counts(release: Release, prior: Dirichlet, records: CountPrior) -> CellCounts:
    """Return the posterior of the cell counts; ``records`` is the prior on how many are usable."""
    values, noise = release.totals.values, release.noise
    alpha = np.asarray(prior.alpha, dtype=float)
    k = alpha.size
    if release.records is None:
        return cell_counts(alpha, np.array(values), noise, records, None)
    n = release.records
    if len(values) == k:
        return cell_counts(alpha, np.array(values), noise, RecordPrior(n, n), None)
    usable = values[k], noise[k]
    return cell_counts(alpha, np.array(values[:k]), noise[:k], _at_most(records, n), usable)


def _at_most(records: CountPrior, n: int) -> CountPrior:
    """Return the prior cut to the public number of records, if it says nothing of an end."""
    return RecordPrior(0, n) if records.high is None else records


_DRAW: dict[type[Model], Callable[..., Answer]] = {
    Bernoulli: _bernoulli,
    Categorical: _categorical,
}

EXACT = Engine("exact", refusal, draw, predicted_seconds)
