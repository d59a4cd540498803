"""Rows as scikit-learn takes them, as one array for each column; every entry stays what it was.

scikit-learn's own readers make one array of a table, so that one entry changes the type of all others, and quote what
they do not like. Here each column is read by itself, and only its declared type raises. Run inside
:func:`~discreet.data.sources.conceal.run_concealed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from discreet.data.sources.keys import as_text
from discreet.data.sources.memory import check_type, fields, from_pandas, objects_of, one_column, texts
from discreet.data.sources.source import Need
from discreet.data.sources.values import Vocabulary
from discreet.errors import UsageError
from discreet.objects import type_name

_NEED = Need("PrivateNaiveBayes", Vocabulary.of([]))
_SHAPE = (
    "Expected 2D array: X has rows, and as many entries in each as there are features. Reshape your data, for one "
    "feature with X.reshape(-1, 1)."
)


def feature_columns(X: Any) -> list[np.ndarray]:
    """Return the columns of a table, an array or a list of rows; raise for their shape or type alone."""
    X = nw.to_native(X, pass_through=True)
    if isinstance(X, list | tuple):
        columns = _of_rows(X)
    elif (framed := _framed(X)) is not None:
        columns = [_of_column(column, name) for name, column in framed]
    elif nw.dependencies.is_into_series(X) or isinstance(X, pa.Array | pa.ChunkedArray):
        raise UsageError(_SHAPE)
    else:
        array = _array(X, "X")
        if array.ndim != 2:
            raise UsageError(_SHAPE)
        columns = [_of_array(array[:, i], "X") for i in range(array.shape[1])]
    if not columns:
        # in scikit-learn's words, but for the number of rows, which can be private
        raise UsageError("Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    return columns


def target_column(y: Any) -> tuple[np.ndarray, bool]:
    """Return the target's entries, and whether they came as a table of one column."""
    y = nw.to_native(y, pass_through=True)
    if isinstance(y, list | tuple):
        single = bool(y) and all(fields(entry, 1) for entry in y)
        return _objects([(fields(entry, 1) or [None])[0] for entry in y] if single else list(y)), single
    if (framed := _framed(y)) is not None:
        if len(framed) != 1:
            raise UsageError("y must have one column.")
        return _of_column(framed[0][1], "y"), True
    if nw.dependencies.is_into_series(y) or isinstance(y, pa.Array | pa.ChunkedArray):
        return _of_column(one_column(y), "y"), False
    array = _array(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        return _of_array(array[:, 0], "y"), True
    if array.ndim != 1:
        raise UsageError("y must have one dimension.")
    return _of_array(array, "y"), False


def without_rows(X: Any, n_features: int) -> Any:
    """Return what scikit-learn may look at: the names and the number of the columns."""
    X = nw.to_native(X, pass_through=True)
    if nw.dependencies.is_pandas_dataframe(X):
        return X.iloc[:0]
    if nw.dependencies.is_polars_dataframe(X):
        return X.head(0)
    if isinstance(X, pa.Table | pa.RecordBatch):
        return pa.Table.from_batches([X]).slice(0, 0) if isinstance(X, pa.RecordBatch) else X.slice(0, 0)
    return np.empty((0, n_features))


def _framed(given: Any) -> list[tuple[str, Any]] | None:
    """Return names and columns of a data frame, typed or loose; ``None`` for anything else."""
    if nw.dependencies.is_pandas_dataframe(given):
        return [(str(name), from_pandas(given.iloc[:, i])) for i, name in enumerate(given.columns)]
    if nw.dependencies.is_polars_dataframe(given):
        return [(column.name, one_column(column)) for column in given.get_columns()]
    if isinstance(given, pa.Table | pa.RecordBatch):
        return list(zip(given.schema.names, given.columns, strict=True))
    return None


def _of_rows(rows: Sequence[Any]) -> list[np.ndarray]:
    """Take apart a list of rows, which are lists, tuples or arrays of equal length."""
    if not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
        raise UsageError(_SHAPE)
    width = len(rows[0]) if rows else 0
    parts = [fields(row, width) for row in rows]
    if any(part is None for part in parts):
        raise UsageError("the rows of a list must be of equal length.")
    return [_objects([part[i] for part in parts if part is not None]) for i in range(width)]


def _objects(entries: list[Any]) -> np.ndarray:
    """Return an array of objects, none of which NumPy looks into."""
    out = np.empty(len(entries), dtype=object)
    for i, entry in enumerate(entries):
        out[i] = entry
    return out


def _array(given: Any, name: str) -> np.ndarray:
    if hasattr(type(given), "toarray"):
        raise UsageError(f"Sparse data was passed for {name}, but dense data is required.")
    if isinstance(given, np.ma.MaskedArray):
        return given
    if not hasattr(type(given), "__array__"):
        raise UsageError(
            f"cannot read {name} of {type_name(given)}.",
            hint="give a pandas, Polars or PyArrow table, an array or a list",
        )
    return np.asarray(given)


def _of_array(column: np.ndarray, name: str) -> np.ndarray:
    """Return a column of an array; a masked entry is missing."""
    kind = column.dtype.kind
    if kind == "c":
        raise UsageError("Complex data not supported.")
    if kind not in "biufUSTO":
        raise UsageError(
            f"{name} holds {'dates or times' if kind in 'mM' else 'values of an unsuitable type'}."
        )
    loose = isinstance(column, np.ma.MaskedArray) or kind in "STO"
    return _objects(objects_of(column)) if loose else np.asarray(column)


def _of_column(column: Any, name: str) -> np.ndarray:
    """Return a column of a data frame, typed (Arrow) or loose (a list)."""
    if isinstance(column, list):
        return _objects(column)
    check_type(column.type, name, _NEED)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    held = column.type
    if as_text(held):
        # through bytes, which need not be UTF-8
        return _objects(texts(column, "utf-8"))
    if pa.types.is_floating(held) or (pa.types.is_integer(held) and not column.null_count):
        return column.to_numpy()
    return _objects(column.to_pylist())
