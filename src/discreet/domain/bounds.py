"""Bounds as a curator writes them: read as exact numbers, and checked against where a column can lie."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.domain.dates import are_dates, as_day, shown_day
from discreet.errors import UsageError
from discreet.rational import exact

Bounds = tuple[tuple[Fraction, Fraction], ...]

# what somebody means to be a date
_LIKE_DATE = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d", re.ASCII)
# far inside the range of a float, so that squares of bounded values are floats too
_LARGEST = Fraction(10) ** 100


def read_pairs(bounds: Any, name: str = "bounds") -> Bounds:
    """Read ``(low, high)`` or ``[(low, high), ...]`` as exact pairs; ``name`` is the argument to complain about."""
    return read_dated(bounds, name)[0]


def read_dated(bounds: Any, name: str = "bounds") -> tuple[Bounds, bool]:
    """Read bounds as exact pairs, as :func:`read_pairs` does, and tell whether a pair was one of dates."""
    try:
        items = list(bounds)
        # one flat pair of numbers (or of their text) is the bounds of a single column
        rows = (
            [items] if items and all(np.ndim(item) == 0 for item in items) else [list(item) for item in items]
        )
    except Exception:  # whatever a caller's object raises
        rows = []
    if isinstance(bounds, str) or not rows or any(len(row) != 2 for row in rows):
        raise UsageError(
            f"{name} must be a pair (low, high), or one such pair per column.",
            hint=f"for example {name}=(0, 100)",
        )
    pairs = tuple((_end(low, high, name), _end(high, low, name)) for low, high in rows)
    dated = [not any(map(_is_number, row)) and are_dates(row) for row in rows]
    for (low, high), dates in zip(pairs, dated, strict=True):
        if dates and not low < high:
            raise UsageError(
                f"the first date must be before the second, got {name}=({shown_day(low)}, {shown_day(high)})."
            )
    return pairs, any(dated)


def _end(value: Any, other: Any, name: str) -> Fraction:
    """Read one end of a pair: a day if both ends are dates, which numbers are not, otherwise a number."""
    day = None if _is_number(value) else as_day(value)
    if day is not None and are_dates((value, other)):
        return day
    if day is not None or (isinstance(value, str) and _LIKE_DATE.match(value)):
        what = "one end is a date and the other is not" if day is not None else f"{value!r:.30} is no date"
        raise UsageError(
            f"{name} must be two numbers or two dates, and {what}.",
            hint=f"for example {name}=('2024-01-01', '2024-12-31')",
        )
    return exact(value, name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Fraction | Decimal)


def check_pair(pair: tuple[Fraction, Fraction], name: str = "bounds") -> None:
    """Raise unless low < high, also as floating-point numbers."""
    low, high = pair
    if not low < high:
        raise UsageError(
            f"the lower bound must be less than the upper bound, got {shown_pair(pair, name)}.",
            hint=f"the smaller number comes first: {shown_pair((high, low), name)}" if high < low else None,
        )
    if max(abs(low), abs(high)) > _LARGEST or not float(low) < float(high):
        raise UsageError(
            f"{name} must be at most 1e100 and distinct as floating-point numbers, got {shown_pair(pair, name)}."
        )


def shown_pair(pair: tuple[Fraction, Fraction], name: str) -> str:
    """Return a pair as it is given to the argument of this name."""
    low, high = (str(end) if end.denominator == 1 else repr(float(end)) for end in pair)
    return f"{name}=({low}, {high})"


def distance_range(center: Fraction, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Return the exact range of |x - center| over [low, high], wherever the center lies."""
    ends = abs(low - center), abs(high - center)
    return (Fraction(0) if low <= center <= high else min(ends)), max(ends)
