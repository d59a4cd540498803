"""Bayesian networks: declarations, and the way from rows to conditional probabilities."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pytest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.errors import EngineError, UsageError
from discreet.inference.models.network.network_engine import structure_of
from discreet.mechanisms.noise import Laplace

COLUMNS = {"sex": ["f", "m"], "smoker": ["no", "yes"], "cough": ["no", "yes"]}
EDGES = [("sex", "smoker"), ("sex", "cough"), ("smoker", "cough")]
TRUTH = {
    "sex": np.array([0.5, 0.5]),
    "smoker": np.array([[0.8, 0.2], [0.6, 0.4]]),
    "cough": np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.8, 0.2], [0.4, 0.6]]]),
}
MODEL = dc.models.BayesianNetwork(EDGES, COLUMNS)


def released(rng: np.random.Generator, rows: Any, **declared: Any) -> dc.Release:
    return release_with(lambda noise: int(noise.sample(1, rng)[0]), rows, MODEL, Laplace(1), **declared)


@pytest.mark.parametrize("declared", [{}, {"missing": "none"}, {"neighbors": "add_remove"}], ids=str)
def test_a_release_is_read_back_and_understood(declared: Any, rng: np.random.Generator) -> None:
    rows = MODEL.sample_rows(TRUTH, 3000, rng)
    made = released(rng, rows, **declared)
    assert dc.Release.from_json(made.to_json()) == made
    assert made.noise_record.sensitivity == (3 if made.neighbors == "add_remove" else 6)
    posterior = dc.infer(made, draws=1000, rng=rng)
    assert posterior.diagnostics.engine == "gibbs"
    for name, truth in TRUTH.items():
        draws = posterior.draws[name]
        assert draws.shape == (1000, *truth.shape)
        # six standard deviations: 14 of them at 2e-9 each
        assert (np.abs(draws.mean(axis=0) - truth) < 6 * draws.std(axis=0) + 1e-9).all()
    likelihood = posterior.log_likelihood(rows)  # pyright: ignore[reportAttributeAccessIssue]
    assert likelihood.shape == (3000,)


def test_missing_labels_say_nothing(rng: np.random.Generator) -> None:
    rows = MODEL.sample_rows(TRUTH, 3000, rng)
    gone = rng.random(3000) < 0.4
    rows["cough"] = np.where(gone, "?", rows["cough"])
    posterior = dc.infer(released(rng, rows), draws=1000, rng=rng)
    draws = posterior.draws["cough"]
    assert (np.abs(draws.mean(axis=0) - TRUTH["cough"]) < 6 * draws.std(axis=0)).all()


def test_a_network_of_a_class_and_features_is_naive_bayes(rng: np.random.Generator) -> None:
    """Chains over the joint table, and the exact engine of naive Bayes, read the same tables alike."""
    target, features = {"c": ["0", "1"]}, {"x": ["0", "1"], "y": ["0", "1", "2"]}
    network = dc.models.BayesianNetwork([("c", "x"), ("c", "y")], {**target, **features})
    bayes = dc.models.NaiveBayes(target, features)
    rows = {"c": rng.integers(0, 2, 60), "x": rng.integers(0, 2, 60), "y": rng.integers(0, 3, 60)}
    made = release_with(lambda noise: int(noise.sample(1, rng)[0]), rows, bayes, Laplace(1), missing="none")
    exact = dc.infer(made, draws=8000, rng=rng)
    # the same readings for the network, whose class has a table of its own: one so noisy that it says nothing
    from discreet.inference.models.network.chains import table_draws
    from discreet.inference.models.network.joint_table import (
        NetworkDistribution,
        Structure,
        conditional_draws,
    )

    structure = Structure((2, 2, 3), ((), (0,), (0,)))
    readings = np.array([0, 0, *made.totals.values])
    slope = np.array([0.0, 0.0, *[1 / float(made.noise[0].scale)] * 10])  # pyright: ignore[reportAttributeAccessIssue]
    distribution = NetworkDistribution(structure, np.ones(12), readings, slope, np.zeros(12))
    tables = table_draws(distribution, 60, 8000, 4, rng)
    drawn = conditional_draws(structure, np.ones(12), tables, rng)
    for name, found in zip(network.draw_names, drawn, strict=True):
        expected = exact.draws[name].reshape(8000, -1, found.shape[-1])
        # independent draws on one side; chains on the other, whose effective number is no less than a quarter
        error = expected.std(axis=0) * np.sqrt(1 / 8000 + 4 / 8000)
        assert (np.abs(expected.mean(axis=0) - found.mean(axis=0)) < 5 * error + 1e-12).all()
        ratio = found.std(axis=0) / expected.std(axis=0)
        np.testing.assert_allclose(ratio, 1, atol=0.12)


def test_too_many_combinations_are_left_to_the_naive_engine(rng: np.random.Generator) -> None:
    columns = {f"x{i}": [str(k) for k in range(4)] for i in range(7)}
    model = dc.models.BayesianNetwork([("x0", "x1")], columns)
    rows = {name: rng.integers(0, 4, 50) for name in columns}
    made = dc.release(rows, model, epsilon=1)
    assert structure_of(made).n_joint == 5**7
    with pytest.raises(EngineError, match="78125 ways"):
        dc.infer(made)
    assert dc.infer(made, engine="naive", rng=rng).draws["x1"].shape == (4000, 4, 4)


@pytest.mark.parametrize(
    ("edges", "columns", "message"),
    [
        ([("sex", "cough"), ("cough", "sex")], COLUMNS, "cycle: 'cough' -> 'sex' -> 'cough'"),
        ([("sex", "sex")], COLUMNS, "cycle"),
        ([("sex", "age")], COLUMNS, "names no declared column"),
        ([("sex", "cough"), ("sex", "cough")], COLUMNS, "twice"),
        ("sex->cough", COLUMNS, "pairs of column names"),
        ([("sex", 1)], COLUMNS, "pairs of column names"),
        ([], {"sex": ["f", "f"]}, "repeated"),
        ([], {"age": (0, 100)}, "counts labels"),
    ],
)
def test_declarations_are_checked(edges: Any, columns: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        dc.models.BayesianNetwork(edges, columns)


def test_a_graph_is_taken_too() -> None:
    graph = networkx.DiGraph(EDGES)
    assert dc.models.BayesianNetwork(graph, COLUMNS) == MODEL
    # whatever the order of its nodes, the columns keep theirs
    graph = networkx.DiGraph()
    graph.add_nodes_from(["cough", "smoker", "sex"])
    graph.add_edges_from(EDGES)
    assert dc.models.BayesianNetwork(graph, COLUMNS).conditionals() == MODEL.conditionals()
    alone = networkx.DiGraph([("sex", "cough")])
    assert dc.models.BayesianNetwork(alone, COLUMNS).parents("smoker") == ()


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (networkx.Graph(EDGES), "must be directed"),
        (networkx.MultiDiGraph(EDGES), "several edges"),
        (networkx.DiGraph([*EDGES, ("cough", "sex")]), "cycle"),
        (networkx.DiGraph([("sex", "age")]), "names no declared column"),
        (networkx.DiGraph([(1, 2)]), "pairs of column names"),
    ],
    ids=["undirected", "multiple", "cyclic", "unknown", "numbers"],
)
def test_other_graphs_are_refused(graph: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        dc.models.BayesianNetwork(graph, COLUMNS)
    lonely = networkx.DiGraph(EDGES)
    lonely.add_node("age")
    with pytest.raises(UsageError, match="'age' of the graph is no declared column"):
        dc.models.BayesianNetwork(lonely, COLUMNS)
