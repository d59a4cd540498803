"""Reports over time: the sum of new ones, the same one for one observation, and a memory that survives."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import BudgetError, DiscreetError, UsageError
from discreet.profiles import Bins, FittedMechanism, ProfileGraph, Reporter, SmoothCategorical

BINS = Bins([0, 10, 20, 50])
GRAPH = ProfileGraph(
    {"low": ["0.7", "0.2", "0.1"], "high": ["0.2", "0.3", "0.5"]}, "complete", categories=BINS.categories
)


@pytest.fixture(scope="module")
def mechanism() -> FittedMechanism:
    return SmoothCategorical().fit(GRAPH, "0.5")


def test_bins() -> None:
    assert BINS.labels([0, 9.99, 10, 19.999, 20, 49, 50, 1e9, -3, None, "x"]) == [
        *["0 to 10"] * 2, *["10 to 20"] * 2, *["20 to 50"] * 4, "0 to 10", None, None,
    ]  # fmt: skip
    for bad in ([], [0, 1], [0, 2, 1], [0, 0, 1], "012", [0, "a", 2], None, [0, float("inf"), 2]):
        with pytest.raises(UsageError):
            Bins(bad)  # pyright: ignore[reportArgumentType]


def test_new_observations_add_up_and_the_budget_holds(mechanism: FittedMechanism, tmp_path: Path) -> None:
    memory = tmp_path / "device.json"
    one = Reporter(mechanism, "low", "1.2", memory, BINS)
    first = one.report(3, "monday")
    assert {one.report(40, "monday") for _ in range(50)} == {first}
    assert one.spent == Fraction(1, 2)
    one.report(12, "tuesday")
    assert one.guarantee.epsilon == 1
    with pytest.raises(BudgetError, match=r"1\.5, and the budget is 1\.2"):
        one.report(12, "wednesday")
    again = Reporter(mechanism, "low", "1.2", memory, BINS)
    assert again.spent == 1
    assert again.report(49, "monday") == first
    with pytest.raises(BudgetError):
        again.report(12, "wednesday")
    assert again.spent == 1


def test_an_interrupted_report_is_charged_once(mechanism: FittedMechanism, tmp_path: Path) -> None:
    memory = tmp_path / "device.json"
    one = Reporter(mechanism, "low", 1, memory, BINS)
    one._charge("monday")
    again = Reporter(mechanism, "low", 1, memory, BINS)
    assert again.report(3, "monday") in BINS.categories
    assert again.spent == Fraction(1, 2)


def test_the_sum_is_what_two_reports_lose_and_one_observation_twice_is_no_sum(
    mechanism: FittedMechanism,
) -> None:
    out = mechanism.outputs
    two = {y: np.array([out[i, y[0]] * out[i, y[1]] for i in (0, 1)]) for y in product(range(3), repeat=2)}
    worst = max(abs(np.log(p[0] / p[1])) for p in two.values())
    assert 0.99 < worst <= 1.0
    # the control: one observation reported twice, each time drawn anew, loses more than the sum
    flip = ProfileGraph({"fair": [0.5, 0.5], "one": [0.0, 1.0]}, "complete")
    whole = 2**62
    table = np.array([[[whole, 0], [0, whole]], [[whole // 2, whole // 2], [whole // 2, whole // 2]]])
    silent = FittedMechanism(flip, Fraction(0), "by_hand", table)
    apart = [
        float(flip.probabilities[i] @ (silent.matrices[i][:, 0] * silent.matrices[i][:, 1])) for i in (0, 1)
    ]
    assert apart == [0.0, 0.25]
    one = Reporter(silent, "one", 0)
    assert len({one.report(1, "monday") for _ in range(40)}) == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, p: Reporter(m, "nobody", 1), "profile"),
        (lambda m, p: Reporter(m, "low", -1), "epsilon"),
        (lambda m, p: Reporter("m", "low", 1), "mechanism"),  # pyright: ignore[reportArgumentType]
        (lambda m, p: Reporter(m, "low", 1, None, Bins([0, 1, 2])), "bins are not"),
        (lambda m, p: Reporter(m, "low", 1).report("0 to 10", ""), "key must be"),
        (lambda m, p: Reporter(m, "low", 1).report(3, "monday"), "none of the categories"),
        (lambda m, p: Reporter(m, "low", 1, None, BINS).report("secret", "monday"), "none of the categories"),
    ],
)
def test_bad_input_is_one_line(call: Any, words: str, mechanism: FittedMechanism, tmp_path: Path) -> None:
    with pytest.raises(DiscreetError, match=words) as found:
        call(mechanism, tmp_path)
    assert "secret" not in str(found.value)


def test_hostile_memories(mechanism: FittedMechanism, tmp_path: Path) -> None:
    memory = tmp_path / "device.json"
    Reporter(mechanism, "low", 1, memory, BINS).report(3, "monday")
    good = memory.read_text()
    for bad in ("", "{}", "[]", good.replace('"1/2"', '"-1"'), good.replace("monday", 'x": 1, "y')):
        memory.write_text(bad)
        with pytest.raises(DiscreetError):
            Reporter(mechanism, "low", 1, memory, BINS)
    memory.write_text(good)
    other = SmoothCategorical().fit(
        ProfileGraph(
            {"low": [0.5, 0.3, 0.2], "high": [0.1, 0.1, 0.8]}, "complete", categories=BINS.categories
        ),
        1,
    )
    with pytest.raises(UsageError, match="another graph"):
        Reporter(other, "low", 1, memory, BINS)
    assert dc.profiles.Reporter is Reporter
