"""Budgets for a guarantee that is known at a few Rényi orders only, as that of a descent in a secret order is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import log

from discreet.errors import UsageError
from discreet.privacy.gaussian import rho_for_approx
from discreet.privacy.renyi import RenyiDP
from discreet.rational import float_down, plain

#: Rényi orders at which a descent in a secret order is accounted for, unless its budget needs higher ones.
SECRET_ORDERS = (2, 4, 8, 16, 32)
# Above, nothing is left of what a secret order gains, and the orders' own formulas run out of digits.
_HIGHEST = 1 << 20
# Bisections of rho: to nine digits.
_HALVINGS = 30


def secret_orders(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """Return powers of two up to an order that can say so small an epsilon at this delta.

    At order a a divergence of nothing is worth about log(1 / delta) / (a - 1), of which half of epsilon may be made.
    """
    orders: list[int] = list(SECRET_ORDERS)
    while orders[-1] < _HIGHEST and log(1 / delta) / (orders[-1] - 1) > epsilon / 2:
        orders.append(2 * orders[-1])
    return tuple(orders)


def rho_at_orders(epsilon: Fraction, delta: Fraction, orders: Sequence[Fraction]) -> Fraction:
    """Return the largest rho, rounded down, such that a divergence of a rho at each of these orders a is enough.

    Enough for (epsilon, delta). A zero-concentrated guarantee holds at all orders, and the same rho there is worth
    more: with few orders, or low ones, the epsilon that follows from its conversion would be exceeded.
    """

    def enough(rho: float) -> bool:
        curve = RenyiDP(orders, [a * Fraction(rho) for a in orders])
        return curve.to_approx(delta).epsilon <= epsilon

    high = rho_for_approx(float_down(epsilon), float_down(delta))
    if enough(high):
        return Fraction(high)
    low = high * 2.0**-_HALVINGS
    if not enough(low):
        raise UsageError(
            f"Rényi orders up to {plain(max(orders))} cannot say epsilon={plain(epsilon)} at delta={plain(delta)}.",
            hint="give higher orders, or leave them out",
        )
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return Fraction(low)
