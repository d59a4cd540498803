"""What cannot be asked, and what comes back from what can."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.decisions import Response
from discreet.decisions.base import Utility
from discreet.decisions.questions import parse_question
from discreet.decisions.utilities import (
    AbsoluteError,
    DecisionTable,
    IntervalScore,
    SquaredError,
    ZeroOne,
)
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior

EXACT = Diagnostics("exact", independent=True)
GRID = np.linspace(0, 1, 201)


@pytest.fixture
def beta(rng: np.random.Generator) -> Posterior:
    return Posterior({"p": rng.beta(3, 8, 5001)}, EXACT)


@pytest.fixture
def cells(rng: np.random.Generator) -> Posterior:
    draws = {"p": rng.dirichlet([5.0, 3.0, 2.0], 400)}
    return Posterior(draws, EXACT, labels={"p": ["a", "b", "c"]})


# -- bad input ----------------------------------------------------------------------------------------


class Sideways(Utility):
    """A utility whose scores lie the wrong way round."""

    def read(self, posterior: Posterior) -> np.ndarray:
        return posterior.draws["p"]

    def accept(self, candidates: Any) -> list:
        return list(candidates)

    def score(self, read: np.ndarray, candidates: Any) -> np.ndarray:
        return read[:, None] - np.array(candidates)


TWO = {"low": "p < 0.3", "high": "p >= 0.3"}


@pytest.mark.parametrize(
    ("utility", "candidates", "words"),
    [
        (SquaredError("p"), [], "at least one candidate"),
        (SquaredError("p"), np.empty(0), "at least one candidate"),
        (ZeroOne("p > 0.5"), [], "at least one candidate"),
        (lambda d, r: d["p"], (), "at least one candidate"),
        (lambda d, r: d["p"], None, "needs candidates"),
        (lambda d, r: d["p"] * np.nan, [1], "finite number at every draw"),
        (lambda d, r: np.log(0 * d["p"] + r), [1, 0, 2], "finite number at every draw"),
        (lambda d, r: 1.0, [1], r"each of the 5001 draws, got shape \(\)"),
        (lambda d, r: d["p"][:7], [1], r"got shape \(7,\)"),
        (lambda d, r: "much", [1], "must give a number for each draw"),
        (Sideways(), [1, 2], r"got shape \(5001, 2\) for 2 candidates"),
        (Sideways(), None, "needs candidates"),
        (SquaredError("p"), 0.3, "must be a sequence"),
        (SquaredError("p"), "0.3", "must be a sequence"),
        (SquaredError("p"), ["a"], "must be numbers"),
        (SquaredError("p"), [[0.1, 0.2]], r"must be numbers, got an array of shape \(1, 2\)"),
        (SquaredError("p"), [0.1, np.nan], "finite"),
        (SquaredError("rate"), GRID, "no parameter is named 'rate'"),
        (SquaredError(lambda d: d["p"].mean()), GRID, r"got shape \(\)"),
        (SquaredError(lambda d: d["p"] / 0 * 0), GRID, "finite number at every draw"),
        (SquaredError("p", within=(0.3, 1)), GRID, "outside within"),
        (IntervalScore("p"), [0.1, 0.2], r"pairs \(low, high\), got an array of shape \(2,\)"),
        (IntervalScore("p"), [(0.1, 0.2), (0.3, 0.2)], "low at most high"),
        (ZeroOne("p > 0.5"), [1, 0], "True and False"),
        (ZeroOne(lambda d: d["p"]), None, "True or False for each of the 5001 draws"),
        (DecisionTable(TWO, ["a", "b"], np.eye(2)), ["c"], "no action 'c'"),
        (DecisionTable({"low": "p < 0.3"}, ["a"], [[1]]), None, "in no state or in several"),
        (DecisionTable({"x": "p < 0.3", "y": "p > 0"}, ["a"], [[1], [2]]), None, "in no state or in several"),
        (DecisionTable(lambda d: d["p"] * 2, ["a"], [[1]]), None, "whole number from 0 to 0"),
        (DecisionTable(lambda d: d["p"] < 9, ["a"], [[1]]), None, "whole number from 0 to 0"),
        ("mean", [0.1], "dc.decisions"),
        (SquaredError, [0.1], "dc.decisions"),
        (None, [0.1], "dc.decisions"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_what_cannot_be_answered_is_one_clear_line(
    beta: Posterior, utility: Any, candidates: Any, words: str
) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        beta.respond(utility, candidates)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SquaredError("p", within=(1, 0)), "within must be"),
        (lambda: SquaredError("p", within=(0, np.inf)), "within must be"),
        (lambda: AbsoluteError("p", within=3), "within must be"),  # pyright: ignore[reportArgumentType]
        (lambda: IntervalScore("p", prob=95), "prob must"),
        (lambda: ZeroOne("p"), "cannot read the event"),
        (lambda: ZeroOne("p > half"), "cannot read the event"),
        (lambda: ZeroOne("0.1 > p > 0.05"), "cannot read the event|no parameter"),
        (lambda: DecisionTable(TWO, ["a", "b"], [[1, 2]]), "row for each state"),
        (lambda: DecisionTable(TWO, ["a", "b"], [[1, 2], [3]]), "rows of equal length"),
        (lambda: DecisionTable(TWO, ["a", "a"], np.eye(2)), "named once"),
        (lambda: DecisionTable(TWO, ["a", "b"], [[1, 2], [3, np.nan]]), "finite"),
        (lambda: DecisionTable({}, ["a"], []), "row for each state"),
        (lambda: DecisionTable(["p < 1"], ["a"], [[1]]), "events by name"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_utilities_that_mean_nothing(make: Callable[[], Utility], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Posterior({"p": np.array([0.2, 0.3])}, EXACT).respond(make(), [0.1])


def test_a_vector_asks_for_one_of_its_components(cells: Posterior) -> None:
    with pytest.raises(UsageError, match="p has 3 components") as caught:
        cells.respond(SquaredError("p"), GRID)
    assert caught.value.hint == "choose from p[a], p[b], p[c]"


# -- what comes back ----------------------------------------------------------------------------------


def test_a_response_is_frozen_and_tells(beta: Posterior) -> None:
    response = beta.respond(SquaredError("p", within=(0, 1)), [0.2, 0.27, 0.4])
    assert isinstance(response, Response)
    with pytest.raises(AttributeError):
        response.index = 1  # pyright: ignore[reportAttributeAccessIssue]
    for array in (response.utilities, response.standard_errors, response.candidates):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1  # pyright: ignore[reportIndexIssue]
    assert repr(response).startswith(
        "<Response to estimate of p (squared error): 0.27; expected utility -0.0"
    )
    assert repr(response).endswith("3 candidates, 5001 independent draws>")
    lines = str(response.summary()).splitlines()
    assert lines[0] == "estimate of p (squared error): 0.27 (utility is minus the squared error)"
    assert [line.split()[0] for line in lines[2:6]] == ["candidate", "0.27", "0.2", "0.4"]
    assert "exact engine, no approximation, 5001 independent draws" in lines
    assert "best 1 of 3" in str(response.summary(1))
    assert repr(response.summary()) == str(response.summary())
    json.dumps(response.to_dict(), allow_nan=False)


def test_warnings_come_along(rng: np.random.Generator) -> None:
    doubtful = Diagnostics("naive", "noise ignored", warnings=("over-confident.",), independent=True)
    response = Posterior({"p": rng.beta(1, 1, 50)}, doubtful).respond(ZeroOne("p > 0.5"))
    assert "warning: over-confident." in str(response.summary())
    assert "naive engine, noise ignored" in str(response.bound and response.bound.describe())


def test_answers_are_plain_values(beta: Posterior) -> None:
    assert type(beta.respond(SquaredError("p"), GRID).candidate) is float
    assert type(beta.respond(SquaredError("p"), GRID.astype(np.float32)).candidate) is float
    pair = beta.respond(IntervalScore("p"), np.array([[0.1, 0.5], [0.2, 0.6]])).candidate
    assert type(pair) is tuple
    assert all(type(end) is float for end in pair)
    assert beta.respond(ZeroOne("p > 0.1"), np.array([False, True])).candidate is True


def test_questions_as_text() -> None:
    assert parse_question("mean:p[a:b]") == SquaredError("p[a:b]")
    assert parse_question("median: rate ") == AbsoluteError("rate")
    assert parse_question("interval:rate") == IntervalScore("rate")
    assert parse_question("interval:p[a:b]") == IntervalScore("p[a:b]")
    assert parse_question("interval:p[a:b]:0.5") == IntervalScore("p[a:b]", prob=0.5)
    assert parse_question("event:p>0.5") == ZeroOne("p>0.5")
    for text in ("", "mean", "mean:", "mode:p", "interval:", "interval:0.9", "interval:p:2", "event:p"):
        with pytest.raises(UsageError, match="cannot read the"):
            parse_question(text)


def test_any_number_of_questions_reads_the_same_draws(beta: Posterior) -> None:
    before = beta.draws["p"].copy()
    answers = {beta.respond(ZeroOne(f"p > {edge / 100}")).utilities[0] for edge in range(100)}
    assert len(answers) > 50
    assert np.array_equal(beta.draws["p"], before)


def test_utilities_are_public() -> None:
    for name in ("SquaredError", "AbsoluteError", "ZeroOne", "IntervalScore", "DecisionTable", "Utility"):
        assert getattr(dc.decisions, name).__doc__
