"""Logistic regression: the log-odds of a label are linear in the terms of a design.

Three things can be released with noise, and which one follows from the declarations:

* features of labels alone, few of them: the table of all columns, from which coefficients follow without approximation;
* otherwise the sums of all products of two terms, as for a linear regression, from which the coefficients follow
  as far as bounds and moments tell the shapes of the features;
* with ``start``, one Newton step of the likelihood from these public weights
  (:mod:`~discreet.models.score_layout`), which takes nothing for granted about the features if the start is near. A
  release of the second kind finds one: :meth:`LogisticRegression.refined`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import expit

from discreet.domain.columns import Column, Labels, Numeric
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import UsageError
from discreet.models.base import Draws
from discreet.models.column_model import ColumnModel
from discreet.models.layout import Layout
from discreet.models.losses import LogisticLoss
from discreet.models.regression_columns import EXAMPLE, zero_or_one
from discreet.models.score_layout import LOGISTIC
from discreet.models.step_regression import StepRegression
from discreet.models.tables import Table
from discreet.rational import Number, plain

#: Cells, missing values included, up to which features of labels are released as one table.
MOST_CELLS = 512
# log-odds beyond this are as good as certain, and far inside what float64 can say
_LARGEST_ODDS = 30.0


@dataclass(frozen=True, init=False)
class LogisticRegression(StepRegression):
    """A target of two labels, whose second one has log-odds intercept + coefficients . terms.

    Parameters
    ----------
    target
        One column of two labels: ``{"smoker": ["no", "yes"]}``, or its name, with ``bounds``. Bounds of ``(0, 1)``
        are read as these two labels.
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
    region = LOGISTIC

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
        signs: bool = False,
        start: Sequence[Number] | None = None,
    ) -> None:
        super().__init__(
            zero_or_one(target, bounds),
            features,
            bounds=bounds,
            terms=terms,
            ridge=ridge,
            radius=radius,
            square_width=square_width,
            signs=signs,
        )
        object.__setattr__(self, "start", None if start is None else self._read_start(start))

    @classmethod
    def _check_target(cls, target: Column) -> Column:
        if not isinstance(target, Labels) or target.n_labels != 2:
            raise UsageError(
                f"the target {target.name!r:.60} of a logistic regression has two labels.",
                hint=_as_labels(target) if isinstance(target, Numeric) else f"for example {EXAMPLE}",
            )
        return target

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
        return super().layout(domain, neighbors)

    def coordinate_ranges(self, domain: Domain, neighbors: Neighbors) -> Sequence[tuple[Fraction, Fraction]]:
        if self.released == "table":
            return ColumnModel.coordinate_ranges(self, domain, neighbors)
        return super().coordinate_ranges(domain, neighbors)

    def missing_in_words(self, neighbors: Neighbors) -> str:
        if self.released == "table":
            return ColumnModel.missing_in_words(self, neighbors)
        return super().missing_in_words(neighbors)

    @property
    def slow_in_words(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "" if self.released == "table" else super().slow_in_words

    def score(self, codes: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        odds = np.clip(self.start_predictors(codes, values), -_LARGEST_ODDS, _LARGEST_ODDS)
        chance = expit(odds)
        return 4 * chance * (1 - chance), self._by_column(codes, values)[0][self.target.name] - chance

    # -- the analyst's side ----------------------------------------------------------------------------

    @property
    def outcome(self) -> str:
        return f"log-odds of {self.target.name}={self._labels[1]}"

    @property
    def assumption(self) -> str:
        # of a table the coefficients are those of the nearest that are linear
        return "" if self.released == "table" else "the log-odds are linear in the terms"

    def weak_prior_in_words(self, domain: Domain) -> str:
        if self.released == "table":
            return "cells of the table have Dirichlet parameters that sum to the number of coefficients"
        return super().weak_prior_in_words(domain)

    # -- predictions, for rows that need no protection -------------------------------------------------

    def _log_likelihood(self, margins: np.ndarray, aims: np.ndarray) -> np.ndarray:
        return -np.logaddexp(0, -aims * margins)

    def class_probability(self, weights: Any, rows: Any) -> np.ndarray:
        """Return the probability of the target's second label for each row; see :meth:`margins`."""
        return expit(self.margins(weights, rows))

    def predict_at(self, weights: Any, rows: Any) -> np.ndarray:
        """Return the likelier label for each row; see :meth:`margins`."""
        return self._labels[(self.margins(weights, rows) > 0).astype(int)]

    def _means(self, draws: Draws, rows: Any) -> np.ndarray:
        """Return the probability of the second label, draws × rows."""
        if "weights" in draws:
            return np.atleast_2d(self.class_probability(draws["weights"], rows))
        return expit(self.predictors(draws, rows))

    def predict_proba(self, draws: Draws, rows: Any) -> np.ndarray:
        second = self._means(draws, rows).mean(axis=0)
        return np.stack([1 - second, second], axis=1)

    def predict(self, draws: Draws, rows: Any) -> np.ndarray:
        return self._labels[self.predict_proba(draws, rows).argmax(axis=1)]

    @property
    def _labels(self) -> np.ndarray:
        # the target is the first column
        return np.array(self.label_columns[0].labels)


def _as_labels(target: Numeric) -> str:
    """Say how the bounds of a target would be written as its labels."""
    low, high = plain(target.low), plain(target.high)
    return f'write its labels as texts, ["{low:.20}", "{high:.20}"]: the second is the one that is explained'
