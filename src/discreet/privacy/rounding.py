"""Numbers that are no longer rational, rounded so that no promise is stronger than the proof.

A budget is rounded up, never down. Logarithms and exponentials of exact numbers are taken with 100 digits and the 50th
is raised; results of float64 searches are raised by far more than float64 can be wrong.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Overflow
from fractions import Fraction

from discreet.errors import UsageError
from discreet.rational import is_short

#: The smallest epsilon that a conversion states. Exactly 0 would be allowed too, but says nothing more.
LEAST_EPSILON = Fraction(1, 10**12)
_FINE = Context(prec=100, Emax=10**9, Emin=-(10**9))
# Below this, e^x - 1 and log(1 + x) differ from x by less than matters, and 100 digits of e^x begin to be too few.
_SMALL = Fraction(1, 10**20)
_DIGITS = 12
# The room left for rounding errors of float64 searches, each a few dozen operations long.
_ROOM = 1e-10


def decimal(value: Fraction) -> Decimal:
    """Return 100 digits of a rational."""
    return _FINE.divide(Decimal(value.numerator), Decimal(value.denominator))


def rational_up(value: Decimal, digits: int = _DIGITS) -> Fraction:
    """Return a short rational that is at least ``value``, whose own error is below 50 digits."""
    raised = _FINE.add(value, _FINE.multiply(abs(value), Decimal(10) ** -50))
    return Fraction(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(raised))


def rational_down(value: Decimal, digits: int = _DIGITS) -> Fraction:
    """Return a short rational that is at most ``value``, positive and with an error below 50 digits."""
    lowered = _FINE.subtract(value, _FINE.multiply(abs(value), Decimal(10) ** -50))
    return Fraction(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(lowered))


def short_up(value: Fraction) -> Fraction:
    """Return ``value`` itself or, if it takes too many digits to be written, a short rational just above it."""
    return value if is_short(value) else rational_up(decimal(value), 40)


def float_result_up(value: float) -> Fraction:
    """Return a short rational above a float64 result, by more than its rounding error; at least 1e-12."""
    if not math.isfinite(value):
        raise UsageError(
            "the result is too large to be stated.", hint="such a guarantee would promise nothing"
        )
    if value <= float(LEAST_EPSILON):
        return LEAST_EPSILON
    return rational_up(Decimal(value * (1 + _ROOM)))


def exp_up(exponent: Fraction) -> Fraction | None:
    """Return a rational that is at least e^exponent, or None if it is beyond any use (above e^10000)."""
    if exponent > 10_000:
        return None
    try:
        return rational_up(_FINE.exp(decimal(exponent)), 40)
    except Overflow:  # pragma: no cover - the guard above is far below the limit
        return None


def exp_down(exponent: Fraction) -> Fraction:
    """Return a rational that is at most e^exponent, for exponents up to 10000."""
    return rational_down(_FINE.exp(decimal(exponent)), 40)


def log_up(value: Fraction) -> Fraction:
    """Return a rational that is at least log(value), for values above 1."""
    # log(1 + x) <= x; below, 100 digits of 1 + x begin to be too few
    if value - 1 < _SMALL:
        return short_up(value - 1)
    return rational_up(_FINE.ln(decimal(value)))


def log_mixed_up(gamma: Fraction, epsilon: Fraction) -> Fraction:
    """Return a rational that is at least log(1 + gamma (e^epsilon - 1)), and at most epsilon."""
    if gamma >= 1 or epsilon > 10_000:
        return epsilon
    # e^x - 1 <= x + x^2 for x <= 1, and log(1 + x) <= x
    if epsilon < _SMALL:
        growth = decimal(epsilon * (1 + epsilon))
    else:
        growth = _FINE.subtract(_FINE.exp(decimal(epsilon)), Decimal(1))
    grown = _FINE.multiply(decimal(gamma), growth)
    if grown >= decimal(_SMALL):
        grown = _FINE.ln(_FINE.add(Decimal(1), grown))
    return min(epsilon, rational_up(grown, 30))
