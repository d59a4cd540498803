"""Fitted mechanisms as JSON files: what a device carries.

Reading one checks the checksum (which finds damage and is not a signature), every row, and the guarantee, edge by edge,
in exact arithmetic.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import FilePath
from discreet.artifact.codec import checksum, has_checksum
from discreet.artifact.readers import exact_fields, integer, rational, text_of, tuple_of
from discreet.errors import ReleaseFileError, UsageError
from discreet.names import one_line
from discreet.profiles.exact import WHOLE, read_epsilon
from discreet.profiles.graph_file import graph_from_json, graph_to_json, load_json
from discreet.profiles.statement import METHODS
from discreet.rational import text

if TYPE_CHECKING:
    from discreet.profiles.base import FittedMechanism

FORMAT, VERSION = "discreet/profile-mechanism", 1


def mechanism_to_json(mechanism: FittedMechanism) -> dict[str, Any]:
    """Return a fitted mechanism as JSON with a checksum."""
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "method": mechanism.method,
        "settings": dict(mechanism.settings),
        "epsilon": text(mechanism.epsilon),
        "whole": str(WHOLE),
        "graph": graph_to_json(mechanism.graph),
        "table": [[[str(v) for v in row] for row in matrix] for matrix in mechanism.table.tolist()],
    }
    body["sha256"] = checksum(body)
    return body


def mechanism_from_json(body: Any) -> FittedMechanism:
    """Read a fitted mechanism, and check its guarantee."""
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise ReleaseFileError("this is not a mechanism file: its format is not discreet/profile-mechanism.")
    if body.get("version") != VERSION or isinstance(body.get("version"), bool):
        raise ReleaseFileError("unknown version of a mechanism file.", hint="upgrade discreet")
    if not has_checksum(body):
        raise ReleaseFileError(
            "the file was altered or damaged: its content does not match its checksum.",
            hint="discreet profiles fit makes it again",
        )
    try:
        return _read(body)
    except UsageError as problem:
        # the message may quote the file
        raise ReleaseFileError(f"the file does not hang together: {one_line(problem.message):.300}") from None
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
    d = graph.n_categories
    if any(len(matrix) != d or any(len(row) != d for row in matrix) for matrix in rows):
        raise ValueError("the matrices do not fit the graph")
    return FittedMechanism(graph, epsilon, body["method"], np.array(rows, dtype=np.int64), body["settings"])


def load_mechanism(path: FilePath) -> FittedMechanism:
    """Read a mechanism from a file."""
    body = load_json(path, float)
    try:
        return mechanism_from_json(body)
    except ReleaseFileError as problem:
        raise ReleaseFileError(f"{os.fspath(path)}: {problem.message}", hint=problem.hint) from None
