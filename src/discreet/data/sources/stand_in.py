"""Tables of a database server, planned here and computed there.

Each table stands in a DuckDB of ours as a view that has its columns and cannot be read: DuckDB plans our queries over
such views, and would raise if it ever ran one. The plan goes to the server instead, through :func:`rows_of` and
:func:`~discreet.data.sources.batches.batches`, where every query of ours ends.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import narwhals as nw
import pyarrow as pa

from discreet.data.sources.engines import connect, quoted
from discreet.data.sources.planned import noted
from discreet.data.sources.queries import engine_of, fetch
from discreet.data.sources.source import Frame

# those that are open, by a name that no other table has
_OPEN: dict[str, StandIn] = {}


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
