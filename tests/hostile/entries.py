"""Every function that takes rows, each as a call on a table with the columns that it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import discreet as dc
from discreet import data, profiles
from discreet.families import Predicate
from discreet.models import (
    BayesianNetwork,
    DeclaredLikelihood,
    HiddenMarkov,
    HiddenNetwork,
    LinearRegression,
    LogisticRegression,
    MarkovChain,
    Mixture,
    NaiveBayes,
    Trajectories,
)
from discreet.sklearn import PrivateNaiveBayes

ALL = (
    "pandas",
    "polars",
    "arrow",
    "dictionary",
    "numpy",
    "rows",
    "series",
    "no table",
    "text file",
    "parquet",
)
MEMORY = tuple(name for name in ALL if name not in ("text file", "parquet"))


@dataclass(frozen=True)
class Entry:
    """A function that takes rows.

    ``steady`` says that only types and declarations raise, so that the value of one record changes nothing; ``strict``,
    that this holds also where the program makes errors of warnings. ``shaped`` entries check that the rows of a list
    are all rows, and of one length.
    """

    call: Callable[[Any], Any]
    names: Sequence[str] = ("x",)
    containers: Sequence[str] = ALL
    steady: bool = True
    shaped: bool = False
    strict: bool = False


def _release(model: Any, names: Sequence[str] = ("x",), **options: Any) -> Entry:
    if not {"mechanism", "rho"} & set(options):
        options["epsilon"] = 1
    if isinstance(model, dc.families.RecordSums):
        given = {"column": names[0]} if len(names) == 1 else {"columns": list(names)}
        options = {**given, **options}
    return Entry(lambda rows: dc.release(rows, model, **options), names, strict=True)


def _rows_of_people(model: Any, **options: Any) -> Entry:
    # the number of people is public under replace, and one name more or less changes it
    options = {"column": "x", "epsilon": 1, "unit": "y", "neighbors": "add_remove", **options}
    return Entry(lambda rows: dc.release(rows, model, **options), ("x", "y", "z"), strict=True)


def _check(family: Any, bounds: Any = None) -> Entry:
    return Entry(lambda rows: repr(dc.check(rows, family, column="x", bounds=bounds)), strict=True)


_BAYES = NaiveBayes({"x": ["yes", "no"]}, {"y": ["1", "0"], "z": (0, 1)})
_NETWORK = BayesianNetwork([("x", "y")], {"x": ["yes", "no"], "y": 2})
_LOGISTIC = LogisticRegression({"x": ["no", "yes"]}, {"y": (0, 1)})
_LINEAR = LinearRegression({"x": (0, 2)}, {"y": (0, 1)})
_PUBLIC = {"x": ["yes", "no"] * 30, "y": [1, 0] * 30, "z": [0.25, 0.75] * 30}


@cache
def _posterior(model: Any) -> Any:
    if isinstance(model, NaiveBayes | BayesianNetwork):
        made = dc.release(_PUBLIC, model, epsilon=5)
    else:
        made = dc.release(_PUBLIC, model, mechanism=dc.mechanisms.NoisySGD(rho=5), missing="none")
    return dc.infer(made, draws=50, chains=1, rng=0)


@cache
def _fitted() -> PrivateNaiveBayes:
    return _estimator().fit([[0, 1], [1, 0]] * 20, [0, 1] * 20)


def _estimator(**given: Any) -> PrivateNaiveBayes:
    return PrivateNaiveBayes(
        1, **({"classes": [0, 1], "categories": 2, "draws": 20, "random_state": 0} | given)
    )


def _fit(target: str, **given: Any) -> Callable[[Any], Any]:
    def call(rows: Any) -> Any:
        n = _length(rows)
        other = [[0, 1]] * n if target == "y" else [i % 2 for i in range(n)]
        return _estimator(**given).fit(*((other, rows) if target == "y" else (rows, other)))

    return call


def _length(rows: Any) -> int:
    if isinstance(rows, dict):
        return 2
    try:
        return len(rows)
    except BaseException:
        return 2


@cache
def _profile() -> Any:
    graph = profiles.ProfileGraph({"p": 0.3, "q": 0.6}, "complete")
    return profiles.RandomizedResponse().fit(graph, 1)


def _mechanisms() -> dict[str, Entry]:
    impute: Any = {"impute": 0}
    return {
        "posterior sampling": _release(
            dc.Bernoulli(),
            mechanism=dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=("0.1", "0.9")),
            **impute,
        ),
        "posterior sampling of labels": _release(
            dc.Categorical(["yes", "no"]),
            mechanism=dc.mechanisms.PosteriorSampling("dirichlet:1,1", epsilon=1, support="0.1"),
            impute="no",
        ),
        "Rényi": _release(
            dc.Bernoulli(), mechanism=dc.mechanisms.RenyiPosterior("beta:1,1", order=2, epsilon=0.1), **impute
        ),
        "statistical query": _release(
            Predicate(),
            mechanism=dc.mechanisms.StatisticalQuery("beta:1,1", order=2, epsilon=0.1),
            **impute,
        ),
        "Metropolis": _release(
            dc.Bernoulli(),
            mechanism=dc.mechanisms.PrivateMetropolis("beta:1,1", epsilon=1, steps=3, support=("0.1", "0.9")),
            **impute,
        ),
        "annealing": _release(
            dc.Bernoulli(),
            mechanism=dc.mechanisms.PrivateAnnealing(
                "beta:1,1", epsilon=1, support=("0.1", "0.9"), levels=2, trajectories=2
            ),
            **impute,
        ),
        "tables": _release(
            _NETWORK,
            ("x", "y"),
            mechanism=dc.mechanisms.TablePosterior(epsilon=1, support="0.05"),
            impute={"x": "no", "y": "0"},
        ),
        "Gibbs": _release(
            Mixture(2, {"x": ["yes", "no"], "y": ["1", "0"]}),
            ("x", "y"),
            mechanism=dc.mechanisms.PrivateGibbs(epsilon=1, steps=2, support="0.05"),
            impute={"x": "no", "y": "0"},
        ),
        "paths": _release(
            HiddenMarkov(2, time={"y": ["1", "0"]}, features={"x": ["yes", "no"]}),
            ("y", "x"),
            mechanism=dc.mechanisms.PrivateGibbs(epsilon=1, steps=2, support="0.05"),
            impute={"x": "no", "y": "0"},
        ),
        "trajectories": _release(
            Trajectories(["x", "y"], ["yes", "no", "1", "0"]),
            ("x", "y"),
            mechanism=dc.mechanisms.TablePosterior(epsilon=1, support="0.05", delta="1e-6"),
            impute={"x": "no", "y": "0"},
        ),
        "hidden columns": _release(
            HiddenNetwork([("u", "x"), ("u", "y")], {"x": ["yes", "no"], "y": ["1", "0"]}, {"u": 2}),
            ("x", "y"),
            mechanism=dc.mechanisms.PrivateGibbs(epsilon=1, steps=2, support="0.05"),
            impute={"x": "no", "y": "0"},
        ),
        "declared likelihood": _release(
            DeclaredLikelihood({"x": ["yes", "no"]}, {"p": [0.1, 0.5]}, [[-2.3, -0.1], [-0.7, -0.7]]),
            ("x",),
            mechanism=dc.mechanisms.PrivateGibbs(epsilon=1, steps=2),
            impute={"x": "no"},
        ),
        "gradients": _release(
            _LOGISTIC, ("x", "y"), mechanism=dc.mechanisms.NoisySGD(rho=1), impute={"x": "no", "y": 0.5}
        ),
        "gradients of numbers": _release(
            _LINEAR, ("x", "y"), mechanism=dc.mechanisms.NoisySGD(rho=1), impute={"x": 1, "y": 0.5}
        ),
    }


ENTRIES: dict[str, Entry] = {
    "Bernoulli": _release(dc.Bernoulli()),
    "Categorical": _release(dc.Categorical(["yes", "a", "1"])),
    "Poisson": _release(dc.Poisson(), bounds=(0, 10)),
    "Geometric": _release(dc.Geometric(), bounds=(0, 10), neighbors="add_remove"),
    "Exponential": _release(dc.Exponential(), bounds=(0, 10), outside="clip"),
    "Gamma": _release(dc.Gamma(shape=2), bounds=(0, 10)),
    "Laplace": _release(dc.Laplace(location=1), bounds=(0, 10)),
    "Normal": _release(dc.Normal(), bounds=(0, 10)),
    "Mean": _release(dc.Mean(), bounds=(0, 10)),
    "Histogram": _release(dc.Histogram(bins=16), bounds=(0, 10)),
    "Normal, Gaussian noise": _release(dc.Normal(variance=1), bounds=(0, 10), mechanism="gaussian", rho=1),
    "Normal in the plane": _release(dc.MultivariateNormal(2), ("x", "y"), bounds=[(0, 1), (0, 1)]),
    "people": _rows_of_people(dc.Mean(), bounds=(0, 10), per_unit="sum"),
    "people, the last": _rows_of_people(dc.Bernoulli(), per_unit="last", last_by="z"),
    "people of labels": _rows_of_people(dc.Categorical(["yes", "a", "1"]), per_unit="max"),
    "groups": _rows_of_people(dc.Mean(), bounds=(0, 10), unit=None, by="y", groups=["yes", "a"]),
    "fit check": _release(dc.Normal(), bounds=(0, 10), fit_check="0.2"),
    "several models": Entry(
        lambda rows: dc.release(
            rows, {"x": dc.Bernoulli(), "y": dc.Normal()}, epsilon=1, bounds={"y": (0, 1)}
        ),
        ("x", "y"),
    ),
    "bought bounds": _release(
        dc.Normal(), bounds=dc.mechanisms.PrivateQuantiles(0.1, 0.9, within=(0, 10), epsilon=1, cells=16)
    ),
    "naive Bayes": _release(_BAYES, ("x", "y", "z")),
    "network": _release(_NETWORK, ("x", "y")),
    "network, one more": _release(_NETWORK, ("x", "y"), neighbors="add_remove"),
    "chain": _release(MarkovChain({"x": ["yes", "a"]}, {"y": range(2)}, {"z": ["1", "0"]}), ("x", "y", "z")),
    **_mechanisms(),
    "check of numbers": _check(dc.Normal(), (0, 10)),
    "check of labels": _check(dc.Bernoulli()),
    "column names": Entry(data.column_names),
    "fit": Entry(_fit("X"), ("x", "y"), MEMORY, shaped=True),
    "fit of numbers": Entry(
        _fit("X", categories=None, bounds=(0, 1), bins=2), ("x", "y"), MEMORY, shaped=True
    ),
    "fit of words": Entry(_fit("X", categories=[["yes", "a"]] * 2), ("x", "y"), MEMORY, shaped=True),
    "fit of classes": Entry(_fit("y"), ("x",), MEMORY),
    "fit of public classes": Entry(_fit("y", classes="public"), ("x",), MEMORY, steady=False),
    "predict": Entry(lambda rows: _fitted().predict(rows), ("x", "y"), MEMORY, shaped=True),
    "predictive": Entry(
        lambda rows: _posterior(_BAYES).predict_proba(rows), ("x", "y", "z"), MEMORY, steady=False
    ),
    "likelihood": Entry(
        lambda rows: _posterior(_NETWORK).log_likelihood(rows), ("x", "y"), MEMORY, steady=False
    ),
    "regression": Entry(lambda rows: _posterior(_LOGISTIC).predict(rows), ("x", "y"), MEMORY, steady=False),
    "observations": Entry(lambda rows: _profile().privatize_many(rows, "p"), ("x",), MEMORY, steady=False),
    "profiles": Entry(lambda rows: _profile().privatize_many([0, 1], rows), ("x",), MEMORY, steady=False),
    "one observation": Entry(lambda rows: _profile().privatize(rows, "p"), ("x",), MEMORY, steady=False),
    "public records": Entry(
        lambda rows: dc.Bernoulli().learn(dc.priors.Beta(1, 1), rows), ("x",), MEMORY, steady=False
    ),
    "public labels": Entry(
        lambda rows: dc.Categorical(["yes", "a"]).learn(dc.priors.Dirichlet([1, 1]), rows),
        ("x",),
        MEMORY,
        steady=False,
    ),
}


def command_line(path: Path) -> tuple[int, str]:
    """Run ``discreet check`` on a file."""
    from typer.testing import CliRunner

    from discreet.cli.app import app

    result = CliRunner().invoke(app, ["check", str(path), "-m", "normal", "-c", "x", "-b", "0,10"])
    return result.exit_code, result.output
