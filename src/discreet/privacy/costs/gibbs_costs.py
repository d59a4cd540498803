r"""What the sweeps of a private Gibbs sampler cost, for records of labels that are drawn given a hidden state.

With label probabilities of column d no lower than a_d, and so no higher than b_d = 1 - (K_d - 1) a_d, let r_d = log(b_d
/ a_d) be the most that the log-probability of one label can differ between two states or two tables. The range of one
column is R_d = 2 r_d (:func:`~discreet.privacy.costs.likelihood_range.simplex_range`), over all pairs of labels. A
sweep has three parts, and each is an exponential mechanism, whose cost is the range of the change of its log-weights.

**Hidden states.** In a mixture record l has a state of its own, whose assignment reads record l alone: under
``neighbors="replace"`` the positions of records are public, so a changed record reaches one assignment, and all of them
together cost one (adaptive parallel composition). The log-weight of state k changes by the sum over d of log
p_{k,d}(x') - log p_{k,d}(x), between plus and minus the sum of the r_d: its range is the sum of the R_d, attained where
two components are at opposite corners. In a hidden Markov model all entries of a place share a state, and all paths are
drawn at once from their joint distribution. The log-weight of the paths changes by the same sum, with the state of one
place for x' and of another, or the same, for x. Each of the two terms moves within an interval of length sum of r_d:
together, again, the sum of the R_d.

**Label probabilities.** Given the hidden states, which are public, the parameters of column d change by one record less
at one state and one more at another, or at the same. log p_{k',d}(x') - log p_{k,d}(x) has range R_d either way, over
all tables at once.

**Networks with hidden columns.** A record has hidden labels h of its own, all drawn at once: in proportion to a product
of tables, as in a mixture. Where the record x has a value of the child or of a parent, the log-weight of h has a term
log p_k[parents, label] / T, between log a_k and log b_k whatever x and h are, which changes within plus and minus r_k;
the range of the sum is at most that of the R_k over those tables that h has part in, attained where all hidden labels
of one combination differ from those of another. Tables without hidden columns are the same for all h, and cancel. A
table of hidden columns alone does not change. Given h, the counts of a table change by one record less in one cell and
one more in another: R_k for each table that records have part in, and nothing for the others.

**Weights and transitions** given the hidden states read no record.

A model without hidden states has updates that all read every record
(:class:`~discreet.models.declared_likelihood.DeclaredLikelihood`): a sweep costs the sum of their ranges.

References
----------
Foulds, Geumlek, Welling and Chaudhuri (2016), section 4.1. The printed cost of a random scan, 4 D Q / N for Q of N
variables, is wrong: everybody sees which variables moved, so the pure cost is that of one whole update
(:func:`~discreet.privacy.costs.sampler_costs.random_scan`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import UsageError
from discreet.privacy.composition import compose
from discreet.privacy.costs.chain_updates import concentrated_update
from discreet.privacy.costs.sampler_costs import random_scan
from discreet.privacy.guarantees import ApproxDP, Guarantee, PureDP, ZeroConcentratedDP
from discreet.privacy.renyi import RenyiDP
from discreet.privacy.rounding import decimal, rational_up

# Temperatures are searched to this, on the safe side, and leave it as room for another machine's rounding.
_PRECISION = Fraction(1, 10**6)
# Beyond it a Rényi curve says nothing that could be converted.
_LARGEST = 10**6


@dataclass(frozen=True)
class SweepCosts:
    """Costs of sweeps for these ranges of the columns, when ``share`` of the records are assigned anew in each.

    With ``hidden`` false there are no hidden states: the ranges are those of all updates. ``apart`` are the ranges of
    tables that hidden states have no part in: their own update costs them, the hidden states do not.
    """

    ranges: tuple[Fraction, ...]
    share: Fraction = Fraction(1)
    hidden: bool = True
    apart: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise UsageError(
                f"the share of records must be above 0 and at most 1, got {float(self.share):g}."
            )

    @property
    def assignment_range(self) -> Fraction:
        """The range of the hidden states, over all pairs of records and everything they are conditioned on."""
        return sum(self.ranges, Fraction(0))

    def pure(self, temperature: Fraction, sweeps: int) -> PureDP:
        """Return the pure guarantee; a random scan is no cheaper than a whole one."""
        sweep = self._sweep(PureDP, temperature)
        assert isinstance(sweep, PureDP)
        return PureDP(sweeps * sweep.epsilon)

    def approx(self, temperature: Fraction, sweeps: int, delta: Fraction) -> ApproxDP:
        """Return the approximate guarantee, the better of the pure one and that through Rényi divergences."""
        sweep = self._sweep(concentrated_update, temperature)
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

    def _sweep(self, update: Callable[[Fraction], Guarantee], temperature: Fraction) -> Guarantee:
        """Return the cost of one sweep, by that of an update with a range over the temperature."""
        shared = [update(each / temperature) for each in (*self.ranges, *self.apart)]
        if not self.hidden:
            return compose(*shared)
        assigned = update(self.assignment_range / temperature)
        share = self.share
        return random_scan(assigned, updated=share.numerator, variables=share.denominator, shared=shared)
