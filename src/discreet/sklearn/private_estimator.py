"""What the estimators share: how they keep their arguments, read rows, and spend their budget."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.curator.publish import release
from discreet.domain.columns import Column, Numeric
from discreet.domain.declarations import Neighbors
from discreet.extras import needed_for
from discreet.models import Model
from discreet.rational import Number, exact
from discreet.sklearn.coded_columns import Coded, check_names, floats

with needed_for("discreet.sklearn"):
    from sklearn.utils.validation import check_is_fitted

with needed_for("reading rows"):
    from discreet.data.sources.conceal import run_concealed
    from discreet.data.sources.entries import feature_columns

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from discreet.artifact import Release


class PrivateEstimator:
    """A budget, declared features, and a release that is all that is learned of the rows.

    It stands left of scikit-learn's own bases, whose tags it completes.
    """

    epsilon: Number | None
    rho: Number | None
    delta: Number | None
    mechanism: str | None
    bounds: Any
    neighbors: Neighbors
    draws: int
    random_state: Any
    ledger: Any
    dataset: str | None
    analyst: str | None
    _features: Sequence[Coded | Numeric]

    def _keep(self, arguments: dict[str, Any]) -> None:
        """Keep what a constructor was given as scikit-learn wants it: every argument as it is, under its own name."""
        vars(self).update({name: given for name, given in arguments.items() if name != "self"})

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # pyright: ignore[reportAttributeAccessIssue]
        tags.non_deterministic = True
        tags.input_tags.allow_nan = True
        # a few dozen rows are protected by noise of the size of their number
        for own in filter(None, (tags.classifier_tags, tags.regressor_tags)):
            own.poor_score = True
        return tags

    def _rows(self, X: Any) -> dict[str, np.ndarray]:
        """Return the features' columns by name, as the release reads them."""
        check_is_fitted(self)
        columns = run_concealed(lambda: feature_columns(X))
        check_names(self, X, len(columns), reset=False)
        return run_concealed(lambda: readable(self._features, columns))

    def _release(self, rows: dict[str, Any], model: Model, share: Fraction = Fraction(1)) -> Release:
        """Release with a share of the budget."""
        epsilon = 1 if self.epsilon is None and self.rho is None else self.epsilon
        budget = {"epsilon": epsilon, "rho": self.rho, "delta": self.delta}
        parts: dict[str, Any] = {name: _part(given, share) for name, given in budget.items()}
        return release(
            rows,
            model,
            **parts,
            mechanism=self.mechanism,
            neighbors=self.neighbors,
            ledger=self.ledger,
            dataset=self.dataset,
            analyst=self.analyst,
        )


def column_of(feature: Coded | Numeric) -> Column:
    """Return what is declared of a feature."""
    return feature.column if isinstance(feature, Coded) else feature


def readable(features: Sequence[Coded | Numeric], columns: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return every feature's column as the release reads it, by name."""
    return {
        column_of(one).name: one.coded(column) if isinstance(one, Coded) else floats(column)
        for one, column in zip(features, columns, strict=True)
    }


def _part(budget: Number | None, share: Fraction) -> Number | None:
    return budget if budget is None or share == 1 else exact(budget, "the budget") * share
