"""Private regressions as scikit-learn estimators."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

import discreet as dc
from discreet.errors import UsageError
from discreet.sklearn import PrivateLinearRegression, PrivateLogisticRegression, PrivateNaiveBayes

_TWICE = "compares two fits, which are two releases with noise of their own"
_ROWS = "wants an error about what a row holds; here it is a missing value"
_PREDICTED = "predicts for rows with missing values, which may be fitted, but not be predicted for"
#: scikit-learn's checks that make no sense here, and why.
EXCEPTIONS = {
    "check_classifier_data_not_an_array": _TWICE,
    "check_regressor_data_not_an_array": _TWICE,
    "check_supervised_y_2d": _TWICE,
    "check_fit_idempotent": _TWICE,
    "check_dtype_object": _ROWS,
    "check_supervised_y_no_nan": _ROWS,
    "check_regressors_int": _TWICE,
    "check_estimators_pickle": _PREDICTED,
}
SKIPPED = {"check_pipeline_consistency", "check_array_api_input", "check_dict_unchanged"}


# rows of the checks leave the bounds here and there
@pytest.mark.filterwarnings("ignore:.* outside its bounds:UserWarning")
# and are so few that noise dominates
@pytest.mark.filterwarnings("ignore:(noise dominates|about .* usable):UserWarning")
@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        PrivateLinearRegression(1.0, bounds=(-5, 5), target_bounds=(-200, 200), draws=100, random_state=0),
        PrivateLogisticRegression(1.0, classes="public", bounds=(-5, 5), draws=100, random_state=0),
    ],
    ids=["linear", "logistic"],
)
def test_checks_of_scikit_learn(estimator: Any) -> None:
    checks = check_estimator(estimator, on_fail=None, on_skip=None, expected_failed_checks=EXCEPTIONS)
    failed = {check["check_name"]: check["exception"] for check in checks if check["status"] == "failed"}
    assert failed == {}
    assert {check["check_name"] for check in checks if check["status"] == "skipped"} <= SKIPPED
    assert sum(check["status"] == "passed" for check in checks) >= 35


def rows_of(n: int, rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame({"age": rng.uniform(20, 90, n), "ward": rng.choice(["a", "b"], n)})


def test_a_linear_regression(rng: np.random.Generator) -> None:
    X = rows_of(3000, rng)
    y = 80 + 0.5 * X["age"] + 6 * (X["ward"] == "b") + rng.normal(0, 8, 3000)
    model = PrivateLinearRegression(
        None,
        rho=100,
        mechanism="gaussian",
        bounds=[(20, 90), ["a", "b"]],
        target_bounds=(60, 180),
        random_state=0,
    ).fit(X, y)
    plain = LinearRegression().fit(np.column_stack([X["age"], X["ward"] == "b"]), y)
    assert model.get_feature_names_out().tolist() == ["age", "ward=b"]
    assert model.coef_ == pytest.approx(plain.coef_, rel=0.05)
    assert model.intercept_ == pytest.approx(plain.intercept_, rel=0.05)
    assert model.coef_interval_.shape == (2, 2)
    assert (model.coef_interval_[:, 0] < plain.coef_).all()
    assert (plain.coef_ < model.coef_interval_[:, 1]).all()
    mean, ends = model.predict(X, return_interval=0.9)
    assert mean == pytest.approx(model.predict(X), abs=0.1)
    assert 0.87 < np.mean((ends[:, 0] < y) & (y < ends[:, 1])) < 0.93
    assert model.score(X, y) == pytest.approx(
        plain.score(np.column_stack([X["age"], X["ward"] == "b"]), y), abs=0.01
    )
    assert dc.Release.from_json(model.release_.to_json()) == model.release_


def test_a_logistic_regression_makes_two_releases(rng: np.random.Generator) -> None:
    X = rows_of(4000, rng)
    odds = -3 + 0.06 * X["age"] + 0.7 * (X["ward"] == "b")
    y = np.where(rng.random(4000) < 1 / (1 + np.exp(-odds)), "ill", "well")
    model = PrivateLogisticRegression(
        40, classes=["well", "ill"], bounds=[(20, 90), ["a", "b"]], draws=1000, random_state=0
    ).fit(X, y)
    x = np.column_stack([(X["age"] - 55) / 35, X["ward"] == "b"])
    plain = LogisticRegression(C=1e6).fit(x, y)
    # of the second class in order, which is "well"
    assert model.classes_.tolist() == ["ill", "well"]
    assert model.coef_ * [35, 1] == pytest.approx(plain.coef_[0], abs=0.25)
    assert [one.guarantee for one in model.releases_] == [dc.PureDP(10), dc.PureDP(30)]
    assert model.release_.model.released == "step"  # pyright: ignore[reportAttributeAccessIssue]
    assert np.mean(model.predict(X) == plain.predict(x)) > 0.97
    proba = model.predict_proba(X)
    assert proba.sum(axis=1) == pytest.approx(1)
    assert model.decision_function(X) == pytest.approx(np.log(proba[:, 1] / proba[:, 0]))
    likelier, ends = model.predict(X, return_interval=0.95)
    assert likelier.tolist() == model.predict(X).tolist()
    assert (ends[:, 0] < proba[:, 1]).all()
    assert (proba[:, 1] < ends[:, 1]).all()
    again: Any = clone(model)
    labels = again.set_params(bounds=[["a", "b"]]).fit(X[["ward"]], y)
    assert len(labels.releases_) == 1
    assert labels.release_.guarantee == dc.PureDP(40)


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateLinearRegression(10, bounds=(20, 90), target_bounds=(0, 1), draws=200, random_state=0),
        PrivateLogisticRegression(10, classes=[0, 1], bounds=(20, 90), draws=200, random_state=0),
    ],
    ids=["linear", "logistic"],
)
def test_moved_rows_are_warned_of_once(estimator: Any, rng: np.random.Generator) -> None:
    """In every call that predicts, in one line; a warning of rows within the bounds would raise."""
    X = rng.uniform(20, 90, (500, 1))
    # fitting clips too, and says nothing: that would tell something about the rows
    X[:100] = 1e6
    model: Any = clone(estimator)
    model.fit(X, (rng.random(500) < 0.5).astype(int))
    assert np.all(pickle.loads(pickle.dumps(model)).predict(X[100:]) == model.predict(X[100:]))
    calls = [lambda: model.predict(X), lambda: model.predict(X, return_interval=0.9)]
    if hasattr(model, "predict_proba"):
        calls += [lambda: model.predict_proba(X), lambda: model.decision_function(X)]
    for call in calls:
        with pytest.warns(UserWarning, match="100 of 500 rows had a number outside its bounds") as said:
            call()
        assert [one.filename for one in said] == [__file__]


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateLinearRegression(0.1, bounds=(0, 1), target_bounds=(0, 1), draws=200, random_state=0),
        PrivateLogisticRegression(0.1, classes=[0, 1], bounds=(0, 1), draws=200, random_state=0),
    ],
    ids=["linear", "logistic"],
)
def test_fits_of_noise_are_warned_of(estimator: Any, rng: np.random.Generator) -> None:
    with pytest.warns(UserWarning, match="noise dominates") as said:
        estimator.fit(rng.random((100, 2)), rng.integers(0, 2, 100))
    assert [one.filename for one in said] == [__file__]
    assert str(said[0].message) == estimator.posterior_.diagnostics.headline


@pytest.mark.parametrize(
    ("estimator", "budgets"),
    [
        (PrivateLinearRegression(rho=100, bounds=(0, 1), target_bounds=(0, 1)), [{"rho": 100}]),
        (PrivateLogisticRegression(rho=100, bounds=(0, 1), classes=[0, 1]), [{"rho": 25}, {"rho": 75}]),
        (PrivateNaiveBayes(rho=100, categories=[[0, 1]] * 2, classes=[0, 1]), [{"rho": 100}]),
        (PrivateNaiveBayes(categories=[[0, 1]] * 2, classes=[0, 1]), [{"epsilon": 1}]),
    ],
    ids=["linear", "logistic", "naive Bayes", "none"],
)
def test_rho_alone_is_gaussian_noise(
    estimator: Any, budgets: list[dict[str, float]], rng: np.random.Generator
) -> None:
    X = rng.integers(0, 2, (2000, 2))
    y = np.where(rng.random(2000) < 0.2, 1 - X[:, 0], X[:, 0])
    model = estimator.set_params(draws=200).fit(X, y)
    releases = getattr(model, "releases_", [model.release_])
    assert [one.guarantee.budgets() for one in releases] == budgets


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (PrivateLinearRegression(target_bounds=(0, 1)), "declare the features"),
        (PrivateLinearRegression(bounds=(0, 1)), "declare the target"),
        (PrivateLinearRegression(bounds=[(0, 1)], target_bounds=(0, 1)), "bounds are for 1 features"),
        (PrivateLogisticRegression(bounds=(0, 1)), "declare the classes"),
        (PrivateLogisticRegression(classes=[0, 1, 2], bounds=(0, 1)), "Only binary classification"),
        (PrivateLogisticRegression(classes=[0, 1], bounds=(0, 1), first_share=1), "first_share must"),
    ],
)
def test_what_is_refused(estimator: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        estimator.fit(np.zeros((4, 2)), [0, 1, 0, 1])
    with pytest.raises(UsageError, match="requires y"):
        estimator.fit(np.zeros((4, 2)), None)


def test_bounds_go_by_name(rng: np.random.Generator) -> None:
    X, by_name = rows_of(200, rng), {"ward": ["a", "b"], "age": (20, 90)}
    with pytest.warns(UserWarning, match="noise dominates"):
        model = PrivateLinearRegression(1, bounds=by_name, target_bounds=(0, 90), draws=100).fit(X, X["age"])
    assert model.get_feature_names_out().tolist() == ["age", "ward=b"]
    labels: Any = {"ward": ["a", "b"], "age": ["20", "90"]}
    counted = PrivateNaiveBayes(1, classes=["a", "b"], categories=labels, draws=100).fit(X, X["ward"])
    assert [one.labels for one in counted.release_.model.label_columns[1:]] == [("20", "90"), ("a", "b")]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"age": (20, 90)}, "bounds say nothing about the feature 'ward'"),
        ({"agee": (20, 90), "ward": ["a", "b"]}, "bounds name 'agee', which is no feature"),
        ([(20, 90), (1, 2, 3)], "column 'ward' has two bounds, got 3 numbers"),
        ([("20", "90"), ["a", "b"]], "'90'. of column 'age' may be bounds, and may be labels"),
        (
            [(np.datetime64("2020-01-01"), np.datetime64("2021-01-01")), ["a", "b"]],
            "bounds of 'age' are dates",
        ),
        ([(20, 90), "ab"], "ward must be .low, high. or a list of labels"),
        ("ab", "bounds must be a list with an entry for each feature"),
    ],
)
def test_bounds_that_are_no_bounds_spend_nothing(bounds: Any, words: str, rng: np.random.Generator) -> None:
    X = rows_of(20, rng)
    model = PrivateLinearRegression(1, bounds=bounds, target_bounds=(0, 90))
    with pytest.raises(UsageError, match=words):
        model.fit(X, X["age"])
    assert not hasattr(model, "release_")
