"""Rényi differential privacy: a curve of bounds over orders.

References
----------
Mironov (2017), Rényi differential privacy. Geumlek (2020), chapters 3 and 5. Van Erven and Harremoës (2014), Rényi
divergence and Kullback-Leibler divergence: theorem 3 (monotone in the order), corollary 2 (convexity of
(a - 1) D_a).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

from discreet.arguments import fill, listed
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.privacy.guarantees import Guarantee, check_neighbors, positive_budget
from discreet.privacy.rounding import short_up
from discreet.rational import Number, exact, plain

#: The least order: closer to 1 the divergence hardly changes, and float64 no longer tells such orders apart.
LEAST_ORDER = 1 + Fraction(1, 10**6)


@dataclass(frozen=True, repr=False)
class RenyiDP(Guarantee):
    """For each of the ``orders`` a > 1 and neighbors x, x': D_a(M(x) || M(x')) is at most its epsilon.

    D_a(P || Q) = log E_Q[(P/Q)^a] / (a - 1). Between the orders the curve follows by convexity (:meth:`at`); above the
    largest one nothing is promised.
    """

    kind = "renyi"
    orders: tuple[Fraction, ...]
    epsilons: tuple[Fraction, ...]

    def __init__(
        self,
        orders: Sequence[Number],
        epsilons: Sequence[Number],
        *,
        neighbors: Neighbors = "replace",
        unit: str | None = None,
    ) -> None:
        check_neighbors(neighbors)
        orders, epsilons = (
            listed(orders, "orders", "a list of numbers"),
            listed(epsilons, "epsilons", "a list of numbers"),
        )
        if not 0 < len(orders) == len(epsilons):
            raise UsageError(
                "a Rényi curve needs one epsilon for each order, "
                f"got {len(orders)} orders and {len(epsilons)} epsilons."
            )
        exact_orders = check_orders(orders)
        budgets = tuple(positive_budget(epsilon, "epsilon") for epsilon in epsilons)
        fill(self, orders=exact_orders, epsilons=budgets, neighbors=neighbors, unit=unit)

    def budgets(self) -> dict[str, Fraction]:
        return {f"epsilon at order {plain(a)}": e for a, e in zip(self.orders, self.epsilons, strict=True)}

    def describe(self) -> str:
        shown = [f"{plain(e)} at order {plain(a)}" for a, e in zip(self.orders, self.epsilons, strict=True)]
        if len(shown) > 3:
            shown = [shown[0], f"… ({len(shown) - 2} more orders)", shown[-1]]
        return f"Rényi differential privacy with epsilon = {', '.join(shown)}"

    def at(self, order: Number) -> Fraction | None:
        """Return the bound on the divergence of any order above 1, or None above the largest order.

        D_a grows with a, so a bound at a larger order holds at every smaller one; and (a - 1) D_a is convex and 0 at
        a = 1, so between two orders the bound is the average of theirs with weights in proportion to a - 1.
        """
        (a,) = check_orders([order])
        if a > self.orders[-1]:
            return None
        bounds = list(accumulate(reversed(self.epsilons), min))[::-1]
        index = next(i for i, known in enumerate(self.orders) if known >= a)
        if index == 0 or self.orders[index] == a:
            return bounds[index]
        low, high = self.orders[index - 1], self.orders[index]
        share = (a - low) / (high - low)
        return ((1 - share) * (low - 1) * bounds[index - 1] + share * (high - 1) * bounds[index]) / (a - 1)

    def _two_steps(self) -> RenyiDP:
        r"""Return the curve for two steps.

        For distributions P, Q, R and an order a, Hölder's inequality with exponents p = (2a - 1) / a and q = (2a - 1) /
        (a - 1)

            \int P^a R^{1-a} = \int (P^a Q^{-a + 1/p}) (Q^{a - 1/p} R^{1-a})
                            <= (\int P^{2a-1} Q^{2-2a})^{1/p} (\int Q^{2a} R^{1-2a})^{1/q}

        gives D_a(P || R) <= 2a / (2a - 1) D_{2a-1}(P || Q) + D_{2a}(Q || R): the weak triangle inequality of Mironov
        (2017, proposition 11) at the exponent that is best for a straight curve, where it gives the 4 a rho of
        zero-concentrated privacy.
        """
        halved = [order / 2 for order in self.orders if order / 2 >= LEAST_ORDER]
        if not halved:
            raise UsageError("a Rényi curve without an order above 2 says nothing about neighbors='replace'.")
        return RenyiDP(
            halved,
            [short_up(2 * a / (2 * a - 1) * self._known(2 * a - 1) + self._known(2 * a)) for a in halved],
            unit=self.unit,
        )

    def _known(self, order: Fraction) -> Fraction:
        bound = self.at(order)
        assert bound is not None
        return bound


def check_orders(orders: Sequence[Number]) -> tuple[Fraction, ...]:
    """Read orders, or explain that they must be at least :data:`LEAST_ORDER` and increase."""
    read = tuple(exact(order, "order") for order in listed(orders, "orders", "a list of numbers"))
    if not read:
        raise UsageError("there is no order.")
    for order in read:
        if order <= 1:
            raise UsageError(f"a Rényi order must be above 1, got order={plain(order)}.")
        if order < LEAST_ORDER:
            raise UsageError(
                f"a Rényi order must be at least {plain(LEAST_ORDER)}.",
                hint="a bound at a larger order holds at every smaller one",
            )
    if any(low >= high for low, high in pairwise(read)):
        raise UsageError("Rényi orders must increase.")
    return read


def renyi_of(parts: Sequence[Guarantee], orders: Sequence[Number]) -> RenyiDP:
    """Return the sum of the Rényi curves of ``parts`` at these orders, rounded up."""
    from discreet.privacy.curves import curve_at

    wanted = check_orders(orders)
    totals = [short_up(sum((curve_at(part, order) for part in parts), Fraction(0))) for order in wanted]
    return RenyiDP(wanted, totals, **parts[0].about)
