"""Bounds without peeking: two quantiles of a column, chosen privately from a public grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from discreet.arguments import fill, whole
from discreet.artifact.bounds_choice import LARGEST_DENOMINATOR, METHOD, BoundsChoice
from discreet.domain.bin_grid import MOST_CELLS, Grid
from discreet.domain.bounds import Bounds, check_pair, read_dated
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.families import RecordSums
from discreet.mechanisms.base import RandomSource
from discreet.privacy import PermuteAndFlip
from discreet.privacy.guarantees import positive_budget
from discreet.rational import Number, exact, float_up, plain

# a choice with a scale of so many records is blind for any table there is
_WIDEST = Fraction(2**56)
_EXAMPLE = "for example dc.mechanisms.PrivateQuantiles(0.025, 0.975, within=(0, 1000), epsilon=0.1)"


@dataclass(frozen=True)
class PrivateQuantiles:
    """Buy the bounds of a column instead of declaring them: two quantiles, chosen privately.

    ``dc.release(..., epsilon=0.5, bounds=dc.mechanisms.PrivateQuantiles(0.025, 0.975, within=(0, 300),
    epsilon=0.1))`` costs 0.6.

    Parameters
    ----------
    low, high
        Which quantiles of the column the bounds should be near, between 0 and 1.
    within
        ``(low, high)``: the widest that the bounds can get, from public knowledge. For several columns one pair for
        all, or one for each.
    epsilon
        What the bounds cost, all together: both, and of all columns. It adds to the release's guarantee.
    cells
        Into how many cells ``within`` is cut. The bounds are ends of cells; for counts, integers.

    Privacy
    -------
    Each bound is one choice among the cells (:class:`~discreet.privacy.selection.PermuteAndFlip`, by OpenDP, in exact
    arithmetic), with an equal share e of ``epsilon``: half of it for one column, 1/(2d) of it for d columns. For the
    quantile q = a/b and a cell, let n be the number of usable records (all columns present) and C that of usable
    records up to the bound that the cell stands for, a value outside ``within`` counting in the first or last cell. The
    score is minus the absolute value of b C - a n, an integer. One record changes it by at most D:

    * ``replace``, a usable record for a usable one: n stays and C changes by at most 1, so b C - a n by at most b. A
      usable record for a missing one, or the reverse: (C, n) changes by (0, 1) or (1, 1), so b C - a n by a or b - a,
      which is less. A missing one for a missing one: nothing. D = b.
    * ``add_remove``, a usable record: (C, n) changes by (0, 1) or (1, 1). A missing one: nothing. D = max(a, b - a).

    Absolute values do not increase differences. Permute-and-flip with scale 2 D / e, rounded up, is e-DP (McKenna and
    Sheldon 2020), and the 2d choices together are ``epsilon``-DP. The statistics are then released within the chosen
    bounds; composition is adaptive, so the guarantees add up (:func:`~discreet.privacy.composition.compose`). Sorting
    bounds that cross, and widening equal ones by a cell, is post-processing.

    References
    ----------
    Smith (2011), Privacy-preserving statistical estimation with optimal convergence rates, algorithm 2. McKenna and
    Sheldon (2020), Permute-and-flip: a new mechanism for differentially private selection.
    """

    low: Fraction
    high: Fraction
    within: Bounds
    epsilon: Fraction
    cells: int

    def __init__(
        self,
        low: Number,
        high: Number,
        *,
        within: Any = None,
        epsilon: Number | None = None,
        cells: int = 1024,
    ) -> None:
        quantiles = exact(low, "quantile"), exact(high, "quantile")
        shown = f"got {low} and {high}."
        if not all(0 < q < 1 for q in quantiles):
            raise UsageError(f"quantiles must be between 0 and 1, both excluded, {shown}", hint=_EXAMPLE)
        if not quantiles[0] < quantiles[1]:
            raise UsageError(f"the lower quantile comes first, {shown}", hint=_EXAMPLE)
        if max(q.denominator for q in quantiles) > LARGEST_DENOMINATOR:
            raise UsageError(
                f"quantiles may have at most six decimals, {shown}", hint="a third can be written as '1/3'"
            )
        if within is None:
            raise UsageError(
                "private quantiles need within, the widest range that the bounds may take, from public knowledge.",
                hint=_EXAMPLE,
            )
        pairs, dates = read_dated(within, "within")
        if dates:
            raise UsageError("private quantiles are of numbers: bounds that are dates must be declared.")
        for pair in pairs:
            check_pair(pair, "within")
        if epsilon is None:
            raise UsageError("private quantiles need an epsilon of their own.", hint=_EXAMPLE)
        fill(
            self,
            low=quantiles[0],
            high=quantiles[1],
            within=pairs,
            epsilon=positive_budget(epsilon, "epsilon"),
            cells=whole(cells, "cells", least=2, most=MOST_CELLS),
        )

    def __str__(self) -> str:
        within = ", ".join(f"[{plain(low)}, {plain(high)}]" for low, high in self.within)
        return (
            f"quantiles {plain(self.low)} and {plain(self.high)} within {within}, "
            f"{self.cells} cells, epsilon = {plain(self.epsilon)}"
        )


def plan_choices(bounds: Any, family: RecordSums) -> tuple[BoundsChoice, ...]:
    """Return how the bounds of each column are to be chosen, or say why they cannot be.

    ``bounds`` is one :class:`PrivateQuantiles` for all columns, or a list with one for each.
    """
    if family.vocabulary is not None:
        raise UsageError(f"{family.name} counts labels and takes no bounds.")
    if not family.buys_bounds:
        raise UsageError(f"the bounds of a {family.name} are declared: they cannot be bought.")
    d = family.n_columns
    if isinstance(bounds, PrivateQuantiles):
        if len(bounds.within) not in (1, d):
            raise UsageError(f"{family.name} has {d} column(s), and within has {len(bounds.within)} pairs.")
        within = bounds.within * (d // len(bounds.within))
        each = [(bounds, pair, bounds.epsilon / d) for pair in within]
    else:
        if not all(isinstance(item, PrivateQuantiles) for item in bounds):
            raise UsageError("either all columns' bounds are declared or all are private quantiles.")
        if len(bounds) != d or any(len(item.within) != 1 for item in bounds):
            raise UsageError(
                f"{family.name} takes {d} column(s): give as many private quantiles, each within one pair."
            )
        each = [(item, item.within[0], item.epsilon) for item in bounds]
    return tuple(_plan(asked, pair, epsilon, family) for asked, pair, epsilon in each)


def _plan(
    asked: PrivateQuantiles, within: tuple[Fraction, Fraction], epsilon: Fraction, family: RecordSums
) -> BoundsChoice:
    family.check_pair(within, "within")
    if 4 / epsilon > _WIDEST:
        raise UsageError("the epsilon of the private quantiles is too small to choose anything by.")
    grid = Grid.over(*within, asked.cells, discrete=family.support.discrete)
    return BoundsChoice(METHOD, (asked.low, asked.high), within, grid.n_cells, epsilon)


def choose_bounds(
    source: RandomSource,
    counts: Sequence[Sequence[int]],
    plan: Sequence[BoundsChoice],
    family: RecordSums,
    neighbors: Neighbors,
) -> Bounds:
    """Choose the bounds of each column from the exact number of usable records in each cell."""
    bounds = []
    for per_cell, how in zip(counts, plan, strict=True):
        chosen = (
            source.permute_and_flip(distribution)
            for distribution in quantile_distributions(per_cell, how, neighbors)
        )
        bounds.append(how.grid(family).pair(*chosen))
    return tuple(bounds)


def quantile_distributions(
    per_cell: Sequence[int], how: BoundsChoice, neighbors: Neighbors
) -> tuple[PermuteAndFlip, PermuteAndFlip]:
    """Return the distributions by which the cells of the lower and the upper bound are chosen."""
    up_to = [0, *accumulate(per_cell)]
    # below the low end of each cell, and up to its high end
    ranks = up_to[:-1], up_to[1:]
    low, high = (
        PermuteAndFlip(
            [-abs(q.denominator * rank - q.numerator * up_to[-1]) for rank in each],
            float_up(2 * score_sensitivity(q, neighbors) / (how.epsilon / 2)),
        )
        for q, each in zip(how.quantiles, ranks, strict=True)
    )
    return low, high


def score_sensitivity(q: Fraction, neighbors: Neighbors) -> int:
    """Return how much one record can change a score; the proof is at :class:`PrivateQuantiles`."""
    a, b = q.numerator, q.denominator
    return b if neighbors == "replace" else max(a, b - a)
