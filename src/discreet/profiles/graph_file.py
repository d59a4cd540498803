"""Graphs of profiles as JSON files, exact to the last digit.

A graph may be written by hand: numbers or texts such as ``"1/3"`` for probabilities, ``"complete"`` or ``"chain"`` or
pairs of names for edges.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from discreet.arguments import FilePath
from discreet.artifact.codec import LARGEST_FILE, no_repeats
from discreet.artifact.files import read_text, write_text
from discreet.errors import ReleaseFileError, UsageError
from discreet.profiles.graph import ProfileGraph
from discreet.rational import text

FORMAT, VERSION = "discreet/profile-graph", 1


def graph_to_json(graph: ProfileGraph) -> dict[str, Any]:
    """Return a graph as JSON."""
    return {
        "format": FORMAT,
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
    if not isinstance(body, dict) or body.get("format", FORMAT) != FORMAT:
        raise UsageError(
            "this is not a graph of profiles.", hint="discreet profiles fit --help shows how one is written"
        )
    if body.get("version", VERSION) != VERSION:
        raise UsageError(f"unknown version of a graph of profiles; this discreet reads version {VERSION}.")
    unknown = set(body) - {"format", "version", "categories", "profiles", "edges"}
    if unknown or not {"profiles", "edges"} <= set(body):
        # without edges nothing is promised: whoever wants that must write []
        raise UsageError(
            'a graph of profiles has "profiles", "edges" and perhaps "categories", and nothing else.',
            hint='"edges" lists the pairs that must not be told apart; "complete" means all',
        )
    given = body["profiles"]
    try:
        profiles = dict(given)
        joined = body["edges"]
        edges: Any = joined if isinstance(joined, str) else [tuple(edge) for edge in joined]
        categories = body.get("categories")
        if len(profiles) != len(given) or not (categories is None or isinstance(categories, list)):
            raise ValueError
    except (TypeError, ValueError):
        raise UsageError(
            "the graph cannot be read.",
            hint='"profiles" maps names to probabilities, "edges" lists pairs of names',
        ) from None
    return ProfileGraph(profiles, edges, categories=categories)


def save_json(body: dict[str, Any], path: FilePath, *, private: bool = False) -> None:
    """Write an object, one field on each line; only its owner can read a ``private`` one."""
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in body.items()]
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n", private=private)


def load_json(path: FilePath, number: Callable[[str], Any] = Decimal) -> Any:
    """Read JSON without repeated fields; ``number`` reads what has a decimal point."""
    content = read_text(path, "profile", LARGEST_FILE)
    try:
        return json.loads(content, parse_float=number, object_pairs_hook=no_repeats)
    except (ValueError, RecursionError) as problem:
        reason = "a field is repeated" if "repeated" in str(problem) else "its JSON is damaged or incomplete"
        raise ReleaseFileError(f"{os.fspath(path)}: {reason}.") from None
