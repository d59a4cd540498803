"""Sources that compute for themselves: Polars frames, DuckDB relations, Parquet files.

Only sums leave the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals as nw

from discreet.data.kinds import Kind, is_wide, kind_of, read, wrong_type
from discreet.data.seal import sealed
from discreet.data.source import Need, Picked, Source
from discreet.errors import UsageError

# names that Polars and DuckDB give to the type of a column of nulls
_EMPTY_TYPES = ("Null", '"NULL"', "NULL")
# rows per batch of a relation that streams from the caller's connection into ours
_STREAMED = 1 << 17


class PolarsSource(Source):
    """A Polars frame, eager or lazy; one lazy query either way."""

    def __init__(self, frame: Any) -> None:
        self._frame = nw.from_native(frame).lazy()
        self._schema = sealed(self._frame.collect_schema, "the Polars query could not be planned.")
        self._native = sealed(
            self._frame.to_native().collect_schema, "the Polars query could not be planned."
        )
        self.names = self._schema.names()

    def width(self, wanted: int) -> int:
        return len(self._schema)

    def pick(self, positions: Sequence[int], need: Need) -> Picked:
        names, types = self._schema.names(), list(self._schema.values())
        empty = [str(dtype) in _EMPTY_TYPES for dtype in self._native.values()]
        kinds = [_kind(names[at], types[at], need, empty_type=empty[at]) for at in positions]
        chosen = [
            # by position, because Polars takes a name like "^a.*$" for a pattern
            read(nw.nth(at), types[at], kind).alias(f"c{i}")
            for i, (at, kind) in enumerate(zip(positions, kinds, strict=True))
        ]
        return Picked(tuple(kinds), iter([self._frame.select(*chosen)]))


class DuckSource(Source):
    """A DuckDB relation.

    The arithmetic runs on a connection of ours. A Parquet file is opened there; a relation of the caller's streams
    into it, because on the caller's connection the optimizer may believe statistics that leave NaN out
    (see :func:`connect`), and settings we do not know apply.
    """

    def __init__(self, relation: Any, connection: Any, *, foreign: bool) -> None:
        self._relation = relation
        self._connection = connection
        self._foreign = foreign
        self.names = list(relation.columns)

    def width(self, wanted: int) -> int:
        return len(self._relation.columns)

    def pick(self, positions: Sequence[int], need: Need) -> Picked:
        # by quoted name in SQL, because expression objects take some names ("*") for more than a name
        names = [quoted(self._relation.columns[at]) for at in positions]
        schema = nw.from_native(self._relation).collect_schema()
        types = [list(schema.values())[at] for at in positions]
        empty = [str(self._relation.types[at]) in _EMPTY_TYPES for at in positions]
        kinds = [
            _kind(self._relation.columns[at], dtype, need, empty_type=nothing)
            for at, dtype, nothing in zip(positions, types, empty, strict=True)
        ]
        # wide numbers and enumerations travel as text, which both sides read alike
        casts = [
            f"CAST({name} AS VARCHAR)" if is_wide(dtype) or kind is Kind.TEXT else name
            for name, dtype, kind in zip(names, types, kinds, strict=True)
        ]
        chosen = self._relation.project(", ".join(f"{cast} AS c{i}" for i, cast in enumerate(casts)))
        if self._foreign:
            chosen = self._connection.from_arrow(arrow_reader(chosen, _STREAMED))
        frame = nw.from_native(chosen)
        columns = [
            read(nw.col(f"c{i}"), dtype, kind)
            for i, (dtype, kind) in enumerate(zip(types, kinds, strict=True))
        ]
        return Picked(tuple(kinds), iter([frame.select(*columns)]))

    def close(self) -> None:
        self._connection.close()


def relation_source(relation: Any) -> DuckSource:
    """Take a relation that lives on the caller's connection."""
    return DuckSource(relation, connect(), foreign=True)


def parquet_source(path: Path) -> DuckSource:
    """Open a Parquet file; only the columns asked for are read, a block at a time."""
    absolute = str(path.absolute())
    # the path is a name, not a pattern, and its folders are not columns
    pattern = "".join(f"[{c}]" if c in "*?[" else c for c in absolute)
    connection = connect(absolute, pattern)
    relation = sealed(
        lambda: connection.read_parquet(pattern, hive_partitioning=False),
        f"{path} is not a readable Parquet file.",
    )
    return DuckSource(relation, connection, foreign=False)


def arrow_reader(relation: Any, rows: int) -> Any:
    """Stream a relation as Arrow batches."""
    read_stream = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    return read_stream(rows)


def connect(*paths: str) -> Any:
    """Open a DuckDB of our own that sees these paths and nothing else.

    Statistics in a Parquet file leave NaN out of a column's largest value, and DuckDB's optimizer concludes from them
    that ``x <= 100`` holds everywhere, and even that ``isnan(x)`` nowhere does. So it may not look at statistics.

    Privacy
    -------
    No progress bar, no extension or network, no Python variables as tables, no spilling of rows to disk.
    """
    import duckdb

    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
            "temp_directory": "",
        },
    )
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"SET allowed_paths = [{', '.join(map(literal, paths))}]")
    connection.execute("SET enable_external_access = false")
    return connection


def quoted(name: str) -> str:
    """Quote an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def _kind(name: str, dtype: Any, need: Need, *, empty_type: bool) -> Kind:
    kind = kind_of(dtype, empty_type=empty_type, labels=need.labels)
    if kind is None:
        raise wrong_type(name, dtype, need.family, labels=need.labels)
    return kind


def unsupported(data: Any) -> UsageError:
    """Return the error for data of a type that cannot be read."""
    return UsageError(
        f"cannot read data of type {type(data).__name__}.",
        hint="give a path to a CSV or Parquet file, a pandas, Polars, PyArrow or DuckDB table, an array or a list",
    )
