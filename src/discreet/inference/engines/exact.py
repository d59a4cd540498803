"""The exact engine: no approximation of the model, independent draws.

Families of labels have latent counts that can be enumerated (:mod:`discreet.inference.counts`). Families with one
bounded statistic and one parameter have a likelihood that can be computed by inverting transforms, and a posterior on a
line (:mod:`discreet.inference.engines.scalar`), which is imported when it is needed because it takes a moment.
"""

from __future__ import annotations

from discreet.artifact import Release
from discreet.inference.counts import label_draws as counting
from discreet.inference.engine import Answer, Engine, Question


def refusal(release: Release) -> str | None:
    """Return why this engine cannot read the release, or None if it can."""
    if counting.reads(release):
        return None
    from discreet.inference.engines.scalar import line_draws as scalar

    return scalar.refusal(release)


def predicted_seconds(question: Question) -> float:
    """Return roughly how long the draws take."""
    if counting.reads(question.release):
        return 0.1
    from discreet.inference.engines.scalar import line_draws as scalar

    return scalar.predicted_seconds(question)


def draw(question: Question) -> Answer:
    """Draw from the exact posterior, independently."""
    if counting.reads(question.release):
        return Answer(counting.draw(question))
    from discreet.inference.engines.scalar import line_draws as scalar

    return Answer(scalar.draw(question))


EXACT = Engine("exact", refusal, draw, predicted_seconds)
