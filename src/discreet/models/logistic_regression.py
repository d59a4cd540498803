"""Logistic regression: the log-odds of a label are linear in the terms of a design.

Three things can be released with noise, and which one follows from the declarations:

* features of labels alone, few of them: the table of all columns, from which coefficients follow without approximation;
* otherwise the sums of all products of two terms, as for a linear regression, from which the coefficients follow if
  features are normal within the classes;
* with ``start``, one Newton step of the likelihood from these public weights
  (:mod:`~discreet.models.score_layout`), which takes nothing for granted about the features if the start is near. A
  release of the second kind finds one: :meth:`LogisticRegression.refined`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.special import expit

from discreet.arguments import listed
from discreet.domain.columns import Column, Labels
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.models.column_model import ColumnModel
from discreet.models.layout import Layout
from discreet.models.losses import LogisticLoss
from discreet.models.regression import Regression
from discreet.models.regression_columns import EXAMPLE
from discreet.models.score_layout import score_layout, score_ranges
from discreet.models.tables import Table
from discreet.rational import Number, exact, text

#: Cells, missing values included, up to which features of labels are released as one table.
MOST_CELLS = 512
# log-odds beyond this are as good as certain, and far inside what float64 can say
_LARGEST_ODDS = 30.0
_LARGEST = 10**9


@dataclass(frozen=True, init=False)
class LogisticRegression(Regression):
    """A target of two labels, whose second one has log-odds intercept + coefficients . terms.

    Parameters
    ----------
    target
        One column of two labels: ``{"smoker": ["no", "yes"]}``, or its name, with ``bounds``.
    features
        Columns of numbers with public bounds, or of labels: ``{"age": (18, 100), "sex": ["f", "m"]}``, or names, with
        ``bounds``. Of labels all but the first get a coefficient of their own. A list may hold products and squares:
        ``"age * sex"``.
    bounds, terms
        As for :class:`~discreet.models.linear_regression.LinearRegression`.
    ridge, radius
        For gradients. Each record's loss is log(1 + e^(-y weights . features)), plus half of ridge times the squared
        length of the weights, which lie in the ball of this radius, decided without looking at the data.
    square_width
        As for a linear regression.
    start
        Public weights, the intercept first, in the units of the columns: what is released is one Newton step from
        there. Take them from an earlier private release by :meth:`refined`, or from public knowledge.

    Examples
    --------
    >>> model = LogisticRegression({"smoker": ["no", "yes"]}, {"age": (18, 100), "sex": ["f", "m"]})
    >>> model.weight_names
    ('intercept', 'age', 'sex=m')
    """

    name: ClassVar[str] = "logistic_regression"
    question: ClassVar[str] = "Logistic regression"
    picture: ClassVar[str] = "coefficients"
    loss = LogisticLoss
    start: tuple[Fraction, ...] | None = None

    def __init__(
        self,
        target: Mapping[str, Any] | Column | str,
        features: Mapping[str, Any] | Sequence[Column | str],
        *,
        bounds: Mapping[str, Any] | None = None,
        terms: Sequence[str] = (),
        ridge: Number = Fraction(1, 1000),
        radius: Number = 5,
        square_width: Number | None = None,
        start: Sequence[Number] | None = None,
    ) -> None:
        super().__init__(
            target,
            features,
            bounds=bounds,
            terms=terms,
            ridge=ridge,
            radius=radius,
            square_width=square_width,
        )
        object.__setattr__(self, "start", None if start is None else self._read_start(start))

    @classmethod
    def _check_target(cls, target: Column) -> Column:
        if not isinstance(target, Labels) or target.n_labels != 2:
            raise UsageError(
                f"the target {target.name!r:.60} of a logistic regression has two labels.",
                hint=f"for example {EXAMPLE}",
            )
        return target

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

    def refined(self, posterior: Any) -> LogisticRegression:
        """Return the model whose release is a Newton step from the middle of a posterior of the same model.

        Privacy
        -------
        The posterior was inferred from a release, so its middle costs nothing more. The step is a release of its own,
        with a budget of its own.
        """
        draws = getattr(posterior, "draws", {})
        if "coefficients" not in draws or np.shape(draws["coefficients"])[1:] != (self.dimension - 1,):
            raise UsageError(
                "a start is taken from the posterior of the same regression.",
                hint="dc.infer of a release of this model, with noise",
            )
        every = np.column_stack([draws["intercept"], draws["coefficients"]])
        return replace(self, start=tuple(exact(f"{one:.6g}", "start") for one in np.median(every, axis=0)))

    # -- what is released ------------------------------------------------------------------------------

    @cached_property
    def released(self) -> Literal["table", "products", "step"]:
        """What is released with noise: one table of counts, sums of products, or a Newton step."""
        if self.start is not None:
            return "step"
        few = not self.numeric_columns and prod(c.n_labels + 1 for c in self.label_columns) <= MOST_CELLS
        return "table" if few else "products"

    @property
    def summary(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return {"table": "tables", "products": "products", "step": "scores"}[self.released]

    @property
    def engines(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return f"logistic_{self.released}"

    def tables(self) -> tuple[Table, ...]:
        return (Table(self.label_columns),)

    def suited(self, norm: Literal["l1", "l2"]) -> Self:
        return super().suited(norm) if self.released == "products" else self

    def layout(self, domain: Domain, neighbors: Neighbors) -> Layout:
        if self.released == "table":
            return ColumnModel.layout(self, domain, neighbors)
        if self.released == "step":
            return score_layout(self.design, domain, neighbors)
        return super().layout(domain, neighbors)

    def coordinate_ranges(self, domain: Domain, neighbors: Neighbors) -> Sequence[tuple[Fraction, Fraction]]:
        if self.released == "table":
            return ColumnModel.coordinate_ranges(self, domain, neighbors)
        if self.released == "step":
            return score_ranges(self.design, domain, neighbors)
        return super().coordinate_ranges(domain, neighbors)

    def missing_in_words(self, neighbors: Neighbors) -> str:
        if self.released == "table":
            return ColumnModel.missing_in_words(self, neighbors)
        return super().missing_in_words(neighbors)

    def start_odds(self, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the log-odds of records at the start; numbers must lie within their bounds."""
        intercept, *slopes = map(float, self.start or ())
        odds = intercept + np.array(slopes) @ self.terms_of(codes, values)
        return np.clip(odds, -_LARGEST_ODDS, _LARGEST_ODDS)

    def constants(self) -> dict[str, Any]:
        start = {} if self.start is None else {"start": [text(one) for one in self.start]}
        return {**super().constants(), **start}

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        rest = dict(constants)
        start = rest.pop("start", None)
        read = super().from_constants(rest)
        if "start" not in constants:
            return read
        if not isinstance(start, list) or not all(isinstance(one, str) for one in start):
            raise ValueError("the start of a regression is a list of numbers, written as texts")
        return replace(read, start=read._read_start(start))

    # -- the analyst's side ----------------------------------------------------------------------------

    @property
    def assumption(self) -> str:
        return "the log-odds are linear in the terms"

    def read_prior(self, prior: Any, domain: Domain) -> None:
        if prior is not None:
            raise UsageError("a logistic regression takes no prior but its own.", hint="leave out prior")

    def weak_prior_in_words(self, domain: Domain) -> str:
        if self.released == "table":
            return "cells of the table have Dirichlet parameters that sum to the number of coefficients"
        return (
            "on bounds mapped to [-1, 1], means N(0, 0.5^2), sds lognormal(log 0.3, 0.8), correlations of the "
            "features LKJ(2)"
        )

    def in_units(self, intercept: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Turn draws of intercept and coefficients of the mapped terms into those of the columns as they are."""
        found = slopes @ self.unit_matrix().T
        return intercept + found[:, 0], found[:, 1:]

    # -- predictions, for rows that need no protection -------------------------------------------------

    def _log_likelihood(self, margins: np.ndarray, aims: np.ndarray) -> np.ndarray:
        return -np.logaddexp(0, -aims * margins)

    def row_log_density(
        self, draws: Mapping[str, np.ndarray], codes: np.ndarray, values: np.ndarray
    ) -> np.ndarray:
        if "weights" in draws:
            return super().row_log_density(draws, codes, values)
        self._check_complete(codes, values, self.columns)
        kept = self._clipped(values)
        odds = np.asarray(draws["intercept"])[:, None] + np.asarray(draws["coefficients"]) @ self.terms_of(
            codes, kept
        )
        return self._log_likelihood(odds, self.aims(codes, kept))

    def class_probability(self, weights: Any, rows: Any) -> np.ndarray:
        """Return the probability of the target's second label for each row; see :meth:`margins`."""
        return expit(self.margins(weights, rows))

    def predict_at(self, weights: Any, rows: Any) -> np.ndarray:
        """Return the likelier label for each row; see :meth:`margins`."""
        return self._labels[(self.margins(weights, rows) > 0).astype(int)]

    def _chances(self, draws: Mapping[str, np.ndarray], rows: Any) -> np.ndarray:
        """Return the probability of the second label, draws × rows."""
        if "weights" in draws:
            return np.atleast_2d(self.class_probability(draws["weights"], rows))
        return expit(self.predictors(draws, rows))

    def predict_proba(self, draws: Mapping[str, np.ndarray], rows: Any) -> np.ndarray:
        second = self._chances(draws, rows).mean(axis=0)
        return np.stack([1 - second, second], axis=1)

    def predict(self, draws: Mapping[str, np.ndarray], rows: Any) -> np.ndarray:
        return self._labels[self.predict_proba(draws, rows).argmax(axis=1)]

    def predict_interval(self, draws: Mapping[str, np.ndarray], rows: Any, prob: float) -> Chances:
        if "coefficients" not in draws:
            raise UsageError(
                "weights that were fitted by gradients have no intervals.",
                hint="release with noise: epsilon=1",
            )
        chances = self._chances(draws, rows)
        low, high = np.quantile(chances, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
        return Chances(chances.mean(axis=0), low, high)

    @property
    def _labels(self) -> np.ndarray:
        return np.array(self.label_columns[0].labels)


class Chances(NamedTuple):
    """Rows' probabilities of the second label, and intervals that hold them; one number for each row."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
