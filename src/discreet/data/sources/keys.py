"""What tells people apart: the keys of a unit, the same partition of the rows from every source.

A key is text, trimmed, or a whole number; a whole float up to 2^53 is that whole number, because a column of integers
with gaps is often read as floats. Typed columns of anything else are refused by their type. Among Python objects, whose
column has no type, a key of another kind is *unreadable*: the row belongs to nobody, and is left out. It is not taken
for a missing key, since that could be declared to be a person of its own, and a person may have many such rows.

Where rows are counted, only whether something is there matters, whatever it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.data.sources.values import EXACT_IN_FLOAT, floats, is_absent
from discreet.objects import BLANKS, UNREADABLE, forgiving, plain_value

#: Stand for a key that cannot be read; whoever has one of them for a key is left out too.
UNREADABLE_NUMBER, UNREADABLE_TEXT = -(2**63), b"\xff\xfe unreadable"
# digits of a Decimal that is read as a whole number
_DIGITS = 60


def readable(rows: Any) -> Any:
    """Leave out the rows of a frame whose column ``unit`` cannot be read; those without a unit stay."""
    unit, unreadable = nw.col("unit"), unreadable_in(rows, "unit")
    return rows if unreadable is None else rows.filter(unit.is_null() | (unit != nw.lit(unreadable)))


def unreadable_in(rows: Any, column: str) -> Any:
    """Return what stands for a key that cannot be read in a column of keys, ``None`` if all of them can be."""
    dtype = rows.collect_schema()[column]
    return {nw.Int64: UNREADABLE_NUMBER, nw.Binary: UNREADABLE_TEXT}.get(type(dtype))


def key_expression(column: nw.Expr, dtype: Any) -> nw.Expr:
    """Return a typed column as keys, for engines that evaluate expressions themselves."""
    if dtype.is_integer():
        return column
    if dtype.is_float():
        whole = (column >= -EXACT_IN_FLOAT) & (column <= EXACT_IN_FLOAT) & (column.floor() == column)
        # not so for null and NaN, which are missing
        there = nw.when(column <= math.inf).then(nw.lit(float(UNREADABLE_NUMBER)))
        return nw.when(whole).then(column).otherwise(there).cast(nw.Int64)
    text = column.cast(nw.String).str.strip_chars(BLANKS)
    return nw.when(text != "").then(text)


def presence_expression(column: nw.Expr, dtype: Any, *, text: bool) -> nw.Expr:
    """Return 1 where a typed column holds something, and null elsewhere."""
    there = ~column.is_null()
    if dtype.is_float():
        there = column <= math.inf
    elif text:
        there = column.cast(nw.String).str.strip_chars(BLANKS) != ""
    return nw.when(there).then(nw.lit(1.0))


def key_array(array: pa.Array) -> pa.Array:
    """Return an Arrow column of text, integers or floats as keys."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_integer(array.type):
        return array
    if pa.types.is_null(array.type):
        return array.cast(pa.int64())
    if pa.types.is_floating(array.type):
        x = floats(array)
        whole = (np.abs(x) <= EXACT_IN_FLOAT) & (x == np.floor(x))
        keys = np.where(whole, np.where(whole, x, 0.0).astype(np.int64), UNREADABLE_NUMBER)
        return pa.array(keys, mask=np.isnan(x))
    return _trimmed(array)


def presence_array(array: pa.Array) -> pa.Array:
    """Return 1 where an Arrow column of any type holds something, and null elsewhere."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    gone = np.asarray(array.is_null().to_numpy(zero_copy_only=False)).copy()
    if pa.types.is_floating(array.type):
        gone |= np.isnan(floats(array))
    elif as_text(array.type):
        gone |= np.asarray(_trimmed(array).is_null().to_numpy(zero_copy_only=False))
    return pa.array(np.ones(len(gone)), mask=gone)


def object_keys(values: Sequence[Any]) -> pa.Array:
    """Return Python objects as keys, each read on its own."""
    keys = [_key(value) for value in values]
    # an object that raises is there, and cannot be read
    read = [UNREADABLE_TEXT if key is None else key for key in keys]
    return pa.array([key or None for key in read], type=pa.large_binary())


def object_presence(values: Sequence[Any]) -> pa.Array:
    """Return 1 for each Python object that is there, whatever it is, and null for the others."""
    return pa.array([None if is_absent(value) else 1.0 for value in values], type=pa.float64())


@forgiving
def _key(value: Any) -> bytes:
    """Return the key of one Python object, empty if it is missing; raise for objects of no allowed type."""
    kind = type(value)
    if kind is UUID:
        return UUID.__str__(value).encode()
    if kind is Fraction or issubclass(kind, Decimal):
        # exactly: different people may have numbers that are the same float
        return _whole(_exactly(value)).encode()
    read = plain_value(value)
    if read is None:
        return b""
    if isinstance(read, str):
        return read.strip(BLANKS).encode("utf-8", "surrogatepass")
    if isinstance(read, float) and math.isnan(read):
        return b""
    if read is UNREADABLE or isinstance(read, bool) or not isinstance(read, int | float):
        return UNREADABLE_TEXT
    if isinstance(read, float):
        if not read.is_integer() or abs(read) > EXACT_IN_FLOAT:
            return UNREADABLE_TEXT
        read = int(read)
    return _whole(read).encode()


def _exactly(value: Any) -> int:
    if type(value) is Fraction:
        numerator, denominator = value.numerator, value.denominator
    else:
        if not Decimal.is_finite(value) or abs(Decimal.adjusted(value)) > _DIGITS:
            raise ValueError("no whole number")
        numerator, denominator = Decimal.as_integer_ratio(value)
    if denominator != 1:
        raise ValueError("no whole number")
    return numerator


def _whole(value: int) -> str:
    # Python writes no decimal number of thousands of digits
    return str(value) if abs(value) < 10**_DIGITS else hex(value)


def as_text(declared: pa.DataType) -> bool:
    """Tell whether an Arrow column holds text, possibly behind a dictionary."""
    kind = declared.value_type if pa.types.is_dictionary(declared) else declared
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _trimmed(array: pa.Array) -> pa.Array:
    """Return text as bytes, trimmed, because text in a file need not be UTF-8; null where nothing is left."""
    words = pc.call_function("ascii_trim", [array.cast(pa.large_string())], pc.TrimOptions(BLANKS))
    raw = words.cast(pa.large_binary())
    return pc.call_function("if_else", [pc.call_function("equal", [raw, b""]), None, raw])
