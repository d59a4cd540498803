"""Regressions whose likelihood has no sums that suffice: one Newton step of it is released, from public weights.

With ``start`` the slope and the curvature of the log-likelihood at these weights are released
(:mod:`~discreet.models.score_layout`). A release of another kind finds them: :meth:`StepRegression.refined`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from discreet.arguments import listed
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.models.base import Draws
from discreet.models.layout import Layout
from discreet.models.regression import Regression
from discreet.models.score_layout import ScoreRegion, score_layout, score_ranges
from discreet.rational import exact, text

_LARGEST = 10**9


@dataclass(frozen=True, init=False)
class StepRegression(Regression):
    """What regressions with a Newton step share; coefficients are on the scale of a link, the log-odds or the log."""

    #: What the weight and the residual of one record may be together.
    region: ClassVar[ScoreRegion]
    #: Numbers that a step needs beside its start.
    _of_step: ClassVar[tuple[str, ...]] = ()
    #: Numbers that a step may have too.
    _may_of_step: ClassVar[tuple[str, ...]] = ()
    start: tuple[Fraction, ...] | None = None

    def _read_start(self, start: Any) -> tuple[Fraction, ...]:
        read = tuple(exact(one, "start") for one in listed(start, "start", "a list of numbers"))
        if len(read) != self.dimension:
            raise UsageError(
                f"start must be {self.dimension} numbers, one for each of {', '.join(self.weight_names):.200}.",
                hint="model.refined(posterior) takes them from an earlier release",
            )
        if any(abs(one) > _LARGEST for one in read):
            raise UsageError(f"start must be numbers of at most {_LARGEST} in size.")
        return read

    def refined(self, posterior: Any) -> Self:
        """Return the model whose release is a Newton step from the middle of a posterior of the same model.

        The posterior is that of a release of this model, with the same columns and terms: sums of products, an earlier
        step, or a table of labels, whose own posterior needs no step.

        Privacy
        -------
        The posterior was inferred from a release, so its middle costs nothing more. The step is a release of its own,
        with a budget of its own.
        """
        draws: Draws = getattr(posterior, "draws", {})
        wanted = "a start is taken from the posterior of the same regression"
        read = (
            posterior.model.require(StepRegression, wanted)
            if "coefficients" in draws and posterior.model
            else None
        )
        if read is None or (read.name, read.design) != (self.name, self.design):
            raise UsageError(
                f"{wanted}.",
                hint="dc.infer of a release of this model, with noise: the same columns, bounds and terms",
            )
        every = np.column_stack([draws["intercept"], draws["coefficients"]])
        middle = tuple(exact(f"{one:.6g}", "start") for one in np.median(every, axis=0))
        return replace(self, start=middle, **self._learned(draws))

    @property
    def of_a_step(self) -> tuple[str, ...]:
        """Names of the numbers that a step has beside its start."""
        return (*self._of_step, *self._may_of_step)

    def _learned(self, draws: Draws) -> dict[str, Any]:
        """Return what a step needs to know beside its start, of an earlier release."""
        return {}

    # -- what is released ------------------------------------------------------------------------------

    @abstractmethod
    def score(self, codes: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights, of [0, 1], and the residuals, of [-1, 1], of records at the start.

        They are the parts of curvature and slope, each divided by a public number; codes and numbers are those of all
        columns, and numbers lie within their bounds.
        """

    def layout(self, domain: Domain, neighbors: Neighbors) -> Layout:
        if self.start is None:
            return super().layout(domain, neighbors)
        return score_layout(self.design, self.region, domain, neighbors)

    def coordinate_ranges(self, domain: Domain, neighbors: Neighbors) -> Sequence[tuple[Fraction, Fraction]]:
        if self.start is None:
            return super().coordinate_ranges(domain, neighbors)
        return score_ranges(self.design, domain, neighbors)

    def start_predictors(self, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return intercept + coefficients . terms of records at the start; numbers must lie within their bounds."""
        intercept, *slopes = map(float, self.start or ())
        return intercept + np.array(slopes) @ self.terms_of(codes, values)

    def assumptions(self, domain: Domain) -> list[str]:
        told = (
            "the weights from which the step begins, which this file names, were public before: if they were taken "
            "from another release about the same people, that one has a promise of its own"
        )
        return [*super().assumptions(domain), *([] if self.start is None else [told])]

    def constants(self) -> dict[str, Any]:
        start = {} if self.start is None else {"start": [text(one) for one in self.start]}
        return {**super().constants(), **start}

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        if "start" not in constants:
            return super().from_constants(constants)
        rest = dict(constants)
        start = rest.pop("start")
        known = {name: rest.pop(name, None) for name in cls._of_step}
        known |= {name: rest.pop(name) for name in cls._may_of_step if name in rest}
        if not isinstance(start, list) or not all(isinstance(one, str) for one in (*start, *known.values())):
            raise ValueError("the start of a regression is a list of numbers, written as texts")
        return replace(super().from_constants(rest), start=start, **known)

    # -- the analyst's side ----------------------------------------------------------------------------

    @property
    def allowance_in_words(self) -> str:
        # tables of labels are read without approximation
        if self.summary != Regression.summary:
            return ""
        return (
            "part of the width is what the shapes of the features may be, which more records do not narrow: a second "
            "release, of model.refined(posterior) or by discreet refine, does"
        )

    def read_prior(self, prior: Any, domain: Domain) -> None:
        if prior is not None:
            kind = self.question.lower()
            raise UsageError(f"a {kind} takes no prior but its own.", hint="leave out prior")

    def weak_prior_in_words(self, domain: Domain) -> str:
        return (
            "on bounds mapped to [-1, 1], means N(0, 0.5^2), sds lognormal(log 0.3, 0.8), correlations of the "
            "features LKJ(2)"
        )

    def in_units(self, intercept: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Turn draws of intercept and coefficients of the mapped terms into those of the columns as they are."""
        found = slopes @ self.unit_matrix().T
        return intercept + found[:, 0], found[:, 1:]

    def mapped_start(self) -> np.ndarray:
        """Return the start as weights of the mapped terms."""
        found = np.array([float(one) for one in self.start or ()])
        matrix = self.unit_matrix()
        slopes = np.linalg.solve(matrix[1:], found[1:])
        return np.append(found[0] - matrix[0] @ slopes, slopes)

    # -- predictions, for rows that need no protection -------------------------------------------------

    @abstractmethod
    def _means(self, draws: Draws, rows: Any) -> np.ndarray:
        """Return the target's mean, or the probability of its second label, draws × rows."""

    def row_log_density(self, draws: Draws, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        if "weights" in draws:
            return super().row_log_density(draws, codes, values)
        self._check_complete(codes, values, self.columns)
        kept = self._clipped(values)
        predictors = np.asarray(draws["intercept"])[:, None] + np.asarray(
            draws["coefficients"]
        ) @ self.terms_of(codes, kept)
        return self._log_likelihood(predictors, self.aims(codes, kept))

    def predict_interval(self, draws: Draws, rows: Any, prob: float) -> Means:
        if "coefficients" not in draws:
            raise UsageError(
                "weights that were fitted by gradients have no intervals.",
                hint="release with noise: epsilon=1",
            )
        means = self._means(draws, rows)
        low, high = np.quantile(means, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
        return Means(means.mean(axis=0), low, high)


class Means(NamedTuple):
    """Rows' means, or probabilities of the second label, and intervals that hold them; one number for each row."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
