"""Rows in PostgreSQL: read into their kinds, summed and counted inside the server.

What leaves the server is a query's result: sums and counts. Statistics that need every record (histograms, models of
several columns, private bounds, samplers) are streamed in the form of their kind: numbers as float64, labels as trimmed
text, keys as they are. All of it happens in one transaction that may not write and sees one state of the table.

What the server complains about is told in words of our own: its messages quote values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from typing import Any, Literal

import narwhals as nw
import pyarrow as pa

from discreet.addresses import ServerAddress
from discreet.data.sources.dates import DATE_PATTERN, EARLIEST, LATEST
from discreet.data.sources.keys import key_expression
from discreet.data.sources.kinds import Kind, is_text
from discreet.data.sources.memory import kind_for
from discreet.data.sources.postgres_sql import Columns, translate
from discreet.data.sources.results import StandIn, literal, quoted
from discreet.data.sources.source import Frame, Need, Picked, Source
from discreet.errors import DataError, DiscreetError, UsageError
from discreet.extras import missing
from discreet.objects import BLANKS

# seconds within which a server must answer
_PATIENCE = 30
# rows that travel together
_STREAMED = 1 << 16
# types by the numbers that PostgreSQL gives them, which are the same in every database
_TYPES: dict[int, Any] = {
    16: nw.Boolean(),
    21: nw.Int16(),
    23: nw.Int32(),
    20: nw.Int64(),
    700: nw.Float32(),
    701: nw.Float64(),
    1700: nw.Decimal(),
    **dict.fromkeys((25, 1043, 1042, 19, 2950), nw.String()),
    1082: nw.Date(),
    1114: nw.Datetime(),
    1184: nw.Datetime(time_zone="UTC"),
}
_ARROW = {
    16: pa.bool_(),
    20: pa.int64(),
    23: pa.int64(),
    701: pa.float64(),
    1700: pa.int64(),
    25: pa.string(),
}
_DUCKDB = {Kind.NUMBER: "DOUBLE", Kind.PRESENCE: "DOUBLE", Kind.TEXT: "VARCHAR"}
# in this version a server learned to say whether text is a date without raising
_TELLS_DATES = 160_000


class PostgresSource(Source):
    """A table or a query of a PostgreSQL server.

    Privacy
    -------
    Column types are declarations and may raise; what a row holds may not, so every cast that PostgreSQL would raise at
    has its condition before it. No message of the server is repeated.
    """

    def __init__(self, address: ServerAddress, text: str) -> None:
        try:
            import psycopg
        except ModuleNotFoundError:
            raise missing("psycopg", "reading rows from PostgreSQL") from None
        self._driver, self._from = psycopg, text
        self._explained = partial(explained, address.name)
        self._connection: Any = None
        self._stand_in: StandIn | None = None
        self._tables: dict[str, tuple[str, list[Any], Columns]] = {}
        try:
            with self._explained("connect"):
                self._connection = psycopg.connect(
                    host=address.host,
                    port=address.port,
                    dbname=address.database,
                    user=address.user,
                    password=address.password,
                    **address.settled(_PATIENCE),
                )
            with self._explained("ask"):
                self._begin()
                self._describe()
        except DataError:
            self.close()
            raise

    def _begin(self) -> None:
        connection = self._connection
        connection.read_only = True
        connection.isolation_level = self._driver.IsolationLevel.REPEATABLE_READ
        # a backslash in a string is a backslash, and times are read as they are written
        connection.execute("SET LOCAL standard_conforming_strings = on")
        connection.execute("SET LOCAL client_min_messages = error")

    def _describe(self) -> None:
        cursor = self._driver.RawCursor(self._connection)
        # with the extended protocol, in which a text of two statements is an error
        cursor.execute(f"SELECT * FROM {self._from} LIMIT 0", binary=True)
        self.names = [column.name for column in cursor.description]
        codes = [column.type_code for column in cursor.description]
        cursor.execute(
            "SELECT oid::bigint FROM pg_catalog.pg_type WHERE typtype = 'e' AND oid = ANY($1)", [codes]
        )
        enumerations = {code for (code,) in cursor.fetchall()}
        self._types = [nw.String() if code in enumerations else _TYPES.get(code) for code in codes]

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        self._stand_in = self._stand_in or StandIn(self)
        names = self.names or []
        types = [self._types[at] or nw.Unknown() for at in positions]
        kinds = [
            kind_for(names[at], dtype, need, empty_type=False, declared=True)
            for at, dtype, need in zip(positions, types, needs, strict=True)
        ]
        read, columns = [], {}
        for i, (at, dtype, kind, need) in enumerate(zip(positions, types, kinds, needs, strict=True)):
            name = quoted(names[at])
            read.append(f"{self._days(name, dtype) if need.dates else _value(name, dtype, kind)} AS c{i}")
            columns[f"c{i}"] = _duckdb_type(dtype, kind)
        held, frame = self._stand_in.view(columns)
        self._tables[held] = (
            f"SELECT {', '.join(read)} FROM {self._from}",
            [],
            dict.fromkeys(columns, False),
        )
        chosen = {
            name: key_expression(nw.col(name), dtype)
            if kind is Kind.KEY and dtype.is_float()
            else nw.col(name)
            for name, dtype, kind in zip(columns, types, kinds, strict=True)
        }
        frame = frame.select(**chosen)
        return Picked(tuple(kinds), iter([frame]), beside=self._beside)

    def _beside(self, table: pa.Table) -> Frame:
        """Bring a public table along with the next query, as arrays."""
        assert self._stand_in is not None
        # no text of the server's has this character, so nothing there can equal such a word
        words = {name: table.column(name).to_pylist() for name in table.schema.names}
        kept = [
            all(not (isinstance(v, str) and "\0" in v) for v in row)
            for row in zip(*words.values(), strict=True)
        ]
        arrays = [[v for v, keep in zip(values, kept, strict=True) if keep] for values in words.values()]
        text = [pa.types.is_integer(field.type) for field in table.schema]
        columns = {n: "BIGINT" if whole else "VARCHAR" for n, whole in zip(words, text, strict=True)}
        held, frame = self._stand_in.view(columns)
        types = ["bigint[]" if whole else "text[]" for whole in text]
        places = ", ".join(f"${{}}::{kind}" for kind in types)
        self._tables[held] = (
            f"SELECT * FROM unnest({places}) AS t ({', '.join(map(quoted, words))})",
            arrays,
            dict.fromkeys(words, False),
        )
        return frame

    def rows(self, tree: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run a query of few rows of integers."""
        text, arrays = self._query(tree)
        with self._explained():
            found = self._driver.RawCursor(self._connection).execute(text, arrays, binary=True).fetchall()
        return [tuple(int(v) if isinstance(v, Decimal) else v for v in row) for row in found]

    def batches(self, tree: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        """Stream a query's rows."""
        text, arrays = self._query(tree)
        with self._explained(), self._driver.RawServerCursor(self._connection, "discreet") as cursor:
            cursor.execute(text, arrays, binary=True)
            fields = [(column.name, _ARROW[column.type_code]) for column in cursor.description]
            while rows := cursor.fetchmany(_STREAMED):
                columns = zip(*rows, strict=True)
                yield pa.record_batch(
                    [pa.array(values, kind) for values, (_, kind) in zip(columns, fields, strict=True)],
                    schema=pa.schema(fields),
                )

    def _query(self, tree: Mapping[str, Any]) -> tuple[str, list[Any]]:
        """Return a whole query: the tables that were planned with, and the plan."""
        text = translate(tree, {name: columns for name, (_, _, columns) in self._tables.items()})
        arrays: list[Any] = []
        steps = []
        for name, (body, values, _) in self._tables.items():
            if name in text:
                places = range(len(arrays) + 1, len(arrays) + 1 + len(values))
                steps.append(f"{quoted(name)} AS ({body.format(*places) if values else body})")
                arrays += values
        return f"WITH {', '.join(steps)} SELECT * FROM ({text}) AS made", arrays

    def _days(self, name: str, dtype: Any) -> str:
        """Return SQL for days since 1970 as float64; nothing that a row holds raises."""
        if is_text(dtype):
            if self._connection.info.server_version < _TELLS_DATES:
                raise UsageError(
                    "dates in text are read from PostgreSQL 16 on.", hint="cast the column to a date in query"
                )
            text = _trimmed(name)
            day = f"substr({text}, 1, 10)"
            there = f"{text} ~ {literal(f'^(?:{DATE_PATTERN})$')} AND pg_input_is_valid({day}, 'date')"
            return f"CASE WHEN {there} THEN CAST(CAST({day} AS date) - DATE '1970-01-01' AS double precision) END"
        first, last = (f"DATE '1970-01-01' + ({day})" for day in (EARLIEST, LATEST))
        there = f"isfinite({name}) AND {name} >= {first} AND {name} < {last} + 1"
        day = f"CAST({name} AS date) - DATE '1970-01-01'"
        return f"CASE WHEN {there} THEN CAST({day} AS double precision) END"

    def close(self) -> None:
        if self._stand_in is not None:
            self._stand_in.close()
        if self._connection is not None:
            self._connection.close()


def _duckdb_type(dtype: Any, kind: Kind) -> str:
    if kind is Kind.KEY:
        return "VARCHAR" if is_text(dtype) else "DOUBLE" if dtype.is_float() else "BIGINT"
    return _DUCKDB.get(kind, "BIGINT")


def _value(name: str, dtype: Any, kind: Kind) -> str:
    """Return SQL for a column in the form of its kind."""
    if kind is Kind.PRESENCE:
        there = f"{name} IS NOT NULL"
        if dtype.is_float():
            there = f"{name} <= 'Infinity'"
        elif is_text(dtype):
            there = f"{_trimmed(name)} <> ''"
        return f"CASE WHEN {there} THEN CAST(1 AS double precision) END"
    if kind is Kind.TEXT:
        return _trimmed(name)
    if kind is Kind.KEY and is_text(dtype):
        return f"nullif({_trimmed(name)}, '')"
    if kind in (Kind.INTEGER, Kind.FLAG) or (kind is Kind.KEY and not dtype.is_float()):
        return f"CAST({f'CAST({name} AS integer)' if dtype == nw.Boolean else name} AS bigint)"
    if dtype == nw.Boolean:
        return f"CAST(CAST({name} AS integer) AS double precision)"
    if dtype == nw.Decimal:
        # beyond the largest and below the smallest float64, where the cast would raise
        return (
            f"CASE WHEN {name} = 'NaN' THEN CAST('NaN' AS double precision) "
            f"WHEN {name} > 1.7976931348623157e308 THEN CAST('Infinity' AS double precision) "
            f"WHEN {name} < -1.7976931348623157e308 THEN CAST('-Infinity' AS double precision) "
            f"WHEN abs({name}) < 5e-324 THEN 0 ELSE CAST({name} AS double precision) END"
        )
    return f"CAST({name} AS double precision)"


def _trimmed(name: str) -> str:
    """Return SQL for text without blanks around it, compared byte by byte whatever the column's collation."""
    return f'(btrim(CAST({name} AS text), {literal(BLANKS)}) COLLATE "C")'


# classes of PostgreSQL's codes, and codes, that say nothing about a row
_LOST = ("08", "57P01", "57P02", "57P03", "57P05", "25P03", "25P04")
#: What is done when an error comes: no row is read before the last.
Stage = Literal["connect", "ask", "read"]
_NOTHING_RELEASED = "nothing was released"


@contextmanager
def explained(name: str, stage: Stage = "read") -> Iterator[None]:
    """Turn an error of the server called ``name`` into one line.

    While columns are asked for, the server's code says what is wrong with the table or the query. Once rows are read it
    could say something about a row, and only whether the server is still there and willing is told.
    """
    try:
        yield
    except DiscreetError:
        raise
    except Exception as problem:
        # what comes from our own code is concealed further up
        if type(problem).__module__.partition(".")[0] != "psycopg":
            raise
        trouble = _words(name, problem, stage)
    else:
        return
    raise trouble


def _words(name: str, problem: Any, stage: Stage) -> DataError:
    code = getattr(problem, "sqlstate", None) or ""
    gone = code.startswith(_LOST) or (not code and type(problem).__name__ == "OperationalError")
    if stage == "connect":
        return DataError(
            f"cannot connect to {name}.", hint="is it running, and are user, password and database right?"
        )
    if gone:
        return DataError(
            f"the connection to {name} was lost while the data were read.", hint=_NOTHING_RELEASED
        )
    if code == "57014":
        return DataError(f"{name} stopped the query.", hint=f"{_NOTHING_RELEASED}; is there a time limit?")
    if code == "25006":
        return DataError("the query writes, and is run in a transaction that may not.")
    if stage == "read":
        return DataError("the data could not be read to its end.")
    if code in ("42P01", "3F000"):
        return DataError(
            f"there is no such table at {name}.",
            hint="a table is named as it is written there, capital letters too: table='visits' or 'schema.visits'",
        )
    if code == "42501":
        return DataError(f"{name} does not let this user read the table.")
    if code == "42601":
        return DataError("the query is not one statement of SQL that gives rows.")
    return DataError(f"the server cannot run the query (SQLSTATE {code}).")
