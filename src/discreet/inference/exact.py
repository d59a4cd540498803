"""The exact engine: no approximation of the model, independent draws.

Families of labels have latent counts that can be enumerated (:mod:`discreet.inference.counting`). Families with one
bounded statistic and one parameter have a likelihood that can be computed by inverting transforms, and a posterior on a
line (:mod:`discreet.inference.scalar`).
"""

from __future__ import annotations

from discreet.artifact import Release
from discreet.inference.counting import draws as counting
from discreet.inference.engine import Answer, Question
from discreet.inference.scalar import draws as scalar


def refusal(release: Release) -> str | None:
    """Return why this engine cannot read the release, or None if it can."""
    return None if counting.reads(release) else scalar.refusal(release)


def predicted_seconds(question: Question) -> float:
    """Return roughly how long the draws take."""
    return 0.1 if counting.reads(question.release) else scalar.predicted_seconds(question)


def draw(question: Question) -> Answer:
    """Draw from the exact posterior, independently."""
    return Answer(counting.draw(question) if counting.reads(question.release) else scalar.draw(question))
