"""Numbers that are no longer rational, rounded so that no promise is stronger than the proof.

A budget is rounded up, never down. Logarithms and exponentials of exact numbers are taken with 60 digits and the last
digit is raised; results of float64 searches are raised by far more than float64 can be wrong.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal, Overflow
from fractions import Fraction

#: The smallest epsilon that a conversion states. Exactly 0 would be allowed too, but says nothing more.
LEAST_EPSILON = Fraction(1, 10**12)
_FINE = Context(prec=60, Emax=10**9, Emin=-(10**9))
_DIGITS = 12
# The room left for rounding errors of float64 searches, each a few dozen operations long.
_ROOM = 1e-10


def decimal(value: Fraction) -> Decimal:
    """Return 60 digits of a rational."""
    return _FINE.divide(Decimal(value.numerator), Decimal(value.denominator))


def rational_up(value: Decimal, digits: int = _DIGITS) -> Fraction:
    """Return a short rational that is at least ``value``, whose own error is below 50 digits."""
    raised = _FINE.add(value, _FINE.multiply(abs(value), Decimal(10) ** -50))
    return Fraction(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(raised))


def float_result_up(value: float) -> Fraction:
    """Return a short rational above a float64 result, by more than its rounding error; at least 1e-12."""
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


def log_up(value: Fraction) -> Fraction:
    """Return a rational that is at least log(value), for values above 1."""
    return rational_up(_FINE.ln(decimal(value)))


def log_mixed_up(gamma: Fraction, epsilon: Fraction) -> Fraction:
    """Return a rational that is at least log(1 + gamma (e^epsilon - 1)), and at most epsilon."""
    if gamma >= 1 or epsilon > 10_000:
        return epsilon
    grown = _FINE.multiply(decimal(gamma), _FINE.subtract(_FINE.exp(decimal(epsilon)), Decimal(1)))
    return min(epsilon, rational_up(_FINE.ln(_FINE.add(Decimal(1), grown)), 30))
