"""Random walks on public grids of parameters: what a step may cost, and the distribution of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.arguments import whole
from discreet.errors import UsageError
from discreet.privacy.costs.chain_updates import (
    barker_distribution,
    gibbs_distribution,
    metropolis_distribution,
)
from discreet.privacy.costs.likelihood_range import largest_change, range_up
from discreet.privacy.costs.parameter_grid import ParameterGrid
from discreet.privacy.costs.scored_points import LOWEST, SCALE, Scores
from discreet.privacy.selection import ExponentialChoice

# Numbers per table of the search for the worst rejection.
_MOST_NUMBERS = 40_000_000
_MOST_PAIRS = 1 << 21
_LEAST_PIECES, _MOST_PIECES = 16, 256


def barker_choice(scores: Any, at: Any, to: Any) -> ExponentialChoice:
    """Return Barker's rule as a choice between staying, 0, and moving, 1.

    The *difference* of the scores is clipped to what fits, not the scores: one record moves it by no more than the
    range of a step.
    """
    difference = scores[to] - scores[at]
    return ExponentialChoice((0, min(max(difference, LOWEST), -LOWEST)), SCALE)


@dataclass(frozen=True)
class GridWalk:
    """Steps of at most ``width`` points to either side on the grid, along one parameter, all equally likely.

    A proposal beyond the end of the grid is never accepted, which everybody knows and no record has part in; the walk
    is symmetric. With several parameters a step is along one of them, each equally likely.

    Privacy
    -------
    Neighbors: ``replace``. A step compares two points that are at most ``width`` apart along one axis, so that the
    range that counts is the largest over such pairs, for every table: a fraction of that over the whole support.
    """

    grid: ParameterGrid
    width: int

    @property
    def numbers(self) -> dict[str, Fraction]:
        """The public numbers that, beside the declarations, say which walk it is."""
        return {"cells": Fraction(self.grid.cells), "width": Fraction(self.width)}

    def range(self) -> Fraction:
        """Return the range of the log-likelihood difference between points within one step, rounded up."""
        # loaded when it is needed: every release would wait for it
        from scipy.ndimage import maximum_filter1d, minimum_filter1d

        self.grid.range()  # raises where the likelihood is too steep
        if len(self.grid.axes) > 1:
            return self._range_along_axes()
        slopes = self.grid.tables[0][:, 0]
        # a window of width + 1 points holds every pair that is at most width apart
        size = min(self.width + 1, slopes.size)
        spread = maximum_filter1d(slopes, size) - minimum_filter1d(slopes, size)
        return range_up(2.0 * float(spread.max()))

    def _range_along_axes(self) -> Fraction:
        """Return the range of steps of full length along each axis: shorter ones are on the same line, and cost less.

        Along the mean, slopes (m q, -q / 2) change in proportion to m; along the variance, in proportion to q. Both
        are monotone on the grid, and the range of two points grows with their distance on a line.
        """
        slopes, cells = self.grid.tables[0], self.grid.cells
        table, far = slopes.reshape(*[cells] * len(self.grid.axes), -1), min(self.width, cells - 1)
        largest = 0.0
        for axis in range(len(self.grid.axes)):
            moved = np.moveaxis(table, axis, 0)
            steps = (moved[far:] - moved[:-far]).reshape(-1, slopes.shape[1])
            largest = max(largest, largest_change(steps))
        return range_up(largest + float(2.0**-49 * np.abs(slopes).max()))

    def start(self, source: Any) -> int:
        """Draw the first state from the prior, which costs nothing."""
        if len(self.grid.axes) > 1:
            # no record has part in it, and an exact choice among so many points would take long
            prior = gibbs_distribution(self.grid.log_base)
            return int(source.floating(lambda rng: rng.choice(prior.size, p=prior)))
        return source.exponential(self.grid.distribution([Fraction(0)], 0, Fraction(1)))

    def scores(self, features: Sequence[Fraction], n_records: int, power: Fraction) -> Scores:
        """Return the scores of the points for one table."""
        score = self.grid.scorer(features, n_records, power)
        return Scores(lambda point: score(self.grid.fixed(point)))

    def draws(self, states: Sequence[int]) -> dict[str, np.ndarray]:
        """Return the parameters at some states."""
        return self.grid.at(states)

    def propose(self, steps: int | tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Draw the offsets of proposals, of several axes one for each; nothing about them is private."""
        offsets = rng.integers(1, self.width, size=steps, endpoint=True)
        offsets = np.where(rng.integers(0, 2, size=steps) == 1, offsets, -offsets)
        if (d := len(self.grid.axes)) == 1:
            return offsets
        along = rng.integers(0, d, size=steps)
        return offsets[..., None] * (along[..., None] == np.arange(d))

    def moved(self, at: int, offset: Any) -> int | None:
        """Return where a proposal leads, or None if that is beyond the grid."""
        cells, to, stride = self.grid.cells, 0, 1
        for step in reversed(np.atleast_1d(offset)):
            at, place = divmod(at, cells)
            if not self.holds(place := place + int(step)):
                return None
            to, stride = to + place * stride, stride * cells
        return to

    def holds(self, point: int) -> bool:
        """Tell whether a place along an axis is on the grid."""
        return 0 <= point < self.grid.cells

    def distribution(self, scores: Sequence[int], at: int, *, rule: str = "barker") -> np.ndarray:
        """Return the exact distribution of one update from ``at``: a row for each offset, with accepting and rejecting.

        Offsets are -width, ..., -1, 1, ..., width; the entries of all rows add up to 1.
        """
        offsets = np.concatenate([np.arange(-self.width, 0), np.arange(1, self.width + 1)])
        decide = {"barker": barker_distribution, "metropolis": metropolis_distribution}[rule]
        rows = [
            decide(np.array((scores[at + o] - scores[at]) / SCALE))
            if self.holds(at + o)
            else np.array([0.0, 1.0])
            for o in map(int, offsets)
        ]
        return np.array(rows) / len(offsets)

    def worst_rejection(self, n_records: int, temperature: Fraction) -> float:
        """Return a bound on the probability that a Metropolis update rejects because of the records.

        It holds for all tables of this size and all points. A proposal beyond the grid does not count, nor does the
        part of a rejection that every table shares: if a proposal from i to j is rejected with probability r(s) for a
        sum s of the records' statistics, and c is the least r of any sum, then r(s) <= r(s') + (r(s) - c), so that
        r(s) - c is all that must go into delta. r(s) = max(0, 1 - e^{a + b s}) is monotone in s; on a short interval
        of s it is at most the larger of its two ends, and the sum over proposals at most the sum of those. The
        intervals cover every sum that n records can have.
        """
        slopes, levels = self.grid.tables[0][:, 0], self.grid.tables[1]
        base, cells = self.grid.log_base, self.grid.cells
        if self.width * cells > _MOST_PAIRS:
            raise UsageError(
                f"the worst rejection of {cells} cells with steps of {self.width} is too much to compute.",
                hint="take fewer cells or shorter steps, or Barker's rule, which needs no bound",
            )
        pieces = _MOST_NUMBERS // (2 * self.width * cells)
        pieces = min(max(pieces, _LEAST_PIECES), _MOST_PIECES)
        sums = np.linspace(-n_records, n_records, pieces + 1)
        power = 1 / float(temperature)
        total = np.zeros((cells, pieces))
        for offset in range(1, min(self.width, cells - 1) + 1):
            change = base[offset:] - base[:-offset] + power * n_records * (levels[offset:] - levels[:-offset])
            slope = power * (slopes[offset:] - slopes[:-offset])
            forth = change[:, None] + slope[:, None] * sums
            for place, log_odds in ((slice(None, -offset), forth), (slice(offset, None), -forth)):
                rejected = metropolis_distribution(log_odds)[..., 1]
                shared = np.minimum(rejected[:, :1], rejected[:, -1:])
                total[place] += np.maximum(rejected[:, 1:], rejected[:, :-1]) - shared
        return min(1.0, float(total.max()) / (2 * self.width) * (1 + 1e-9))


def read_width(width: Any, cells: int) -> int:
    """Return how far a proposal may go: a sixteenth of the grid, or what was asked for."""
    if width is None:
        return max(1, cells // 16)
    return whole(width, "width", most=cells - 1)
