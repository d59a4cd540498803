"""Tables of a database that is a file: DuckDB, computed there, and SQLite, read row by row.

A column of SQLite holds values of any type, whatever was declared, so each value is read on its own, like one of a CSV
file. Both files are opened for reading only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from discreet.data.sources.conceal import run_concealed
from discreet.data.sources.engines import DuckSource
from discreet.data.sources.memory import BATCH, ColumnSource
from discreet.data.sources.results import connect, literal
from discreet.data.sources.source import Frame, Need, Picked, Source
from discreet.errors import DataError

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
