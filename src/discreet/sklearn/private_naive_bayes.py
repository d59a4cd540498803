"""Private naive Bayes behind scikit-learn's interface: ``fit``, ``predict``, ``predict_proba``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.domain.bounds import read_pairs
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.extras import needed_for
from discreet.inference.analyst import infer
from discreet.models import NaiveBayes
from discreet.rational import Number
from discreet.sklearn.coded_columns import (
    Binned,
    Coded,
    feature_names,
    for_each_feature,
    generator,
    read_classes,
    read_rows,
)
from discreet.sklearn.private_estimator import PrivateEstimator, readable

with needed_for("discreet.sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin

with needed_for("reading rows"):
    from discreet.data.sources.conceal import run_concealed

if TYPE_CHECKING:
    from discreet.ledger import Ledger

_NO_FEATURES = (
    "declare the features: give categories, how many or which values each can take, or bounds, a range to be cut "
    "into bins."
)


class PrivateNaiveBayes(PrivateEstimator, ClassifierMixin, BaseEstimator):
    """Naive Bayes from noisy counts, read with the noise in mind.

    ``fit`` releases one noisy table of counts for each feature, at the price of ``epsilon`` for all, and infers the
    posterior of the class and feature probabilities from it, exactly. Predictions are averaged over that posterior and
    cost nothing. The release is in ``release_``; it is all that was learned, and can be saved and published.

    Parameters
    ----------
    epsilon, rho, delta, mechanism
        The budget, as :func:`discreet.release` takes it: ``epsilon`` for Laplace noise, 1 if nothing is given; ``rho``,
        or ``epsilon`` with ``delta``, for Gaussian noise.
    classes
        The labels of the target, declared without looking. ``"public"``: it is public which classes there are, and
        they are read from ``y``, in which none may be missing.
    categories
        The values of the features: a whole number k if all are coded 0, ..., k - 1; or a list with such a number, or a
        list of values, for each feature; or, for a data frame, a dictionary of them by column. So are bounds.
    bounds, bins
        For numeric features instead: ``(low, high)`` for all, or one pair for each, and into how many bins of equal
        width the range is cut. Values outside are in the first or last bin.
    prior
        The Dirichlet parameter of every label.
    neighbors
        ``"replace"`` or ``"add_remove"``.
    draws
        How many posterior draws predictions are averaged over.
    random_state
        Seed of the inference. The release takes none: fitting twice gives two releases, and costs twice.
    ledger, dataset, analyst
        As :func:`discreet.release` takes them.

    Attributes
    ----------
    classes_ : ndarray
        The classes, in the order of ``predict_proba``'s columns.
    release_ : Release
        What was released.
    posterior_ : Posterior
        What was learned from it.
    n_features_in_ : int
        The number of features.

    Privacy
    -------
    Only ``release_`` depends on the rows; see :func:`discreet.release`. Values and classes that were not declared, and
    NaN, count as missing: nothing about a row raises. What is checked of ``X`` and ``y`` is their shape and type. Each
    entry of a list is read by itself: numpy would make text of all numbers if one record holds text, so that a single
    record would change what all others say. With ``classes="public"`` the values of ``y`` are checked as well.
    """

    classes: Any
    categories: Any
    bins: int
    prior: Any

    def __init__(
        self,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        mechanism: str | None = None,
        classes: Sequence[Any] | np.ndarray | Literal["public"] | None = None,
        categories: Any = None,
        bounds: Any = None,
        bins: int = 10,
        prior: float | Mapping[str, Any] = 1.0,
        neighbors: Neighbors = "replace",
        draws: int = 400,
        random_state: Any = None,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
        analyst: str | None = None,
    ) -> None:
        self._keep(locals())

    def fit(self, X: Any, y: Any) -> PrivateNaiveBayes:
        """Release noisy counts of the rows, and infer from them."""
        columns, labels = read_rows(self, X, y)
        classes = read_classes(self.classes, labels)
        target = Coded.of("class", classes)
        features = self._read_features(len(columns))
        model = NaiveBayes(target.column, tuple(feature.column for feature in features))
        coded = run_concealed(lambda: {"class": target.coded(labels), **readable(features, columns)})
        made = self._release(coded, model)
        # nothing but the release is kept of the rows
        self.classes_ = classes
        self._features = features
        self.release_ = made
        self.posterior_ = infer(
            made, prior=self.prior, draws=self.draws, chains=1, rng=generator(self.random_state)
        )
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return each row's probability of every class, averaged over the posterior."""
        rows = self._rows(X)
        return self.posterior_.predict_proba(rows)  # pyright: ignore[reportAttributeAccessIssue]

    def predict(self, X: Any) -> np.ndarray:
        """Return each row's most probable class."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _read_features(self, n_features: int) -> list[Coded]:
        if (self.categories is None) == (self.bounds is None):
            raise UsageError(_NO_FEATURES)
        names = feature_names(self, n_features)
        if self.categories is not None:
            given = self.categories
            shared = isinstance(given, int | np.integer)
            each = [given] * n_features if shared else for_each_feature(self, given, n_features, "categories")
            return [
                Coded.of(name, np.arange(one) if isinstance(one, int | np.integer) else one)
                for name, one in zip(names, each, strict=True)
            ]
        by_name = isinstance(self.bounds, Mapping)
        pairs = read_pairs(
            for_each_feature(self, self.bounds, n_features, "bounds") if by_name else self.bounds
        )
        pairs = pairs * n_features if len(pairs) == 1 else pairs
        if len(pairs) != n_features:
            raise UsageError(f"bounds are for {len(pairs)} features, and there are {n_features}.")
        return [
            Binned.between(name, float(low), float(high), self.bins)
            for name, (low, high) in zip(names, pairs, strict=True)
        ]
