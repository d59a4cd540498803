"""Rényi divergences for the filter: every number is rounded up, to a multiple of 2^-80.

Eighty decimal digits are computed and the last ten of them distrusted, which is far more than logarithms of sums lose
here: amounts lie between 1e-300 and 1e300, and whatever is lost is lost upward.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

_STEP = 1 << 80
_CONTEXT = decimal.Context(
    prec=80,
    Emax=decimal.MAX_EMAX,
    Emin=decimal.MIN_EMIN,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)
_DISTRUST = Decimal("1e-70")
# beyond, the curve is epsilon itself to all digits that matter
_LARGE = 1000
# the widest search for an order: beyond, rounding a budget matters more than its order
_ORDERS = (1e-2, 1e6)


def round_up(value: Fraction, step: int = _STEP) -> Fraction:
    """Return the least multiple of 1/step that is at least ``value``."""
    return Fraction(-((-value * step) // 1), step)


@lru_cache(maxsize=4096)
def pure_curve(order: Fraction, epsilon: Fraction) -> Fraction:
    """Return, rounded up, the largest Rényi divergence of this order between outputs of an epsilon-DP mechanism.

    It is that of randomized response, log((e^(a e) + e^((1 - a) e)) / (e^e + 1)) / (a - 1), and never above epsilon.
    """
    if epsilon >= _LARGE:
        return round_up(epsilon)
    with decimal.localcontext(_CONTEXT):
        a, e = _decimal(order), _decimal(epsilon)
        value = (a * e + (1 + ((1 - 2 * a) * e).exp()).ln() - (1 + e.exp()).ln()) / (a - 1)
        above = Fraction(value + _DISTRUST * (1 + a * e / (a - 1)))
    return min(round_up(above), round_up(epsilon))


@lru_cache(maxsize=4096)
def conversion(order: Fraction, delta: Fraction) -> Fraction:
    """Return, rounded up, what to add to a Rényi divergence of this order to get epsilon at this delta.

    It is log((a - 1) / a) - (log delta + log a) / (a - 1) (Canonne, Kamath and Steinke 2020, proposition 12).
    """
    with decimal.localcontext(_CONTEXT):
        a, d = _decimal(order), _decimal(delta)
        value = ((a - 1) / a).ln() - (d.ln() + a.ln()) / (a - 1)
        above = Fraction(value + _DISTRUST * (1 + abs(value) + (1 + abs(d.ln()) + a.ln()) / (a - 1)))
    return round_up(above)


def default_orders(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Return the two orders that a filter for ``epsilon`` at ``delta`` uses.

    The first lets the most zCDP charges pass, and as good as the most small pure ones; the second, twice as far from 1,
    is for pure charges of a middling size. More orders cost more delta than they win.
    """
    # of integers, since a share of a small delta may be no float
    log_share = math.log(delta.numerator) - math.log(2 * delta.denominator)

    def room(above_one: float) -> float:
        a = 1 + above_one
        needed = math.log(above_one / a) - (log_share + math.log(a)) / above_one
        return (min(float(epsilon), 1e9) - needed) / a

    low, high = math.log(_ORDERS[0]), math.log(_ORDERS[1])
    grid = [math.exp(low + (high - low) * i / 2000) for i in range(2001)]
    best = Fraction(f"{max(grid, key=room):.3g}")
    return 1 + best, 1 + 2 * best


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
