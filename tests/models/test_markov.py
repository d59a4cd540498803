"""Markov chains: what is counted, what a record can change, and the way through a release."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.data import count_transitions
from discreet.domain.declarations import Domain
from discreet.errors import UsageError

MODEL = dc.models.MarkovChain({"ward": ["a", "b"]}, {"day": range(3)}, {"state": ["x", "y"]})
RECORDS = list(product(["a", "b"], ["0", "1", "2"], ["x", "y"]))


def counted(records: list[tuple[str, ...]]) -> np.ndarray:
    columns = {name: [record[i] for record in records] for i, name in enumerate(("ward", "day", "state"))}
    return np.array(count_transitions(columns, MODEL).values)


def by_hand(records: list[tuple[str, ...]]) -> np.ndarray:
    places: dict[tuple[str, str], list[str]] = {}
    for ward, day, state in records:
        places.setdefault((ward, day), []).append(state)
    out = dict.fromkeys(["x", "y", "xx", "xy", "yx", "yy"], 0)
    for ward in "ab":
        path = [places.get((ward, day), []) for day in "012"]
        if len(path[0]) == 1:
            out[path[0][0]] += 1
        for one, two in pairwise(path):
            if len(one) == len(two) == 1:
                out[one[0] + two[0]] += 1
    return np.array(list(out.values()))


def test_steps_are_counted_as_by_hand(rng: np.random.Generator) -> None:
    for _ in range(100):
        chosen = [RECORDS[i] for i in rng.integers(0, len(RECORDS), rng.integers(1, 9))]
        np.testing.assert_array_equal(counted(chosen), by_hand(chosen))


def test_what_is_not_declared_counts_nowhere() -> None:
    rows = [
        ("a", "0", "x"),
        ("a", "1", "?"),
        ("c", "1", "x"),
        (None, "1", "x"),
        ("a", None, "y"),
        ("a", "2", "y"),
    ]
    assert counted(rows).tolist() == [1, 0, 0, 0, 0, 0]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("neighbors", "changed"), [("replace", 4), ("add_remove", 2)])
def test_one_record_changes_no_more_than_declared(
    neighbors: Any, changed: int, rng: np.random.Generator
) -> None:
    """All tables of up to two records, many of more: the largest changes are the declared ones, in L1 and L2."""
    layout = MODEL.layout(Domain(None, None, "redact", "count"), neighbors)
    assert layout.l1_sensitivity == layout.l2_sensitivity == changed
    l1 = l2 = 0.0
    tables = [list(t) for size in range(3) for t in product(RECORDS, repeat=size)]
    tables += [[RECORDS[i] for i in rng.integers(0, len(RECORDS), rng.integers(3, 8))] for _ in range(300)]
    # a state that stays the same in one place, and two records in one place of the other
    tables.append(
        [("a", "0", "x"), ("a", "2", "x"), ("b", "0", "x"), ("b", "1", "x"), ("b", "1", "y"), ("b", "2", "x")]
    )
    for table in tables:
        before = by_hand(table)
        for record in RECORDS:
            rest = table[:-1] if neighbors == "replace" else table
            if neighbors == "replace" and not table:
                continue
            change = by_hand([*rest, record]) - before
            l1, l2 = max(l1, np.abs(change).sum()), max(l2, float(np.sqrt((change**2).sum())))
    # the pair that attains the L2 sensitivity of replace: a record moves from the full place to the empty one
    full, moved = tables[-1], [("a", "1", "x"), *(r for r in tables[-1] if r != ("b", "1", "y"))]
    if neighbors == "replace":
        change = by_hand(moved) - by_hand(full)
        l1, l2 = max(l1, np.abs(change).sum()), max(l2, float(np.sqrt((change**2).sum())))
    assert l1 == changed
    assert l2 == changed


def simulated(
    rng: np.random.Generator, wards: int = 60, days: int = 20
) -> tuple[dc.models.MarkovChain, dict]:
    model = dc.models.MarkovChain(
        {"ward": [str(i) for i in range(wards)]}, {"day": range(days)}, {"state": ["x", "y"]}
    )
    states = np.zeros((wards, days), dtype=int)
    states[:, 0] = rng.random(wards) < 0.5
    for day in range(1, days):
        states[:, day] = rng.random(wards) < np.where(states[:, day - 1] == 1, 0.8, 0.1)
    ward, day = np.indices(states.shape)
    return model, {"ward": ward.ravel(), "day": day.ravel(), "state": np.array(["x", "y"])[states.ravel()]}


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_a_release_is_read_back_and_understood(neighbors: Any, rng: np.random.Generator) -> None:
    model, rows = simulated(rng)
    made = dc.release(rows, model, epsilon=1, neighbors=neighbors)
    again = dc.Release.from_json(made.to_json())
    assert again == made
    assert "more than one" in made.statement()
    posterior = dc.infer(made, rng=rng)
    assert posterior.draws["transition"].shape == (4000, 2, 2)
    stays = posterior.draws["transition"][:, 1, 1]
    # noise is new in every run: six standard deviations, 2e-9
    assert abs(stays.mean() - 0.8) < 6 * stays.std()
    if neighbors == "add_remove":
        with pytest.raises(UsageError, match="takes no prior on the number of records"):
            dc.infer(made, records=(0, 2000))
    naive = dc.infer(made, engine="naive", rng=rng)
    assert naive.draws["transition"][:, 1, 1].std() < posterior.draws["transition"][:, 1, 1].std()


def test_one_sequence_and_one_point_in_time_are_enough(rng: np.random.Generator) -> None:
    states = {"state": ["x", "y"]}
    model = dc.models.MarkovChain({"ward": ["a"]}, {"day": range(4)}, states)
    rows = {"ward": ["a", "a", "a", "b"], "day": [0, 1, 2, 3], "state": ["x", "y", "y", "x"]}
    assert count_transitions(rows, model).values == (1, 0, 0, 1, 0, 1)
    made = dc.release(rows, model, epsilon=1)
    assert dc.Release.from_json(made.to_json()) == made
    assert dc.infer(made, draws=40, rng=rng).draws["transition"].shape == (40, 2, 2)
    once = dc.models.MarkovChain({"ward": ["a", "b"]}, {"day": 1}, states)
    rows = {"ward": ["a", "b"], "day": ["0", "0"], "state": ["y", "y"]}
    assert count_transitions(rows, once).values == (0, 2, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({"ward": ["a", "a"]}, {"day": range(3)}, {"state": ["x", "y"]}), "twice|repeated|distinct"),
        (({"ward": ["a", "b"]}, {"day": range(3)}, {"ward": ["x", "y"]}), "declared twice"),
        (({"ward": ["a"]}, {"day": range(3)}, {"state": ["x"]}), "'state' needs at least two labels"),
        (({"ward": []}, {"day": range(3)}, {"state": ["x", "y"]}), "at least one label"),
        (("ward", {"day": range(3)}, {"state": ["x", "y"]}), "sequence must be one column"),
        (({"ward": ["a", "b"]}, {"day": (0, 3)}, {"state": ["x", "y"]}), "counts labels"),
    ],
)
def test_declarations_are_checked(arguments: tuple, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        dc.models.MarkovChain(*arguments)


def test_a_file_cannot_ask_for_a_billion_steps() -> None:
    many = dc.models.MarkovChain({"ward": ["a", "b"]}, {"month": ["1", "2"]}, {"status": range(1000)})
    for neighbors in ("replace", "add_remove"):
        with pytest.raises(UsageError, match="would release 1001000 cells; at most"):
            many.layout(Domain(None, None, "redact", "count"), neighbors)
