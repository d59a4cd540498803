"""The posterior of one parameter given released draws of another posterior of it: exact, independent draws.

p(theta | draws) is the analyst's prior times E[q(draws | F)] over the sum F of the records given theta
(:mod:`discreet.inference.engines.released_draws.expected_weight`), on a line that is refined where it bends.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.artifact import Release
from discreet.families import Bernoulli
from discreet.families.base import Theta
from discreet.inference.engine import Question
from discreet.inference.engines.released_draws.expected_weight import log_expected
from discreet.inference.engines.released_draws.sum_weights import n_records, sum_weight
from discreet.inference.engines.scalar.line import LineDensity
from discreet.inference.engines.scalar.line_draws import Axis
from discreet.inference.engines.scalar.line_draws import refusal as line_refusal
from discreet.inference.engines.scalar.record_distribution import RecordDistribution
from discreet.inference.engines.scalar.transforms import Atoms, RecordTransform

# Sums of fewer records than this may still show the shape of one record's distribution.
_FEW = 64


def refusal(release: Release) -> str | None:
    """Return why the draws of a release cannot be read here, or None if they are of one parameter of one statistic."""
    return None if release.model.closed_form(_RECORDS) is not None else line_refusal(release)


def density(question: Question) -> tuple[Axis, LineDensity]:
    """Return the posterior density on the line, and how points of the line are read."""
    release, axis = question.release, Axis.of(question.prior)
    weight, records = sum_weight(release), _records(release)

    return axis, axis.posterior(release.family, lambda theta, _: log_expected(records(theta), weight))


def draw(question: Question) -> dict[str, np.ndarray]:
    """Draw the parameter from its exact posterior, independently."""
    axis, posterior = density(question)
    return question.release.family.named(axis.value(posterior.sample(question.size, question.rng)))


def _records(release: Release) -> Callable[[Theta], RecordTransform]:
    """Return theta to the distribution of one record's mapped statistic."""
    labels = release.model.closed_form(_RECORDS)
    if labels is not None:
        return labels
    return RecordDistribution.of(release, few=n_records(release) < _FEW).at


def _yes_or_no(theta: Theta) -> RecordTransform:
    p = np.asarray(theta["p"], dtype=float)
    return Atoms(np.array([-1.0, 1.0]), np.stack([1 - p, p], axis=1))


_RECORDS: dict[type, Callable[[Theta], RecordTransform]] = {Bernoulli: _yes_or_no}
