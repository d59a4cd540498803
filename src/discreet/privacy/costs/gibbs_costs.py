r"""What the sweeps of a private Gibbs sampler cost, for records that each belong to one of several components.

A sweep has three parts. The assignment of record l reads record l alone: under ``neighbors="replace"`` the positions of
records are public, so a changed record reaches one assignment, and all of them together cost one (adaptive parallel
composition). Given the assignments, which are public, the label probabilities of each component read the counts of its
own records: a changed record reaches one component, once in every column. The weights of the components given the
assignments read no record.

With label probabilities of column d no lower than a_d, let R_d be the range of one column
(:func:`~discreet.privacy.costs.likelihood_range.simplex_range`). The assignments' range is the sum of the R_d,
attained where two components are at opposite corners; each column's own update has range R_d.

References
----------
Foulds, Geumlek, Welling and Chaudhuri (2016), section 4.1. The printed cost of a random scan, 4 D Q / N for Q of N
variables, is wrong: everybody sees which variables moved, so the pure cost is that of one whole update
(:func:`~discreet.privacy.costs.sampler_costs.random_scan`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import UsageError
from discreet.privacy.composition import compose
from discreet.privacy.costs.chain_updates import concentrated_update
from discreet.privacy.costs.sampler_costs import random_scan, sequence_scan
from discreet.privacy.guarantees import ApproxDP, PureDP, ZeroConcentratedDP
from discreet.privacy.renyi import RenyiDP
from discreet.privacy.rounding import decimal, rational_up

# Temperatures are searched to this, on the safe side, and leave it as room for another machine's rounding.
_PRECISION = Fraction(1, 10**6)
# Beyond it a Rényi curve says nothing that could be converted.
_LARGEST = 10**6


@dataclass(frozen=True)
class SweepCosts:
    """Costs of sweeps for these ranges of the columns, when ``share`` of the records are assigned anew in each."""

    ranges: tuple[Fraction, ...]
    share: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise UsageError(
                f"the share of records must be above 0 and at most 1, got {float(self.share):g}."
            )

    @property
    def assignment_range(self) -> Fraction:
        """The range of one assignment, over all pairs of records and everything it conditions on."""
        return sum(self.ranges, Fraction(0))

    def pure(self, temperature: Fraction, sweeps: int) -> PureDP:
        """Return the pure guarantee; a random scan is no cheaper than a whole one."""
        update = PureDP(self.assignment_range / temperature)
        labels = [PureDP(each / temperature) for each in self.ranges]
        sweep = self._scan(update, labels)
        assert isinstance(sweep, PureDP)
        return PureDP(sweeps * sweep.epsilon)

    def approx(self, temperature: Fraction, sweeps: int, delta: Fraction) -> ApproxDP:
        """Return the approximate guarantee, the better of the pure one and that through Rényi divergences."""
        update = concentrated_update(self.assignment_range / temperature)
        labels = [concentrated_update(each / temperature) for each in self.ranges]
        sweep = self._scan(update, labels)
        if isinstance(sweep, ZeroConcentratedDP):
            total: ZeroConcentratedDP | RenyiDP = ZeroConcentratedDP(sweeps * sweep.rho)
        else:
            assert isinstance(sweep, RenyiDP)
            total = RenyiDP(sweep.orders, [sweeps * epsilon for epsilon in sweep.epsilons])
        epsilon = self.pure(temperature, sweeps).epsilon
        if max(total.budgets().values()) < _LARGEST:
            epsilon = min(epsilon, total.to_approx(delta).epsilon)
        return ApproxDP(epsilon, delta)

    def epsilon(self, temperature: Fraction, sweeps: int, delta: Fraction | None) -> Fraction:
        """Return the epsilon of all sweeps, at ``delta`` if there is one."""
        if delta is None:
            return self.pure(temperature, sweeps).epsilon
        return self.approx(temperature, sweeps, delta).epsilon

    def temperature(self, epsilon: Fraction, sweeps: int, delta: Fraction | None) -> Fraction:
        """Return the least temperature, at least 1, at which ``epsilon`` pays for the sweeps, rounded up."""
        pure = max(Fraction(1), rational_up(decimal(self.pure(Fraction(1), sweeps).epsilon / epsilon), 15))
        if delta is None:
            return pure
        low, high = Fraction(1), pure
        if self.epsilon(low, sweeps, delta) <= epsilon:
            return low
        while high - low > _PRECISION * low:
            # in float64, or the denominators would grow with every step
            middle = Fraction(float((low + high) / 2))
            low, high = (low, middle) if self.epsilon(middle, sweeps, delta) <= epsilon else (middle, high)
        return min(pure, rational_up(decimal(high * (1 + _PRECISION)), 15))

    def _scan(self, update: PureDP | ZeroConcentratedDP, shared: Sequence[PureDP | ZeroConcentratedDP]):
        if self.share == 1:
            return sequence_scan(update, shared=shared)
        part = random_scan(update, updated=self.share.numerator, variables=self.share.denominator)
        return compose(part, *shared)
