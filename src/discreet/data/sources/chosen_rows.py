r"""Which rows of a person count, and in which groups: a choice by hash, never by the order in which rows arrive.

Of a person's rows those come first whose SHA-256 is smallest, over a key, the unit's text, the fixed-point integers of
the row, and which copy it is: rows of a person that are equal are numbered 0, 1, 2, ..., and it makes no difference
which is which. (With one hash for all copies, a value that a person has often would count all at once or not at all,
and the mean of the rows that count would not be the mean of the rows.) The key is drawn for each release from the
operating system's generator, and is not published. Given the key, the choice is a function of the person's own rows: of
which rows there are and how often, not of their order, of the engine, or of anybody else.

**Engines.** DuckDB has ``sha256``, and hashes where the rows are. Polars and others have none: their integers and keys
are streamed, as Arrow batches, into a DuckDB of our own, so that the same function chooses everywhere.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from discreet.data.sources.results import batches, connect, in_duckdb, reader_of
from discreet.domain.unit import Unit

_KEY_BYTES = 32


@dataclass(frozen=True, repr=False)
class ChosenRows:
    """Data of which at most so many rows of each person count, and the key by which they are chosen. Private."""

    rows: Any
    unit: Unit
    key: bytes


def new_key() -> bytes:
    """Return a key from the operating system's generator."""
    return secrets.token_bytes(_KEY_BYTES)


class InDuckDB(closing[Any]):
    """Rows of a frame as a DuckDB relation: as they are, or streamed into a connection of our own."""

    def __init__(self, frame: Any) -> None:
        native = frame.to_native()
        self._connection: Any = None
        if not nw.dependencies.is_duckdb_relation(native):
            self._connection = connect()
            reader = reader_of(batches(frame), lambda: frame.head(0).collect().to_arrow().schema)
            native = self._connection.from_arrow(reader)
        self.relation: Any = native
        super().__init__(self)

    def beside(self, theirs: Callable[[pa.Table], Any] | None, table: pa.Table) -> Any:
        """Bring a public table to where the relation is: by ``theirs``, unless the connection is our own."""
        if self._connection is not None:
            return in_duckdb(self._connection, table)
        assert theirs is not None
        return theirs(table)

    def close(self) -> None:
        """Let go of the connection, if it is our own."""
        if self._connection is not None:
            self._connection.close()


def placed(relation: Any, key: bytes, numbers: Sequence[str], *, last: str, latin1: bool) -> Any:
    """Return the rows with a column ``place``: which of its person's (``unit``, ``own``) a row is, by hash.

    ``numbers`` are the columns of integers that make the row; rows for which ``last`` holds come after all others.
    ``latin1`` says that text is UTF-8 decoded as Latin-1, whose bytes are what other sources have.
    """
    kind = str(dict(zip(relation.columns, relation.types, strict=True))["unit"])
    unit = "unit" if kind == "BLOB" else "encode(CAST(unit AS VARCHAR))"
    if latin1 and kind == "VARCHAR":
        each = "list_transform(regexp_extract_all(unit, '(?s:.)'), lambda c: lpad(hex(ord(c)), 2, '0'))"
        unit = f"CASE WHEN strlen(unit) = length(unit) THEN encode(unit) ELSE unhex(array_to_string({each}, '')) END"
    row = " || ':' || ".join(f"coalesce(CAST({name} AS VARCHAR), '')" for name in (*numbers, "copy"))
    # the length of the unit's text keeps it apart from what follows
    size = f"encode(CAST(octet_length({unit}) AS VARCHAR) || ':')"
    text = f"unhex('{key.hex()}') || {size} || {unit} || encode({row})"
    copies = relation.project(
        f"*, row_number() OVER (PARTITION BY unit, own, {', '.join(numbers)}) - 1 AS copy"
    )
    return copies.project(
        f"* EXCLUDE (copy), row_number() OVER (PARTITION BY unit, own ORDER BY {last}, sha256({text})) AS place"
    )
