"""What a device remembers: one person's profile, their budget, what of it is spent, and what was reported.

The file is the person's own, mode 0600. It is written whole or not at all and is durable before anybody sees a report;
while one process reads and writes it, no other one does.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from glob import escape
from pathlib import Path
from typing import Any

from discreet.artifact.codec import checksum, has_checksum
from discreet.artifact.files import LONGEST_STEM
from discreet.artifact.readers import exact_fields, rational, text_of, tuple_of
from discreet.errors import DataError, ReleaseFileError, UsageError
from discreet.profiles.bins import Bins
from discreet.profiles.exact import read_epsilon
from discreet.profiles.graph import Name, ProfileGraph
from discreet.profiles.graph_file import graph_to_json, load_json, save_json
from discreet.rational import text

FORMAT, VERSION = "discreet/profile-reporter", 1
_FIELDS = "format version graph profile bins budget spent reports sha256"


@dataclass(frozen=True)
class Memory:
    """The content of a device's file.

    ``graph`` stands for the graph, because losses on different edges do not add up. ``reports`` has a report for each
    key, or None where one was paid for and none was made yet.
    """

    graph: str
    profile: Name
    budget: Fraction
    bins: Bins | None = None
    spent: Fraction = Fraction(0)
    reports: Mapping[str, Name | None] = field(default_factory=dict)


def fingerprint(graph: ProfileGraph) -> str:
    """Return what stands for a graph."""
    return checksum(graph_to_json(graph))


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Keep other processes and threads away from a device's file; wait for those that have it."""
    beside = path.with_name(f".{path.name}.lock")
    try:
        lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as problem:
        raise DataError(f"cannot write {path}: {problem.strerror or 'no lock beside it'}.") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if len(path.name) <= LONGEST_STEM:
            # what a process left that was killed while it wrote: nobody else writes now
            for left in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 16}.part"):
                left.unlink(missing_ok=True)
        yield
    finally:
        os.close(lock)


def write_memory(memory: Memory, path: Path) -> None:
    """Write a device's file, durably and for its owner alone."""
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "graph": memory.graph,
        "profile": memory.profile,
        "bins": None if memory.bins is None else [text(edge) for edge in memory.bins.edges],
        "budget": text(memory.budget),
        "spent": text(memory.spent),
        "reports": dict(memory.reports),
    }
    body["sha256"] = checksum(body)
    save_json(body, path, private=True)


def read_memory(path: Path) -> Memory:
    """Read a device's file; whatever is not as it was written is refused, and nothing is begun anew."""
    if not path.exists():
        raise DataError(
            f"cannot read {path}: there is no such file.", hint="discreet profiles device sets up a device"
        )
    body = load_json(path, float)
    if not isinstance(body, dict) or body.get("format") != FORMAT or body.get("version") != VERSION:
        raise ReleaseFileError(f"{path}: this is not the file of a device.")
    if not has_checksum(body):
        raise ReleaseFileError(f"{path}: the file was altered or damaged, so what was spent is not known.")
    try:
        return _read(body)
    except (UsageError, ValueError, TypeError, KeyError, ArithmeticError):
        raise ReleaseFileError(f"{path}: the file does not hang together.") from None


def _read(body: dict[str, Any]) -> Memory:
    exact_fields("the file", body, _FIELDS)
    edges, reports = body["bins"], body["reports"]
    budget, spent = (read_epsilon(rational(body[amount])) for amount in ("budget", "spent"))
    if spent > budget or not isinstance(reports, dict) or not all(reports):
        raise ValueError
    if any(not isinstance(name, str | int | None) for name in (body["profile"], *reports.values())):
        raise ValueError
    bins = None if edges is None else Bins(tuple_of(rational, edges))
    return Memory(text_of(body["graph"]), body["profile"], budget, bins, spent, reports)
