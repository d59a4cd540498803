"""Private naive Bayes behind scikit-learn's interface: ``fit``, ``predict``, ``predict_proba``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from warnings import warn

import numpy as np

from discreet.arguments import whole
from discreet.curator.publish import release
from discreet.domain.bounds import read_pairs
from discreet.domain.columns import Labels
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.extras import needed_for
from discreet.inference.analyst import infer
from discreet.models.naive_bayes import NaiveBayes
from discreet.objects import UNREADABLE, forgiving, plain_value
from discreet.rational import Number

with needed_for("discreet.sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import DataConversionWarning
    from sklearn.utils.validation import check_is_fitted, validate_data

with needed_for("reading rows"):
    from discreet.data.sources.conceal import run_concealed
    from discreet.data.sources.entries import feature_columns, target_column, without_rows
    from discreet.data.sources.values import numbers

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from discreet.ledger import Ledger

__all__ = ["PrivateNaiveBayes"]

# more than a table of counts can use
_MOST_BINS = 10_000
_NO_CLASSES = (
    "declare the classes: give classes=[…], or classes='public' if which classes there are is public."
)
_COLUMN_VECTOR = "A column-vector y was passed when a 1d array was expected; its one column is taken."
_NO_FEATURES = (
    "declare the features: give categories, how many or which values each can take, or bounds, a range to be cut "
    "into bins."
)


class PrivateNaiveBayes(ClassifierMixin, BaseEstimator):
    """Naive Bayes from noisy counts, read with the noise in mind.

    ``fit`` releases one noisy table of counts for each feature, at the price of ``epsilon`` for all, and infers the
    posterior of the class and feature probabilities from it, exactly. Predictions are averaged over that posterior and
    cost nothing. The release is in ``release_``; it is all that was learned, and can be saved and published.

    Parameters
    ----------
    epsilon, rho, delta, mechanism
        The budget, as :func:`discreet.release` takes it: ``epsilon`` for Laplace noise; ``rho``, or ``epsilon`` with
        ``delta``, for ``mechanism="gaussian"``.
    classes
        The labels of the target, declared without looking. ``"public"``: it is public which classes there are, and
        they are read from ``y``, in which none may be missing.
    categories
        The values of the features: a whole number k if all are coded 0, ..., k - 1; or a list with such a number, or a
        list of values, for each feature.
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

    def __init__(
        self,
        epsilon: Number | None = 1.0,
        *,
        rho: Number | None = None,
        delta: Number | None = None,
        mechanism: str = "laplace",
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
        self.epsilon = epsilon
        self.rho = rho
        self.delta = delta
        self.mechanism = mechanism
        self.classes = classes
        self.categories = categories
        self.bounds = bounds
        self.bins = bins
        self.prior = prior
        self.neighbors: Neighbors = neighbors
        self.draws = draws
        self.random_state = random_state
        self.ledger = ledger
        self.dataset = dataset
        self.analyst = analyst

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        # a few dozen rows are protected by noise of the size of their number
        tags.classifier_tags.poor_score = True
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any) -> PrivateNaiveBayes:
        """Release noisy counts of the rows, and infer from them."""
        if y is None:
            raise UsageError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        columns = run_concealed(lambda: feature_columns(X))
        self._check_names(X, len(columns), reset=True)
        labels, is_table = run_concealed(lambda: target_column(y))
        if is_table:
            warn(_COLUMN_VECTOR, DataConversionWarning, stacklevel=2)
        if any(len(column) != len(labels) for column in columns):
            # how many rows there are can be private
            raise UsageError("X and y must have as many rows as each other.")
        classes = self._read_classes(labels)
        target = _Coded.of("class", classes)
        features = self._read_features(len(columns))
        model = NaiveBayes(target.column, tuple(feature.column for feature in features))
        coded = run_concealed(lambda: {"class": target.coded(labels), **_coded(features, columns)})
        made = release(
            coded,
            model,
            epsilon=self.epsilon,
            rho=self.rho,
            delta=self.delta,
            mechanism=self.mechanism,
            neighbors=self.neighbors,
            ledger=self.ledger,
            dataset=self.dataset,
            analyst=self.analyst,
        )
        # nothing but the release is kept of the rows
        self.classes_ = classes
        self._features = features
        self.release_ = made
        self.posterior_ = infer(
            made, prior=self.prior, draws=self.draws, chains=1, rng=_generator(self.random_state)
        )
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return each row's probability of every class, averaged over the posterior."""
        check_is_fitted(self)
        columns = run_concealed(lambda: feature_columns(X))
        self._check_names(X, len(columns), reset=False)
        coded = run_concealed(lambda: _coded(self._features, columns))
        return self.posterior_.predict_proba(coded)  # pyright: ignore[reportAttributeAccessIssue]

    def predict(self, X: Any) -> np.ndarray:
        """Return each row's most probable class."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _check_names(self, X: Any, n_features: int, *, reset: bool) -> None:
        """Let scikit-learn check names and number of the features, with no row in sight."""
        problem = None
        try:
            validate_data(
                self, run_concealed(lambda: without_rows(X, n_features)), reset=reset, skip_check_array=True
            )
        except (TypeError, ValueError) as error:
            problem = str(error)
        if problem is not None:
            raise UsageError(problem)

    def _read_classes(self, y: np.ndarray) -> np.ndarray:
        if self.classes is None:
            raise UsageError(_NO_CLASSES)
        if isinstance(self.classes, str):
            if self.classes != "public":
                raise UsageError(_NO_CLASSES)
            found = run_concealed(lambda: _public_classes(y))
        else:
            found = np.unique(np.asarray(self.classes))
            if len(found) != len(self.classes):
                raise UsageError("a class is declared twice.")
        if len(found) < 2:
            raise UsageError(f"a classifier needs two classes, and there is {len(found)} class.")
        return found

    def _read_features(self, n_features: int) -> list[_Coded]:
        if (self.categories is None) == (self.bounds is None):
            raise UsageError(_NO_FEATURES)
        names = [str(name) for name in getattr(self, "feature_names_in_", range(n_features))]
        if not hasattr(self, "feature_names_in_"):
            names = [f"x{name}" for name in names]
        if self.categories is not None:
            given = self.categories
            each = [given] * n_features if isinstance(given, int | np.integer) else list(given)
            if len(each) != n_features:
                raise UsageError(f"categories are for {len(each)} features, and there are {n_features}.")
            return [
                _Coded.of(name, np.arange(one) if isinstance(one, int | np.integer) else np.asarray(one))
                for name, one in zip(names, each, strict=True)
            ]
        pairs = read_pairs(self.bounds)
        pairs = pairs * n_features if len(pairs) == 1 else pairs
        if len(pairs) != n_features:
            raise UsageError(f"bounds are for {len(pairs)} features, and there are {n_features}.")
        return [
            _Binned.between(name, float(low), float(high), self.bins)
            for name, (low, high) in zip(names, pairs, strict=True)
        ]


class _Coded:
    """A column of declared values, and how they become what the release reads."""

    def __init__(self, column: Labels, values: np.ndarray) -> None:
        self.column = column
        self._values = values

    @classmethod
    def of(cls, name: str, values: np.ndarray) -> _Coded:
        """Take whole numbers and text as their own labels, anything else by its position."""
        plain = values.dtype.kind in "iuU" or all(isinstance(value, str) for value in values.tolist())
        labels = values.tolist() if plain else range(len(values))
        return cls(Labels(name, tuple(map(str, labels))), values if plain else np.asarray(values))

    def coded(self, column: np.ndarray) -> np.ndarray:
        """Return what the release reads; undeclared values are left undeclared."""
        if self._values.dtype.kind in "iu" and column.dtype.kind in "iufU":
            return column
        if self._values.dtype.kind in "UO" and all(isinstance(value, str) for value in self._values.tolist()):
            return column
        # the last of these stands for position -1
        return np.array([*self.column.labels, None], dtype=object)[_positions(column, self._values)]


class _Binned(_Coded):
    """A numeric column, cut into bins of equal width."""

    @classmethod
    def between(cls, name: str, low: float, high: float, bins: int) -> _Binned:
        bins = whole(bins, "bins", least=2, most=_MOST_BINS)
        if not low < high:
            raise UsageError(f"bounds must have their lower end first, got ({low:g}, {high:g}).")
        edges = np.linspace(low, high, int(bins) + 1)[1:-1]
        return cls(Labels(name, tuple(str(i) for i in range(int(bins)))), edges)

    def coded(self, column: np.ndarray) -> np.ndarray:
        numbers = _floats(column)
        found = np.searchsorted(self._values, np.nan_to_num(numbers), side="right")
        return np.where(np.isnan(numbers), -1, found)


def _coded(features: Sequence[_Coded], columns: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return every feature's column as the release reads it, by name."""
    return {one.column.name: one.coded(column) for one, column in zip(features, columns, strict=True)}


def _public_classes(y: np.ndarray) -> np.ndarray:
    """Return the classes that are in ``y``, each of which is there for everybody to see."""
    entries = [plain_value(value) for value in y.tolist()]
    if not all(isinstance(entry, str | int | float) and entry == entry for entry in entries):
        raise UsageError(
            "y contains NaN or an entry that is no class; with classes='public' none may be missing."
        )
    if any(isinstance(entry, float) and not entry.is_integer() for entry in entries):
        raise UsageError("Unknown label type: continuous. Classes are text or whole numbers.")
    if len({isinstance(entry, str) for entry in entries}) > 1:
        raise UsageError("y mixes text and numbers.")
    return np.unique(np.array(entries) if y.dtype.kind == "O" else y)


def _positions(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return where each entry is among the declared values, -1 where it is not."""
    known = {value: at for at, value in enumerate(values.tolist())}
    kinds = [type(value) for value in known]

    @forgiving
    def at(value: Any) -> int:
        read = plain_value(value)
        if read is UNREADABLE:
            # of the type of a declared value, or it cannot be one
            return known.get(value, -1) if any(type(value) is kind for kind in kinds) else -1
        return known.get(read, -1)

    found = [at(value) for value in column.tolist()]
    return np.array([-1 if one is None else one for one in found], dtype=np.int64)


def _floats(column: np.ndarray) -> np.ndarray:
    """Return a column as numbers, NaN for what is none; nothing about an entry raises."""
    return column.astype(float) if column.dtype.kind in "fiub" else numbers(column.tolist())[0]


def _generator(random_state: Any) -> Any:
    """Read scikit-learn's ways to give a seed."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31, size=4))
    return random_state
