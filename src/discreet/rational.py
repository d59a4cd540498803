"""Exact numbers: what the user wrote, what the file says, what the proof uses.

Budgets, bounds and noise scales are rationals. A float means the decimal it prints as: ``0.1`` is 1/10,
not the slightly larger binary number, so a budget is never rounded up behind the curator's back.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

from discreet.errors import UsageError

Number = int | float | str | Decimal | Fraction


def exact(value: Number, name: str) -> Fraction:
    """Read ``value`` as an exact rational, or say which argument ``name`` is not a finite number."""
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, Integral):
            return Fraction(int(value))
        if isinstance(value, Fraction | Decimal | str):
            return Fraction(value)
        # repr is the shortest decimal that reads back as the same float
        return Fraction(repr(float(value)))
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        raise UsageError(f"{name} must be a finite number, got {name}={value!r}.") from None


def text(value: Fraction) -> str:
    """Print a rational as an integer or as ``p/q``; :func:`parse` reads it back unchanged."""
    return str(value)


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
