"""Dates as bounded numbers: days since 1970-01-01, whole ones.

A date is a day of the (proleptic) Gregorian calendar, from the year 1 to 9999. What is more precise than a day counts
as its day: the time of day is dropped. There are no time zones: which day a moment with one belongs to depends on the
place, so such columns and bounds are refused, and such values in text or among Python objects are missing.
"""

from __future__ import annotations

import datetime
import re
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.objects import plain_value

_YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_TIME = r"[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
#: A date in text, with or without a time of day, in the common subset of Python's and RE2's syntax; to be matched in
#: full. Whether the day is one of its month is another question.
DATE_PATTERN = f"{_YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])(?:{_TIME})?"

_DATE = re.compile(DATE_PATTERN, re.ASCII)
_FIRST = datetime.date(1970, 1, 1).toordinal()
#: Days of the first and of the last date there is.
EARLIEST, LATEST = 1 - _FIRST, datetime.date.max.toordinal() - _FIRST


def day_of_text(text: str) -> int | None:
    """Return the day that trimmed text spells, None if it spells none."""
    if not _DATE.fullmatch(text):
        return None
    try:
        return datetime.date.fromisoformat(text[:10]).toordinal() - _FIRST
    except ValueError:  # the 30th of February
        return None


def day_of_object(value: Any) -> int | None:
    """Return the day of a ``date``, a ``datetime`` without a time zone or a ``datetime64``; None of anything else.

    An object is known by its true type, and read by the base type's own methods.
    """
    kind = type(value)
    if issubclass(kind, datetime.datetime):
        # pandas' gap among moments pretends to be one
        if plain_value(value) is None or datetime.datetime.tzinfo.__get__(value) is not None:  # pyright: ignore[reportAttributeAccessIssue]
            return None
        return datetime.datetime.toordinal(value) - _FIRST
    if issubclass(kind, datetime.date):
        return datetime.date.toordinal(value) - _FIRST
    if kind is np.datetime64 and not np.isnat(value):
        day = int(value.astype("datetime64[D]").astype(np.int64))
        return day if EARLIEST <= day <= LATEST else None
    return None


def as_day(value: Any) -> Fraction | None:
    """Return the day of a declared date, text or object; None if it is no date at all."""
    day = day_of_text(value.strip()) if isinstance(value, str) else day_of_object(value)
    if day is not None:
        return Fraction(day)
    if isinstance(value, datetime.datetime):
        raise UsageError(
            "a date with a time zone is a day in one place and another elsewhere.",
            hint="give dates without a time zone, such as 2020-01-31",
        )
    return None


def are_dates(values: Any) -> bool:
    """Tell whether declared numbers, such as a pair of bounds, are dates: all of them."""
    if isinstance(values, str):
        return False
    try:
        given = list(values)
    except Exception:  # whatever a caller's object raises
        return False
    return bool(given) and all(as_day(value) is not None for value in given)


def shown_day(day: float | Fraction) -> str:
    """Return the date of a day, the nearest one, as people write it."""
    at = round(float(day))
    if not EARLIEST <= at <= LATEST:
        return f"day {at}"
    return datetime.date.fromordinal(at + _FIRST).isoformat()
