"""Which rows of a database: the address of a server or a file, and a table or a query in it.

Tables of a DuckDB file are computed there. A column of SQLite holds values of any type, whatever was declared, so each
value is read on its own, like one of a CSV file. Both files are opened for reading only.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from discreet.addresses import ServerAddress, read_server
from discreet.data.sources.conceal import run_concealed
from discreet.data.sources.engines import DuckSource
from discreet.data.sources.memory import BATCH, ColumnSource
from discreet.data.sources.results import connect, literal, quoted
from discreet.data.sources.source import Frame, Need, Picked, Source
from discreet.errors import DataError, UsageError

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


# what such a file begins with, and where
_SQLITE, _DUCKDB = (b"SQLite format 3\0", 0), (b"DUCK", 8)


@dataclass(frozen=True, repr=False)
class FileRows:
    """Rows of a database in a file, by table or by query; stands where data stand."""

    path: Path
    text: str

    def open(self) -> Source:
        """Open the database."""
        trouble = f"there is no such table in {self.path}, or the query is not one SELECT."
        return run_concealed(
            lambda: (SqliteSource if _begins(self.path, _SQLITE) else _duckdb)(self), trouble
        )


def is_database(path: Path) -> bool:
    """Tell whether a file is a database of DuckDB or SQLite, by how it begins."""
    return path.is_file() and (_begins(path, _SQLITE) or _begins(path, _DUCKDB))


def _begins(path: Path, magic: tuple[bytes, int]) -> bool:
    word, skipped = magic
    try:
        with path.open("rb") as file:
            return file.read(skipped + len(word))[skipped:] == word
    except OSError:
        raise DataError(f"{path} may not be read.") from None


def _duckdb(rows: FileRows) -> DuckSource:
    absolute = str(rows.path.absolute())
    # what is not committed yet stands beside the file
    connection = connect(absolute, f"{absolute}.wal")
    connection.execute(f"ATTACH {literal(absolute)} AS held (READ_ONLY)")
    connection.execute("USE held")
    return DuckSource(connection.sql(f"SELECT * FROM {rows.text}"), connection, foreign=False)


class SqliteSource(Source):
    """A table or a query of SQLite."""

    def __init__(self, rows: FileRows) -> None:
        self._connection = sqlite3.connect(
            f"{rows.path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False
        )
        # text need not be UTF-8, and must not raise
        self._connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        self._text = f"SELECT * FROM {rows.text}"
        described = self._connection.execute(f"{self._text} LIMIT 0").description
        self.names = [name for name, *_ in described]

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        pieces = self._pieces(positions, needs)
        first = next(pieces)
        frames: Iterator[Frame] = chain(first.frames, (frame for piece in pieces for frame in piece.frames))
        return Picked(first.kinds, frames, has_unread=True)

    def _pieces(self, positions: Sequence[int], needs: Sequence[Need]) -> Iterator[Picked]:
        """Read so many rows at a time; at least once, so that an empty table has its columns."""
        cursor = self._connection.execute(self._text)
        rows = cursor.fetchmany(BATCH)
        while True:
            columns = [[row[at] for row in rows] for at in positions]
            yield ColumnSource([lambda c=c: c for c in columns], None).pick(range(len(positions)), needs)
            rows = cursor.fetchmany(BATCH)
            if not rows:
                return

    def close(self) -> None:
        self._connection.close()
