"""Days since 1970-01-01 as float64, from whatever holds dates: the same numbers from every source.

Typed dates and moments without a time zone become whole days by their own engine's cast to a date, which takes the day
that a moment lies in, also before 1970. Text is matched with one pattern everywhere
(:data:`~discreet.domain.dates.DATE_PATTERN`), and its first ten characters are the date. Whatever else a row holds is
missing. A column that was declared as something else, or with a time zone, is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.data.sources.kinds import is_text
from discreet.data.sources.values import numbers
from discreet.domain.dates import DATE_PATTERN, EARLIEST, LATEST, day_of_object, day_of_text
from discreet.errors import UsageError
from discreet.objects import BLANKS, forgiving, plain_value


@forgiving
def _day(value: Any) -> float | None:
    day = day_of_object(value)
    if day is not None:
        return float(day)
    read = plain_value(value)
    if read is None or (isinstance(read, float) and math.isnan(read)):
        return math.nan
    if not isinstance(read, str):
        return None
    text = read.strip(BLANKS)
    if not text:
        return math.nan
    day = day_of_text(text)
    return None if day is None else float(day)


def days(values: Iterable[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Read objects as days, with NaN for every missing one, and tell which were there but unreadable."""
    return numbers(values, _day)


def check_dates(dtype: Any, column: str, family: str, *, empty_type: bool) -> None:
    """Raise unless a column of this declared type can hold dates."""
    if empty_type or dtype == nw.Date or is_text(dtype):
        return
    if isinstance(dtype, nw.Datetime):
        if dtype.time_zone is None:
            return
        raise UsageError(
            f"column {column!r} has a time zone, and which day a moment belongs to depends on it.",
            hint="convert the column to local dates first",
        )
    raise UsageError(
        f"column {column!r} holds no dates, but the bounds of {family} are dates.",
        hint="bounds of numbers are numbers, as in bounds=(0, 100)",
    )


def days_of_array(array: pa.Array) -> pa.Array:
    """Convert an Arrow array of dates or moments."""
    if pa.types.is_null(array.type):
        return array.cast(pa.float64())
    if pa.types.is_timestamp(array.type):
        unit = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}[
            array.type.unit
        ]
        whole = array.cast(pa.int64())
    elif pa.types.is_date64(array.type):
        unit, whole = 86_400_000, array.cast(pa.int64())
    else:
        unit, whole = 1, array.cast(pa.int32()).cast(pa.int64())
    # NumPy's division of integers rounds down, before 1970 too
    missing = whole.is_null().to_numpy(zero_copy_only=False)
    counts = np.asarray(pc.fill_null(whole, 0).to_numpy(zero_copy_only=False)) // unit
    inside = (counts >= EARLIEST) & (counts <= LATEST) & ~missing
    return pa.array(np.where(inside, counts.astype(np.float64), np.nan))


def days_sql(name: str, dtype: Any, *, empty_type: bool) -> str:
    """Return SQL for the days of a column, for DuckDB; nothing that it holds raises."""
    if empty_type:
        return f"CAST({name} AS DOUBLE)"
    if is_text(dtype):
        return text_days_sql(f"trim(CAST({name} AS VARCHAR), ' \t')")
    day = f"CAST({name} AS DATE)"
    number = f"date_diff('day', DATE '1970-01-01', {day})"
    finite = f"isfinite({name}) AND {number} BETWEEN {EARLIEST} AND {LATEST}"
    return f"CASE WHEN {finite} THEN CAST({number} AS DOUBLE) END"


def text_days_sql(text: str) -> str:
    """Return SQL for the days that trimmed text spells."""
    pattern = DATE_PATTERN.replace("'", "''")
    day = f"TRY_CAST(substr({text}, 1, 10) AS DATE)"
    return (
        f"CASE WHEN regexp_full_match({text}, '{pattern}') "
        f"THEN CAST(date_diff('day', DATE '1970-01-01', {day}) AS DOUBLE) END"
    )


def days_in_polars(name: str, dtype: Any, *, empty_type: bool) -> tuple[Any, Any]:
    """Return Polars expressions for the days of a column, and for whether it holds something else."""
    import polars as pl

    column = pl.col(name)
    if empty_type:
        return column.cast(pl.Float64), pl.lit(value=False)
    if not is_text(dtype):
        day = column.cast(pl.Date).cast(pl.Int32)
        inside = day.is_between(EARLIEST, LATEST)
        return pl.when(inside).then(day).cast(pl.Float64), pl.lit(value=False)
    text = column.cast(pl.String).str.strip_chars(BLANKS)
    match = text.str.contains(f"^(?:{DATE_PATTERN})$")
    day = pl.when(match).then(text.str.slice(0, 10)).str.to_date("%Y-%m-%d", strict=False)
    unread = (text != "") & day.is_null()
    return day.cast(pl.Int32).cast(pl.Float64), unread
