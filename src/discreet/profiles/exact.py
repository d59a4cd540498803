"""The guarantee in exact arithmetic: integer tables, the check of every edge, and the mixing that makes it hold.

A table holds, for every profile, a square matrix of integers: entry (x, y) is the probability that y is reported when x
was observed, in units of 2^-62. Each row sums to exactly 2^62, so a report is drawn without rounding. Profiles are
exact rationals, and e^epsilon is replaced by a rational just below it. Whether a table honors an edge is then a
comparison of integers, and what it says is true, not true to a tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import UsageError
from discreet.privacy.rounding import exp_down
from discreet.profiles.graph import ProfileGraph
from discreet.rational import Number, exact

BITS = 62
WHOLE = 1 << BITS
#: Entries of a table cannot tell larger budgets apart; beyond it the promise is that of this budget, which is stronger.
LARGEST_EPSILON = 64
# What a solver leaves where it means zero.
_DUST = 1e-13


def read_epsilon(epsilon: Number) -> Fraction:
    """Read a privacy budget, 0 or more."""
    value = exact(epsilon, "epsilon")
    if value < 0:
        raise UsageError(
            f"epsilon must be 0 or more, got epsilon={epsilon}.", hint="0 makes profiles indistinguishable"
        )
    return value


def growth_of(epsilon: Fraction) -> Fraction:
    """Return a rational that is at most e^epsilon, and at least 1."""
    return max(exp_down(min(epsilon, Fraction(LARGEST_EPSILON))), Fraction(1))


def to_table(matrices: np.ndarray) -> np.ndarray:
    """Round matrices of floats, one for each profile, to integer tables whose rows sum to 2^62.

    Off-diagonal entries are rounded down and the diagonal takes the rest.
    """
    clean = np.where(matrices < _DUST, 0.0, matrices)
    clean = clean / clean.sum(axis=-1, keepdims=True)
    # at most 2^62 in size, so the floats are integers that 64 bits hold
    table = np.floor(np.minimum(clean, 1.0) * WHOLE).astype(np.int64)
    return _completed(table)


def _completed(table: np.ndarray) -> np.ndarray:
    """Give the diagonal what is left of each row; where less than nothing is left, take it from the largest entry."""
    d = table.shape[-1]
    at = np.arange(d)
    table[..., at, at] = 0
    short = np.minimum(WHOLE - table.sum(axis=-1, keepdims=True), 0)
    largest = table.argmax(axis=-1, keepdims=True)
    taken = np.take_along_axis(table, largest, axis=-1) + short
    np.put_along_axis(table, largest, taken, axis=-1)
    return _with_rest(table)


def constant_row(n_categories: int) -> np.ndarray:
    """Return the uniform distribution in units of 2^-62; the first category has what does not divide."""
    row = np.full(n_categories, WHOLE // n_categories, dtype=np.int64)
    row[0] += WHOLE - row.sum()
    return row


@dataclass(frozen=True)
class Outputs:
    """Exact output distributions: integers, one row for each profile, each with what its row sums to."""

    numerators: np.ndarray
    wholes: tuple[int, ...]

    @classmethod
    def of(cls, graph: ProfileGraph, table: np.ndarray) -> Outputs:
        """Return what each profile's reports are distributed like."""
        rows = [weights @ table[i].astype(object) for i, (weights, _) in enumerate(graph.weights)]
        return cls(np.array(rows, dtype=object), tuple(whole * WHOLE for _, whole in graph.weights))

    def probability(self, profile: int, category: int) -> Fraction:
        """Return one exact probability."""
        return Fraction(int(self.numerators[profile, category]), self.wholes[profile])

    def excess(self, edge: tuple[int, int], growth: Fraction) -> Fraction:
        """Return the largest q_i(y) - growth q_j(y) over outputs y and both directions of an edge."""
        worst = max(
            max(
                self.numerators[i] * (self.wholes[j] * growth.denominator)
                - self.numerators[j] * (self.wholes[i] * growth.numerator)
            )
            for i, j in (edge, edge[::-1])
        )
        return Fraction(int(worst), self.wholes[edge[0]] * self.wholes[edge[1]] * growth.denominator)

    def ratio(self, edge: tuple[int, int]) -> tuple[Fraction | None, int, bool]:
        """Return the largest ratio of an edge, its output, and whether the second end is the likelier one.

        The ratio is None if one end can give an output that the other cannot.
        """
        worst, at, swapped = Fraction(0), 0, False
        for turned, (i, j) in enumerate((edge, edge[::-1])):
            for y in range(self.numerators.shape[1]):
                high = self.numerators[i, y] * self.wholes[j]
                low = self.numerators[j, y] * self.wholes[i]
                if high and not low:
                    return None, y, bool(turned)
                # most ratios are not the largest, and comparing products needs no greatest common divisor
                if high * worst.denominator > worst.numerator * low:
                    worst, at, swapped = Fraction(int(high), int(low)), y, bool(turned)
        return worst, at, swapped


def holds(graph: ProfileGraph, table: np.ndarray, growth: Fraction) -> bool:
    """Tell whether every edge and every output honors the bound, exactly."""
    outputs = Outputs.of(graph, table)
    return all(outputs.excess(edge, growth) <= 0 for edge in graph.edges)


def hides_observations(table: np.ndarray, growth: Fraction) -> bool:
    """Tell whether any two observations, of any two profiles, give each report within a factor ``growth``, exactly."""
    rows = table.reshape(-1, table.shape[-1])
    return all(
        int(high) * growth.denominator <= int(low) * growth.numerator
        for high, low in zip(rows.max(axis=0), rows.min(axis=0), strict=True)
    )


def checked(graph: ProfileGraph, table: np.ndarray, epsilon: Fraction) -> np.ndarray:
    """Return a table that cannot be changed any more; raise if it is none, or an edge does not honor epsilon."""
    d = graph.n_categories
    kept = np.array(table, dtype=np.int64)
    if kept.shape != (graph.n_profiles, d, d) or (kept < 0).any() or (kept > WHOLE).any():
        raise UsageError("the matrices do not fit the graph.")
    # as Python's integers: sums of 64 bits may overflow where somebody has tampered
    if (kept.astype(object).sum(axis=-1) != WHOLE).any():
        raise UsageError("a row of a matrix does not sum to 1.")
    if not holds(graph, kept, growth_of(epsilon)):
        raise UsageError("the matrices do not honor the guarantee.")
    kept.flags.writeable = False
    return kept


def mix_in_uniform(graph: ProfileGraph, table: np.ndarray, growth: Fraction) -> np.ndarray:
    """Mix all rows with the uniform distribution, by the least that makes every edge hold exactly.

    With a share s of the uniform distribution in every row, an output's probability becomes (1 - s) q + s/d, and
    q_i <= growth q_j holds as soon as (1 - s)(q_i - growth q_j) <= s (growth - 1)/d. The least such s is computed
    exactly from the largest excess; rounding to units of 2^-62 may ask for some units more, which are added until the
    exact check passes. With s = 1 nothing depends on what was observed, so it ends.
    """
    if holds(graph, table, growth):
        return table
    d = graph.n_categories
    outputs = Outputs.of(graph, table)
    excess = max(outputs.excess(edge, growth) for edge in graph.edges)
    extra = Fraction(4 * d, WHOLE)
    uniform = constant_row(d).astype(object)
    while True:
        share = WHOLE
        if growth > 1:
            odds = (excess + extra) * d / (growth - 1)
            share = min(WHOLE, -int(-WHOLE * odds / (1 + odds) // 1))
        mixed = (table.astype(object) * (WHOLE - share) + uniform * share) >> BITS
        mixed = _with_rest(mixed.astype(np.int64))
        if share == WHOLE or holds(graph, mixed, growth):
            return mixed
        extra *= 2


def _with_rest(table: np.ndarray) -> np.ndarray:
    """Add to the diagonal what rounding down has left over."""
    at = np.arange(table.shape[-1])
    table[..., at, at] += WHOLE - table.sum(axis=-1)
    return table
