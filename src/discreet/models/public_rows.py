"""Rows that need no protection, coded by a model's declarations: held-out records, or ones to predict for."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.domain.columns import Labels
from discreet.errors import UsageError
from discreet.extras import needed_for
from discreet.models.column_model import ColumnModel
from discreet.objects import forgiving, number, plain_value, type_name

_PACKAGE = __name__.partition(".")[0]


def code_rows(model: ColumnModel, rows: Any, *, absent: Sequence[str] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Return the label codes and the numbers of rows, as the private side codes its records.

    Parameters
    ----------
    model
        The model, whose columns are looked for.
    rows
        A dictionary of columns, a pandas, Polars or Arrow table, or an array or list of rows whose columns are the
        model's, in order.
    absent
        Columns that may be left out; they are then missing in every row.

    Returns
    -------
    codes, values
        A code is the position of the label, or the number of labels for what is missing or undeclared; a missing number
        is NaN.
    """
    named = _columns(model, rows, absent)
    sizes = {len(values) for values in named.values()}
    if len(sizes) > 1:
        raise UsageError("the columns must have the same number of values.")
    n = sizes.pop() if sizes else 0
    codes = np.empty((n, len(model.label_columns)), dtype=np.int32)
    values = np.empty((n, len(model.numeric_columns)))
    for at, column in enumerate(model.label_columns):
        given = named.get(column.name)
        codes[:, at] = column.n_labels if given is None else _codes(given, column)
    for at, numeric in enumerate(model.numeric_columns):
        given = named.get(numeric.name)
        values[:, at] = (
            np.nan if given is None else [math.nan if (x := number(value)) is None else x for value in given]
        )
    return codes, values


def warn_moved(moved: np.ndarray) -> None:
    """Warn, where the package was called from, if numbers of rows were moved to their bounds."""
    if n := int(moved.sum()):
        warn_caller(
            f"{n:,} of {len(moved):,} rows had a number outside its bounds, which was moved to the nearest bound"
        )


def warn_caller(said: str) -> None:
    """Warn where the package was called from."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(said, stacklevel=level)


def distinct_rows(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of codes, and which of them each row is."""
    if not len(codes):
        return codes, np.empty(0, dtype=np.int64)
    distinct, where = np.unique(codes, axis=0, return_inverse=True)
    return distinct, where.reshape(-1)


def _columns(model: ColumnModel, rows: Any, absent: Sequence[str]) -> dict[str, Sequence[Any]]:
    needed = [name for name in model.column_names if name not in absent]
    native = rows
    if not isinstance(native, Mapping | list | tuple | np.ndarray):
        with needed_for("reading a data frame"):
            import narwhals  # noqa: F401 -- before it is looked for where nothing raises
        native = _framed(native, model.column_names)
    elif isinstance(native, Mapping):
        native = _plain(native)
    if native is None:
        raise UsageError(
            f"cannot read rows of {type_name(rows)}.",
            hint="give a dictionary of columns, a table, or a list of rows",
        )
    if isinstance(native, Mapping):
        lost = [name for name in needed if name not in native]
        if lost:
            raise UsageError(f"the rows have no column {lost[0]!r:.60}.")
        listed = {name: _listed(native[name]) for name in model.column_names if name in native}
        if any(values is None for values in listed.values()):
            raise UsageError("each column must be a list, an array or a series.")
        return {name: values for name, values in listed.items() if values is not None}
    if isinstance(native, np.ndarray) and native.ndim == 0:
        raise UsageError("an array of rows must have one or two dimensions, got 0.")
    given = [_fields(row) for row in native]
    for names in (list(model.column_names), needed):
        if all(len(row) == len(names) for row in given):
            return {name: [row[i] for row in given] for i, name in enumerate(names)}
    raise UsageError(f"every row must have {len(needed)} values: {', '.join(needed):.200}.")


@forgiving
def _plain(columns: Mapping[Any, Any]) -> dict[Any, Any] | None:
    """Return a dictionary of columns as a plain one; ``None`` if it fails."""
    return dict(columns.items())


def _fields(row: Any) -> list[Any]:
    """Return the values of a row, asking nothing of what it holds."""
    kind = type(row)
    if issubclass(kind, list):
        return list.__getitem__(row, slice(None))
    if issubclass(kind, tuple):
        return list(tuple.__iter__(row))
    return list(row) if issubclass(kind, np.ndarray) and row.ndim else [row]


@forgiving
def _framed(table: Any, wanted: Sequence[str]) -> dict[str, list[Any]] | None:
    """Return the wanted columns of a data frame, as lists; ``None`` if it is none."""
    import narwhals as nw

    frame = nw.from_native(nw.to_native(table, pass_through=True), eager_only=True)
    return {name: frame[name].to_list() for name in frame.columns if name in wanted}


@forgiving
def _listed(column: Any) -> list[Any] | None:
    """Return a column as a list of what it holds; ``None`` if it is no column."""
    if isinstance(column, np.ndarray) and column.ndim != 1:
        return None
    if isinstance(column, str | bytes | Mapping):
        return None
    # an Arrow array would give its own scalars
    values = getattr(column, "to_pylist", None)
    return list(column) if values is None else values()


def _codes(given: Sequence[Any], column: Labels) -> np.ndarray:
    known = {label: at for at, label in enumerate(column.labels)}
    return np.array([_code(value, known) for value in given], dtype=np.int32)


def _code(value: Any, known: Mapping[str, int]) -> int:
    read = plain_value(value)
    if isinstance(read, bool):
        spellings = [str(read), str(read).lower(), str(int(read))]
    elif isinstance(read, float):
        spellings = [f"{read:.0f}", str(read)] if read.is_integer() else [str(read)]
    elif isinstance(read, str):
        spellings = [read.strip()]
    elif isinstance(read, int) and abs(read) < 10**60:
        # labels are short, and Python writes no number of thousands of digits
        spellings = [str(read)]
    else:
        spellings = []
    return next((known[word] for word in spellings if word in known), len(known))
