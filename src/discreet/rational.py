"""Exact numbers: what the user wrote, what the file says, what the proof uses.

Budgets, bounds and noise scales are rationals. A float means the decimal it prints as: ``0.1`` is 1/10,
not the slightly larger binary number, so a budget is never rounded up behind the curator's back.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from discreet.arguments import shown
from discreet.errors import UsageError

Number = int | float | str | Decimal | Fraction


# Beyond these, floating point fails somewhere, and a short text such as "1e999999999" takes forever to expand. What is
# read must also be short enough to be written and read again, in a file or a ledger.
_LARGEST = Fraction(10) ** 300
_LONGEST = 400
# What a text may look like: an integer, a decimal, either with an exponent, or p/q, in ASCII digits and nothing else.
_TEXT = re.compile(r"[+-]?([0-9]+/[0-9]+|([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)$")


def exact(value: Number, name: str) -> Fraction:
    """Read ``value`` as an exact rational, or say which argument ``name`` is not a finite number."""
    number = None if _is_endless(value) else _read(value, name)
    if number is None or (number and not 1 / _LARGEST <= abs(number) <= _LARGEST):
        raise UsageError(f"{name} must be between 1e-300 and 1e300 in size, or 0{_got(value, name)}.")
    if not is_short(number):
        raise UsageError(
            f"{name} must be an integer or a fraction of at most {_LONGEST} characters{_got(value, name)}.",
            hint="round it, up or down as is safe",
        )
    return number


def is_short(value: Fraction) -> bool:
    """Tell whether :func:`exact` reads what :func:`text` writes."""
    # bits first: Python refuses to print integers of thousands of digits
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    return bits <= 4 * _LONGEST and len(text(value)) <= _LONGEST


def _got(value: Any, name: str) -> str:
    """Quote what the caller gave, as far as Python prints it."""
    return f", got {name}={shown(value)}" if name.isidentifier() else f", got {shown(value)}"


def _is_endless(value: Number) -> bool:
    """Tell whether a text would take too long to expand."""
    if not isinstance(value, Decimal | str):
        return False
    exponent = _EXPONENT.search(str(value))
    return len(str(value)) > _LONGEST or (exponent is not None and abs(int(exponent[1])) > _LONGEST)


def _read(value: Any, name: str) -> Fraction:
    try:
        # of all that Python could make a number of, only these kinds are meant as one; NumPy's bool is none of them
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, str):
            if not _TEXT.fullmatch(value):
                raise ValueError
            return Fraction(value)
        if isinstance(value, Integral):
            # NumPy's time spans are integers of a kind
            dtype = getattr(value, "dtype", None)
            if dtype is not None and dtype.kind not in "iu":
                raise TypeError
            return Fraction(int(value))
        if isinstance(value, Fraction | Decimal):
            return Fraction(value)
        if not isinstance(value, Real):
            raise TypeError
        # repr is the shortest decimal that reads back as the same float
        return Fraction(repr(float(value)))
    except Exception:  # whatever a caller's object raises
        raise UsageError(f"{name} must be a finite number{_got(value, name)}.") from None


def text(value: Fraction) -> str:
    """Print a rational as an integer or as ``p/q``; :func:`exact` reads it back unchanged."""
    return str(value)


def plain(value: Fraction) -> str:
    """Print a rational for people: as a short decimal if it is one exactly, else as ``p/q``."""
    decimal = f"{float(value):.12g}"
    return decimal if Decimal(decimal).as_integer_ratio() == value.as_integer_ratio() else text(value)


def sqrt_up(value: Fraction, bits: int = 40) -> Fraction:
    """Return a rational that is at least the square root of ``value``, exact if the root is rational."""
    scaled = value * (1 << (2 * bits))
    root = math.isqrt(math.ceil(scaled))
    if root * root == scaled:
        return Fraction(root, 1 << bits)
    return Fraction(root + 1, 1 << bits)


def float_up(value: Fraction) -> float:
    """Return the smallest float that is at least ``value``."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def float_down(value: Fraction) -> float:
    """Return the largest float that is at most ``value``."""
    return -float_up(-value)
