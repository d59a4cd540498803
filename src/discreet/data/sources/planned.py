"""Queries that are written down instead of run: what ``explain`` shows before a release.

Every query of ours ends in :func:`~discreet.data.sources.stand_in.rows_of` or in
:func:`~discreet.data.sources.batches.batches`. While queries are planned, both note what they would have run and bring
back nothing, so that the way to the query is the way of a release, and no row is on it.

Privacy
-------
A query's text follows from the declarations and from the types of columns. An engine's own plan does not (its choices
and its estimates of numbers of rows come from statistics of the rows), so it is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from discreet.data.sources.source import Frame

#: Stands for the key by which rows of a person are chosen, which is drawn for each release and never shown.
STAND_IN_KEY = bytes(32)

_ARROW = re.compile(r"arrow_scan(?:_dumb)?\([0-9, ]*\)")
_NAMES = re.compile(r"(?:unnamed_relation|arrow_object|__duckdb_source|held)_[0-9a-f_]{6,}")


@dataclass(frozen=True)
class Query:
    """One query: which engine would run it, its text, and what comes back."""

    engine: str
    text: str
    result: str


_NOTED: ContextVar[list[Query] | None] = ContextVar("planned queries", default=None)


@contextmanager
def only_planned() -> Iterator[list[Query]]:
    """Note queries in a list instead of running them."""
    queries: list[Query] = []
    token = _NOTED.set(queries)
    try:
        yield queries
    finally:
        _NOTED.reset(token)


def is_planning() -> bool:
    """Tell whether queries are written down instead of run."""
    return _NOTED.get() is not None


def note(engine: str, text: str, result: str) -> None:
    """Write down a query, if queries are written down; the same one once."""
    queries, query = _NOTED.get(), Query(engine, text, result)
    if queries is not None and query not in queries:
        queries.append(query)


def noted(frame: Frame, *, streams: bool) -> bool:
    """Write down the query of a frame, if queries are written down; tell whether it must not run."""
    if not is_planning():
        return False
    names = ", ".join(frame.collect_schema().names())
    result = (
        f"the columns {names}, in batches, to this process, which adds them up"
        if streams
        else f"whole numbers alone, in columns {names}"
    )
    native = frame.to_native()
    note(_engine(native), query_text(native), result)
    return True


def query_text(native: Any) -> str:
    """Return the text of a query, without names that differ from run to run."""
    if nw.dependencies.is_duckdb_relation(native):
        return _tidied(native.sql_query())
    if nw.dependencies.is_polars_lazyframe(native):
        # as written: what Polars makes of it may follow from the rows
        return native.explain(optimized=False)
    return ""


def _tidied(sql: str) -> str:
    sql = _ARROW.sub("rows_in_memory", sql).replace(STAND_IN_KEY.hex(), "…key…")
    seen: dict[str, str] = {}
    return _NAMES.sub(lambda found: seen.setdefault(found[0], f"t{len(seen) + 1}"), sql)


def _engine(native: Any) -> str:
    if nw.dependencies.is_duckdb_relation(native):
        from discreet.data.sources.stand_in import stand_in_of

        return "DuckDB" if stand_in_of(native) is None else "PostgreSQL"
    return type(native).__module__.partition(".")[0]
