"""Whatever Python can release, the command line can: models, mechanisms and arguments, walked through their registries.

What is left out is listed here with its reason, and a new model, mechanism or argument is not on the list.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import discreet as dc
from discreet.cli.options import read_model
from discreet.cli.release import release
from discreet.cli.sample_mechanisms import MECHANISMS
from discreet.mechanisms.base import Mechanism
from discreet.models.model_file import declared
from discreet.models.registry import MODELS, REGISTERED

#: Constants that a family cannot do without.
CONSTANTS = {
    "categorical": ":labels=a|b",
    "gamma": ":shape=2",
    "laplace": ":location=0",
    "multivariate_normal": ":dim=2",
}
_AB = {"x": ["a", "b"], "y": ["a", "b"]}
#: How each model of several columns is declared in a file.
FILES: dict[str, dict[str, Any]] = {
    "bayesian_network": {"edges": [["x", "y"]], "columns": _AB},
    "contingency_table": {"columns": _AB, "margins": [["x"], ["y"]]},
    "declared_likelihood": {
        "columns": {"x": ["a", "b"]},
        "parameters": {"p": [0.2, 0.5]},
        "log_likelihood": [[-0.2, -1.6], [-0.7, -0.7]],
    },
    "hidden_markov": {"states": 2, "time": {"t": {"first": 1, "last": 4}}, "features": _AB},
    "hidden_network": {"edges": [["u", "x"], ["u", "y"]], "columns": _AB, "hidden": {"u": {"labels": 2}}},
    "linear_regression": {"target": {"y": {"bounds": [0, 1]}}, "features": {"x": {"bounds": [0, 1]}}},
    "logistic_regression": {"target": {"y": ["a", "b"]}, "features": {"x": {"bounds": [0, 1]}}},
    "markov_chain": {
        "sequence": {"i": ["1", "2"]},
        "time": {"t": {"first": 1, "last": 4}},
        "state": {"x": ["a", "b"]},
    },
    "mixture": {"columns": _AB, "components": 2},
    "naive_bayes": {"target": {"y": ["a", "b"]}, "features": {"x": ["a", "b"]}},
    "trajectories": {"times": ["x", "y"], "states": ["a", "b"]},
    "poisson_regression": {"target": {"y": {"bounds": [0, 9]}}, "features": {"x": {"bounds": [0, 1]}}},
}
#: Made by options instead (--max-rows, --by), or from a function, which only Python has.
ELSEWHERE = {"cluster_mean": "max_rows", "grouped": "by", "declared_loss": None}
#: --column is repeated; several models at once are several commands.
# a command that is killed is run again with the file that it was to write; ``keep`` is for programs that go on
OTHER_WORDS = {"columns": "column", "split": None, "keep": None}


@pytest.mark.parametrize("name", sorted({*MODELS, *REGISTERED}))
def test_every_model_can_be_named_or_declared(name: str) -> None:
    options = inspect.signature(release).parameters
    if name in ELSEWHERE:
        option = ELSEWHERE[name]
        assert option is None or option in options
    elif name in MODELS:
        with_keys = FILES.get(name)
        assert with_keys is not None, f"{name} is declared in no file here"
        assert declared({"model": name, **with_keys}, "model.toml").name == name
    else:
        assert read_model(f"{name}{CONSTANTS.get(name, '')}").name == name


def test_every_mechanism_has_a_name_on_the_command_line() -> None:
    named = {taken.mechanism for taken in MECHANISMS.values()} | {"Laplace", "Gaussian", "KNorm"}
    kinds = {
        name
        for name in dc.mechanisms.__all__
        if isinstance(kind := getattr(dc.mechanisms, name), type)
        and issubclass(kind, Mechanism)
        and not inspect.isabstract(kind)
    }
    assert kinds - {"Mechanism"} <= named


def test_every_argument_of_release_is_an_option() -> None:
    options = set(inspect.signature(release).parameters)
    for name in inspect.signature(dc.release).parameters:
        word = OTHER_WORDS.get(name, name)
        assert word is None or word in options, f"--{name} is missing"
