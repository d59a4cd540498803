"""Which rows of a database: the address or the file, and a table or a query in it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.addresses import ServerAddress, read_server
from discreet.data.sources.database_files import FileRows, is_database
from discreet.data.sources.results import quoted
from discreet.data.sources.source import Source
from discreet.errors import UsageError

_WHAT = "a PostgreSQL database"
_PART = re.compile(r"[^\x00-\x1f\x7f.]{1,200}")
_LONGEST = 100_000


@dataclass(frozen=True, repr=False)
class DatabaseRows:
    """Rows of a database, by table or by query; stands where data stand. Its address may hold a password."""

    address: ServerAddress
    text: str

    def open(self) -> Source:
        """Connect to the database."""
        from discreet.data.sources.postgres import PostgresSource

        return PostgresSource(self.address, self.text)


def rows_in(data: Any, table: Any, query: Any) -> Any:
    """Return the rows that are meant, if ``data`` is the address of a database; other data as they are.

    Privacy
    -------
    An address is read into allowed parts, and never passed on; errors do not quote it.
    """
    if isinstance(data, str | os.PathLike) and is_database(Path(data)):
        return FileRows(Path(data), _source_text(table, query))
    address = read_server(data, _WHAT) if isinstance(data, str) else None
    if address is None:
        if table is not None or query is not None:
            raise UsageError(
                "table and query are for databases.",
                hint='for example dc.release("postgresql://user@host/database", …, table="visits"), or a file of '
                "DuckDB or SQLite",
            )
        return data
    return DatabaseRows(address, _source_text(table, query))


def is_address(data: Any) -> bool:
    """Tell whether data are the address of a database."""
    return isinstance(data, str) and not os.path.exists(data) and read_server(data, _WHAT) is not None


def _source_text(table: Any, query: Any) -> str:
    """Return what follows FROM."""
    if (table is None) == (query is None):
        raise UsageError(
            "a database takes a table or a query, one of them.",
            hint='table="visits", or query="SELECT cost FROM visits WHERE year = 2024"',
        )
    if table is not None:
        parts = table.split(".") if isinstance(table, str) else []
        if not 1 <= len(parts) <= 2 or not all(map(_PART.fullmatch, parts)):
            raise UsageError("table must be the name of a table, alone or after its schema and a point.")
        return ".".join(map(quoted, parts))
    if not isinstance(query, str) or not query.strip() or len(query) > _LONGEST or "\0" in query:
        raise UsageError("query must be the text of one SELECT.")
    text = query.strip().removesuffix(";")
    # on lines of its own, so that a comment at its end does not swallow the bracket
    return f"(\n{text}\n) AS asked"
