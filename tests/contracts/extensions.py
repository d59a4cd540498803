"""A model and an engine that nothing in the library knows of, written as the developer pages say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.artifact import Release
from discreet.domain.declarations import Domain
from discreet.inference.engine import Answer, Engine, Question
from tests.models.toy import Toy


@dataclass(frozen=True, init=False)
class Shares(Toy):
    """The share of every cell of two columns of labels; the prior is one number, the weight of each cell."""

    name: ClassVar[str] = "toy_shares"
    engines: ClassVar[str] = "toy_shares"

    @property
    def draw_names(self) -> tuple[str, ...]:
        return ("share",)

    def read_prior(self, prior: Any, domain: Domain) -> float:
        return 1.0 if prior is None else float(prior)


def refusal(release: Release) -> str | None:
    """Return why this engine cannot read the release, or None if it can."""
    return None if release.records is not None else "the number of records is private"


def draw(question: Question) -> Answer:
    """Draw shares as if the noisy counts were the true ones."""
    counts = np.maximum(question.release.totals.values, 0)
    return Answer({"share": question.rng.dirichlet(question.prior + counts, question.size)}, "noise ignored")


def draw_prior(question: Question) -> Answer:
    """Draw a family's parameters from the prior alone."""
    return Answer(question.release.family.draw(question.prior, question.size, question.rng), "data ignored")


SHARES = Engine("exact", refusal, draw)
PRIOR_ONLY = Engine("prior_only", refusal, draw_prior)
