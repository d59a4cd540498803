r"""All posteriors that two neighboring tables can lead to, and the two of them that differ most.

A table of n records leads to the conjugate posterior eta_0 / m + r sum (S(x_i), 1). With r = m = 1 that is the
posterior itself; a *diffused* one counts each record as r < 1 of a record, a *concentrated* one takes the prior
1 / m > 1 times (Geumlek 2020, algorithms 1 to 3). One replaced record moves the posterior by a step, and the guarantee
needs the largest Rényi divergence over all n-record tables and all steps. Two facts hold for every conjugate family,
with R the divergence of P = eta from Q = eta + b:

* for a fixed Q, R does not decrease as P moves away from Q along a line, because C is convex; likewise for a fixed P;
* for a fixed step b, R is convex in the place of P wherever v' Hess C v is (theorem 10).

Hence only whole steps matter, and for each family a few pairs at the ends of what is reachable. Statistics may be any
numbers in their range, which covers counts, clipped values and sums on a grid.

==========================  =====================================================================================
family                      pairs with the largest divergence
==========================  =====================================================================================
Bernoulli, two labels,      yes-counts 0 to 1, n - 1 to n, 1 to 0 and n to n - 1
a predicate in [0, 1]       (the printed list goes from 0 to -1 and from n to n + 1, which no table can)
three labels or more        a label with one record loses it to a label without any, all others elsewhere, for the
                            two labels with the least alpha: log Gamma's share decreases in alpha. At the corners of
                            the set of posteriors, where one label has all records, the divergence is smaller
Poisson, geometric          all values at their lower bound, one of them moved to the upper, and back
exponential, gamma,         likewise: only the ratio of the two rates matters, and it is furthest from 1 there
Laplace, normal (mean=)
normal (variance=)          any: the divergence depends on the step alone
==========================  =====================================================================================

For the normal with both parameters unknown and for the multivariate normal no pair is proven to be the largest, and a
user's family comes without a proof, so they are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arguments import fill, whole
from discreet.domain.bounds import Bounds
from discreet.errors import UsageError
from discreet.families import Family
from discreet.priors import Prior
from discreet.priors.normal import Normal as NormalPrior
from discreet.privacy.costs.posterior_divergence import PosteriorPair, check_order
from discreet.privacy.costs.posterior_pairs import Reach, check_family, extreme_pairs, increment

# So close to the largest order, 2^-53 of a parameter would change the divergence by more than `ROOM`.
_TOO_CLOSE = 2.0**-20
#: How far the divergence computed here can be from the true one, relatively.
ROOM = 1e-9
# Posteriors are rounded to float64, which moves a step of 1 at the place a by up to 2^-52 a, and the divergence by
# twice that, relatively; and where a step is lost in rounding, nothing can be promised.
_ROUNDING, _LOST = 2.0**-50, 2.0**40
# r and m are squared on the way
_LEAST_WEIGHT = 2.0**-200


@dataclass(frozen=True)
class NeighboringPosteriors:
    """The posteriors of neighboring tables of ``n_records`` records, for one family and prior.

    Parameters
    ----------
    family
        One of the families in the table above.
    prior
        Its conjugate prior, with public records already learned.
    n_records
        How many records there are; public.
    bounds
        The declared bounds, such as ``(0, 100)``; None for labels.

    Notes
    -----
    ``r`` is what a record counts (1, or less if diffused), ``m`` what the prior's natural hyperparameters are divided
    by (1, or less if concentrated). Neighbors replace one record.
    """

    family: Family
    prior: Prior
    n_records: int
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        check_family(self.family)
        self.family.check_prior(self.prior)
        bounds = self.family.parse_bounds(self.bounds)
        fill(self, bounds=bounds, n_records=whole(self.n_records, "n_records"))

    def pairs(self, *, r: float = 1.0, m: float = 1.0) -> list[PosteriorPair]:
        """Return the pairs among which the largest divergence is."""
        reach = Reach(self.family, self.n_records, self.bounds)
        return extreme_pairs(reach, self.prior.natural() / m, r)

    def posterior(self, sums: Sequence[Fraction], *, r: float = 1.0, m: float = 1.0) -> Prior:
        """Return where a table with these exact sums of the statistic leads, each number rounded only once."""
        added = increment(self.family, sums, self.n_records)
        eta = [
            float(Fraction(a) / Fraction(m) + Fraction(r) * more)
            for a, more in zip(self.prior.natural().tolist(), added, strict=True)
        ]
        return type(self.prior).from_natural(np.array(eta))

    def largest_order(self, *, r: float = 1.0, m: float = 1.0) -> float:
        """Return lambda*: below this order the largest divergence is finite, from it on it is infinite."""
        return 1 + min(
            (pair.places_for_a_step() for pair in self.pairs(r=r, m=m) if pair.kind is not NormalPrior),
            default=math.inf,
        )

    def worst_divergence(self, order: float, *, r: float = 1.0, m: float = 1.0) -> float:
        """Return the largest R_order(P || Q) over all neighboring tables, ``inf`` from lambda* on.

        Within a millionth of lambda* it is given as infinite too.
        """
        check_order(order)
        if order - 1 >= (self.largest_order(r=r, m=m) - 1) * (1 - _TOO_CLOSE):
            return math.inf
        return max(pair.divergence(order) for pair in self.pairs(r=r, m=m))

    def allows(
        self, order: float, epsilon: float, *, r: float = 1.0, m: float = 1.0, room: float = ROOM
    ) -> bool:
        """Tell whether one sample is within ``epsilon`` at this order, with room for all rounding errors."""
        lost = self._steps(r, m)
        if lost >= _LOST:
            return False
        return self.worst_divergence(order, r=r, m=m) * (1 + room + _ROUNDING * lost) <= epsilon

    def _steps(self, r: float, m: float) -> float:
        """Return how many steps it is from 0 to the place where the divergence is largest.

        Farther out rounding is larger, but the divergence smaller by more. For the normal it is the same everywhere, so
        the farthest place counts.
        """
        pairs = self.pairs(r=r, m=m)
        if pairs[0].kind is NormalPrior:
            return max(abs(pair.place[0] / pair.step[0]) for pair in pairs)
        return min(pair.places_for_a_step() for pair in pairs)

    def find_r(self, order: float, epsilon: float) -> float:
        """Return the largest r up to 1 that is within ``epsilon`` at this order; the next float is not.

        The divergence grows with r. The result is the feasible end of the bracket, and was itself checked.
        """
        return _largest_weight(lambda r: self.allows(order, epsilon, r=r), "diffused", epsilon)

    def find_m(self, order: float, epsilon: float) -> float:
        """Return an m up to 1 that is within ``epsilon`` at this order; the next float is not.

        It is the largest such m whenever the statistics can be 0. With a positive lower bound the divergence of the
        waiting times need not grow with m, and a larger m may exist; the result was itself checked all the same.
        """
        return _largest_weight(lambda m: self.allows(order, epsilon, m=m), "concentrated", epsilon)


def _largest_weight(allowed: Callable[[float], bool], mode: str, epsilon: float) -> float:
    if allowed(1.0):
        return 1.0
    low, high = 0.5, 1.0
    while not allowed(low):
        low, high = low / 2, low
        if low < _LEAST_WEIGHT:
            raise UsageError(
                f"epsilon={epsilon:g} for each sample is too small: in a {mode} posterior the records would no longer "
                "move any digit.",
                hint="ask for a larger epsilon, fewer samples, a smaller order or narrower bounds",
            )
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low
