"""Python objects as plain values, by their type alone: the one reading of what a row may hold.

A column of Python objects has no declared type, and an object answers as it likes: it can raise, warn, print, or
pretend to be of another class. So none of its own methods is ever called. What an object is, is decided by its true
type (``type(value)``, not ``value.__class__``) against a list of allowed ones, and a subclass of one of them is read by
the base type's own conversion. Everything else is there, but is neither a number nor a label.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np

#: What is trimmed from text before it is read.
BLANKS = " \t"

#: A number in text, in the common subset of Python's and RE2's syntax; to be matched in full.
NUMBER_PATTERN = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:nan|inf|infinity))"

_NUMBER = re.compile(NUMBER_PATTERN, re.ASCII)

# Whose names of types may be shown.
_LIBRARIES = frozenset(
    {
        "array", "builtins", "collections", "dask", "datetime", "decimal", "duckdb", "fractions", "ibis",
        "io", "narwhals", "numpy", "pandas", "polars", "pyarrow", "pyspark", "scipy", "sklearn", "types"
    }
)  # fmt: skip

P = ParamSpec("P")
T = TypeVar("T")


class _Unreadable:
    """The type of :data:`UNREADABLE`."""

    def __repr__(self) -> str:
        return "UNREADABLE"


#: Stands for an object that is there, but is of no type that a row may hold.
UNREADABLE: Final = _Unreadable()

_NUMPY = frozenset(np.sctypeDict.values())


def forgiving(read: Callable[P, T]) -> Callable[P, T | None]:
    """Make a function that looks at one object return ``None`` if the object raises.

    Interrupts pass, because whoever sits at the keyboard may have meant them;
    :func:`~discreet.data.sources.conceal.run_concealed` takes from them what an object may have put in.
    """

    @wraps(read)
    def guarded(*arguments: P.args, **options: P.kwargs) -> T | None:
        try:
            return read(*arguments, **options)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return None

    return guarded


def plain_value(value: Any) -> str | bool | int | float | _Unreadable | None:
    """Return an object as exactly a ``str``, ``bool``, ``int`` or ``float``; ``None`` if it is absent.

    Accepted are these types, ``Decimal`` and their subclasses (``IntEnum``, ``np.str_``), ``Fraction``, and NumPy's
    real scalars; absent are ``None``, pandas' ``NA`` and ``NaT``, NumPy's ``NaT`` and a masked element.
    """
    kind = type(value)
    if value is None or kind is float or kind is int or kind is str or kind is bool:
        return value
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, float):
        return float.__float__(value)
    if issubclass(kind, int):
        return int.__int__(value)
    if issubclass(kind, Decimal):
        return _decimal(value)
    if kind is Fraction:
        return _fraction(value)
    if issubclass(kind, np.generic):
        return _scalar(value, kind)
    return None if value is np.ma.masked or _is_pandas_gap(value) else UNREADABLE


@forgiving
def number(value: Any) -> float | None:
    """Read one Python object as a number: NaN if it is absent, ``None`` if it is there but is no number."""
    read = plain_value(value)
    if read is None:
        return math.nan
    if isinstance(read, str):
        text = read.strip(BLANKS)
        if not text:
            return math.nan
        return float(text) if spells_number(text) else None
    return as_float(read) if isinstance(read, int | float) else None


def spells_number(text: str) -> bool:
    """Tell whether trimmed text is a number."""
    return _NUMBER.fullmatch(text) is not None


def as_float(value: float) -> float:
    """Return an exact ``bool``, ``int`` or ``float`` as a float; an integer beyond all floats is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _decimal(value: Decimal) -> float:
    # through the base type: what is not a number (or is a signaling one) has no float in it
    if Decimal.is_nan(value):
        return math.nan
    return Decimal.__float__(value)


def _fraction(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _scalar(value: Any, kind: type) -> bool | int | float | _Unreadable | None:
    if kind not in _NUMPY:
        return UNREADABLE
    if kind is np.bool_:
        return bool(value)
    if issubclass(kind, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else UNREADABLE
    if issubclass(kind, np.integer):
        return int(value)
    if issubclass(kind, np.floating):
        with np.errstate(all="ignore"):
            return float(value)
    return UNREADABLE


def _is_pandas_gap(value: Any) -> bool:
    # only a program that has imported pandas can hold its NA
    pandas = sys.modules.get("pandas")
    return pandas is not None and (
        value is getattr(pandas, "NA", UNREADABLE) or value is getattr(pandas, "NaT", UNREADABLE)
    )


def type_name(value: Any) -> str:
    """Return the name of an object's type where a library gave it that name, for messages about data.

    The name of any other class is its author's, who may have written anything into it, such as a value of a row.
    """
    if value is None:
        return "type NoneType"
    # by type's own attributes, because a class may have a class of its own
    home, name = (type.__dict__[each].__get__(type(value)) for each in ("__module__", "__name__"))
    # anybody can claim the name of a module, so the class must stand in it
    known = isinstance(home, str) and home.partition(".")[0] in _LIBRARIES
    return (
        f"type {name}" if known and getattr(sys.modules.get(home), name, None) is type(value) else "this type"
    )


@forgiving
def as_array(records: Any, *, labels: bool) -> np.ndarray | None:
    """Return public records as an array of numbers, or of texts; ``None`` if they are neither."""
    with warnings.catch_warnings():
        # NumPy asks objects for their numbers, and warns of odd ones by the name of their class
        warnings.simplefilter("ignore")
        given = np.asarray(records)
    if given.dtype.kind not in "biufUO":
        return None
    if not labels and given.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            return given.astype(float)
    read = [plain_value(value) if labels else number(value) for value in given.ravel().tolist()]
    if not all(isinstance(value, str | int | float) for value in read):
        return None
    return np.array(list(map(str, read)) if labels else read).reshape(given.shape)
