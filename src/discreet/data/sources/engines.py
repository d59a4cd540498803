"""Sources that compute for themselves: Polars frames, DuckDB relations, tables of other engines.

Only sums leave the engine, where it can make them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import narwhals as nw
import pyarrow as pa

from discreet.data.sources.conceal import run_concealed
from discreet.data.sources.dates import days_in_polars, days_sql
from discreet.data.sources.keys import key_expression, presence_expression
from discreet.data.sources.kinds import Kind, is_text, is_wide, read
from discreet.data.sources.memory import BatchSource, ColumnSource, kind_for, one_column
from discreet.data.sources.queries import BESIDE, days_in_spark, engine_of, planned_schema, stream
from discreet.data.sources.results import (
    arrow_reader,
    connect,
    in_duckdb,
    is_planning,
    note,
    noted,
    query_text,
    quoted,
    reader_of,
)
from discreet.data.sources.source import Frame, Need, Picked, Source
from discreet.errors import UsageError
from discreet.objects import BLANKS, NUMBER_PATTERN, type_name

# names that Polars and DuckDB give to the type of a column of nulls
_EMPTY_TYPES = ("Null", '"NULL"', "NULL")
# rows per batch of a relation that streams from the caller's connection into ours
_STREAMED = 1 << 17


class PolarsSource(Source):
    """A Polars frame, eager or lazy; one lazy query either way."""

    def __init__(self, frame: Any) -> None:
        self._frame = nw.from_native(frame).lazy()
        self._schema = run_concealed(self._frame.collect_schema, "the Polars query could not be planned.")
        self._native = run_concealed(
            self._frame.to_native().collect_schema, "the Polars query could not be planned."
        )
        self.names = self._schema.names()

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        names, types = self._schema.names(), list(self._schema.values())
        if any(types[at] == nw.Object for at in positions):
            return self._objects(positions, needs)
        empty = [str(dtype) in _EMPTY_TYPES for dtype in self._native.values()]
        wanted = list(zip(positions, needs, strict=True))
        kinds = [
            kind_for(names[at], types[at], need, empty_type=empty[at], declared=False) for at, need in wanted
        ]
        texts = [
            i
            for i, (at, need) in enumerate(wanted)
            if not (need.labels or need.key or need.presence or need.dates) and is_text(types[at])
        ]
        # by position, because Polars takes a name like "^a.*$" for a pattern
        frame = self._frame.select(nw.nth(at).alias(f"c{i}") for i, at in enumerate(positions))
        chosen = [
            read_as(nw.col(f"c{i}"), nw.Float64() if i in texts or needs[i].dates else types[at], kind).alias(
                f"c{i}"
            )
            for i, (at, kind) in enumerate(zip(positions, kinds, strict=True))
        ]
        if texts:
            frame = nw.from_native(_numbers_in_text(frame.to_native(), [f"c{i}" for i in texts]))
            chosen.append(nw.col("unread"))
        # models with dates have one column, so no other flag is there
        dated = [i for i, need in enumerate(needs) if need.dates]
        for i in dated:
            day, unread = days_in_polars(f"c{i}", types[positions[i]], empty_type=empty[positions[i]])
            frame = nw.from_native(
                frame.to_native().with_columns(day.alias(f"c{i}"), unread=unread.fill_null(value=False))
            )
            chosen.append(nw.col("unread"))
        flagged = bool(texts or dated)
        return Picked(tuple(kinds), iter([frame.select(*chosen)]), has_unread=flagged, beside=_in_polars)

    def _objects(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        """Read in memory where some column holds Python objects: one odd record is enough for Polars to call it so."""
        table = self._frame.select(nw.nth(at).alias(f"c{at}") for at in positions).collect().to_native()
        columns = {at: table.get_column(f"c{at}") for at in positions}
        return ColumnSource(
            [lambda at=at: one_column(columns[at]) for at in range(len(self.names or ()))], self.names
        ).pick(positions, needs)


def _in_polars(table: pa.Table) -> Frame:
    import polars as pl

    return nw.from_native(pl.DataFrame(table).lazy())


def _numbers_in_text(frame: Any, names: list[str]) -> Any:
    """Read text columns of a lazy Polars frame as numbers, and flag the rows that held something else.

    In Polars' own terms, because narwhals has no cast that turns the unreadable into nulls. The pattern goes first
    because such a cast also takes what we do not call a number.
    """
    import polars as pl

    texts = {name: pl.col(name).cast(pl.String).str.strip_chars(BLANKS) for name in names}
    match = {name: text.str.contains(f"^(?:{NUMBER_PATTERN})$") for name, text in texts.items()}
    numbers = [pl.when(match[n]).then(texts[n]).cast(pl.Float64, strict=False).alias(n) for n in names]
    unread = pl.any_horizontal([(texts[name] != "") & ~match[name] for name in names])
    return frame.with_columns(*numbers, unread=unread.fill_null(value=False))


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

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        # by quoted name in SQL, because expression objects take some names ("*") for more than a name
        names = [quoted(self._relation.columns[at]) for at in positions]
        types, kinds = self.kinds(positions, needs)
        # wide numbers and enumerations travel as text, which both sides read alike; byte by byte, because by another
        # collation of the column a record could equal two labels, and count twice
        empty = self._empty(positions)
        casts = [
            days_sql(name, dtype, empty_type=nothing)
            if need.dates
            else f"CAST({name} AS VARCHAR) COLLATE C"
            if _travels_as_text(dtype, kind)
            else name
            for name, dtype, kind, need, nothing in zip(names, types, kinds, needs, empty, strict=True)
        ]
        chosen = self._relation.project(", ".join(f"{cast} AS c{i}" for i, cast in enumerate(casts)))
        if self._foreign:
            if is_planning():
                note("your DuckDB", query_text(chosen), "its rows, streamed into a DuckDB of this process")
                chosen = chosen.limit(0)
            chosen = self._connection.from_arrow(arrow_reader(chosen, _STREAMED))
        frame = nw.from_native(chosen)
        columns = [
            read_as(nw.col(f"c{i}"), nw.Float64() if need.dates else dtype, kind).alias(f"c{i}")
            for i, (dtype, kind, need) in enumerate(zip(types, kinds, needs, strict=True))
        ]
        beside = partial(in_duckdb, self._connection)
        return Picked(tuple(kinds), iter([frame.select(*columns)]), beside=beside)

    def kinds(self, positions: Sequence[int], needs: Sequence[Need]) -> tuple[list[Any], list[Kind]]:
        """Return the declared type of each column and the kind it is read as, or raise for the type."""
        schema = nw.from_native(self._relation).collect_schema()
        types = [list(schema.values())[at] for at in positions]
        empty = self._empty(positions)
        kinds = [
            kind_for(self._relation.columns[at], dtype, need, empty_type=nothing, declared=True)
            for at, dtype, nothing, need in zip(positions, types, empty, needs, strict=True)
        ]
        return types, kinds

    def _empty(self, positions: Sequence[int]) -> list[bool]:
        return [str(self._relation.types[at]) in _EMPTY_TYPES for at in positions]

    def close(self) -> None:
        self._connection.close()


class QuerySource(Source):
    """A table that is a query of an engine's: nothing of it is read before a result is asked for."""

    def __init__(self, table: Any) -> None:
        self._engine = engine_of(table)
        self._frame = nw.from_native(table)
        self._schema = run_concealed(
            lambda: planned_schema(self._frame),
            f"{self._engine} cannot plan the query; is its session still there?",
        )
        self.names = self._schema.names()

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        names, types = self._schema.names(), list(self._schema.values())
        if len(set(names)) < len(names):
            raise UsageError(f"two columns of the {self._engine} table have the same name.")
        kinds = [
            kind_for(names[at], types[at], need, empty_type=types[at] == nw.Unknown, declared=True)
            for at, need in zip(positions, needs, strict=True)
        ]
        frame = self._frame.select(**{f"c{i}": nw.col(names[at]) for i, at in enumerate(positions)})
        typed = [types[at] for at in positions]
        if self._engine != "Spark":
            streams = any(need.labels or need.key or need.presence or need.dates for need in needs)
        else:
            # Spark raises at text that is no date
            streams = any(need.dates and is_text(dtype) for need, dtype in zip(needs, typed, strict=True))
        if streams:
            return _streamed(frame, str(self._engine)).pick(range(len(positions)), needs)
        for i, need in enumerate(needs):
            if need.dates:
                frame, typed[i] = nw.from_native(days_in_spark(frame.to_native(), f"c{i}")), nw.Float64()
        frame = frame.select(
            **{
                f"c{i}": read_as(nw.col(f"c{i}"), dtype, kind)
                for i, (dtype, kind) in enumerate(zip(typed, kinds, strict=True))
            }
        )
        beside = partial(BESIDE[self._engine], self._frame.to_native())
        return Picked(tuple(kinds), iter([frame]), beside=beside)


def _streamed(frame: Frame, engine: str) -> BatchSource:
    """Return the columns of a query as a stream of batches."""
    if noted(frame, streams=True):
        schema = pa.schema([(name, _arrow_type(kind)) for name, kind in frame.collect_schema().items()])
        return BatchSource(pa.RecordBatchReader.from_batches(schema, iter(())))

    def empty() -> pa.Schema:
        return frame.lazy().collect("pyarrow").to_native().select(frame.collect_schema().names()).schema

    return BatchSource(reader_of(stream(frame, engine), empty))


def _arrow_type(dtype: Any) -> pa.DataType:
    """Return a type of Arrow's that is read as this one is."""
    if dtype == nw.Boolean:
        return pa.bool_()
    if dtype.is_numeric():
        return pa.int64() if dtype.is_integer() else pa.float64()
    return pa.date32() if isinstance(dtype, nw.Date | nw.Datetime) else pa.string()


def relation_source(relation: Any) -> DuckSource:
    """Take a relation that lives on the caller's connection."""
    return DuckSource(relation, connect(), foreign=True)


def _travels_as_text(dtype: Any, kind: Kind) -> bool:
    """Tell whether a column is cast to text by the engine: wide numbers, enumerations, keys in text."""
    if kind is Kind.PRESENCE:
        return False
    return is_wide(dtype) or kind is Kind.TEXT or (kind is Kind.KEY and is_text(dtype))


def read_as(column: nw.Expr, dtype: Any, kind: Kind) -> nw.Expr:
    """Return a column in the form of its kind."""
    if kind is Kind.KEY:
        return key_expression(column, dtype)
    if kind is Kind.PRESENCE:
        return presence_expression(column, dtype, text=is_text(dtype))
    return read(column, dtype, kind)


def unsupported(data: Any) -> UsageError:
    """Return the error for data of a type that cannot be read."""
    return UsageError(
        f"cannot read data of {type_name(data)}.",
        hint="give a path to a CSV or Parquet file, a pandas, Polars, PyArrow or DuckDB table, an array or a list",
    )
