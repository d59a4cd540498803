"""From any list of guarantees to one epsilon for a given delta: several valid bounds, and the best of them.

Write the list as pure guarantees epsilon_i, approximate ones (epsilon_j, delta_j), and the rest (zero-concentrated and
Rényi). Every mechanism that is (epsilon, delta)-DP is, for each pair of neighbors, a randomized function of a coin that
fails with probability delta and otherwise of a randomized response with epsilon (Kairouz, Oh and Viswanath 2015). These
coins and responses can be drawn before everything else, whatever the order in which the mechanisms were run and
however they were chosen. So with a = prod (1 - delta_j), the list is worth

    delta(epsilon) = 1 - a (1 - delta'(epsilon)),

where delta' belongs to a list in which every approximate guarantee has become a pure one. The methods differ in how
they bound delta'.

The list must be fixed in advance (each mechanism may depend on what the earlier ones published, its guarantee may
not). A curator who decides as they go needs a filter, which is the ledger's work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import prod

import numpy as np

from discreet.errors import UsageError
from discreet.extras import is_installed
from discreet.privacy.curves import RenyiCurve
from discreet.privacy.guarantees import (
    ApproxDP,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
    failure_probability,
)
from discreet.privacy.renyi import RenyiDP
from discreet.privacy.rounding import LEAST_EPSILON, float_result_up, short_up
from discreet.rational import Number, float_down, plain

# Beyond any meaning, and where exponentials and squares in float64 begin to fail.
_LARGEST = 10**6

BASIC = "basic composition"
EXACT = "randomized response"
CONCENTRATED = "zero-concentrated composition"
RENYI = "Rényi composition"
LOSSES = "privacy-loss distribution"
_TIGHTER = "pip install 'discreet[accounting]' may prove less"


@dataclass(frozen=True, repr=False)
class Conversion:
    """An approximate guarantee, and the method that gave it.

    ``hint`` says what to install for a smaller epsilon, if a package that could prove one is missing.
    """

    guarantee: ApproxDP
    method: str
    hint: str | None = None

    def __repr__(self) -> str:
        # six digits, and never less than was proved
        up = Context(prec=6, rounding=ROUND_CEILING)
        epsilon = up.divide(Decimal(self.epsilon.numerator), Decimal(self.epsilon.denominator))
        hint = "" if self.hint is None else f"; {self.hint}"
        return (
            f"<epsilon = {epsilon.normalize(up):f} with delta = {plain(self.delta)}, by {self.method}{hint}>"
        )

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of the guarantee."""
        return self.guarantee.epsilon

    @property
    def delta(self) -> Fraction:
        """The delta of the guarantee."""
        return self.guarantee.delta


@dataclass(frozen=True)
class Sorted:
    """A list of guarantees by kind; metric guarantees in their neighbor form."""

    pure: tuple[PureDP, ...]
    approx: tuple[ApproxDP, ...]
    concentrated: tuple[ZeroConcentratedDP, ...]
    renyi: tuple[RenyiDP, ...]

    @classmethod
    def of(cls, parts: Sequence[Guarantee]) -> Sorted:
        """Sort a list, or raise for kinds that are not known to compose."""
        plain_parts = [part.to_neighbors() for part in parts]
        sorted_parts = cls(
            pure=tuple(p for p in plain_parts if isinstance(p, PureDP)),
            approx=tuple(p for p in plain_parts if isinstance(p, ApproxDP)),
            concentrated=tuple(p for p in plain_parts if isinstance(p, ZeroConcentratedDP)),
            renyi=tuple(p for p in plain_parts if isinstance(p, RenyiDP)),
        )
        if len(sorted_parts) < len(parts):
            raise UsageError("these kinds of guarantees do not add up.")
        return sorted_parts

    def __len__(self) -> int:
        return sum(len(kind) for kind in (self.pure, self.approx, self.concentrated, self.renyi))

    @property
    def epsilons(self) -> list[Fraction]:
        """The epsilons of the pure and approximate guarantees."""
        return [part.epsilon for part in (*self.pure, *self.approx)]

    @property
    def rho(self) -> Fraction:
        """The sum of the concentrated guarantees."""
        return sum((part.rho for part in self.concentrated), Fraction(0))

    @property
    def largest(self) -> Fraction:
        """The largest number among all budgets."""
        curves = (max(curve.epsilons) for curve in self.renyi)
        return max((*self.epsilons, *(part.rho for part in self.concentrated), *curves), default=Fraction(0))

    @property
    def has_curves(self) -> bool:
        """Whether some part is known by its Rényi curve alone."""
        return bool(self.concentrated or self.renyi)


def best_approx(parts: Sequence[Guarantee], delta: Number) -> Conversion:
    """Return the smallest epsilon for ``delta`` that one of the methods proves for the composition of ``parts``."""
    wanted = failure_probability(delta)
    by_kind = Sorted.of(parts)
    # equal deltas are raised to a power, which keeps the rationals of a long list short
    intact = prod(
        ((1 - d) ** n for d, n in Counter(p.delta for p in by_kind.approx).items()), start=Fraction(1)
    )
    spare = 1 - (1 - wanted) / intact
    room = float_down(spare)
    if spare < 0 or (room <= 0 and by_kind.has_curves):
        raise UsageError(
            f"delta must be {'above' if by_kind.has_curves else 'at least'} "
            f"{float(1 - intact):.6g}, with which the parts may fail, got delta={plain(wanted)}.",
        )
    epsilon, method = min(_bounds(by_kind, room), key=lambda bound: bound[0])
    guarantee = ApproxDP(short_up(max(epsilon, LEAST_EPSILON)), wanted, **parts[0].about)
    wants_losses = bool(by_kind.epsilons) and len(by_kind) > 1
    return Conversion(
        guarantee, method, _TIGHTER if wants_losses and not is_installed("dp_accounting") else None
    )


def _bounds(by_kind: Sorted, room: float) -> Iterator[tuple[Fraction, str]]:
    """Yield epsilons that are valid at delta' = ``room``, simplest method first."""
    epsilons = by_kind.epsilons
    together = sum(epsilons, Fraction(0))
    if by_kind.largest > _LARGEST:
        if by_kind.has_curves:
            raise UsageError("a budget above 1e6 promises nothing that could be converted.")
        yield together, BASIC
        return
    if not by_kind.has_curves:
        yield together, BASIC
    else:
        rest = RenyiCurve.of((), by_kind.rho, by_kind.renyi).epsilon(room)
        alone = CONCENTRATED if not by_kind.renyi else RENYI
        yield together + float_result_up(rest), BASIC if len(by_kind) > 1 else alone
    if room <= 0:
        return
    if len(by_kind) == 1 and epsilons:
        yield min(together, float_result_up(_response_epsilon(together, room))), EXACT
        return
    if not by_kind.renyi:
        rho = by_kind.rho + sum((e**2 for e in epsilons), Fraction(0)) / 2
        yield float_result_up(RenyiCurve.of((), rho, ()).epsilon(room)), CONCENTRATED
    if epsilons or by_kind.renyi:
        yield float_result_up(RenyiCurve.of(epsilons, by_kind.rho, by_kind.renyi).epsilon(room)), RENYI
    # for reports alone: whether a file loads or a ledger grants a charge never comes here
    if epsilons and is_installed("dp_accounting"):
        from discreet.privacy.tight import composed_epsilon

        curve = RenyiCurve.of((), by_kind.rho, by_kind.renyi) if by_kind.has_curves else None
        tight = composed_epsilon(epsilons, curve, room)
        if tight is not None:
            yield float_result_up(tight), LOSSES


def _response_epsilon(epsilon: Fraction, delta: float) -> float:
    """Return where randomized response with ``epsilon`` reaches ``delta``: log(e^epsilon - delta (1 + e^epsilon))."""
    lost = delta * (1 + float(np.exp(-float(epsilon))))
    return 0.0 if lost >= 1 else max(0.0, float(epsilon) + float(np.log1p(-lost)))
