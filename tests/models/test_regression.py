"""Regressions as declarations: columns, vectors, constants in files, predictions."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.errors import UsageError
from discreet.models import DeclaredLoss, Labels, LinearRegression, LogisticRegression, Numeric

TARGET = {"ill": ["no", "yes"]}
FEATURES = {"age": (20, 100), "sex": ["f", "m"], "stage": ["1", "2", "3"]}
ROWS = {"age": [20, 60, 500], "sex": ["f", "m", "m"], "stage": ["1", "3", "2"]}


def test_a_record_is_a_vector_of_length_at_most_one(rng: np.random.Generator) -> None:
    model = LogisticRegression(TARGET, FEATURES)
    assert model.weight_names == ("intercept", "age", "sex=m", "stage=2", "stage=3")
    assert (model.dimension, model.draw_names) == (5, ("weights",))
    assert model.column_names == ("ill", "age", "sex", "stage")
    codes = np.stack([rng.integers(0, k, 500) for k in (2, 2, 3)], axis=1)
    values = rng.choice([20.0, 100.0, 60.0, 33.3], (500, 1))
    vectors = model.encode(codes, values)
    assert np.linalg.norm(vectors, axis=1).max() <= 1 + 1e-15
    # the largest there is: an extreme age, and labels that are not the first
    assert np.linalg.norm(model.encode(np.array([[0, 1, 2]]), np.array([[100.0]]))) == pytest.approx(1)
    assert model.aims(codes, values).tolist() == (2.0 * codes[:, 0] - 1).tolist()
    one = model.encode(np.array([[1, 1, 0]]), np.array([[40.0]]))[0] * 2
    assert one == pytest.approx([1, -0.5, 1, 0, 0])


def test_predictions() -> None:
    logistic = LogisticRegression(TARGET, FEATURES)
    weights = np.array([1.0, 2.0, -3.0, 0.5, 0.0])
    margins = np.array([1 - 2, 1 - 3, 1 + 2 - 3 + 0.5]) / 2
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        assert logistic.margins(weights, ROWS) == pytest.approx(margins)
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        assert logistic.class_probability(weights, ROWS) == pytest.approx(1 / (1 + np.exp(-margins)))
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        assert logistic.predict_at([weights, -weights], ROWS).tolist() == [
            ["no", "no", "yes"],
            ["yes", "yes", "no"],
        ]
    linear = LinearRegression({"pressure": (60, 200)}, {"age": (20, 100)})
    assert linear.predict_at([0.5, 0.5], {"age": [20, 100]}) == pytest.approx([130, 130 + 70 / np.sqrt(2)])


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(TARGET, FEATURES, ridge="0.01", radius=3),
        LogisticRegression(TARGET, FEATURES, start=[1, "0.5", -2, 0, "1/3"]),
        LinearRegression({"y": (0, 1)}, FEATURES),
        LinearRegression({"y": (0, 1)}, FEATURES, residual_sd="0.1"),
        DeclaredLoss(FEATURES, ["a", "b"], None, gradient_bound=1, smoothness=2, strong_convexity=0),
    ],
)
def test_constants_rebuild_the_model(model: Any) -> None:
    constants = json.loads(json.dumps(model.constants()))
    assert type(model).from_constants(constants) == model
    for name in constants:
        with pytest.raises((ValueError, UsageError)):
            type(model).from_constants({k: v for k, v in constants.items() if k != name} | {"other": "1"})
        for wrong in (None, 7, "x", [1], {"a": 1}):
            with pytest.raises((ValueError, UsageError)):
                type(model).from_constants({**constants, name: wrong})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LogisticRegression({"y": ["a", "b", "c"]}, FEATURES), "has two labels"),
        (lambda: LogisticRegression({"y": (0, 2)}, FEATURES), "has two labels"),
        (lambda: LogisticRegression(Numeric("y", 0, 1), FEATURES), "has two labels"),  # pyright: ignore[reportArgumentType]
        (lambda: LinearRegression({"y": ["a", "b"]}, FEATURES), "is a number with bounds"),
        (lambda: LogisticRegression({"y": ["a", "b"], "z": ["a", "b"]}, FEATURES), "has one target"),
        (lambda: LogisticRegression({"age": ["a", "b"]}, FEATURES), "among the features too"),
        (lambda: LogisticRegression(TARGET, {}), "at least one feature"),
        (lambda: LogisticRegression(TARGET, {"age": None}), "two bounds or by labels, got None"),
        (lambda: LogisticRegression(TARGET, {"age": (0, float("inf"))}), "must be a finite number"),
        (lambda: LogisticRegression(TARGET, {"age": (5, 5)}), "must be less than"),
        (
            lambda: LogisticRegression(TARGET, {"age": (1, 1 + Fraction(1, 10**20))}),
            "distinct as floating-point numbers",
        ),
        (lambda: LogisticRegression(TARGET, FEATURES, ridge=-1), "ridge must be from 0"),
        (lambda: LogisticRegression(TARGET, FEATURES, start=[1, 2]), "start must be 5 numbers"),
        (lambda: LogisticRegression(TARGET, FEATURES, start=[1e12] * 5), "at most 1000000000 in size"),
        (lambda: LogisticRegression(TARGET, FEATURES, start=3), "a list of numbers"),  # pyright: ignore
        (lambda: LogisticRegression(TARGET, FEATURES).refined(None), "posterior of the same regression"),
        (lambda: LogisticRegression(TARGET, FEATURES, radius=0), "radius must be above 0"),
        (lambda: LogisticRegression(TARGET, FEATURES, radius=10**9), "at most 1000000"),
        (lambda: LinearRegression({"y": (0, 1)}, FEATURES, residual_sd=0), "residual_sd must be above 0"),
        (
            lambda: LinearRegression({"y": (0, 1)}, FEATURES, residual_sd="1e-160"),
            "residual_sd must be at least 1e-09",
        ),
        (lambda: LogisticRegression(TARGET, FEATURES).margins([1, 2], ROWS), "has 5 weights"),
        (
            lambda: LogisticRegression(TARGET, FEATURES).margins([1] * 5, {"age": [3]}),
            "the rows have no column 'sex'",
        ),
        (
            lambda: LogisticRegression(TARGET, FEATURES).margins([1] * 5, {**ROWS, "sex": ["f"]}),
            "the same number of values",
        ),
        (
            lambda: DeclaredLoss(FEATURES, ["a"], None, smoothness=1, strong_convexity=0),
            "needs gradient_bound",
        ),
        (
            lambda: DeclaredLoss(FEATURES, ["a"], None, gradient_bound=1, strong_convexity=0),
            "needs smoothness",
        ),
        (
            lambda: DeclaredLoss(FEATURES, ["a"], None, gradient_bound=1, smoothness=1),
            "needs strong_convexity",
        ),
        (
            lambda: DeclaredLoss(FEATURES, ["a"], None, gradient_bound=1, smoothness=1, strong_convexity=2),
            "must not exceed smoothness",
        ),
        (
            lambda: DeclaredLoss(FEATURES, [], None, gradient_bound=1, smoothness=1, strong_convexity=1),
            "a list of 1 to",
        ),
        (
            lambda: DeclaredLoss(FEATURES, ["a"], 3, gradient_bound=1, smoothness=1, strong_convexity=1),  # pyright: ignore[reportArgumentType]
            "must be a function",
        ),
    ],
)
def test_declarations_that_are_refused(call: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        call()


@pytest.mark.parametrize(
    ("formula", "weights"),
    [
        ("y ~ age + C(sex)", ("age", "sex=m")),
        ("y ~ age * C(sex)", ("age", "sex=m", "age * sex=m")),
        ("y ~ age + I(age ** 2) + stage", ("age", "stage=2", "stage=3", "age ** 2")),
        ("y ~ {age**2}", ("age", "age ** 2")),
        ("y ~ (age + sex)**2 + I(age**2)", ("age", "sex=m", "age ** 2", "age * sex=m")),
        ("y ~ `age` : sex", ("age", "sex=m", "age * sex=m")),
    ],
)
def test_formulas(formula: str, weights: tuple[str, ...]) -> None:
    named = {name: FEATURES[name] for name in FEATURES if name in formula}
    model = LinearRegression.from_formula(formula, {"y": (0, 1), **named})
    assert model.weight_names == ("intercept", *weights)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("ill ~ age + weight", "column 'weight' needs bounds or labels"),
        ("ill ~ 0 + age", "has an intercept"),
        ("~ age", "no single target"),
        ("ill + x ~ age", "no single target"),
        ("ill ~ age +", "is no formula"),
        ("ill ~ log(age)", "computes 'log"),
        ("ill ~ __import__('os')", "computes"),
        ("ill ~ age : sex : stage", "more than two factors"),
        ("ill ~ .", "is no formula"),
        ("ill ~ age + age**2", "single column to a power"),
        ("ill ~ C(sex) ^ 2", "single column to a power"),
    ],
)
def test_formulas_that_are_refused(formula: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        LogisticRegression.from_formula(formula, {**TARGET, **FEATURES})


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (
            lambda: LinearRegression("y", ["age * sex"], bounds={"y": (0, 1)}),
            "the columns of the term 'age * sex' must be features too.",
            "as in ['age', 'sex', 'age * sex']",
        ),
        (
            lambda: LinearRegression("y", ["age"], bounds={"y": (0, 1), "age": (0, 9)}).submodel(
                "y", ["age ** 2"]
            ),
            "the columns of the term 'age ** 2' must be features too.",
            "as in ['age', 'age ** 2']",
        ),
        (
            lambda: LinearRegression("y", ["age^2"], bounds={"y": (0, 1), "age": (0, 9)}),
            "column 'age^2' needs bounds or labels",
            "a square is written as age ** 2",
        ),
        (
            lambda: LinearRegression.from_formula("y ~ aeg", {"y": (0, 1), "age": (0, 9)}),
            "column 'aeg' needs bounds or labels",
            "did you mean age? as in bounds=",
        ),
        (
            lambda: LinearRegression("y", ["age"], bounds={"y": (0, float("inf")), "age": (0, 9)}),
            "a bound of column 'y' must be a finite number, got inf.",
            "",
        ),
        (
            lambda: LogisticRegression(TARGET, {"sex": ["f", "m"]}).margins([0, 0], {"sex": ["w"]}),
            "column 'sex' of the rows has missing or undeclared values, in row 0.",
            "its labels are f, m",
        ),
        (
            lambda: LinearRegression({"y": (0, 1)}, FEATURES).predict_proba({}, {}),
            "linear_regression has no classes to predict.",
            "",
        ),
        (
            lambda: dc.release({}, LinearRegression({"y": (0, 1)}, FEATURES), epsilon=1),
            "there is no column 'y'",
            "the columns are none: these data have no columns",
        ),
        (
            lambda: dc.regress(
                dc.release(
                    {"y": [0.5], "age": [20], "g": ["a"]},
                    LinearRegression({"y": (0, 1)}, {"age": (0, 99)}),
                    by="g",
                    groups=["a", "b"],
                    epsilon=1,
                )
            ),
            "other regressions are read from one group at a time.",
            "for example dc.regress(release.by_group()['a'])",
        ),
    ],
)
def test_mistakes_are_answered_with_what_to_write(call: Any, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert caught.value.message.startswith(message)
    assert (caught.value.hint or "").startswith(hint)


BOUNDS = {"y": (0, 1), "age": (0, 9), "sex": ["f", "m"]}
TWICE = [Numeric("age", 0, 9), Numeric("age", 0, 8)]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize(
    ("declared", "message", "hint"),
    [
        (5, "column 'age' is declared by two bounds or by labels, got 5.", 'a number has bounds, "age": (18'),
        ("0-9", "column 'age' is declared by two bounds or by labels, got '0-9'.", "a number has bounds"),
        ({"a", "b"}, "column 'age' is declared by two bounds or by labels, got {", "a number has bounds"),
        ((1, 2, 3), "column 'age' has two bounds, got 3 numbers.", "a number has bounds"),
        ((1,), "column 'age' has two bounds, got one number.", "a number has bounds"),
        ((9, 0), "the lower bound must be less", "the smaller number comes first: age=(0, 9)"),
        ((0, float("nan")), "a bound of column 'age' must be a finite number, got nan.", ""),
        ((0, "nine"), "column 'age' is declared by a number and a text.", "a number has bounds"),
        ([False, True], "the labels of column 'age' are texts or whole numbers.", 'of yes and no: ["False'),
        (
            ("1", "2"),
            "('1', '2') of column 'age' may be bounds, and may be labels.",
            'write (1, 2) for bounds, ["1", "2"] for labels',
        ),
        ((date(2020, 1, 1), date(2021, 1, 1)), "the bounds of 'age' are dates", "give it the number of days"),
        ((np.datetime64("2020-01-01"), 3), "the bounds of 'age' are dates", "give it the number of days"),
        (("2020-01-01", "2021-01-01"), "the bounds of 'age' are dates", "give it the number of days"),
    ],
)
def test_columns_that_are_neither_bounds_nor_labels(
    declared: Any, message: str, hint: str, dictionary: bool
) -> None:
    features, bounds = ({"age": declared}, None) if dictionary else (["age"], {"age": declared})
    with pytest.raises(UsageError) as caught:
        LinearRegression({"y": (0, 1)}, features, bounds=bounds)
    assert caught.value.message.startswith(message)
    assert (caught.value.hint or "").startswith(hint)


def test_two_spellings_of_bounds_and_labels() -> None:
    """Decimals as texts are exact bounds in both; a list of two numbers is bounds only where bounds are asked for."""
    tenth = Numeric("age", "0", "0.1")  # pyright: ignore[reportArgumentType]
    assert LinearRegression({"y": (0, 1)}, {"age": ("0", "0.1")}).features == (tenth,)
    for pair in (("0", "0.1"), (0, "0.1"), [0, "0.1"]):
        assert LinearRegression("y", ["age"], bounds={"y": (0, 1), "age": pair}).features == (tenth,)
    nine = Numeric("age", 0, 9)  # pyright: ignore[reportArgumentType]
    for pair in ([0, 9], np.array([0.0, 9.0])):
        assert LinearRegression("y", ["age"], bounds={"y": (0, 1), "age": pair}).features == (nine,)
    assert LinearRegression({"y": (0, 1)}, {"age": [0, 9]}).features == (Labels("age", ("0", "9")),)


@pytest.mark.parametrize("declared", [(0, 1), [0, 1], (0.0, 1.0), ["0", "1"]])
def test_a_target_of_zero_and_one_has_these_labels(declared: Any) -> None:
    wanted = Labels("y", ("0", "1"))
    assert LogisticRegression("y", ["age"], bounds={"y": declared, "age": (0, 9)}).target == wanted
    assert LogisticRegression({"y": declared}, {"age": (0, 9)}).target == wanted


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (
            lambda: LogisticRegression("y", ["age", "sex"], bounds={**BOUNDS, "y": (1, 2)}),
            "the target 'y' of a logistic regression has two labels.",
            'write its labels as texts, ["1", "2"]',
        ),
        (
            lambda: LinearRegression("y", ["age", "y"], bounds=BOUNDS),
            "the target 'y' is among the features too.",
            "leave it out there",
        ),
        (
            lambda: LinearRegression("y", ["age", "sex", "age"], bounds=BOUNDS),
            "the feature 'age' stands twice.",
            "leave it out there",
        ),
        (lambda: LinearRegression({"y": (0, 1)}, TWICE), "the feature 'age' stands twice.", ""),
        (lambda: LinearRegression("y", [], bounds=BOUNDS), "a regression has at least one feature.", "as in"),
        (
            lambda: LinearRegression("y", ["age"], bounds=BOUNDS),
            "bounds name 'sex', which is neither",
            "list it as a feature, or leave it out of bounds",
        ),
        (
            lambda: LinearRegression("y", ["age", "sex"], bounds={**BOUNDS, "agee": (0, 1)}),
            "bounds name 'agee', which is neither",
            "did you mean age? ",
        ),
        (
            lambda: LinearRegression("y", ["age", "sex", "agee ** 2"], bounds=BOUNDS),
            "the term 'agee ** 2' names 'agee'",
            "did you mean age? ",
        ),
    ],
)
def test_names_that_are_refused(call: Any, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert caught.value.message.startswith(message)
    assert (caught.value.hint or "").startswith(hint)


REGRESSIONS: dict[str, Any] = {
    "linear": (dc.models.LinearRegression, {"y": (0, 10)}, {}),
    "labels": (dc.models.LogisticRegression, {"y": ["0", "1"]}, {}),
    "step": (dc.models.LogisticRegression, {"y": ["0", "1"]}, {"start": [0, 0, 0]}),
    "counts": (dc.models.PoissonRegression, {"y": (0, 10)}, {}),
    "step of counts": (
        dc.models.PoissonRegression,
        {"y": (0, 10)},
        {"start": [0, 0, 0], "dispersion": 1, "mean": 1},
    ),
}


@pytest.mark.parametrize("case", REGRESSIONS)
def test_predictions_for_moved_rows_are_warned_of_once(case: str, rng: np.random.Generator) -> None:
    """How many rows were moved is said once a call, where it was made; a warning of none would raise."""
    kind, target, more = REGRESSIONS[case]
    n = 300
    rows = {"age": rng.uniform(20, 100, n), "sex": rng.choice(["f", "m"], n), "y": rng.integers(0, 2, n)}
    if case in ("labels", "step"):
        rows["y"] = rows["y"].astype(str)
    model = kind(target, {"age": (20, 100), "sex": ["f", "m"]}, **more)
    posterior: Any = dc.infer(dc.release(rows, model, epsilon=5), draws=200, rng=1)
    inside = {"age": [20, 60, 100, 20], "sex": ["f", "m", "m", "f"]}
    outside = {"age": [19.9, 60, 500, 20], "sex": ["f", "m", "m", "f"]}
    asked = [lambda: posterior.predict(outside), lambda: posterior.predict(outside, interval=0.9)]
    if case in ("labels", "step"):
        asked.append(lambda: posterior.predict_proba(outside))
    for call in asked:
        with pytest.warns(UserWarning, match="2 of 4 rows had a number outside its bounds") as said:
            call()
        assert [one.filename for one in said] == [__file__]
    # the target is not asked for, wherever it lies
    far = {**inside, "y": [1000] * 4}
    assert np.all(posterior.predict(far) == posterior.predict(inside))
    with pytest.warns(UserWarning, match="2 of 4 rows"):
        assert np.all(posterior.predict(outside) == posterior.predict(inside | {"age": [20, 60, 100, 20]}))


@pytest.mark.parametrize("engine", ["auto", "naive"])
@pytest.mark.parametrize("case", REGRESSIONS)
def test_summaries_say_how_many_records_were_usable(case: str, engine: Any, rng: np.random.Generator) -> None:
    """About as many as there are whole records where the count is noisy, and exactly so where it is not."""
    kind, target, more = REGRESSIONS[case]
    n = 400
    rows = {"age": rng.uniform(20, 100, n), "sex": rng.choice(["f", "m"], n), "y": rng.integers(0, 2, n)}
    if case in ("labels", "step"):
        rows["y"] = rows["y"].astype(str)
    whole = kind(target, {"age": (20, 100), "sex": ["f", "m"]}, **more)
    few = {**rows, "age": np.where(np.arange(n) < 150, np.nan, rows["age"])}
    posterior = dc.infer(dc.release(few, whole, epsilon=40), draws=200, rng=1, engine=engine)
    assert posterior.table is not None
    assert abs(np.median(posterior.table.draws["usable"]) - 250) < 20
    assert "usable" in str(posterior.summary()).partition("Of this table itself")[2]
    known = dc.infer(dc.release(rows, whole, epsilon=5, missing="none"), draws=200, rng=1, engine=engine)
    assert known.table is not None
    assert set(known.table.draws["usable"]) == {n}


def test_posteriors_of_regressions_predict(rng: np.random.Generator) -> None:
    n = 400
    rows: dict[str, Any] = {"age": rng.uniform(20, 100, n), "sex": rng.choice(["f", "m"], n)}
    rows["stage"] = rng.choice(["1", "2", "3"], n)
    rows["ill"] = np.where(rows["age"] + 20 * rng.normal(size=n) > 60, "yes", "no")
    rows["y"] = rows["age"] / 100 + 0.1 * rng.normal(size=n)
    walk = dc.mechanisms.Langevin(epsilon=50, delta="1e-5", steps=60, samples=20)
    logistic = dc.infer(
        dc.release(rows, LogisticRegression(TARGET, FEATURES), mechanism=walk, missing="none")
    )
    assert logistic.predict_proba(rows).shape == (n, 2)  # pyright: ignore[reportAttributeAccessIssue]
    assert logistic.predict_proba(rows).sum(axis=1) == pytest.approx(1)  # pyright: ignore[reportAttributeAccessIssue]
    assert np.mean(logistic.predict(rows) == rows["ill"]) > 0.7  # pyright: ignore[reportAttributeAccessIssue]
    said = logistic.log_likelihood(rows)  # pyright: ignore[reportAttributeAccessIssue]
    chances = logistic.predict_proba(rows)[np.arange(n), (rows["ill"] == "yes").astype(int)]  # pyright: ignore[reportAttributeAccessIssue]
    assert said == pytest.approx(np.log(chances))
    model = LinearRegression({"y": (0, 1)}, FEATURES, residual_sd="0.2")
    linear = dc.infer(dc.release(rows, model, mechanism=walk, missing="none"))
    assert any("mapped from their bounds" in said for said in linear.diagnostics.warnings)
    assert np.corrcoef(linear.predict(rows), rows["age"])[0, 1] > 0.8  # pyright: ignore[reportAttributeAccessIssue]
    y, means = np.clip(rows["y"], 0, 1), model.predict_at(linear.draws["weights"], rows)
    density = stats.norm.pdf(y, means, 0.2).mean(axis=0)
    assert linear.log_likelihood(rows) == pytest.approx(np.log(density))  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(UsageError, match="missing or undeclared"):
        logistic.predict({**rows, "sex": ["?"] * n})  # pyright: ignore[reportAttributeAccessIssue]


def test_columns_that_are_declared_already() -> None:
    model = LogisticRegression(Labels("ill", ("no", "yes")), [Numeric("age", 0, 1)])  # pyright: ignore[reportArgumentType]
    assert model.weight_names == ("intercept", "age")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: LinearRegression("y", ["x"], bounds={"y": (0, 1), "x": ("2020-01-01", "2020-12-31")}),
            "the number of days since some date",
        ),
        (
            lambda: LinearRegression.from_formula("y ~ C(cyl)", {"y": (0, 1), "cyl": (4, 8)}),
            "bounds declare numbers",
        ),
    ],
)
def test_dates_as_bounds_and_numbers_as_labels_are_one_line(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    assert words in f"{caught.value.message} {caught.value.hint}"


def test_a_pair_of_exact_numbers_is_a_pair_of_bounds() -> None:
    model = LinearRegression("y", ["x"], bounds={"y": (0, 1), "x": ("0", "0.1")})
    assert model.features == (Numeric("x", Fraction(0), Fraction(1, 10)),)


def test_texts_as_labels_stay_labels() -> None:
    for labels in (["0", "1"], ("no", "yes")):
        model = LinearRegression("y", ["s"], bounds={"y": (0, 1), "s": labels})
        assert model.weight_names == ("intercept", f"s={labels[1]}")


def test_a_row_that_cannot_be_predicted_is_named() -> None:
    model = LinearRegression("y", ["x"], bounds={"y": (0, 1), "x": (0, 1)})
    draws = {"intercept": np.zeros(3), "coefficients": np.ones((3, 1)), "residual_sd": np.ones(3)}
    with pytest.raises(UsageError, match="in row 1 and 1 more"):
        model.predict(draws, {"x": [0.5, np.nan, np.nan]})
