"""Rows that need no protection, coded by a model's declarations: held-out records, or ones to predict for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.extras import needed_for
from discreet.models.base import Model
from discreet.models.columns import Labels


def code_rows(model: Model, rows: Any, *, absent: Sequence[str] = ()) -> tuple[np.ndarray, np.ndarray]:
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
    for at, number in enumerate(model.numeric_columns):
        given = named.get(number.name)
        values[:, at] = np.nan if given is None else [_number(value) for value in given]
    return codes, values


def _columns(model: Model, rows: Any, absent: Sequence[str]) -> dict[str, Sequence[Any] | np.ndarray]:
    needed = [name for name in model.column_names if name not in absent]
    native = rows
    if not isinstance(native, Mapping | list | tuple | np.ndarray):
        with needed_for("reading a data frame"):
            import narwhals as nw
        try:
            frame = nw.from_native(nw.to_native(native, pass_through=True), eager_only=True)
        except TypeError:
            raise UsageError(
                f"cannot read rows of type {type(rows).__name__}.",
                hint="give a dictionary of columns, a table, or a list of rows",
            ) from None
        native = {name: frame[name].to_list() for name in frame.columns if name in model.column_names}
    if isinstance(native, Mapping):
        lost = [name for name in needed if name not in native]
        if lost:
            raise UsageError(f"the rows have no column {lost[0]!r:.60}.")
        return {name: native[name] for name in model.column_names if name in native}
    given = [list(row) if isinstance(row, list | tuple | np.ndarray) else [row] for row in native]
    for names in (list(model.column_names), needed):
        if all(len(row) == len(names) for row in given):
            return {name: [row[i] for row in given] for i, name in enumerate(names)}
    raise UsageError(f"every row must have {len(needed)} values: {', '.join(needed):.200}.")


def _codes(given: Sequence[Any] | np.ndarray, column: Labels) -> np.ndarray:
    known = {label: at for at, label in enumerate(column.labels)}
    array = np.asarray(given)
    if array.ndim == 1 and array.dtype.kind in "biuU":
        # few distinct values, each looked up once
        distinct, where = np.unique(array, return_inverse=True)
        return np.array([_code(value, known) for value in distinct.tolist()], dtype=np.int32)[where]
    return np.array([_code(value, known) for value in given], dtype=np.int32)


def _code(value: Any, known: Mapping[str, int]) -> int:
    if isinstance(value, bool | np.bool_):
        spellings = [str(bool(value)), str(bool(value)).lower(), str(int(value))]
    elif isinstance(value, float | np.floating) and np.isfinite(value) and value == int(value):
        spellings = [str(int(value)), str(float(value))]
    else:
        spellings = [str(value).strip()]
    return next((known[word] for word in spellings if word in known), len(known))


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
