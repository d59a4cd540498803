"""Sources in memory: arrays, lists, dictionaries of columns, pandas and Arrow; all become batches of Arrow columns.

A typed column is converted by its type. A column of Python objects (a list, pandas' object type) or of NumPy's text has
no declared type: each object is read on its own and what cannot be read is missing, so no value can raise. Where
numbers are wanted the same goes for text of any type, because whatever read the rows before us may have guessed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.data.sources.dates import check_dates, days, days_of_array
from discreet.data.sources.keys import as_text, key_array, object_keys, object_presence, presence_array
from discreet.data.sources.kinds import Kind, kind_of, no_keys, takes_keys, wrong_type
from discreet.data.sources.source import Frame, Need, Picked, Source
from discreet.data.sources.values import numbers
from discreet.errors import UsageError
from discreet.names import spelled
from discreet.objects import BLANKS, forgiving, plain_value, type_name

# rows per batch: large enough to amortize the engine, small enough that temporaries stay in tens of megabytes
BATCH = 1 << 19

#: How the names of files end that can be read as rows.
ENDINGS = (
    *(".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet"),
    *(".xlsx", ".dta", ".sav", ".sas7bdat", ".xpt"),
)

#: A typed column (``pa.ChunkedArray``) or a loose one (a list of Python objects).
Column = Any


class ColumnSource(Source):
    """Columns that fit in memory, typed (Arrow) or loose (lists of Python objects)."""

    def __init__(self, columns: Sequence[Callable[[], Column]], names: list[str] | None) -> None:
        self._columns = columns
        self.names = names

    def width(self, wanted: int) -> int:
        return len(self._columns)

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        names = self.names or [f"number {i + 1}" for i in range(len(self._columns))]
        columns = [self._columns[at]() for at in positions]
        if len({len(column) for column in columns}) > 1:
            raise UsageError("the columns must have the same number of values.")
        kinds, arrays = [], []
        unread = np.zeros(len(columns[0]), dtype=bool)
        for column, at, need in zip(columns, positions, needs, strict=True):
            if isinstance(column, list):
                kind, array, flags = read_objects(column, need)
                unread |= flags
            else:
                kind = check_type(column.type, names[at], need)
                array = _with_dates(column) if need.dates else column
            kinds.append(kind)
            arrays.append(array)
        table = pa.table(
            [*arrays, pa.array(unread)], names=[*(f"c{i}" for i in range(len(arrays))), "unread"]
        )
        frames = converted(table.to_batches(max_chunksize=BATCH), kinds, needs)
        return Picked(tuple(kinds), frames, has_unread=True)


class RowSource(Source):
    """A list: of values for one column, of rows for several; a row of the wrong length is missing."""

    names = None

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = rows

    def width(self, wanted: int) -> int:
        return wanted

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        d = len(positions)
        rows = list(self._rows)
        if d > 1:
            whole = [fields(row, d) or [None] * d for row in rows]
            columns = [[row[i] for row in whole] for i in range(d)]
        else:
            columns = [rows]
        return ColumnSource([lambda c=c: c for c in columns], None).pick(positions, needs)


@forgiving
def fields(row: Any, wanted: int) -> list[Any] | None:
    """Return the values of a row, or ``None`` if it is no row or has too many or too few.

    A row is a list, a tuple (a named one too) or an array; no method of a subclass is called.
    """
    kind = type(row)
    if issubclass(kind, list):
        values = list.__getitem__(row, slice(None))
    elif issubclass(kind, tuple):
        values = list(tuple.__iter__(row))
    elif kind is np.ndarray or kind is np.ma.MaskedArray:
        values = [row[i] for i in range(len(row))] if len(row) == wanted else []
    else:
        return None
    return values if len(values) == wanted else None


def names_files(rows: Sequence[Any], needs: Sequence[Need]) -> bool:
    """Tell whether a list is one of files and not of data: each entry is a path, or text that ends like a data file.

    Privacy
    -------
    A list of anything else is the data itself, so what this says may not turn on what one record holds. It is false as
    soon as one entry is anything else, a number or a missing value too: only where *all* the others are names of files
    could a record decide it, and then there is no table. Nothing is looked up on the disk to find out, where a row's
    text has no business. Where a declared label ends like a file, such text is data.
    """
    if any(
        word.lower().endswith(ENDINGS)
        for need in needs
        if need.vocabulary is not None
        for word in need.vocabulary.words
    ):
        return False
    return bool(rows) and all(_names_file(row) for row in rows)


@forgiving
def _names_file(row: Any) -> bool:
    if issubclass(type(row), PurePath):
        return True
    text = plain_value(row)
    return isinstance(text, str) and text.strip().lower().endswith(ENDINGS)


class BatchSource(Source):
    """A stream of Arrow batches, read once."""

    once = True

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._reader = reader
        self.names = list(reader.schema.names)

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        chosen_fields = [self._reader.schema.field(at) for at in positions]
        kinds = [
            check_type(field.type, field.name, need) for field, need in zip(chosen_fields, needs, strict=True)
        ]
        labels = [f"c{i}" for i in range(len(positions))]
        chosen = (
            piece
            for batch in self._reader
            for piece in pa.table([batch.column(at) for at in positions], names=labels).to_batches(BATCH)
        )
        return Picked(tuple(kinds), converted(chosen, kinds, needs), has_unread=True)


def converted(
    batches: Iterable[pa.RecordBatch], kinds: Sequence[Kind], needs: Sequence[Need]
) -> Iterator[Frame]:
    """Bring each column of each batch into the form of its kind, and flag records that held something unreadable."""
    names = [f"c{i}" for i in range(len(kinds))]
    for batch in batches:
        unread = np.zeros(len(batch), dtype=bool)
        if "unread" in batch.schema.names:
            unread |= batch.column("unread").to_numpy(zero_copy_only=False)
        arrays = []
        for name, kind, need in zip(names, kinds, needs, strict=True):
            array = batch.column(name)
            if kind is Kind.KEY:
                arrays.append(array if pa.types.is_large_binary(array.type) else key_array(array))
            elif kind is Kind.PRESENCE:
                arrays.append(presence_array(array))
            elif kind is Kind.NUMBER and as_text(array.type):
                floats, flags = (days if need.dates else numbers)(texts(array))
                arrays.append(pa.array(floats))
                unread |= flags
            elif need.dates and not pa.types.is_floating(array.type):
                arrays.append(days_of_array(array))
            else:
                arrays.append(to_kind(array, kind))
        table = pa.table([*arrays, pa.array(unread)], names=[*names, "unread"])
        yield nw.from_native(table, eager_only=True)


def texts(array: Any, encoding: str = "latin-1") -> list[str | None]:
    """Return an Arrow column as text. What is to be read as numbers is read as Latin-1: numbers are ASCII."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    raw = array.cast(pa.large_string()).cast(pa.large_binary()).to_pylist()
    return [None if value is None else value.decode(encoding, "surrogateescape") for value in raw]


def to_kind(array: pa.Array, kind: Kind) -> pa.Array:
    """Convert an Arrow array; casts are unchecked because int64 to float64 must round, not raise."""
    if pa.types.is_dictionary(array.type):
        if kind is Kind.TEXT:
            # trimmed here, each value once; labels are looked up once each too
            return pa.DictionaryArray.from_arrays(array.indices, to_kind(array.dictionary, kind))
        array = array.dictionary_decode()
    if kind is Kind.NUMBER:
        if pa.types.is_decimal(array.type):
            # through text: Arrow's own conversion is up to an ulp off
            array = array.cast(pa.string())
        return array.cast(pa.float64(), safe=False)
    if kind is Kind.TEXT:
        # byte by byte: blanks are ASCII, and bytes that are not UTF-8 then match no label instead of raising
        return pc.call_function("ascii_trim", [array.cast(pa.large_string())], pc.TrimOptions(BLANKS))
    return array.cast(pa.int64()) if kind in (Kind.INTEGER, Kind.CODE) else array


def check_type(declared: pa.DataType, name: str, need: Need) -> Kind:
    """Return the kind of an Arrow column, or raise for its declared type."""
    if need.presence:
        return Kind.PRESENCE
    if pa.types.is_dictionary(declared):
        declared = declared.value_type
    if pa.types.is_decimal(declared):
        declared = pa.decimal128(38)  # narwhals knows this width only
    if as_text(declared):
        declared = pa.string()
    if need.dates and pa.types.is_date(declared):
        declared = pa.date32()
    dtype = nw.from_native(pa.schema([(name, declared)]).empty_table(), eager_only=True).schema[name]
    return kind_for(name, dtype, need, empty_type=pa.types.is_null(declared), declared=False)


def kind_for(name: str, dtype: Any, need: Need, *, empty_type: bool, declared: bool) -> Kind:
    """Return the kind that a column of this type is read as, or raise for the type."""
    if need.dates:
        check_dates(dtype, name, need.family, empty_type=empty_type)
        return Kind.NUMBER
    if need.presence:
        return Kind.PRESENCE
    if need.key:
        if not (empty_type or takes_keys(dtype)):
            raise no_keys(name)
        return Kind.KEY
    kind = kind_of(dtype, empty_type=empty_type, labels=need.labels, declared=declared)
    if kind is None:
        raise wrong_type(name, dtype, need.family, labels=need.labels)
    return kind


def read_objects(values: list[Any], need: Need) -> tuple[Kind, pa.Array, np.ndarray]:
    """Read Python objects one by one; return kind, column, and which were there but unreadable."""
    if need.key or need.presence:
        unread = np.zeros(len(values), dtype=bool)
        if need.key:
            return Kind.KEY, object_keys(values), unread
        return Kind.PRESENCE, object_presence(values), unread
    if need.vocabulary is None:
        floats, unread = (days if need.dates else numbers)(values)
        return Kind.NUMBER, pa.array(floats), unread
    codes, unread = need.vocabulary.codes(values)
    return Kind.CODE, pa.array(codes, type=pa.int64()), unread


def _with_dates(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a typed column that is to be read as dates, its dictionary resolved."""
    if not pa.types.is_dictionary(column.type) or as_text(column.type):
        return column
    return pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)


def array_columns(array: np.ndarray) -> ColumnSource:
    """Take a one-dimensional array as a column, a two-dimensional one as its columns."""
    if array.ndim not in (1, 2):
        raise UsageError(f"an array of data must have one or two dimensions, got {array.ndim}.")
    columns = [array] if array.ndim == 1 else [array[:, i] for i in range(array.shape[1])]
    return ColumnSource([lambda c=c: from_array(c) for c in columns], None)


def mapping_columns(data: Mapping[Any, Any]) -> ColumnSource:
    """Take a dictionary of columns.

    Its keys are shown, as names of columns are; so they must be that, and not the values that a dictionary counts.
    """
    for values in data.values():
        if not _is_column(values):
            raise UsageError(f"a column must be a list, an array or a series, not {type_name(values)}.")
    return ColumnSource([lambda v=v: one_column(v) for v in data.values()], [spelled(name) for name in data])


def pandas_columns(frame: Any) -> ColumnSource:
    """Take the columns of a pandas frame."""
    width = len(frame.columns)
    names = [spelled(name) for name in frame.columns]
    return ColumnSource([lambda i=i: from_pandas(frame.iloc[:, i]) for i in range(width)], names)


def table_columns(table: pa.Table) -> ColumnSource:
    """Take the columns of an Arrow table."""
    return ColumnSource([lambda c=c: c for c in table.columns], list(table.schema.names))


def _is_column(values: Any) -> bool:
    """Tell whether an object holds the values of a column."""
    known = nw.dependencies
    return (
        isinstance(values, np.ndarray | list | tuple | range | pa.ChunkedArray | pa.Array)
        or known.is_pandas_series(values)
        or known.is_pandas_index(values)
        or known.is_polars_series(values)
    )


def one_column(values: Any) -> Column:
    """Return one column from whatever a dictionary or a series holds."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise UsageError("each column must have one dimension.")
        return from_array(values)
    if nw.dependencies.is_pandas_series(values) or nw.dependencies.is_pandas_index(values):
        return from_pandas(values)
    if isinstance(values, pa.ChunkedArray | pa.Array):
        return _chunked(values)
    if nw.dependencies.is_polars_series(values):
        # Polars' type of Python objects
        return values.to_list() if str(values.dtype) == "Object" else _chunked(values.to_arrow())
    if isinstance(values, list | tuple | range):
        return list(values)
    raise UsageError(f"a column must be a list, an array or a series, not {type_name(values)}.")


def from_array(array: np.ndarray) -> Column:
    """Return a NumPy column; a masked value is missing."""
    if array.dtype.kind in "OUTS":
        # one text among numbers turns all of them into text
        return objects_of(array)
    mask = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    plain = np.asarray(array)
    if plain.dtype.kind == "f" and plain.dtype.itemsize not in (4, 8):
        with np.errstate(all="ignore"):
            plain = plain.astype(np.float64)
    # Arrow is slow at columns that lie apart in memory
    plain = np.ascontiguousarray(plain.astype(plain.dtype.newbyteorder("="), copy=False))
    return _typed(lambda: pa.array(plain, mask=mask))


def objects_of(array: np.ndarray) -> list[Any]:
    """Return the values of a NumPy column as Python objects; bytes are text, and a masked value is missing."""
    values = np.asarray(array).tolist()
    if array.dtype.kind == "S":
        values = [value.decode("utf-8", "surrogateescape") for value in values]
    if not isinstance(array, np.ma.MaskedArray):
        return values
    return [None if m else v for v, m in zip(values, np.ma.getmaskarray(array), strict=True)]


def from_pandas(series: Any) -> Column:
    """Return a pandas column; one of Python objects is loose, also if they are known to be text."""
    categories = getattr(series.dtype, "categories", None)
    held = series.dtype if categories is None else categories.dtype
    if held == "object" or getattr(held, "storage", None) == "python":
        return series.astype(object).tolist()
    if isinstance(series.dtype, np.dtype):
        return from_array(series.to_numpy())
    return _typed(lambda: pa.array(series, from_pandas=True))


def _typed(convert: Callable[[], Any]) -> Column:
    """Convert a column whose type is declared; what Arrow has no type for is no number and no label either."""
    try:
        return _chunked(convert())
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError):
        failed = True
    if failed:
        raise UsageError("a column holds values of an unsuitable type.")


def _chunked(array: Any) -> Column:
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
