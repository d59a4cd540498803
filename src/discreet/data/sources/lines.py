r"""CSV files: one line is one record.

The lines are cut here, at line feeds and nowhere else, and only then are they looked at. A quote that is opened and
not closed, a stray byte, or a line of any length therefore spoils the record it belongs to and no other. A reader that
lets quoted fields span lines would let one person's quotation mark swallow the neighbors' records, and no
noise is calibrated to that. The price: a quoted field with line breaks in it becomes several records, most of them
malformed. ``discreet check`` warns of such files; their lines have an odd number of quotation marks.

The first line is the header; it alone decides the delimiter and the number of fields. A line is then

* a record, if it splits into that many fields (quoted fields as in RFC 4180, spaces around the quotes allowed);
* nothing, if it is empty and the header has two or more columns;
* malformed otherwise: one record, all of whose fields are missing.

Bytes are decoded as Latin-1, which never fails; labels are compared in the same disguise. A carriage return before a
line feed belongs to the line's end.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.data.sources.dates import text_days_sql
from discreet.data.sources.kinds import Kind
from discreet.data.sources.results import connect, in_duckdb, literal
from discreet.data.sources.source import Need, Picked, Source
from discreet.errors import DataError
from discreet.objects import BLANKS, NUMBER_PATTERN

#: Longest line that is looked at, in bytes; a longer one is malformed.
LONGEST = 1 << 20
_BLOCK = 1 << 21
# stands for a line that is too long; not quoted properly, with an even number of marks because none is open
_MALFORMED = b'""x'
_DELIMITERS = (",", ";", "\t", "|")
# properly quoted fields have an even number of marks, so such a line never splits
_UNCLOSED_SQL = "(length(line) - length(replace(line, '\"', ''))) % 2 = 1"
_NUMBER_SQL = literal(NUMBER_PATTERN)
_BLANKS_SQL = literal(BLANKS)
_EACH_BLANK_SQL = [literal(blank) for blank in BLANKS]


class LineSource(Source):
    """A delimited text file, plain or gzipped."""

    def __init__(self, path: Path, *, delimiter: str | None) -> None:
        self._path = self.header_of = path
        try:
            with self._open() as file:
                first = file.readline(LONGEST)
        except Exception:
            raise DataError(f"{path} could not be read.") from None
        if first.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise DataError(f"{path} is UTF-16 text.", hint="save it as UTF-8")
        if not first.strip() or len(first) == LONGEST:
            raise DataError(f"{path} does not start with a header line.")
        header = _text(first.removeprefix(b"\xef\xbb\xbf"))
        self.delimiter = delimiter or _delimiter(header)
        self.names = [name.strip() for name in _split(header, self.delimiter)]
        self._connection: Any = None

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        self._connection = connect()
        reader = pa.RecordBatchReader.from_batches(pa.schema([("line", pa.string())]), self.line_batches())
        n_fields = len(self.names or ())
        relation = self._connection.from_arrow(reader)
        if n_fields > 1:
            relation = relation.filter("line <> ''")
        relation = relation.project(f"{_FIELDS_SQL[self.delimiter]} AS fields, {_UNCLOSED_SQL} AS unclosed")
        fits = f"len(fields) = {n_fields}"
        raw = [f"CASE WHEN {fits} THEN fields[{at + 1}] END AS f{i}" for i, at in enumerate(positions)]
        relation = relation.project(", ".join([*raw, f"({fits}) IS NOT TRUE AS malformed", "unclosed"]))
        texts = [f"{_unquoted_sql(f'f{i}')} AS t{i}" for i in range(len(positions))]
        relation = relation.project(", ".join([*texts, "malformed", "unclosed"]))
        kinds = tuple(map(_kind, needs))
        read = {
            Kind.NUMBER: _value_sql,
            Kind.KEY: lambda field, _: f"nullif({field}, '')",
            Kind.PRESENCE: lambda field, _: f"CASE WHEN {field} <> '' THEN 1.0 END",
        }
        columns = [
            f"{read[kind](f't{i}', need) if kind in read else f't{i}'} AS c{i}"
            for i, (kind, need) in enumerate(zip(kinds, needs, strict=True))
        ]
        numbers = [i for i, kind in enumerate(kinds) if kind is Kind.NUMBER]
        unread = " OR ".join(_unread_sql(f"t{i}", needs[i]) for i in numbers) or "false"
        relation = relation.project(
            ", ".join([*columns, "malformed", "unclosed", f"coalesce({unread}, false) AS unread"])
        )
        return Picked(
            kinds,
            iter([nw.from_native(relation)]),
            has_unread=bool(numbers),
            has_malformed=True,
            latin1=True,
            beside=partial(in_duckdb, self._connection),
        )

    def line_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the lines after the header, as batches of one text column."""
        return line_batches(self._body())

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _open(self) -> io.BufferedIOBase:
        return gzip.open(self._path, "rb") if self._path.suffix.lower() == ".gz" else self._path.open("rb")

    def _body(self) -> Iterator[bytes]:
        """Yield the bytes after the header, in blocks."""
        with self._open() as file:
            file.readline(LONGEST)
            while block := file.read(_BLOCK):
                yield block


def _kind(need: Need) -> Kind:
    if need.presence or need.key:
        return Kind.PRESENCE if need.presence else Kind.KEY
    return Kind.NUMBER if need.vocabulary is None else Kind.TEXT


def line_batches(blocks: Iterator[bytes]) -> Iterator[pa.RecordBatch]:
    """Cut blocks of bytes into lines, as batches of one text column.

    How the bytes arrive in blocks makes no difference: whether a line is too long depends on that line alone.
    """
    carry, skipping = b"", False
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if not end:
            carry = b"" if skipping else carry + block
        else:
            body = carry + block[:end]
            if skipping:
                body = _MALFORMED + body[body.index(b"\n") :]
            carry, skipping = block[end:], False
            yield _lines(body)
        if len(carry) > LONGEST + 1:  # one more for a carriage return
            carry, skipping = b"", True
    if skipping:
        carry = _MALFORMED
    if carry:
        yield _lines(carry + b"\n")


def _lines(body: bytes) -> pa.RecordBatch:
    """Return the lines of ``body``, which ends in a line feed."""
    body = body.replace(b"\r\n", b"\n")
    ends = np.flatnonzero(np.frombuffer(body, dtype=np.uint8) == 10)
    if np.diff(ends, prepend=-1).max() - 1 > LONGEST:
        short = (line if len(line) <= LONGEST else _MALFORMED for line in body.split(b"\n"))
        return _lines(b"\n".join(short))
    if not body.isascii():
        body = body.decode("latin-1").encode("utf-8")
        ends = np.flatnonzero(np.frombuffer(body, dtype=np.uint8) == 10)
    offsets = np.concatenate([[0], ends + 1]).astype(np.int32)
    lines = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(body))
    return pa.record_batch([pc.call_function("ascii_rtrim", [lines], pc.TrimOptions("\n"))], names=["line"])


def _text(line: bytes) -> str:
    try:
        return line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        return line.decode("latin-1").rstrip("\r\n")


def _delimiter(header: str) -> str:
    """Choose the delimiter that splits the header into most names; a comma if none does."""
    return max(_DELIMITERS, key=lambda mark: len(_split(header, mark)))


def _split(header: str, delimiter: str) -> list[str]:
    return next(csv.reader(io.StringIO(header), delimiter=delimiter, skipinitialspace=True), [""])


def _fields_sql(delimiter: str) -> str:
    """Split ``line``; null if its quoting is broken. Lines without quotes take the short way."""
    mark = literal(delimiter)
    # inside brackets no delimiter has a meaning of its own
    field = f' *"(?:[^"]|"")*" *|[^"{delimiter}]*'
    whole = literal(f"(?:{field})(?:[{delimiter}](?:{field}))*")
    each = literal(f"({field})[{delimiter}]")
    return (
        f"CASE WHEN NOT contains(line, '\"') THEN string_split(line, {mark}) "
        f"WHEN regexp_full_match(line, {whole}) THEN regexp_extract_all(line || {mark}, {each}, 1) END"
    )


_FIELDS_SQL = {mark: _fields_sql(mark) for mark in _DELIMITERS}


def _trimmed_sql(value: str) -> str:
    """Trim text; DuckDB's trim is slow, and most fields have nothing to trim."""
    some = " OR ".join(f"contains({value}, {blank})" for blank in _EACH_BLANK_SQL)
    return f"CASE WHEN {some} THEN trim({value}, {_BLANKS_SQL}) ELSE {value} END"


def _unquoted_sql(value: str) -> str:
    """Trim a field and take off its quotes."""
    bare = _trimmed_sql(value)
    inner = f"replace(substr({bare}, 2, length({bare}) - 2), '\"\"', '\"')"
    return f"CASE WHEN starts_with({bare}, '\"') THEN {_trimmed_sql(inner)} ELSE {bare} END"


def _value_sql(value: str, need: Need) -> str:
    return text_days_sql(value) if need.dates else _number_sql(value)


def _unread_sql(value: str, need: Need) -> str:
    """Tell whether text is there, but is no number, or no date."""
    read = f"({text_days_sql(value)}) IS NOT NULL" if need.dates else _is_number_sql(value)
    return f"({value} <> '' AND NOT {read})"


def _is_number_sql(value: str) -> str:
    return f"regexp_full_match({value}, {_NUMBER_SQL})"


def _number_sql(value: str) -> str:
    """Read text as a number; the pattern goes first because DuckDB's own cast also takes ``1_000``."""
    return f"CASE WHEN {_is_number_sql(value)} THEN TRY_CAST({value} AS DOUBLE) END"
