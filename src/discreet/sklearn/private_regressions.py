"""Private regressions as scikit-learn estimators: coefficients with intervals, from noisy sums."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.arguments import probability
from discreet.domain.columns import Column, Numeric
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.extras import needed_for
from discreet.inference.analyst import infer
from discreet.models import LinearRegression, LogisticRegression
from discreet.models.public_rows import warn_caller
from discreet.models.regression_columns import check_bounds
from discreet.rational import Number, exact
from discreet.sklearn.coded_columns import (
    Coded,
    feature_names,
    floats,
    for_each_feature,
    generator,
    read_classes,
    read_rows,
)
from discreet.sklearn.private_estimator import PrivateEstimator, column_of, readable

with needed_for("discreet.sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.validation import check_is_fitted

with needed_for("reading rows"):
    from discreet.data.sources.conceal import run_concealed

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from discreet.artifact import Release
    from discreet.inference.posterior import Posterior
    from discreet.ledger import Ledger
    from discreet.models.regression import Regression

_TARGET = "y"
_NO_BOUNDS = "declare the features: give bounds, (low, high) for all, or a pair or labels for each."
_NO_TARGET = (
    "declare the target: give target_bounds=(low, high), two numbers, chosen without looking at the data."
)
_INTERVAL = 0.95


class _PrivateRegression(PrivateEstimator):
    """What both regressions share: declared features, a budget, and coefficients with intervals."""

    @abstractmethod
    def _model(self, target: np.ndarray, features: tuple[Column, ...]) -> Regression:
        """Return the regression, given the declared features."""

    def _read_features(self, n_features: int) -> list[Coded | Numeric]:
        given = self.bounds
        if given is None:
            raise UsageError(_NO_BOUNDS)
        shared = _is_pair(given)
        each = [given] * n_features if shared else for_each_feature(self, given, n_features, "bounds")
        names = feature_names(self, n_features)
        for name, one in zip(names, each, strict=True):
            if isinstance(one, tuple):
                check_bounds(name, one)
        return [
            Numeric(name, *one) if _is_pair(one) else Coded.of(name, one)
            for name, one in zip(names, each, strict=True)
        ]

    def _read(self, release: Release, draws: int, rng: Any) -> Posterior:
        """Return the posterior of a release that was paid for, also if it takes long."""
        engine = "gibbs" if release.model.slow_in_words else "auto"
        return infer(release, engine=engine, draws=draws, chains=2, rng=rng)

    def _learn(self, features: list[Coded | Numeric], model: Regression, posterior: Posterior) -> None:
        """Keep what was inferred, and warn if noise dominates it; nothing is kept of the rows."""
        if posterior.diagnostics.headline:
            warn_caller(posterior.diagnostics.headline)
        self._features = features
        self.posterior_ = posterior
        coefficients = posterior.draws["coefficients"]
        self.coef_ = coefficients.mean(axis=0)
        self.intercept_ = float(posterior.draws["intercept"].mean())
        tail = (1 - _INTERVAL) / 2
        self.coef_interval_ = np.quantile(coefficients, [tail, 1 - tail], axis=0).T
        self._names = model.weight_names[1:]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return what each coefficient is for: a feature, or a label of one."""
        check_is_fitted(self, "coef_")
        known: int = self.n_features_in_  # pyright: ignore[reportAttributeAccessIssue]
        if input_features is not None and not (
            isinstance(input_features, Sequence | np.ndarray) and len(input_features) == known
        ):
            raise UsageError("input_features should have length equal to the number of features.")
        return np.array(self._names, dtype=object)


class PrivateLinearRegression(_PrivateRegression, RegressorMixin, BaseEstimator):
    """Linear regression from noisy sums of products, read with the noise in mind.

    Parameters
    ----------
    epsilon, rho, delta, mechanism
        The budget, as :func:`discreet.release` takes it: ``epsilon``, 1 if nothing is given; or ``rho``.
    bounds
        Of the features, chosen without looking at the data: ``(low, high)`` for all, or a list with such a pair, or a
        list of labels, for each; or, for a data frame, a dictionary of them by column. Of labels all but the first get
        a coefficient.
    target_bounds
        ``(low, high)`` of the target.
    neighbors
        ``"replace"`` or ``"add_remove"``.
    draws
        How many posterior draws there are.
    random_state
        Seed of the inference. The release takes none: fitting twice gives two releases, and costs twice.
    ledger, dataset, analyst
        As :func:`discreet.release` takes them.

    Attributes
    ----------
    coef_, intercept_ : ndarray, float
        Posterior means, in the units of the data.
    coef_interval_ : ndarray
        95% intervals of the coefficients, one row each.
    release_, posterior_ : Release, Posterior
        What was released, and what was learned from it.
    n_features_in_ : int
        The number of features.

    Privacy
    -------
    Only ``release_`` depends on the rows; see :func:`discreet.release`. Nothing about a row raises in ``fit``: what is
    outside its bounds is clipped, and a row with a missing or undeclared value is left out. Every ``fit`` spends the
    budget again, also those of a cross-validation, one for each fold; what comes before it in a pipeline, such as a
    ``StandardScaler``, reads the rows without privacy.
    """

    target_bounds: Any

    def __init__(
        self,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        mechanism: str | None = None,
        bounds: Any = None,
        target_bounds: tuple[Number, Number] | None = None,
        neighbors: Neighbors = "replace",
        draws: int = 2000,
        random_state: Any = None,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
        analyst: str | None = None,
    ) -> None:
        self._keep(locals())

    def _model(self, target: np.ndarray, features: tuple[Column, ...]) -> LinearRegression:
        if self.target_bounds is None or not _is_pair(self.target_bounds):
            raise UsageError(_NO_TARGET)
        low, high = self.target_bounds
        return LinearRegression(
            Numeric(_name_of(features), exact(low, "target_bounds"), exact(high, "target_bounds")), features
        )

    def fit(self, X: Any, y: Any) -> PrivateLinearRegression:
        """Release noisy sums of products of the rows, and infer from them."""
        columns, target = read_rows(self, X, y)
        features = self._read_features(len(columns))
        model = self._model(target, tuple(map(column_of, features)))
        rows = run_concealed(lambda: {**readable(features, columns), model.target.name: floats(target)})
        self.release_ = self._release(rows, model)
        posterior = self._read(self.release_, self.draws, generator(self.random_state))
        self._learn(features, model, posterior)
        return self

    def predict(self, X: Any, return_interval: float | None = None) -> Any:
        """Return each row's mean; with ``return_interval=0.95`` also the ends within which its target lies."""
        rows = self._rows(X)
        if return_interval is None:
            return self.posterior_.predict(rows)  # pyright: ignore[reportAttributeAccessIssue]
        prob = probability(return_interval, "return_interval")
        found = self.posterior_.predict(rows, interval=prob)  # pyright: ignore[reportAttributeAccessIssue]
        return found.mean, np.stack([found.low, found.high], axis=1)


class PrivateLogisticRegression(_PrivateRegression, ClassifierMixin, BaseEstimator):
    """Logistic regression of two classes from noisy sums, read with the noise in mind.

    Features of labels alone are released as one table. Otherwise ``fit`` makes two releases: sums of products with
    ``first_share`` of the budget, and with the rest a Newton step of the likelihood from what they say.

    Parameters
    ----------
    epsilon, rho, delta, mechanism
        The budget for both releases together, as for :class:`PrivateLinearRegression`.
    classes
        The two labels of the target, declared without looking. ``"public"``: it is public which classes there are, and
        they are read from ``y``, in which none may be missing.
    bounds
        Of the features, as for :class:`PrivateLinearRegression`.
    first_share
        The share of the budget for the first release.
    neighbors, draws, random_state, ledger, dataset, analyst
        As for :class:`PrivateLinearRegression`.

    Attributes
    ----------
    classes_ : ndarray
        The classes, in the order of ``predict_proba``'s columns; log-odds are those of the second.
    coef_, intercept_, coef_interval_, posterior_, n_features_in_
        As for :class:`PrivateLinearRegression`.
    release_, releases_ : Release, tuple of Release
        The last release, which the posterior reads, and all of them.

    Privacy
    -------
    Only ``releases_`` depend on the rows; their budgets add up to the one that was given, which every ``fit`` spends
    again; see :class:`PrivateLinearRegression`.
    """

    classes: Any
    first_share: Number

    def __init__(
        self,
        epsilon: Number | None = None,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        mechanism: str | None = None,
        classes: Sequence[Any] | np.ndarray | Literal["public"] | None = None,
        bounds: Any = None,
        first_share: Number = 0.25,
        neighbors: Neighbors = "replace",
        draws: int = 2000,
        random_state: Any = None,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
        analyst: str | None = None,
    ) -> None:
        self._keep(locals())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        assert tags.classifier_tags is not None
        tags.classifier_tags.multi_class = False
        return tags

    def _model(self, target: np.ndarray, features: tuple[Column, ...]) -> LogisticRegression:
        classes = read_classes(self.classes, target)
        if len(classes) != 2:
            raise UsageError(
                f"Only binary classification is supported. The target has {len(classes)} classes, it is multiclass."
            )
        self._target = Coded.of(_name_of(features), classes)
        self.classes_ = classes
        return LogisticRegression(self._target.column, features)

    def fit(self, X: Any, y: Any) -> PrivateLogisticRegression:
        """Release noisy sums of the rows, once or twice, and infer from them."""
        columns, target = read_rows(self, X, y)
        features = self._read_features(len(columns))
        model = self._model(target, tuple(map(column_of, features)))
        share = exact(self.first_share, "first_share")
        if not 0 < share < 1:
            raise UsageError("first_share must lie between 0 and 1.")
        rows = run_concealed(
            lambda: {**readable(features, columns), model.target.name: self._target.coded(target)}
        )
        rng = np.random.default_rng(generator(self.random_state))
        if model.released == "table":
            self.releases_ = (self._release(rows, model),)
        else:
            first = self._release(rows, model, share)
            middle = self._read(first, 1000, rng)
            self.releases_ = (first, self._release(rows, model.refined(middle), 1 - share))
        self.release_ = self.releases_[-1]
        self._learn(features, model, self._read(self.release_, self.draws, rng))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return each row's probability of both classes, averaged over the posterior."""
        rows = self._rows(X)
        return self.posterior_.predict_proba(rows)  # pyright: ignore[reportAttributeAccessIssue]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return each row's log-odds of the second class."""
        second = np.clip(self.predict_proba(X)[:, 1], 1e-15, 1 - 1e-15)
        return np.log(second) - np.log1p(-second)

    def predict(self, X: Any, return_interval: float | None = None) -> Any:
        """Return each row's likelier class; with ``return_interval`` also an interval for the second's probability."""
        if return_interval is None:
            return self._likelier(self.predict_proba(X)[:, 1])
        prob = probability(return_interval, "return_interval")
        found = self.posterior_.predict(self._rows(X), interval=prob)  # pyright: ignore[reportAttributeAccessIssue]
        return self._likelier(found.mean), np.stack([found.low, found.high], axis=1)

    def _likelier(self, second: np.ndarray) -> np.ndarray:
        """Return the likelier class, given probabilities of the second one."""
        return self.classes_[(second > 0.5).astype(int)]


def _is_pair(given: Any) -> bool:
    """Tell whether this is (low, high), and not labels."""
    if not isinstance(given, tuple | list | np.ndarray) or len(given) != 2:
        return False
    return all(isinstance(end, Real) and not isinstance(end, bool) for end in given)


def _name_of(features: tuple[Column, ...]) -> str:
    """Return a name for the target that no feature has."""
    name = _TARGET
    while any(one.name == name for one in features):
        name += "_"
    return name
