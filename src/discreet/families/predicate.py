"""The mean of numbers between 0 and 1, asked for without a model of how they vary."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.domain.bounds import Bounds
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families.base import Support
from discreet.families.bernoulli import ShareFamily
from discreet.priors.beta import Beta

_UNIT = ((Fraction(0), Fraction(1)),)


@dataclass(frozen=True)
class Predicate(ShareFamily):
    """A number in [0, 1] for each record, whose mean is the question.

    ===========  =========================================================
    statistic    x in [0, 1]; mapped z = 2x - 1
    prior        ``Beta(a, b)`` on the mean
    draws        ``mean``
    sensitivity  replace: 2 in z; add_remove: 1 on the cells
    ===========  =========================================================

    Its posterior is that of the Bernoulli, with x counted as a share of a yes (Geumlek 2020, section 5.3.2). For bits
    that is a likelihood; for anything between it is not one, because the values may vary less than bits do. So it
    answers a query (:class:`StatisticalQuery`), and noisy totals of it cannot be turned into a posterior.

    Bounds need not be given: they are (0, 1).
    """

    name = "predicate"
    support = Support(0.0, 1.0)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    is_likelihood = False
    draw_names = ("mean",)
    own_bounds = _UNIT

    def check_bounds(self, bounds: Bounds | None) -> None:
        if not isinstance(bounds, tuple) or bounds != self.own_bounds:
            raise UsageError("a predicate lies between 0 and 1: leave out bounds.")

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        raise UsageError(
            "a predicate is a question, not a likelihood: only released samples of its mean can be read.",
            hint="bernoulli is for yes or no; a statistical query releases samples of the mean",
        )

    def suggested_prior(self, domain: Domain) -> Beta:
        return Beta(1, 1)
