"""The exact engine: no approximation of the model, independent draws.

Families of labels have latent counts that can be enumerated (:mod:`discreet.inference.counting`).
"""

from __future__ import annotations

from discreet.artifact import Release
from discreet.inference.counting import draws as counting
from discreet.inference.engine import Answer, Question


def refusal(release: Release) -> str | None:
    """Return why this engine cannot read the release, or None if it can."""
    return (
        None if counting.reads(release) else f"the exact engine does not read {release.family.name} releases"
    )


def predicted_seconds(question: Question) -> float:
    """Return roughly how long the draws take."""
    return 0.1


def draw(question: Question) -> Answer:
    """Draw from the exact posterior, independently."""
    return Answer(counting.draw(question))
