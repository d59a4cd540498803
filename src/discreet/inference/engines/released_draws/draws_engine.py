"""The engine that reads released draws: which families it reads, and what it says of them."""

from __future__ import annotations

from collections.abc import Callable

from discreet.artifact import Release
from discreet.families import Categorical
from discreet.inference.engine import Answer, Engine, Question
from discreet.inference.engines.released_draws import label_reading, line_reading
from discreet.models.base import Model
from discreet.priors import Prior

#: What is taken for granted of values that the curator imputed.
IMPUTED = "imputed values are read as if they were the column's own"
_NO_CONJUGATE = "draws of labels' probabilities are read where they are of a Dirichlet posterior"


def refusal(release: Release) -> str | None:
    """Return why the draws cannot be read as a posterior of the parameter, or None if they can."""
    if release.model.closed_form(_DRAW) is None:
        return line_reading.refusal(release)
    return None if isinstance(release.sampling_record.prior, Prior) else _NO_CONJUGATE


def predicted_seconds(question: Question) -> float:
    """Return roughly how long the draws take."""
    return 0.5


def draw(question: Question) -> Answer:
    """Draw the parameter given the released draws, independently."""
    of_labels = question.release.model.closed_form(_DRAW)
    answer = Answer(line_reading.draw(question)) if of_labels is None else of_labels(question)
    missing = IMPUTED if question.release.domain.missing == "impute" else ""
    return Answer(answer.draws, table=answer.table, missing=missing)


_DRAW: dict[type[Model], Callable[[Question], Answer]] = {Categorical: label_reading.draw}

EXACT = Engine("exact", refusal, draw, predicted_seconds)
