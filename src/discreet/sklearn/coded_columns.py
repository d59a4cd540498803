"""Columns as scikit-learn hands them over: declared values, classes, names, and nothing raised about a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from warnings import warn

import numpy as np

from discreet.arguments import listed, whole
from discreet.domain.columns import Labels
from discreet.errors import UsageError
from discreet.extras import needed_for
from discreet.names import did_you_mean
from discreet.objects import UNREADABLE, forgiving, plain_value

with needed_for("discreet.sklearn"):
    from sklearn.exceptions import DataConversionWarning
    from sklearn.utils.validation import validate_data

with needed_for("reading rows"):
    from discreet.data.sources.conceal import run_concealed
    from discreet.data.sources.entries import feature_columns, target_column, without_rows
    from discreet.data.sources.values import numbers

# more than a table of counts can use
_MOST_BINS = 10_000
_NO_CLASSES = (
    "declare the classes: give classes=[…], or classes='public' if which classes there are is public."
)
_COLUMN_VECTOR = "A column-vector y was passed when a 1d array was expected; its one column is taken."


def read_rows(estimator: Any, X: Any, y: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the columns of the features and the target; raise for names, shapes and types alone."""
    if y is None:
        raise UsageError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    columns = run_concealed(lambda: feature_columns(X))
    check_names(estimator, X, len(columns), reset=True)
    target, is_table = run_concealed(lambda: target_column(y))
    if is_table:
        warn(_COLUMN_VECTOR, DataConversionWarning, stacklevel=3)
    if any(len(column) != len(target) for column in columns):
        # how many rows there are can be private
        raise UsageError("X and y must have as many rows as each other.")
    return columns, target


def check_names(estimator: Any, X: Any, n_features: int, *, reset: bool) -> None:
    """Let scikit-learn check names and number of the features, with no row in sight."""
    problem = None
    try:
        validate_data(
            estimator, run_concealed(lambda: without_rows(X, n_features)), reset=reset, skip_check_array=True
        )
    except (TypeError, ValueError) as error:
        problem = str(error)
    if problem is not None:
        raise UsageError(problem)


def feature_names(estimator: Any, n_features: int) -> list[str]:
    """Return the names of the features: those of a data frame, or x0, x1, ..."""
    named = getattr(estimator, "feature_names_in_", None)
    return [f"x{at}" for at in range(n_features)] if named is None else [str(name) for name in named]


def for_each_feature(estimator: Any, given: Any, n_features: int, argument: str) -> list[Any]:
    """Return what is declared for each feature, in the order of X: from a list, or by name."""
    names = feature_names(estimator, n_features)
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                near = did_you_mean(str(name), names)
                raise UsageError(
                    f"{argument} name {name!r:.60}, which is no feature.",
                    hint=f"{near}the features of X are {', '.join(names):.120}",
                )
        missing = [name for name in names if name not in given]
        if missing:
            raise UsageError(f"{argument} say nothing about the feature {missing[0]!r:.60}.")
        given = [given[name] for name in names]
    each = listed(given, argument, "a list with an entry for each feature, or a dictionary by name")
    if len(each) != n_features:
        raise UsageError(f"{argument} are for {len(each)} features, and there are {n_features}.")
    return each


def read_classes(classes: Any, y: np.ndarray) -> np.ndarray:
    """Return the classes in order: those declared, or with ``"public"`` those that are in ``y``."""
    if classes is None:
        raise UsageError(_NO_CLASSES)
    if isinstance(classes, str):
        if classes != "public":
            raise UsageError(_NO_CLASSES)
        found = run_concealed(lambda: _public_classes(y))
    else:
        found = np.unique(np.asarray(classes))
        if len(found) != len(classes):
            raise UsageError("a class is declared twice.")
    if len(found) < 2:
        raise UsageError(f"a classifier needs two classes, and there is {len(found)} class.")
    return found


class Coded:
    """A column of declared values, and how they become what the release reads."""

    def __init__(self, column: Labels, values: np.ndarray) -> None:
        self.column = column
        self._values = values

    @classmethod
    def of(cls, name: str, values: Any) -> Coded:
        """Take whole numbers and text as their own labels, anything else by its position."""
        values = np.asarray(listed(values, name, "(low, high) or a list of labels"))
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
        return np.array([*self.column.labels, None], dtype=object)[positions(column, self._values)]


class Binned(Coded):
    """A numeric column, cut into bins of equal width."""

    @classmethod
    def between(cls, name: str, low: float, high: float, bins: int) -> Binned:
        bins = whole(bins, "bins", least=2, most=_MOST_BINS)
        if not low < high:
            raise UsageError(f"bounds must have their lower end first, got ({low:g}, {high:g}).")
        edges = np.linspace(low, high, int(bins) + 1)[1:-1]
        return cls(Labels(name, tuple(str(i) for i in range(int(bins)))), edges)

    def coded(self, column: np.ndarray) -> np.ndarray:
        numbers = floats(column)
        found = np.searchsorted(self._values, np.nan_to_num(numbers), side="right")
        return np.where(np.isnan(numbers), -1, found)


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


def positions(column: np.ndarray, values: np.ndarray) -> np.ndarray:
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


def floats(column: np.ndarray) -> np.ndarray:
    """Return a column as numbers, NaN for what is none; nothing about an entry raises."""
    return column.astype(float) if column.dtype.kind in "fiub" else numbers(column.tolist())[0]


def generator(random_state: Any) -> Any:
    """Read scikit-learn's ways to give a seed."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31, size=4))
    return random_state
