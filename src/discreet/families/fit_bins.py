r"""The bins of a fit check: ranges of a column that are equally likely under a family fitted to noisy sums.

Their ends, the *cuts*, are ends of cells of a fine public grid over the bounds. Rows are counted in the cells of that
grid before anything is drawn, and cells are joined to bins once the noisy sums are there, so that no row is read after
the first random number. Cuts follow from noisy sums and declarations alone: they are public, and free.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.domain.bin_grid import MOST_CELLS, Grid
from discreet.domain.bounds import Bounds
from discreet.domain.declarations import Domain, Neighbors
from discreet.errors import DiscreetError, UsageError
from discreet.families.base import Family, Theta
from discreet.models.base import Model
from discreet.models.layout import UNIT, Layout
from discreet.rational import exact, sqrt_up

#: Bins of equal probability, and levels of the further cuts in the upper tail.
EQUAL_BINS, TAIL = 8, (0.99, 0.999)
#: The most cuts there are.
MOST_CUTS = EQUAL_BINS - 1 + len(TAIL)
# Cells of narrow bounds far from 0, of which floating point tells fewer apart.
_FEWEST_CELLS = 16
_NARROWEST = Fraction(1, 2**48)
# Draws whose medians are the fitted parameters, and their seed: anything that is public will do.
_DRAWS, _SEED = 501, 0


def read_share(share: Any) -> Fraction:
    """Read which share of the budget buys a fit check."""
    read = exact(share, "fit_check")
    if not 0 < read < 1:
        raise UsageError(
            f"fit_check is a share of the budget between 0 and 1, got fit_check={share}.",
            hint="for example fit_check=0.2",
        )
    return read


def checkable(model: Model) -> Family:
    """Return the family whose fit to a column can be checked, or say why this model's cannot."""
    family = model.require(
        Family,
        "fit_check compares a column with a family that has a conjugate prior",
        hint="leave out fit_check: it is for dc.Normal(), dc.Poisson() and other such families of numbers",
    )
    if not family.has_numbers or family.n_columns != 1:
        what = "counts labels" if not family.has_numbers else f"has {family.n_columns} columns"
        raise UsageError(
            f"fit_check is for one column of numbers, and {family.name} {what}.", hint="leave out fit_check"
        )
    if not family.has_cdf:
        raise UsageError(
            f"fit_check needs the distribution function of {family.name}.", hint="define its method cdf"
        )
    return family


def fit_grid(family: Family, bounds: Bounds | None) -> Grid:
    """Return the public grid whose cells are joined to bins; of narrow bounds far from 0, a coarser one."""
    if bounds is None:
        raise UsageError("fit_check needs bounds.")
    low, high = bounds[0]
    cells = MOST_CELLS
    while cells > _FEWEST_CELLS and high - low < _NARROWEST * cells * max(abs(low), abs(high)):
        cells //= 2
    return Grid.over(low, high, cells, discrete=family.support.discrete)


def bin_layout(n_bins: int, neighbors: Neighbors) -> Layout:
    """Return the vector of a fit check: one count a bin.

    Privacy
    -------
    A record is in one bin, values beyond the bounds in the first or the last one; a missing value is in none. Under
    ``replace`` two records differ in at most two counts, by 1 each: 2 in L1, the root of 2 in L2; a usable record and a
    missing one in one count. Under ``add_remove`` a record is one count: 1 in both. The sensitivity does not depend on
    the cuts, nor on how many there are, so that they may follow from the noisy sums (adaptive composition). Counts are
    integers: nothing is rounded.
    """
    change = Fraction(2 if neighbors == "replace" else 1)
    return Layout(
        tuple(f"bin {i}" for i in range(n_bins)),
        (),
        (UNIT,) * n_bins,
        (UNIT,) * n_bins,
        None,
        None,
        change,
        sqrt_up(change),
    )


def chosen_cells(family: Family, domain: Domain, sums: np.ndarray, n: float) -> tuple[int, ...]:
    """Return the cells before which the grid is cut, from noisy sums of the statistic over ``n`` records.

    The family is fitted as if the sums were the data's own, which costs nothing but bins that are not quite equally
    likely. A column too narrow for the grid, or sums that no parameter fits, are cut into bins of equal width.
    """
    grid = fit_grid(family, domain.bounds)
    # of so many cells, rounded: which ones are chosen is what counts
    ends = float(grid.low) + float(grid.step) * np.arange(1, grid.n_cells)
    theta = _fitted(family, domain, sums, n)
    found: list[int] = []
    if theta is not None and grid.n_cells > 1:
        with np.errstate(all="ignore"):
            share = np.asarray(family.cdf(ends - float(grid.discrete), theta), dtype=float)
        if np.isfinite(share).all():
            found = _nearest(share, [*(k / EQUAL_BINS for k in range(1, EQUAL_BINS)), *TAIL])
    if not found:
        found = [grid.n_cells * k // EQUAL_BINS for k in range(1, EQUAL_BINS)]
    return tuple(sorted({cell for cell in found if 0 < cell < grid.n_cells}))


def _fitted(family: Family, domain: Domain, sums: np.ndarray, n: float) -> Theta | None:
    """Return parameters in the middle of the conjugate posterior that takes noisy sums for exact ones."""
    try:
        prior = family.read_prior(None, domain)
        updated = family.update(prior, family.project(sums, n), n)
        drawn = family.draw(updated, _DRAWS, np.random.default_rng(_SEED))
    except (DiscreetError, ArithmeticError, ValueError):
        # sums so far off that no number can say it
        return None
    return {name: np.median(values, axis=0) for name, values in drawn.items()}


def _nearest(share: np.ndarray, levels: list[float]) -> list[int]:
    """Return the cells before which the probability is nearest to each level, strictly between 0 and 1."""
    inside = np.flatnonzero((share > 1e-9) & (share < 1 - 1e-9))
    if not inside.size:
        return []
    at = np.searchsorted(share[inside], levels)
    below, above = np.clip(at - 1, 0, inside.size - 1), np.clip(at, 0, inside.size - 1)
    nearer = np.abs(share[inside[below]] - levels) <= np.abs(share[inside[above]] - levels)
    return (inside[np.where(nearer, below, above)] + 1).tolist()
