"""Models declared in a file are the models declared in Python, and nothing else."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import DataError, UsageError
from discreet.models.registry import MODELS, REGISTERED

YES = ["no", "yes"]
# what a file says, and the same in Python
DECLARED: dict[str, tuple[str, Any]] = {
    "naive_bayes": (
        """
        model = "naive-bayes"
        [target]
        smoker = ["no", "yes"]
        [features]
        sex = ["f", "m"]
        age = { bounds = [0.5, "120.25"] }
        [split]
        age = 2.5
        """,
        dc.models.NaiveBayes({"smoker": YES}, {"sex": ["f", "m"], "age": (0.5, 120.25)}, split={"age": 2.5}),
    ),
    "bayesian_network": (
        """
        model = "bayesian_network"
        edges = [["smoker", "cough"]]
        [columns]
        smoker = ["no", "yes"]
        cough = ["no", "yes"]
        """,
        dc.models.BayesianNetwork([("smoker", "cough")], {"smoker": YES, "cough": YES}),
    ),
    "contingency_table": (
        """
        model = "contingency_table"
        margins = [["smoker"], ["cough", "smoker"]]
        [columns]
        smoker = ["no", "yes"]
        cough = ["no", "yes"]
        """,
        dc.models.ContingencyTable({"smoker": YES, "cough": YES}, [["smoker"], ["cough", "smoker"]]),
    ),
    "markov_chain": (
        """
        model = "markov_chain"
        sequence.ward = ["a", "b"]
        time.month = { first = 1, last = 12 }
        state.status = ["free", "outbreak"]
        """,
        dc.models.MarkovChain(
            {"ward": ["a", "b"]}, {"month": range(1, 13)}, {"status": ["free", "outbreak"]}
        ),
    ),
    "hidden_markov": (
        """
        model = "hidden_markov"
        states = 2
        chain.region = ["north", "south"]
        time.month = ["2004-01", "2004-02", "2004-03"]
        [features]
        type = ["attack", "accident"]
        casualties = { labels = 3 }
        [split]
        type = 2
        casualties = 1
        """,
        dc.models.HiddenMarkov(
            2,
            chain={"region": ["north", "south"]},
            time={"month": ["2004-01", "2004-02", "2004-03"]},
            features={"type": ["attack", "accident"], "casualties": 3},
            split={"type": 2, "casualties": 1},
        ),
    ),
    "mixture": (
        """
        model = "mixture"
        components = 3
        [columns]
        sex = ["f", "m"]
        smoker = ["no", "yes"]
        """,
        dc.models.Mixture(3, {"sex": ["f", "m"], "smoker": YES}),
    ),
    "trajectories": (
        """
        model = "trajectories"
        times = ["january", "february"]
        states = ["free", "outbreak"]
        """,
        dc.models.Trajectories(["january", "february"], ["free", "outbreak"]),
    ),
    "hidden_network": (
        """
        model = "hidden_network"
        edges = [["cause", "sex"], ["cause", "smoker"]]
        hidden.cause = { labels = 2 }
        [columns]
        sex = ["f", "m"]
        smoker = ["no", "yes"]
        """,
        dc.models.HiddenNetwork(
            [("cause", "sex"), ("cause", "smoker")], {"sex": ["f", "m"], "smoker": YES}, {"cause": 2}
        ),
    ),
    "declared_likelihood": (
        """
        model = "declared_likelihood"
        columns.sex = ["f", "m"]
        parameters.p = [0.25, "1/2"]
        log_likelihood = [[-0.25, -1.5], [-0.75, -0.75]]
        log_prior = [0, -1]
        """,
        dc.models.DeclaredLikelihood(
            {"sex": ["f", "m"]},
            {"p": [0.25, 0.5]},
            lambda p, r: -0.75 if p["p"] == 0.5 else {"f": -0.25, "m": -1.5}[r["sex"]],
            log_prior=lambda p: 1 - 4 * p["p"] if p["p"] == 0.5 else 0,
        ),
    ),
    "linear_regression": (
        """
        model = "linear_regression"
        target.pressure = { bounds = [60, 200] }
        features.age = { bounds = [18, 100] }
        features.sex = ["f", "m"]
        ridge = 0.01
        radius = 3
        residual_sd = "12.5"
        """,
        dc.models.LinearRegression(
            {"pressure": (60, 200)},
            {"age": (18, 100), "sex": ["f", "m"]},
            ridge=0.01,
            radius=3,
            residual_sd="12.5",
        ),
    ),
    "logistic_regression": (
        """
        model = "logistic_regression"
        target.smoker = ["no", "yes"]
        features.age = { bounds = [18, 100] }
        """,
        dc.models.LogisticRegression({"smoker": YES}, {"age": (18, 100)}),
    ),
    "poisson_regression": (
        """
        model = "poisson_regression"
        target.visits = { bounds = [0, 30] }
        features.age = { bounds = [18, 100] }
        start = [-1, "0.02"]
        dispersion = 2
        mean = "1.5"
        """,
        dc.models.PoissonRegression(
            {"visits": (0, 30)}, {"age": (18, 100)}, start=[-1, "0.02"], dispersion=2, mean="1.5"
        ),
    ),
    "mean": ('model = "mean"', dc.Mean()),
    "histogram": ('model = "histogram"\nedges = [0, 1.5, 4]', dc.Histogram(edges=[0, 1.5, 4])),
    "bernoulli": ('model = "bernoulli"\nyes = "F"\nno = "M"', dc.Bernoulli(yes="F", no="M")),
    "categorical": ('model = "categorical"\nlabels = ["a", "b|c"]', dc.Categorical(["a", "b|c"])),
    "poisson": ('model = "poisson"', dc.Poisson()),
    "geometric": ('model = "geometric"', dc.Geometric()),
    "negative_binomial": ('model = "negative_binomial"', dc.NegativeBinomial()),
    "exponential": ('model = "exponential"', dc.Exponential()),
    "gamma": ('model = "gamma"\nshape = 2', dc.Gamma(shape=2)),
    "laplace": ('model = "laplace"\nlocation = 1.5', dc.Laplace(location=1.5)),
    "normal": ('model = "normal"\nvariance = 4', dc.Normal(variance=4)),
    "multivariate_normal": ('model = "multivariate_normal"\ndim = 2', dc.MultivariateNormal(2)),
    "predicate": ('model = "predicate"', REGISTERED["predicate"]()),
}
NOT_IN_FILES = {"declared_loss", "grouped", "cluster_mean"}


def written(folder: Path, content: str, name: str = "survey.toml") -> Path:
    file = folder / name
    file.write_text(content)
    return file


def as_json(toml: str) -> str:
    import tomllib

    return json.dumps(tomllib.loads(toml))


def test_every_model_that_there_is_can_be_declared() -> None:
    # families of the how-to page are registered where its tests ran first in this process
    examples = {"share", "waiting", "two_counts"}
    assert set(DECLARED) | NOT_IN_FILES == {*MODELS, *REGISTERED} - examples


@pytest.mark.parametrize("name", DECLARED)
@pytest.mark.parametrize("ending", ["toml", "json"])
def test_a_file_declares_what_python_does(name: str, ending: str, tmp_path: Path) -> None:
    content, wanted = DECLARED[name]
    found = dc.models.load(
        written(tmp_path, content if ending == "toml" else as_json(content), f"m.{ending}")
    )
    assert found == wanted
    assert found.constants() == wanted.constants()


def test_another_order_of_times_is_another_model(tmp_path: Path) -> None:
    content, wanted = DECLARED["hidden_markov"]
    swapped = content.replace('"2004-01", "2004-02"', '"2004-02", "2004-01"')
    assert dc.models.load(written(tmp_path, swapped)) != wanted


NAIVE = DECLARED["naive_bayes"][0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the key model must name a model"),
        ("model = 3", "the key model must name a model"),
        ('model = "naive_bays"', "model: there is no model 'naive_bays'"),
        ('model = "os.system"', "model: there is no model"),
        ('model = "declared_loss"', "gradient is a function"),
        ('model = "grouped"', "--by"),
        (NAIVE.replace("[features]", "[featurs]"), "unknown key 'featurs'"),
        (NAIVE.replace("[target]", "[aim]"), "unknown key 'aim'"),
        ('model = "naive_bayes"\ntarget.smoker = ["no", "yes"]', "needs the key features"),
        (NAIVE.replace('[0.5, "120.25"]', "[120]"), "features.age.bounds must be two numbers"),
        (NAIVE.replace("0.5", '"half"'), "features.age: a bound"),
        (NAIVE.replace("0.5", "nan"), "nan is no number"),
        (NAIVE.replace("0.5", "0.12345678901234567890"), "is no number that can be held exactly"),
        (NAIVE.replace("0.5", "130.5"), "features.age: "),
        (NAIVE.replace("{ bounds", "{ bound"), "features.age must declare labels or bounds"),
        (NAIVE.replace('["f", "m"]', '["f", "f"]'), "features.sex: labels must be distinct"),
        (NAIVE.replace('["f", "m"]', "[true, false]"), "features.sex: labels must be texts or whole numbers"),
        (NAIVE.replace('["f", "m"]', '"f|m"'), "features.sex must declare labels or bounds"),
        (
            NAIVE.replace('["f", "m"]', "{ first = 3, last = 1 }"),
            "features.sex: last must not be below first",
        ),
        (NAIVE.replace('["f", "m"]', "{ first = 0, last = 99999999999 }"), "features.sex: last must not"),
        (
            NAIVE.replace('["f", "m"]', "{ first = 0, last = 1.5 }"),
            "features.sex goes from a first whole number",
        ),
        (NAIVE.replace("age = 2.5", "age = 1979-05-27"), "split.age must be a number or a text"),
        (NAIVE.replace("age = 2.5", "height = 2.5"), "split names 'height'"),
        (NAIVE.replace("age = 2.5", "age = -1"), "split must be positive"),
        (NAIVE + "sex = 1\nsex = 2", "it cannot be read: cannot overwrite a value"),
        ("model = [", "it cannot be read: "),
        ('model = "normal"\nvariance = "x"', "variance must be"),
        ('model = "normal"\nvarience = 4', "unknown key 'varience'"),
        ("x = " + "[" * 5000 + "]" * 5000, "it cannot be read"),
        ("x = " + "9" * 5000, "it cannot be read"),
        (DECLARED["hidden_markov"][0].replace("states = 2", "states = 2.0"), "states must be"),
        (DECLARED["bayesian_network"][0].replace('["smoker", "cough"]', '"smoker"'), "edges must be pairs"),
        (
            'model = "linear_regression"\ntarget = "y"\nfeatures = ["x"]\nbounds.y = [0, 1]',
            "column 'x' needs bounds or labels",
        ),
        (DECLARED["mixture"][0].replace("[columns]", "[columns.more]"), "columns.more must declare"),
    ],
)
def test_what_declares_no_model_is_one_line_that_names_the_key(
    content: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        dc.models.load(written(tmp_path, content))
    assert message in caught.value.message
    assert caught.value.message.startswith("survey.toml: ")
    assert "\n" not in caught.value.message
    for words in (caught.value.message, caught.value.hint or ""):
        assert "dc." not in words
        assert '": (' not in words


REGRESSION = 'model = "logistic_regression"\ntarget = "y"\nfeatures = ["age"]\nbounds.y = ["no", "yes"]\n'


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        (
            REGRESSION + "bounds.agee = [0, 9]",
            "column 'age' needs bounds",
            "did you mean agee? as in bounds = {",
        ),
        (
            REGRESSION + "bounds.age = [0, 9]\nbounds.agee = [0, 9]",
            "bounds name 'agee'",
            "did you mean age? ",
        ),
        (
            REGRESSION + "bounds.age = 5",
            "column 'age' is declared by two bounds or by labels",
            "as in bounds = {",
        ),
        (
            REGRESSION + 'bounds.age = ["2020-01-01", "2021-01-01"]',
            "the bounds of 'age' are dates",
            "give it",
        ),
        (
            'model = "linear_regression"\ntarget.y.bounds = [0, 1]\nfeatures.age.bounds = [2020-01-01, 2021-01-01]',
            "features.age.bounds are dates.",
            "give the column the number of days",
        ),
    ],
)
def test_regressions_in_files_are_mended_by_what_is_said(
    content: str, message: str, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        dc.models.load(written(tmp_path, content))
    assert caught.value.message.startswith(f"survey.toml: {message}")
    assert (caught.value.hint or "").startswith(hint)


def test_a_target_from_zero_to_one_has_these_labels_in_a_file_too(tmp_path: Path) -> None:
    whole = written(tmp_path, REGRESSION.replace('["no", "yes"]', "[0, 1]") + "bounds.age = [0, 9]")
    wanted = dc.models.LogisticRegression({"y": ["0", "1"]}, {"age": (0, 9)})
    assert dc.models.load(whole) == wanted


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"model": "mean", "model": "normal"}', "the key 'model' is given twice"),
        ('{"model": "normal", "variance": NaN}', "NaN is no number"),
        ("[]", "the key model must name a model"),
        ("{", "it cannot be read"),
    ],
)
def test_json_is_as_strict(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        dc.models.load(written(tmp_path, content, "survey.json"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        dc.models.load(tmp_path / "absent.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(DataError, match="it is no file"):
        dc.models.load(tmp_path / "folder.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        dc.models.load(tmp_path / "bytes.toml")
    with pytest.raises(UsageError, match=r"ends in \.toml or \.json"):
        dc.models.load(written(tmp_path, NAIVE, "survey.yaml"))


ODD: tuple[Any, ...] = (
    0,
    -1,
    2.5,
    "",
    "x",
    [],
    [[]],
    [1, "a"],
    {},
    {"a": 1},
    {"a": ["x", "y"]},
    [["a", "b"]],
    10**40,
)


@pytest.mark.parametrize("name", DECLARED)
def test_odd_values_are_refused_in_one_line_or_taken(name: str, tmp_path: Path) -> None:
    """Whatever stands under a key: a model, or a UsageError; never another exception."""
    body = json.loads(as_json(DECLARED[name][0]))
    for key in {*body, "labels", "edges"} - {"model"}:
        for odd in ODD:
            file = written(tmp_path, json.dumps({**body, key: odd}), "odd.json")
            with suppress(UsageError):
                dc.models.load(file)
