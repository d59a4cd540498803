"""Rényi curves of guarantees, and what a curve says about epsilon and delta.

References
----------
Kairouz, Oh and Viswanath (2015), The composition theorem for differential privacy: randomized response is the worst
mechanism of each (epsilon, delta). Canonne, Kamath and Steinke (2020), The discrete Gaussian for differential privacy:
proposition 12 (from a Rényi bound to epsilon and delta). Bun and Steinke (2016), Concentrated differential privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.privacy.guarantees import Guarantee, PureDP, ZeroConcentratedDP
from discreet.privacy.renyi import RenyiDP
from discreet.privacy.rounding import float_result_up
from discreet.rational import float_down

# Orders are searched on a grid of log(order - 1) and then refined; any order gives a valid bound.
_LEAST_LOG, _MOST_LOG, _GRID = np.log(1e-6), np.log(1e9), 400


def randomized_response_divergence(epsilon: float, orders: np.ndarray) -> np.ndarray:
    r"""Return the largest Rényi divergence of each order that epsilon-DP allows: that of randomized response.

    The two distributions are (p, 1 - p) and (1 - p, p) with p = e^epsilon / (1 + e^epsilon), so

        D_a = log(1 + r (e^u - 1)) / (a - 1),    u = (a - 1) epsilon,    r = (1 - e^(-a epsilon)) / (1 + e^-epsilon).

    This form keeps its digits as u goes to 0; where e^u is large, u is taken out of the logarithm.
    """
    a = np.asarray(orders, dtype=float)
    with np.errstate(over="ignore"):
        u, v = (a - 1) * epsilon, np.exp(-a * epsilon)
    w = np.exp(-epsilon)
    near = np.log1p(-np.expm1(-a * np.minimum(epsilon, 1e3)) / (1 + w) * np.expm1(np.minimum(u, 1.0))) / (
        a - 1
    )
    far = epsilon + np.log((1 - v + (w + v) * np.exp(-u)) / (1 + w)) / (a - 1)
    return np.where(u < 1, near, far)


@dataclass(frozen=True)
class RenyiCurve:
    """The summed Rényi curve of some guarantees, in float64, for orders up to ``last``.

    The curve has kinks at the orders of Rényi guarantees, where the best order often is.
    """

    divergence: Callable[[np.ndarray], np.ndarray]
    last: float
    kinks: tuple[float, ...]

    @classmethod
    def of(cls, pure: Sequence[Fraction], rho: Fraction, renyi: Sequence[RenyiDP]) -> RenyiCurve:
        """Add up pure guarantees (by their epsilons), concentrated ones (by their total rho) and Rényi curves."""
        epsilons, counts = np.unique([float(e) for e in pure], return_counts=True)

        def divergence(orders: np.ndarray) -> np.ndarray:
            total = float(rho) * orders
            for epsilon, count in zip(epsilons, counts, strict=True):
                total = total + count * randomized_response_divergence(epsilon, orders)
            for curve in renyi:
                total = total + _interpolated(curve, orders)
            return total

        # a bound holds at every smaller order, so orders are rounded down
        last = min((float_down(curve.orders[-1]) for curve in renyi), default=np.inf)
        kinks = {float_down(order) for curve in renyi for order in curve.orders}
        return cls(divergence, last, tuple(sorted(kink for kink in kinks if kink <= last)))

    def orders(self, size: int) -> np.ndarray:
        """Return a grid of orders up to the last one, dense near 1."""
        most = min(_MOST_LOG, np.log(self.last - 1))
        least = min(_LEAST_LOG, most - 1)
        # exp(log(x)) may end a rounding error above x
        grid = np.minimum(1 + np.exp(np.linspace(least, most, size)), self.last)
        return np.unique(np.concatenate([grid, self.kinks]))

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon over orders a: D_a + log((a - 1) / a) - (log delta + log a) / (a - 1)."""
        from scipy.optimize import minimize_scalar

        def bound(orders: np.ndarray) -> np.ndarray:
            a = orders
            # proposition 12
            return self.divergence(a) + np.log((a - 1) / a) - (np.log(delta) + np.log(a)) / (a - 1)

        grid = self.orders(_GRID)
        values = bound(grid)
        best = int(np.argmin(values))
        around = np.log(grid[[max(best - 1, 0), min(best + 1, grid.size - 1)]] - 1)
        refined: Any = minimize_scalar(
            lambda u: float(bound(np.minimum(1 + np.exp(np.array([u])), self.last))[0]),
            bounds=tuple(around),
            method="bounded",
            options={"xatol": 1e-10},
        )
        return max(0.0, min(float(values[best]), float(refined.fun)))

    def log_delta(self, epsilons: np.ndarray) -> np.ndarray:
        """Return the log of a valid delta at each epsilon >= 0 (proposition 12), by orders on a grid."""
        best = np.zeros_like(epsilons)
        for a, divergence in zip(grid := self.orders(_GRID), self.divergence(grid), strict=True):
            np.minimum(best, (a - 1) * (divergence - epsilons + np.log((a - 1) / a)) - np.log(a), out=best)
        return best


def _interpolated(curve: RenyiDP, orders: np.ndarray) -> np.ndarray:
    """Return :meth:`RenyiDP.at` in float64."""
    known = np.array([1.0, *(float_down(a) for a in curve.orders)])
    bounds = np.minimum.accumulate([float(e) for e in reversed(curve.epsilons)])[::-1]
    # (a - 1) D_a, 0 at order 1; the running minimum keeps it convex enough to be a bound
    heights = np.concatenate([[0.0], (known[1:] - 1) * bounds])
    return np.interp(orders, known, heights) / (orders - 1)


def curve_at(guarantee: Guarantee, order: Fraction) -> Fraction:
    """Return a rational bound on the Rényi divergence of one order that a guarantee implies."""
    guarantee = guarantee.to_neighbors()
    if isinstance(guarantee, ZeroConcentratedDP):
        return guarantee.rho * order
    if isinstance(guarantee, PureDP):
        value = randomized_response_divergence(float(guarantee.epsilon), np.array([float(order)]))[0]
        return min(guarantee.epsilon, guarantee.epsilon**2 * order / 2, float_result_up(float(value)))
    if isinstance(guarantee, RenyiDP):
        bound = guarantee.at(order)
        if bound is None:
            raise UsageError("a Rényi curve says nothing about orders above its largest.")
        return bound
    raise UsageError(f"{guarantee.describe()} bounds no Rényi divergence.")
