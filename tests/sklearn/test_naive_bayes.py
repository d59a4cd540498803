"""Private naive Bayes as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import discreet as dc
from discreet.errors import UsageError
from discreet.sklearn import PrivateNaiveBayes

_TWICE = "compares two fits, which are two releases with noise of their own"
#: scikit-learn's checks that make no sense here, and why.
EXCEPTIONS = {
    "check_classifier_data_not_an_array": _TWICE,
    "check_supervised_y_2d": _TWICE,
    "check_fit_idempotent": _TWICE,
    "check_dtype_object": "wants an error about what a row holds; here it is a missing value",
}
# these skip themselves, for a tag or an environment variable
SKIPPED = {"check_pipeline_consistency", "check_array_api_input"}


def test_checks_of_scikit_learn() -> None:
    estimator = PrivateNaiveBayes(1.0, classes="public", bounds=(-5, 5), random_state=0)
    checks = check_estimator(estimator, on_fail=None, on_skip=None, expected_failed_checks=EXCEPTIONS)
    failed = {check["check_name"]: check["exception"] for check in checks if check["status"] == "failed"}
    assert failed == {}
    assert {check["check_name"] for check in checks if check["status"] == "skipped"} <= SKIPPED
    assert sum(check["status"] == "passed" for check in checks) >= 40


def test_it_learns(rng: np.random.Generator) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    bounds = [(0, high) for high in (30, 40, 200, 2500, 0.2)]
    model = PrivateNaiveBayes(5, classes=[0, 1], bounds=bounds, bins=8, random_state=1).fit(X[:, :5], y)
    # always the larger class is right in 63% of rows
    assert model.score(X[:, :5], y) > 0.8
    proba = model.predict_proba(X[:, :5])
    assert proba.shape == (len(X), 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert model.release_.guarantee == dc.PureDP(5)
    assert dc.Release.from_json(model.release_.to_json()) == model.release_


def test_nothing_is_kept_of_the_rows_but_the_release() -> None:
    """Whoever gets the fitted estimator gets no row: it is rebuilt from its release alone."""
    rows = np.array([[0, 1], [1, 1], [1, 0]] * 20)
    model = PrivateNaiveBayes(1, classes=[0, 1], categories=2, random_state=3).fit(rows, rows[:, 0])
    again = dc.infer(model.release_, prior=1.0, draws=400, chains=1, rng=3)
    for name, draws in model.posterior_.draws.items():
        np.testing.assert_array_equal(draws, again.draws[name])
    learned = {name for name in vars(model) if name.endswith("_") or name.startswith("_")}
    assert learned == {"n_features_in_", "classes_", "_features", "release_", "posterior_"}


def test_labels_of_any_kind() -> None:
    frame = pd.DataFrame({"sex": ["f", "m"] * 30, "stage": ["a", "b", "c"] * 20})
    y = np.array(["ill", "well"] * 30)
    model = PrivateNaiveBayes(
        20, classes=["well", "ill"], categories=[["f", "m"], ["a", "b", "c"]], random_state=0
    )
    model.fit(frame, y)
    assert model.release_.columns == ("class", "sex", "stage")
    assert (model.predict(frame) == y).mean() > 0.9
    floats = PrivateNaiveBayes(20, classes=[0.5, 1.5], categories=[["f", "m"], 3], random_state=0)
    strange = [object(), None, "z"] * 20
    coded = np.array([frame["sex"], strange], dtype=object).T
    floats.fit(coded, np.where(y == "ill", 0.5, 1.5))
    assert set(floats.predict(coded)) <= {0.5, 1.5}


def test_whatever_rows_hold_nothing_is_raised() -> None:
    rows = np.array([[0.0, np.nan], [np.inf, 1e300], [-np.inf, -1e300], [3.0, 4.0]] * 5)
    model = PrivateNaiveBayes(1, classes=[0, 1], bounds=(0, 1), random_state=0)
    y = np.array([0, 1, 7, -1] * 5)
    model.fit(rows, y)
    assert np.isfinite(model.predict_proba(rows)).all()
    huge = np.array([[0.5, 10**400], [-(10**400), 0.5]] * 10, dtype=object)
    assert np.isfinite(model.fit(huge, y).predict_proba(huge)).all()


@pytest.mark.parametrize(
    ("classes", "y"),
    [
        ([0, 1], [0.0, np.nan, 1.0, np.inf]),
        (["no", "yes"], ["no", None, "yes", float("nan")]),
        (["no", "yes"], pd.Series(["no", None, "yes", "yes"])),
    ],
)
def test_a_missing_class_is_not_raised(classes: list[Any], y: Any) -> None:
    rows = np.array([[0, 1], [1, 1], [1, 0], [0, 0]])
    model = PrivateNaiveBayes(1, classes=classes, categories=2, random_state=0).fit(rows, y)
    assert model.release_.records == 4
    # where it is public which classes there are, so is that none is missing
    with pytest.raises(ValueError, match="contains"):
        PrivateNaiveBayes(1, classes="public", categories=2).fit(rows, y)


def test_rows_and_classes_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="as many rows as each other"):
        PrivateNaiveBayes(1, classes=[0, 1], categories=2).fit([[0, 1], [1, 1]], [0, 1, 1])


_SOUND = [[0, 1], [1, 0]] * 200
_CLASSES = [0, 1] * 200


def _counted(rows: Any, y: Any, **declared: Any) -> np.ndarray:
    """Return the counts of a release with next to no noise: above 0 with probability below 1e-100."""
    fitted = PrivateNaiveBayes(10_000, classes=[0, 1], random_state=0, **declared).fit(rows, y)
    return np.array(fitted.release_.totals.values)


@pytest.mark.parametrize(
    "odd",
    ["a", None, float("nan"), float("inf"), 1j, 10**400, (1, 2), object()],
    ids=["text", "none", "nan", "infinite", "complex", "huge", "pair", "object"],
)
@pytest.mark.parametrize("declared", [{"categories": 2}, {"bounds": (0, 1), "bins": 2}])
def test_an_odd_record_changes_its_own_counts_alone(odd: Any, declared: dict[str, Any]) -> None:
    """Numpy makes text of all numbers in a list if one entry is text: then one record would change all counts."""
    base = _counted(_SOUND, _CLASSES, **declared)
    assert base.sum() == 2 * len(_SOUND)
    in_row = _counted([[odd, 1], *_SOUND[1:]], _CLASSES, **declared)
    in_class = _counted(_SOUND, [odd, *_CLASSES[1:]], **declared)
    # two tables, one cell left and one entered in each
    assert np.abs(in_row - base).sum() <= 4
    assert np.abs(in_class - base).sum() <= 4


def test_whole_numbers_of_any_dtype_are_the_same_labels() -> None:
    rows = np.array([[5, 7], [7, 5]] * 50)
    y = np.array([0, 1] * 50)
    found = [_counted(rows.astype(kind), y, categories=[[5, 7]] * 2) for kind in (int, float, object, str)]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("rows", [[1234, 5678], [[1234], [5678, 9]], np.array([[1234 + 1j], [5678]])])
def test_errors_about_shape_and_type_show_no_entry(rows: Any) -> None:
    with pytest.raises(UsageError) as caught:
        PrivateNaiveBayes(1, classes=[0, 1], categories=2).fit(rows, [0, 1])
    assert not any(digit in str(caught.value) for digit in ("1234", "5678"))


def test_the_number_of_rows_is_not_told() -> None:
    with pytest.raises(UsageError, match="as many rows") as caught:
        PrivateNaiveBayes(1, classes=[0, 1], categories=2, neighbors="add_remove").fit(_SOUND, _CLASSES[:-1])
    assert "400" not in str(caught.value)


def test_a_step_of_a_pipeline() -> None:
    rows = np.array([[0, 1], [1, 1], [1, 0]] * 20)
    pipeline = make_pipeline(
        FunctionTransformer(), PrivateNaiveBayes(1, classes=[0, 1], categories=2, neighbors="add_remove")
    )
    fresh: Any = clone(pipeline)
    assert fresh.fit(rows, rows[:, 0]).predict(rows).shape == (60,)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"categories": 2}, "declare the classes"),
        ({"classes": "private", "categories": 2}, "declare the classes"),
        ({"classes": [0, 1]}, "declare the features"),
        ({"classes": [0, 1], "categories": 2, "bounds": (0, 1)}, "declare the features"),
        ({"classes": [0, 0], "categories": 2}, "declared twice"),
        ({"classes": [0], "categories": 2}, "needs two classes"),
        ({"classes": [0, 1], "categories": [2, 2, 2]}, "for 3 features, and there are 2"),
        ({"classes": [0, 1], "bounds": [(0, 1)] * 3}, "for 3 features, and there are 2"),
        ({"classes": [0, 1], "bounds": (0, 1), "bins": 1}, "bins must be"),
        ({"classes": [0, 1], "bounds": (1, 0)}, "lower end first"),
        ({"classes": [0, 1], "categories": 2, "epsilon": -1}, "epsilon must be positive"),
    ],
)
def test_declarations_are_checked(declared: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        PrivateNaiveBayes(**declared).fit([[0, 1], [1, 0]], [0, 1])
