"""Where every query of ours ends: run here, on the server that holds the rows, or only written down.

The DuckDB that works for us is our own (:func:`connect`). Every query ends in :func:`rows_of`, few rows of whole
numbers, or in :func:`batches`, columns in Arrow batches.

**Servers.** A table of a database server stands in a DuckDB of ours as a view that has its columns and cannot be read:
DuckDB plans our queries over such views, and would raise if it ever ran one. The plan goes to the server instead.

**Explaining.** While queries are planned (:func:`only_planned`), which is what ``explain`` shows before a release, both
note what they would have run and bring back nothing, so that the way to the query is the way of a release, and no row
is on it.

Privacy
-------
A query's text follows from the declarations and from the types of columns. An engine's own plan does not (its choices
and its estimates of numbers of rows come from statistics of the rows), so it is not shown.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, TypeVar

import narwhals as nw
import pyarrow as pa

from discreet.data.sources.memory import BATCH
from discreet.data.sources.queries import engine_of, fetch, stream
from discreet.data.sources.source import Frame, Picked
from discreet.extras import missing

#: Stands for the key by which rows of a person are chosen, which is drawn for each release and never shown.
STAND_IN_KEY = bytes(32)
#: At most so many rows a batch where they only pass through: asking the system for larger pieces takes time.
STREAMED = 1 << 16
# Arrow and NumPy hold no lock of Python's while they read and compute
_WORKERS = 2

_ARROW = re.compile(r"arrow_scan(?:_dumb)?\([0-9, ]*\)")
_NAMES = re.compile(r"(?:unnamed_relation|arrow_object|__duckdb_source|held)_[0-9a-f_]{6,}")
# stand-ins of servers that are open, by a name that no other table has
_OPEN: dict[str, StandIn] = {}

_T = TypeVar("_T")


def rows_of(frame: Frame) -> list[tuple[Any, ...]]:
    """Run a query of few rows, all of them integers or null, wherever its rows are."""
    if noted(frame, streams=False):
        return []
    native = frame.to_native()
    if nw.dependencies.is_duckdb_relation(native):
        held = stand_in_of(native)
        # fetched as Python integers, because DuckDB's sums are 128 bits wide
        return native.fetchall() if held is None else held.rows(native)
    engine = engine_of(native)
    if engine is not None:
        return fetch(frame, engine)
    return (frame.collect() if isinstance(frame, nw.LazyFrame) else frame).rows()


def is_here(frame: Frame) -> bool:
    """Tell whether rows are in this process, in a form that comes out in Arrow batches at little cost."""
    if isinstance(frame, nw.DataFrame):
        return True
    native = frame.to_native()
    return nw.dependencies.is_duckdb_relation(native) and stand_in_of(native) is None


def batches(frame: Frame, rows: int = BATCH) -> Iterator[pa.RecordBatch]:
    """Bring rows out of an engine, in Arrow batches of at most so many ``rows``."""
    native = frame.to_native()
    if isinstance(frame, nw.DataFrame) and is_planning():
        yield pa.RecordBatch.from_pylist([], schema=native.schema)
    elif noted(frame, streams=True):
        return
    elif isinstance(frame, nw.DataFrame):
        yield from native.to_batches(max_chunksize=rows)
    elif nw.dependencies.is_duckdb_relation(native):
        held = stand_in_of(native)
        yield from arrow_reader(native, rows) if held is None else held.batches(native)
    elif (engine := engine_of(native)) is not None:
        yield from stream(frame, engine)
    else:
        pieces = native.collect_batches() if hasattr(native, "collect_batches") else [native.collect()]
        for piece in pieces:
            yield from piece.to_arrow().to_batches(max_chunksize=rows)


def picked_batches(picked: Picked, rows: int = BATCH) -> Iterator[pa.RecordBatch]:
    """Bring the columns that were picked out of their engine, in Arrow batches of at most so many ``rows``."""
    return (batch for frame in picked.frames for batch in batches(frame, rows))


def reader_of(pieces: Iterator[pa.RecordBatch], empty: Callable[[], pa.Schema]) -> pa.RecordBatchReader:
    """Return a stream of batches that all have the columns of the first, or of ``empty`` if there is none."""
    first = next(pieces, None)
    if first is None:
        return pa.RecordBatchReader.from_batches(empty(), iter(()))
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], pieces))


def side_by_side(work: Callable[[pa.RecordBatch], _T], pieces: Iterable[pa.RecordBatch]) -> Iterator[_T]:
    """Work on batches while the next ones are read, and return the results in order; few are in memory at a time."""
    waiting: deque[Future[_T]] = deque()
    with ThreadPoolExecutor(_WORKERS) as pool:
        for piece in pieces:
            waiting.append(pool.submit(work, piece))
            if len(waiting) > _WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def connect(*paths: str) -> Any:
    """Open a DuckDB of our own that sees these paths and nothing else.

    Statistics in a Parquet file leave NaN out of a column's largest value, and DuckDB's optimizer concludes from them
    that ``x <= 100`` holds everywhere, and even that ``isnan(x)`` nowhere does. So it may not look at statistics.

    Nor may it choose which side of a join is kept in memory. That must be the declared labels, and it takes a stream of
    rows, which has no known length, for the smaller side.

    Privacy
    -------
    No progress bar, no extension or network, no Python variables as tables, no spilling of rows to disk.
    """
    try:
        import duckdb
    except ModuleNotFoundError:
        raise missing("duckdb", "reading a file of rows") from None

    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
            "temp_directory": "",
        },
    )
    connection.execute("SET disabled_optimizers = 'statistics_propagation,build_side_probe_side,join_order'")
    # in a notebook without ipywidgets DuckDB refuses to be told, and has nothing to draw a bar with
    with suppress(duckdb.Error):
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


def arrow_reader(relation: Any, rows: int) -> Any:
    """Stream a relation as Arrow batches."""
    read_stream = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    return read_stream(rows)


def in_duckdb(connection: Any, table: pa.Table) -> Frame:
    """Bring a public table to the rows on a connection."""
    return nw.from_native(connection.from_arrow(table))


class Server(Protocol):
    """What runs a planned query: the tree of DuckDB's plan, over tables that it knows by name."""

    def rows(self, tree: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Return all rows of a query of few."""
        ...

    def batches(self, tree: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        """Stream the rows of a query."""
        ...


class StandIn:
    """A DuckDB that plans for a server."""

    def __init__(self, server: Server) -> None:
        self._connection = connect()
        self._server = server
        self._names: list[str] = []

    def view(self, columns: Mapping[str, str]) -> tuple[str, Frame]:
        """Return a table with these columns, of these DuckDB types, and the name under which the server gets it."""
        name = f"held_{uuid.uuid4().hex}"
        empty = ", ".join(f"CAST(NULL AS {kind}) AS {quoted(column)}" for column, kind in columns.items())
        # whichever columns are asked for, also none: a query that is run here by mistake finds no empty table
        self._connection.execute(
            f"CREATE VIEW {name} AS SELECT {empty} FROM range(1) AS r(i) WHERE error('not here' || i) IS NULL"
        )
        self._names.append(name)
        _OPEN[name] = self
        return name, nw.from_native(self._connection.table(name))

    def tree(self, relation: Any) -> Mapping[str, Any]:
        """Return the tree of a query over the views."""
        (text,) = self._connection.execute("SELECT json_serialize_sql(?)", [relation.sql_query()]).fetchone()
        return json.loads(text)

    def rows(self, relation: Any) -> list[tuple[Any, ...]]:
        """Run a query of few rows on the server."""
        return self._server.rows(self.tree(relation))

    def batches(self, relation: Any) -> Iterator[pa.RecordBatch]:
        """Run a query on the server, and stream its rows."""
        return self._server.batches(self.tree(relation))

    def close(self) -> None:
        """Forget the views."""
        for name in self._names:
            _OPEN.pop(name, None)
        self._connection.close()


def stand_in_of(relation: Any) -> StandIn | None:
    """Return where a DuckDB relation is to be computed, if it is not here."""
    if not _OPEN:
        return None
    text = relation.sql_query()
    return next((held for name, held in _OPEN.items() if name in text), None)


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
        return "DuckDB" if stand_in_of(native) is None else "PostgreSQL"
    return type(native).__module__.partition(".")[0]
