"""Graphs of profiles: every way to make one, and every way to get it wrong."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import DataError, ReleaseFileError, UsageError
from discreet.profiles import ProfileGraph
from tests.profiles.cases import CHAIN


def names_of(graph: ProfileGraph) -> list[tuple[Any, Any]]:
    return [(graph.profiles[i], graph.profiles[j]) for i, j in graph.edges]


def test_probabilities_are_the_decimals_that_were_written() -> None:
    graph = ProfileGraph.chain(CHAIN)
    assert graph.distributions[0] == (Fraction(1, 5), Fraction(3, 10), Fraction(2, 5), Fraction(1, 10))
    assert all(sum(row) == 1 for row in graph.distributions)


def test_floats_that_miss_one_by_rounding_are_divided_by_their_sum(rng: np.random.Generator) -> None:
    graph = ProfileGraph(
        {"a": [1 / 3] * 3, "b": ["1/3", Fraction(1, 3), "1/3"], "c": rng.dirichlet(np.ones(3))}
    )
    assert graph.distributions[0] == graph.distributions[1] == (Fraction(1, 3),) * 3
    assert sum(graph.distributions[2]) == 1


def test_bernoulli_profiles_are_one_number_each() -> None:
    graph = ProfileGraph({"a": 0.25, "b": "1/3"}, [("a", "b")])
    assert graph.categories == (0, 1)
    assert graph.distributions == ((Fraction(3, 4), Fraction(1, 4)), (Fraction(2, 3), Fraction(1, 3)))


def test_constructors_draw_the_edges_they_are_named_for() -> None:
    assert names_of(ProfileGraph.chain(CHAIN)) == [("a", "b"), ("b", "c")]
    assert names_of(ProfileGraph.complete(CHAIN)) == [("a", "b"), ("a", "c"), ("b", "c")]
    grouped = ProfileGraph.clusters(CHAIN, {"a": "x", "b": "y", "c": "x"})
    assert names_of(grouped) == [("a", "c")]
    assert grouped.components == ((0, 2), (1,))
    assert names_of(ProfileGraph(CHAIN, [("b", "a"), ("a", "b")])) == [("a", "b")]


def test_a_frame_has_a_row_for_each_profile() -> None:
    table = {"who": list(CHAIN), **{f"level {x}": [row[x] for row in CHAIN.values()] for x in range(4)}}
    for frame in (pd.DataFrame(table), pytest.importorskip("polars").DataFrame(table)):
        graph = ProfileGraph.from_frame(frame, "chain", profile="who")
        assert graph.profiles == ("a", "b", "c")
        assert graph.categories == ("level 0", "level 1", "level 2", "level 3")
        assert graph.distributions == ProfileGraph.chain(CHAIN).distributions
    with pytest.raises(UsageError, match="no column 'profile'"):
        ProfileGraph.from_frame(pd.DataFrame(table))
    with pytest.raises(UsageError, match="neither a mapping nor a data frame"):
        ProfileGraph.from_frame(3)
    with pytest.raises(UsageError, match="same profile"):
        ProfileGraph.from_frame(pd.DataFrame({"profile": ["a", "a"], "x": [0.5, 0.5], "y": [0.5, 0.5]}))


def test_a_networkx_graph_has_a_distribution_on_each_node() -> None:
    nx = pytest.importorskip("networkx")
    given = nx.path_graph(["a", "b", "c"])
    nx.set_node_attributes(given, CHAIN, "distribution")
    assert ProfileGraph.from_networkx(given) == ProfileGraph.chain(CHAIN)
    with pytest.raises(UsageError, match="attribute 'other'"):
        ProfileGraph.from_networkx(given, "other")


def test_what_only_looks_like_a_networkx_graph_is_refused() -> None:
    with pytest.raises(UsageError, match="not a networkx graph"):
        ProfileGraph.from_networkx({"a": 0.5})


def test_estimates_are_smoothed_shares() -> None:
    seen = {"a": ["lo", "lo", "hi"], "b": ["hi"]}
    graph = ProfileGraph.estimate(seen, "chain", categories=["lo", "hi"])
    assert graph.distributions == ((Fraction(3, 5), Fraction(2, 5)), (Fraction(1, 3), Fraction(2, 3)))
    frame = pd.DataFrame(
        [(who, level) for who, levels in seen.items() for level in levels], columns=["u", "v"]
    )
    same = ProfileGraph.estimate(frame, "chain", categories=["lo", "hi"], profile="u", value="v")
    assert same == graph
    plain = ProfileGraph.estimate(seen, smoothing=0)
    assert plain.categories == ("hi", "lo")
    assert plain.distributions[1] == (1, 0)
    counted = ProfileGraph.estimate({"a": np.array([0, 1, 1]), "b": [1]})
    assert counted.categories == (0, 1)
    with pytest.raises(UsageError, match="none of the categories"):
        ProfileGraph.estimate(seen, categories=["lo", "mid"])
    with pytest.raises(UsageError, match="needs smoothing"):
        ProfileGraph.estimate({"a": [], "b": ["x", "y"]}, smoothing=0)
    with pytest.raises(UsageError, match="smoothing must be 0 or more"):
        ProfileGraph.estimate(seen, smoothing=-1)


@pytest.mark.parametrize(
    ("profiles", "edges", "message"),
    [
        ({}, [], "at least one profile"),
        ([0.5], [], "must map names"),
        ({"a": [0.5, 0.4]}, [], "add up to 0.9, not to 1"),
        ({"a": [1.5, -0.5]}, [], "negative"),
        ({"a": [float("nan"), 1]}, [], "^a probability of profile 'a' must be a finite number, got nan.$"),
        ({"a": [float("inf"), 1]}, [], "must be a finite number"),
        ({"a": ["x", 1]}, [], "must be a finite number"),
        ({"a": 1.5}, [], "must lie in"),
        ({"a": float("nan")}, [], "must be a finite number"),
        ({"a": [1.0]}, [], "at least two categories"),
        ({"a": [0.5, 0.5], "b": [1, 0, 0]}, [], "3 probabilities for 2 categories"),
        ({"a": [0.5, 0.3, 0.2], "b": 0.5}, [], "needs 3 probabilities"),
        ({"a": {"x": 0.5, "y": 0.5}, "b": {"x": 0.5, "z": 0.5}}, [], "other categories"),
        ({"a": {"1": 0.5, 1: 0.5}}, [], "same name"),
        ({"": 0.5}, [], "must be a text or a whole number"),
        ({True: 0.5}, [], "must be a text or a whole number"),
        ({1: 0.5, "1": 0.5}, [], "same name"),
        ({"a": 0.5, "b": 0.5}, [("a", "c")], "names 'c', which is no profile"),
        ({"a": 0.5, "b": 0.5}, [("a", "a")], "with itself"),
        ({"a": 0.5, "b": 0.5}, ["a"], "pair of names"),
        ({"a": 0.5, "b": 0.5}, [3], "pair of names"),
        ({"a": 0.5, "b": 0.5}, "ring", "'complete' or 'chain'"),
        ({"a": [1e-250, 1 / 3, 2 / 3]}, [], "too many digits"),
    ],
)
def test_bad_graphs_are_refused_in_one_line(profiles: Any, edges: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        ProfileGraph(profiles, edges)
    assert "\n" not in caught.value.message


def test_groups_must_name_every_profile() -> None:
    with pytest.raises(UsageError, match="every profile once"):
        ProfileGraph.clusters(CHAIN, {"a": 1})


def test_files_keep_every_digit(tmp_path: Path, rng: np.random.Generator) -> None:
    graph = ProfileGraph.chain(
        {"a": rng.dirichlet(np.ones(3)), 2: rng.dirichlet(np.ones(3))}, categories=["x", 5, "z"]
    )
    graph.save(tmp_path / "graph.json")
    assert ProfileGraph.load(tmp_path / "graph.json") == graph


def test_graphs_can_be_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text('{"profiles": {"a": 0.1, "b": "1/3"}, "edges": "complete"}')
    assert ProfileGraph.load(path) == ProfileGraph.complete({"a": "1/10", "b": "1/3"})
    path.write_text(
        '{"categories": ["x", "y"], "profiles": {"a": [0.1, 0.9], "b": {"x": 1, "y": 0}}, "edges": [["a", "b"]]}'
    )
    assert ProfileGraph.load(path).distributions[1] == (1, 0)
    for content, error, message in (
        ("{", ReleaseFileError, "damaged or incomplete"),
        ('{"profiles": {"a": 0.5, "a": 0.6}}', ReleaseFileError, "repeated"),
        ("[]", UsageError, "not a graph"),
        ('{"profiles": {"a": 0.5}, "edge": []}', UsageError, "perhaps"),
        ('{"profiles": 3, "edges": []}', UsageError, "cannot be read"),
        ('{"profiles": {"a": 0.5, "b": 0.6}}', UsageError, '"complete" means all'),
        ('{"profiles": {"a": 0.5}, "edges": 3}', UsageError, "cannot be read"),
        ('{"profiles": {"a": NaN}, "edges": []}', UsageError, "finite number"),
        ('{"version": 2, "profiles": {"a": 0.5}}', UsageError, "unknown version"),
        ('{"format": "discreet/release", "profiles": {"a": 0.5}}', UsageError, "not a graph"),
    ):
        path.write_text(content)
        with pytest.raises(error, match=message):
            ProfileGraph.load(path)
    with pytest.raises(DataError, match="cannot read"):
        ProfileGraph.load(tmp_path / "absent.json")


def test_the_room_is_a_public_name() -> None:
    assert dc.profiles.ProfileGraph is ProfileGraph
