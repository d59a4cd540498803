"""What a column holds, by its declared type, and how each kind is read.

For numbers every accepted type becomes float64 and every engine must agree on the last bit. Integers up to 64 bits and
floats convert correctly everywhere. Decimals and 128-bit integers do not (some engines round twice), so they go
through their text, which every engine parses to the nearest float.

Text is no number, if somebody declared it: the schema of a Parquet file or of a database. A table in memory may have
come from a reader that guessed, and one unreadable value is enough for such a reader to call the whole column text. If
that raised, the raising would say something about one record. So such text is read value by value, like a CSV file's.
"""

from __future__ import annotations

import math
from enum import Enum, auto
from functools import reduce
from operator import or_
from typing import Any

import narwhals as nw

from discreet.errors import UsageError
from discreet.objects import BLANKS

# narwhals has one class per width; these are not exact in float64 casts of every engine
_WIDE = (nw.Int128, nw.UInt128, nw.Decimal)
_TEXT = (nw.String, nw.Categorical, nw.Enum)
_DATES = (nw.Date, nw.Datetime, nw.Time, nw.Duration)


class Kind(Enum):
    """The form in which a column reaches the arithmetic."""

    NUMBER = auto()  #: float64; null and NaN are missing
    INTEGER = auto()  #: int64, for labels
    FLAG = auto()  #: boolean, for labels
    TEXT = auto()  #: trimmed text, for labels
    CODE = auto()  #: position of the label, for labels read from Python objects
    KEY = auto()  #: integers, text or bytes that tell people apart; null where they are missing
    PRESENCE = auto()  #: 1.0, or null where nothing is there


def kind_of(dtype: Any, *, empty_type: bool, labels: bool, declared: bool) -> Kind | None:
    """Return the kind a column of this type is read as, or ``None`` if the type cannot be used.

    ``empty_type`` marks the type of a column that holds nothing but nulls, which narwhals has no name for;
    ``declared`` says that somebody chose the type, rather than a reader that saw the rows.
    """
    if empty_type:
        return Kind.NUMBER
    if not labels:
        readable = dtype.is_numeric() or dtype == nw.Boolean or (is_text(dtype) and not declared)
        return Kind.NUMBER if readable else None
    if dtype == nw.Boolean:
        return Kind.FLAG
    if is_text(dtype) or dtype in (nw.UInt64, nw.Int128, nw.UInt128):
        return Kind.TEXT
    if dtype.is_integer():
        return Kind.INTEGER
    return Kind.NUMBER if dtype.is_numeric() else None


def takes_keys(dtype: Any) -> bool:
    """Tell whether a column of this type can tell people apart: text, integers, or the floats they are read as."""
    return is_text(dtype) or dtype.is_float() or (dtype.is_integer() and not is_wide(dtype))


def no_keys(column: str) -> UsageError:
    """Return the error for a column whose declared type cannot tell people apart."""
    return UsageError(
        f"column {column!r} holds neither text nor whole numbers, and cannot tell people apart.",
        hint="cast it to text",
    )


def is_text(dtype: Any) -> bool:
    """Tell whether this is a type of text."""
    return isinstance(dtype, _TEXT)


def is_wide(dtype: Any) -> bool:
    """Tell whether numbers of this type are read through their text."""
    return isinstance(dtype, _WIDE)


def wrong_type(column: str, dtype: Any, family: str, *, labels: bool) -> UsageError:
    """Return the error for a column whose declared type a family cannot use."""
    if is_text(dtype):
        held = "text"
    elif isinstance(dtype, _DATES):
        held = "dates or times"
    else:
        held = "values of an unsuitable type"
    needed = "labels (text, integers or booleans)" if labels else "numbers"
    hint = "cast the column to a number type, or give the CSV file" if held == "text" else None
    if held == "dates or times" and not labels:
        hint = "give it as a number, such as days since some date"
    return UsageError(f"column {column!r} holds {held}, but {family} needs {needed}.", hint=hint)


def read(expression: nw.Expr, dtype: Any, kind: Kind) -> nw.Expr:
    """Return a column in the form of its kind, for engines that evaluate expressions themselves."""
    if kind is Kind.NUMBER:
        return (expression.cast(nw.String) if is_wide(dtype) else expression).cast(nw.Float64)
    if kind is Kind.TEXT:
        text = expression.cast(nw.String)
        # most texts have nothing to trim, and some engines are slow at it
        some = reduce(or_, [text.str.contains(blank, literal=True) for blank in BLANKS])
        return nw.when(some).then(text.str.strip_chars(BLANKS)).otherwise(text)
    return expression.cast(nw.Int64) if kind is Kind.INTEGER else expression


def present(column: nw.Expr, kind: Kind) -> nw.Expr:
    """Tell which records hold something: not null, not NaN, not empty text."""
    if kind is Kind.NUMBER:
        return column <= math.inf
    return ~column.is_null() & (column != "") if kind is Kind.TEXT else ~column.is_null()


def as_latin1(word: str) -> str:
    """Spell a UTF-8 word as it appears in bytes that were decoded as Latin-1."""
    return word if word.isascii() else word.encode("utf-8", "surrogatepass").decode("latin-1")
