"""Profiles from tables: distributions row by row, or estimated from public observations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from discreet.errors import UsageError
from discreet.extras import needed_for
from discreet.objects import plain_value
from discreet.profiles.given import smoothed
from discreet.profiles.graph import Edges, ProfileGraph
from discreet.rational import Number


def from_frame(frame: Any, edges: Edges, profile: str) -> ProfileGraph:
    """Read a data frame (pandas, Polars, PyArrow …) with one row for each profile and one column for each category.

    Parameters
    ----------
    frame
        The table; its column ``profile`` holds the names, all others probabilities.
    edges
        As for :class:`~discreet.profiles.ProfileGraph`.
    profile
        Name of the column with the names.
    """
    columns = _columns(frame)
    names = _column(columns, profile)
    labels = [label for label in columns if label != profile]
    rows = zip(*(columns[label] for label in labels), strict=True)
    table = dict(zip(names, (list(row) for row in rows), strict=False))
    if len(table) != len(names):
        raise UsageError("two rows of the frame have the same profile.")
    return ProfileGraph(table, edges, categories=labels)


def estimate(
    observations: Any,
    edges: Edges,
    categories: Iterable[Any] | None,
    smoothing: Number,
    profile: str,
    value: str,
) -> ProfileGraph:
    """Estimate profiles from public observations, with ``smoothing`` added to every count.

    The profiles are published and nothing hides what they were estimated from: the observations must be public, or
    those of people who agreed. What the graph protects later are other observations.

    Parameters
    ----------
    observations
        A mapping from profile to its observed values, or a data frame with one row for each observation.
    edges
        As for :class:`~discreet.profiles.ProfileGraph`.
    categories
        All values that can occur; by default those that did, sorted.
    smoothing
        Added to the count of every category: 1 is the mean under a flat prior, 0 the plain share, which calls
        impossible what was not seen.
    profile, value
        Names of the frame's columns.
    """
    if isinstance(observations, Mapping):
        seen = {name: Counter(map(plain_value, values)) for name, values in observations.items()}
    else:
        columns = _columns(observations)
        seen = {}
        for name, one in zip(_column(columns, profile), _column(columns, value), strict=True):
            seen.setdefault(name, Counter())[plain_value(one)] += 1
    known = sorted({label for counts in seen.values() for label in counts}, key=str)
    labels = known if categories is None else list(map(plain_value, categories))
    if not set(known) <= set(labels):
        raise UsageError("an observation is none of the categories.")
    table = {name: smoothed([counts[label] for label in labels], smoothing) for name, counts in seen.items()}
    return ProfileGraph(table, edges, categories=labels)


def _columns(frame: Any) -> dict[str, list[Any]]:
    """Return the columns of any data frame."""
    with needed_for("reading a data frame"):
        import narwhals as nw

    try:
        read = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise UsageError("this is neither a mapping nor a data frame.") from None
    return {name: read[name].to_list() for name in read.columns}


def _column(columns: dict[str, list[Any]], name: str) -> list[Any]:
    if name not in columns:
        raise UsageError(f"the frame has no column {name!r}.")
    return columns[name]
