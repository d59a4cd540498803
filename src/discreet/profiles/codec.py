"""Graphs and fitted mechanisms as JSON files, exact to the last bit.

A graph may be written by hand: numbers or texts such as ``"1/3"`` for probabilities, ``"complete"`` or ``"chain"`` or
pairs of names for edges. A mechanism's file is what a device carries: reading it checks the seal (which finds damage
and is not a signature), every row, and the guarantee, edge by edge, in exact arithmetic.
"""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.artifact.codec import seal
from discreet.artifact.files import write_text
from discreet.artifact.readers import exact_fields, integer, rational, text_of, tuple_of
from discreet.errors import DataError, ReleaseFileError, UsageError
from discreet.profiles.exact import WHOLE, growth_of, holds, read_epsilon
from discreet.profiles.graph import ProfileGraph
from discreet.rational import text

if TYPE_CHECKING:
    from discreet.profiles.base import FittedMechanism

GRAPH, MECHANISM, VERSION = "discreet/profile-graph", "discreet/profile-mechanism", 1
#: The closed list of methods that a file may name.
METHODS = (
    "one_bit_pair",
    "one_bit_cluster",
    "smooth_one_bit",
    "smooth_categorical",
    "randomized_response",
    "k_randomized_response",
)


def graph_to_json(graph: ProfileGraph) -> dict[str, Any]:
    """Return a graph as JSON."""
    return {
        "format": GRAPH,
        "version": VERSION,
        "categories": list(graph.categories),
        "profiles": [
            [name, [text(p) for p in row]]
            for name, row in zip(graph.profiles, graph.distributions, strict=True)
        ],
        "edges": [[graph.profiles[i], graph.profiles[j]] for i, j in graph.edges],
    }


def graph_from_json(body: Any) -> ProfileGraph:
    """Read a graph, as written by :func:`graph_to_json` or by hand."""
    if not isinstance(body, dict) or body.get("format", GRAPH) != GRAPH:
        raise UsageError("this is not a graph of profiles.")
    if body.get("version", VERSION) != VERSION:
        raise UsageError(f"unknown version of a graph of profiles; this discreet reads version {VERSION}.")
    unknown = set(body) - {"format", "version", "categories", "profiles", "edges"}
    if unknown or "profiles" not in body:
        raise UsageError('a graph of profiles has "profiles", "edges" and perhaps "categories".')
    given = body["profiles"]
    try:
        profiles = dict(given) if isinstance(given, dict) else {name: row for name, row in given}
        edges = body.get("edges", [])
        if not isinstance(edges, str):
            edges = [tuple(edge) for edge in edges]
        categories = body.get("categories")
        if len(profiles) != len(given) or not (categories is None or isinstance(categories, list)):
            raise ValueError
    except (TypeError, ValueError):
        raise UsageError(
            "the graph cannot be read.", hint='"profiles" maps names to probabilities, "edges" lists pairs of names'
        ) from None
    return ProfileGraph(profiles, edges, categories=categories)


def mechanism_to_json(mechanism: FittedMechanism) -> dict[str, Any]:
    """Return a fitted mechanism as sealed JSON."""
    body: dict[str, Any] = {
        "format": MECHANISM,
        "version": VERSION,
        "method": mechanism.method,
        "settings": dict(mechanism.settings),
        "epsilon": text(mechanism.epsilon),
        "whole": str(WHOLE),
        "graph": graph_to_json(mechanism.graph),
        "table": [[[str(v) for v in row] for row in matrix] for matrix in mechanism.table.tolist()],
    }
    body["sha256"] = seal(body)
    return body


def mechanism_from_json(body: Any) -> FittedMechanism:
    """Read a fitted mechanism, and check its guarantee."""
    if not isinstance(body, dict) or body.get("format") != MECHANISM:
        raise ReleaseFileError("this is not a mechanism file: its format is not discreet/profile-mechanism.")
    if body.get("version") != VERSION or isinstance(body.get("version"), bool):
        raise ReleaseFileError("unknown version of a mechanism file.", hint="upgrade discreet")
    if body.get("sha256") != seal(body):
        raise ReleaseFileError(
            "the file was altered or damaged: its content does not match its seal.",
            hint="discreet profiles fit makes it again",
        )
    try:
        return _read(body)
    except UsageError as problem:
        raise ReleaseFileError(f"the file does not hang together: {problem.message}") from None
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as problem:
        reason = str(problem) if type(problem) is ValueError else "a field is missing or of the wrong kind"
        raise ReleaseFileError(f"the file does not hang together: {reason}.") from None


def _read(body: dict[str, Any]) -> FittedMechanism:
    from discreet.profiles.base import FittedMechanism

    exact_fields("the file", body, "format version method settings epsilon whole graph table sha256")
    if body["method"] not in METHODS or not isinstance(body["settings"], dict):
        raise ValueError("its method is unknown")
    if text_of(body["whole"]) != str(WHOLE):
        raise ValueError("its numbers are in other units")
    graph, epsilon = graph_from_json(body["graph"]), read_epsilon(rational(body["epsilon"]))
    rows = tuple_of(lambda m: tuple_of(lambda r: tuple_of(integer, r), m), body["table"])
    table = np.array(rows, dtype=np.int64)
    d = graph.n_categories
    if table.shape != (graph.n_profiles, d, d) or (table < 0).any() or (table > WHOLE).any():
        raise ValueError("its matrices do not fit its graph")
    # summed as Python's integers: 64 bits may overflow where somebody has tampered
    if any(sum(row) != WHOLE for matrix in rows for row in matrix):
        raise ValueError("a row of a matrix does not sum to 1")
    if not holds(graph, table, growth_of(epsilon)):
        raise ValueError("its matrices do not honor its guarantee")
    return FittedMechanism(graph, epsilon, body["method"], table, body["settings"])


# -- files ----------------------------------------------------------------------------------------------


def load_graph(path: str | os.PathLike[str]) -> ProfileGraph:
    """Read a graph from a file."""
    return graph_from_json(_load(path))


def save_graph(graph: ProfileGraph, path: str | os.PathLike[str]) -> None:
    """Write a graph to a file."""
    write_text(os.fspath(path), _dump(graph_to_json(graph)))


def load_mechanism(path: str | os.PathLike[str]) -> FittedMechanism:
    """Read a mechanism from a file."""
    return mechanism_from_json(_load(path))


def save_mechanism(mechanism: FittedMechanism, path: str | os.PathLike[str]) -> None:
    """Write a mechanism to a file."""
    write_text(os.fspath(path), _dump(mechanism_to_json(mechanism)))


def _dump(body: dict[str, Any]) -> str:
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in body.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _load(path: str | os.PathLike[str]) -> Any:
    """Read JSON; decimals stay decimals."""
    try:
        content = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not text"
        raise DataError(f"cannot read {os.fspath(path)}: {reason}.") from None
    try:
        return json.loads(content, parse_float=Decimal)
    except (ValueError, RecursionError):
        raise ReleaseFileError(f"{os.fspath(path)}: its JSON is damaged or incomplete.") from None
