r"""What the released totals say about the table itself: its usable records, their mean and their standard deviation.

A usable record is t in [0, 1], the public affine image of a value that was clipped to its bounds; z = 2t - 1. The
latent totals are U (usable records), A = sum of z and B = sum of z^2, and every released coordinate is a linear form
in them plus noise (:mod:`discreet.models.shapes`). In terms of the table's mean m of t and

    r = 1 - v / (m (1 - m)) in [0, 1],      v the table's variance (divisor U),

the totals are A = U (2m - 1) and B = U - 4 U m (1 - m) r, and every feasible pair of moments is one point of the
square. The working prior has three parts, and a prior on U that the caller states.

* m ~ Beta(1/2, 1/2). A prior that is flat on feasible moments would be m ~ Beta(2, 2), which keeps the mean away from
  the bounds, where many real columns have theirs.
* r is nearly Beta(1/2, 1/2), constant on a few steps; besides, r = 0 (two values, at the bounds) has 0.2, and 0.008 is
  spread over orders of magnitude of 1 - r, where columns in wide bounds have it. More there, where noise drowns the
  variance, would make narrow columns of those that are not, and move the mean.
* The prior of m is multiplied by 1 + kappa(m), where kappa, which goes with U m (1 - m), is by how many standard
  deviations of the noise r can move the release. Without this factor a mean near a bound is believed too readily:
  there any r fits what was released, while farther away only some do, so that the integral over r falls like
  1 / kappa. Where noise drowns the variance (kappa < 1) the factor is nothing; where it does not, it makes the prior
  the one that is flat on feasible moments, which is Jeffreys' for normal noise.
* Tables whose values are all at one bound, and those whose values are all alike (r = 1), have weights of their own,
  beside 1 for all others, so that the ends of an interval reach a bound, and the sd's 0, where the column may. With q
  the prior mass of what noise can hardly tell from them, the weights are 1 / (1/0.08 + 1/(2.5 q)) at each bound and
  1 / (1/0.04 + 1/q) for r = 1: up to 0.08 and 0.04 where noise drowns the column, and in proportion to q where it does
  not. Weights that did not fall with q would make constant columns of narrow ones, and leave their sampling error out
  of the mean's interval.

Draws are independent, and exact for this prior but for one in a thousand: r is integrated out and drawn in closed
form (:mod:`discreet.inference.bounded_mean.segments`), U and m are proposed from a grid of cells and accepted by
rejection. The grid covers all of (U, m) whose likelihood is within exp(-27) of a perfect fit; its size does not
depend on U.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.inference.bounded_mean import segments
from discreet.inference.record_prior import CountPrior
from discreet.privacy.noise import Noise

#: Log of what is neglected of the noise.
DEPTH = 27.0
#: Prior of r, and so of the share 1 - r of the largest variance.
SPREAD_PRIOR = segments.Steps.arcsine([0, 0.01, 0.04, 0.12, 0.3, 0.7, 0.88, 0.96, 0.99, 1]).with_parts(
    {
        (0, 0.001): 0.2,
        (0.999, 0.9999): 0.002,
        (0.9999, 1 - 1e-6): 0.004,
        (1 - 1e-6, 1): 0.002,
    }
)
# distances 1 - r, and the prior mass of less than them
_FROM_ALIKE = (1 - SPREAD_PRIOR.edges)[::-1], np.r_[0, np.cumsum(SPREAD_PRIOR.mass[::-1])]
_COARSE, _FINE = (24, 24), (40, 32)
# stands for U = 0 where totals become angles: they are all alike then
_HALF = 0.5
_RIGHT_ANGLE = np.pi / 2
# counts whose prior is averaged one by one
_MOST_COUNTS = 2**16


@dataclass(frozen=True)
class NoisyTotals:
    """Released integers and how they were made.

    ``values[j]`` is the noisy coordinate in grid steps, ``rows[j]`` its coefficients of (U, A, B) in mapped units,
    ``grid[j]`` its step and ``noise[j]`` its noise, in steps. Two rows, of A and B, are enough when U is known.
    """

    values: Sequence[int]
    rows: np.ndarray
    grid: np.ndarray
    noise: Sequence[Noise]

    @cached_property
    def lean(self) -> float:
        """By how much of U the total A has to be moved to be told apart from it: 0 for z and usable counts.

        A sum in a column's own units is of U and A together, and sharp where neither is: a narrow ridge in (U, A), and
        straight in (U, A + lean U).
        """
        sd = np.array([law.sd for law in self.noise]) * self.grid
        usable, total = (np.asarray(self.rows, dtype=float)[:, :2] / np.maximum(sd, 1e-300)[:, None]).T
        return float(usable @ total / (total @ total)) if total @ total > 0 else 0.0

    def residual(self, usable: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets and slopes in r of the residuals, in grid steps, given U and m."""
        total, spread = usable * (2 * mean - 1), 4 * usable * mean * (1 - mean)
        offset, slope = [], []
        for value, (in_usable, in_total, in_square), step in zip(
            self.values, self.rows, self.grid, strict=True
        ):
            fixed = (in_usable + in_square) * usable + in_total * total
            offset.append(float(value) - fixed / step)
            slope.append(-in_square * spread / step)
        return np.stack(offset), np.stack(slope)

    @cached_property
    def sharpness(self) -> float:
        """Return by how many standard deviations of the noise r moves the release, for each record, at m = 1/2."""
        _, slope = self.residual(np.ones(1), np.full(1, 0.5))
        sd = np.array([max(law.sd, 1.0) for law in self.noise])
        return float(np.sqrt(((slope[:, 0] / sd) ** 2).sum()))

    def locate(self, known: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Return an estimate of (U, A + lean U) and how far from it the noise may plausibly reach."""
        y = np.array([float(v) for v in self.values]) * self.grid
        rows = np.asarray(self.rows, dtype=float)
        if known is not None:
            y, rows = y - rows[:, 0] * known, rows[:, 1:]
        inverse = np.linalg.pinv(rows)
        if known is None:
            inverse[1] += self.lean * inverse[0]
        estimate, weight = inverse @ y, np.abs(inverse)
        reach = np.array([each.reach(DEPTH) for each in self.noise]) * self.grid
        shapes = {each.kind for each in self.noise}
        if shapes == {"laplace"}:
            far = (weight * reach).max(axis=1)
        elif shapes != {"gaussian"}:
            far = (weight * reach).sum(axis=1)
        else:
            far = np.sqrt(((weight * reach) ** 2).sum(axis=1))
        if known is not None:
            return np.array([known, estimate[0] + self.lean * known]), np.array([0.0, far[0]])
        return estimate[:2], far[:2]


@dataclass(frozen=True)
class TableDraws:
    """Draws of the table's own usable count, mean m of t, and ``spread`` = v / (m (1 - m)), its variance's share."""

    usable: np.ndarray
    mean: np.ndarray
    spread: np.ndarray

    @property
    def sd(self) -> np.ndarray:
        """Standard deviation of the usable records in t, divisor U."""
        return np.sqrt(self.mean * (1 - self.mean) * self.spread)


def draw_table(totals: NoisyTotals, counts: CountPrior, n_draws: int, rng: np.random.Generator) -> TableDraws:
    """Return independent draws of (U, m, spread) given the noisy totals."""
    usable, angle, spread = _Grid(totals, counts).draw(n_draws, rng)
    return TableDraws(usable, np.sin(angle) ** 2, spread)


def weight_at_a_bound(largest: np.ndarray) -> np.ndarray:
    """Return the prior weight of values that are all at one bound, beside 1 for all other means."""
    near = np.arcsin(1 / np.sqrt(np.maximum(largest, 1.0))) / _RIGHT_ANGLE
    return 1 / (1 / 0.08 + 1 / (2.5 * near))


def weight_of_alike(kappa: np.ndarray) -> np.ndarray:
    """Return the prior weight of values that are all alike, beside 1 for all other spreads."""
    near = np.interp(3 / np.maximum(kappa, 3.0), *_FROM_ALIKE)
    return 1 / (1 / 0.04 + 1 / np.maximum(near, 1e-12))


class _Given:
    """What is known of r given U and the angle of m, and how likely these are."""

    def __init__(self, totals: NoisyTotals, usable: np.ndarray, angle: np.ndarray) -> None:
        offset, slope = totals.residual(usable, np.sin(angle) ** 2)
        # slopes go with m (1 - m), so the largest kappa is that of m = 1/2
        largest = totals.sharpness * usable
        kappa = largest * np.sin(2 * angle) ** 2
        self.varied = segments.along(offset, slope, totals.noise, SPREAD_PRIOR)
        residuals = zip(totals.noise, offset - slope, strict=True)
        log_alike = sum(law.log_mass(residual) for law, residual in residuals)
        log_alike = log_alike + np.log(weight_of_alike(kappa))
        log_all = np.logaddexp(self.varied.log_integral, log_alike)
        self.log_share_alike = log_alike - log_all
        self.log_posterior = log_all + np.log1p(kappa) - np.log1p(largest)

    def draw_spread(self, which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw 1 - r for the entries with these positions."""
        alike = np.log(1.0 - rng.random(which.size)) < self.log_share_alike[which]
        return np.where(alike, 0.0, 1.0 - self.varied.draw(which, rng))


class _Grid:
    """Cells over (U, angle), angle = arcsin sqrt(m), in which the prior of m is flat.

    Rows are ranges of U and columns ranges of the total A, or of A + lean U, the same for every row and cut where A is
    -U and U.
    """

    def __init__(self, totals: NoisyTotals, counts: CountPrior) -> None:
        self.totals, self.counts, self.sharpness, self.lean = totals, counts, totals.sharpness, totals.lean
        known = counts.low if counts.low == counts.high else None
        (usable, total), (far_usable, far_total) = totals.locate(known)
        top = np.inf if counts.high is None else counts.high
        # the nearest possible count and total, when noise carried the readings out of range
        near = min(max(usable, counts.low), top)
        first = int(max(np.floor(near - far_usable), counts.low))
        last = int(min(np.ceil(near + far_usable), top))
        ends = [(self.lean + side) * u for side in (-1, 1) for u in (first, last)]
        total = min(max(total, min(ends)), max(ends))
        columns = total + far_total * np.linspace(-1, 1, _COARSE[1] + 1)
        # totals between -U and U are at hand for the smallest U too
        columns[0] = min(columns[0], (self.lean + 1) * max(first, _HALF))
        columns[-1] = max(columns[-1], (self.lean - 1) * max(first, _HALF))
        self._lay(_first_edges(first, last, int(near), _COARSE[0]), columns)
        rows = _refined(self.edges, self.mass.sum(axis=1), _FINE[0])
        # few rows leave room for more columns, so that fewer proposals are lost
        self._lay(rows, self._refined_columns(_FINE[1] * (4 if rows.size <= _FINE[0] // 4 else 1)))

    def _lay(self, edges: np.ndarray, columns: np.ndarray) -> None:
        """Evaluate the posterior at the middle of every cell."""
        self.edges, self.columns = edges, columns
        self.middle = ((edges[:-1] + edges[1:] - 1) // 2).astype(float)
        start, end, self.share = self._cells(self.middle[:, None], np.arange(columns.size + 1))
        self.log_height = np.full(self.share.shape, -np.inf)
        row, column = np.nonzero(self.share > 0)
        angle = 0.5 * (start + end)[row, column]
        self.log_height[row, column] = _Given(self.totals, self.middle[row], angle).log_posterior
        self.log_prior = _log_mean_prior(self.counts, edges)
        with np.errstate(divide="ignore"):
            log_mass = self.log_height + np.log(self.share)
        log_mass += (self.log_prior + np.log(np.diff(edges)))[:, None]
        self.mass = np.exp(log_mass - log_mass.max())

    def _cells(self, usable: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the angles at which cells begin and end, and their prior probability given U."""
        last = self.columns.size - 2
        inner = np.minimum(column, last)
        start, end = (self._angles(usable, self.columns[inner + i]) for i in (0, 1))
        share = (end - start) / _RIGHT_ANGLE
        at_a_bound, bound = column > last, np.where(column == last + 1, 0.0, _RIGHT_ANGLE)
        return (
            np.where(at_a_bound, bound, start),
            np.where(at_a_bound, bound, end),
            np.where(at_a_bound, weight_at_a_bound(self.sharpness * usable), share),
        )

    def _refined_columns(self, n_columns: int) -> np.ndarray:
        """Return column edges that are dense where the first grid has found the mass."""
        inner = self.mass[:, :-2]
        if not inner.max() > 0:
            # noise that goes only so far may leave nothing but the bounds
            return np.linspace(self.columns[0], self.columns[-1], n_columns + 1)
        row, column = np.nonzero(inner > 1e-8 * inner.max())
        usable = np.maximum(self.middle[row], _HALF)
        ends = (self.lean - 1) * usable, (self.lean + 1) * usable
        low = np.clip(self.columns[column], *ends)
        high = np.clip(self.columns[column + 1], *ends)
        width = float(np.max(high - low))
        bins = np.linspace(low.min() - 0.5 * width, high.max() + 0.5 * width, 161)
        share = (np.arange(4) + 0.5) / 4
        points = (low[:, None] + share * (high - low)[:, None]).ravel()
        density, _ = np.histogram(points, bins, weights=np.repeat(inner[row, column], 4))
        return _equidistant(bins, density, n_columns)

    def _angles(self, usable: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Return the angle of a total among U records; without records all angles are alike."""
        share = 0.5 + 0.5 * (total - self.lean * usable) / np.maximum(usable, _HALF)
        return np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0)))

    def draw(self, n_draws: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Propose from the cells, accept by the ratio of the posterior to the cell's height."""
        cumulative = np.cumsum(self.mass.ravel())
        kept: list[tuple[np.ndarray, ...]] = []
        lacking, ceiling = n_draws, 0.0
        while lacking > 0:
            size = lacking + lacking // 4 + 64
            cell = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
            row, column = np.divmod(np.minimum(cell, cumulative.size - 1), self.mass.shape[1])
            usable = rng.integers(self.edges[row], self.edges[row + 1]).astype(float)
            start, end, share = self._cells(usable, column)
            angle = start + rng.random(size) * (end - start)
            given = _Given(self.totals, usable, angle)
            log_ratio = (
                given.log_posterior
                + self.counts.log_mass(usable)
                - self.log_height[row, column]
                - self.log_prior[row]
            )
            ratio = np.exp(np.minimum(log_ratio, 50.0)) * share / self.share[row, column]
            # one proposal in a thousand may stand above the ceiling: a cell in the tails that is too wide for them
            ceiling = max(ceiling, float(np.quantile(ratio, 0.999)))
            accept = np.flatnonzero(rng.random(size) * ceiling < ratio)[:lacking]
            kept.append((usable[accept], angle[accept], given.draw_spread(accept, rng)))
            lacking -= accept.size
        return [np.concatenate(part) for part in zip(*kept, strict=True)]


def _equidistant(edges: np.ndarray, mass: np.ndarray, n_cells: int) -> np.ndarray:
    """Return edges whose density goes with a third root of the density of the mass, so that tails have cells too."""
    width = np.diff(edges)
    weight = np.cbrt(mass / width) * width
    weight += 0.1 * weight.sum() * width / width.sum()
    cumulative = np.concatenate([[0.0], np.cumsum(weight)])
    return np.interp(np.linspace(0, cumulative[-1], n_cells + 1), cumulative, edges)


def _first_edges(first: int, last: int, near: int, n_cells: int) -> np.ndarray:
    """Return cell edges over first..last: every count if they are few, else dense near both ends and the estimate."""
    if last - first < n_cells:
        return np.arange(first, last + 2)
    span = last + 1 - first
    spaced = np.concatenate([[0], np.geomspace(1, span, n_cells // 2).round()])
    edges = np.concatenate(
        [
            first + spaced,
            last + 1 - spaced,
            near - spaced,
            near + spaced,
            np.linspace(first, last + 1, n_cells),
        ]
    )
    return np.unique(np.clip(edges.round(), first, last + 1)).astype(np.int64)


def _refined(edges: np.ndarray, mass: np.ndarray, n_cells: int) -> np.ndarray:
    """Return new edges, dense in proportion to the square root of the mass per count, without empty ends."""
    matters = np.flatnonzero(mass > 1e-12 * mass.max())
    first, last = edges[max(matters[0] - 1, 0)], edges[min(matters[-1] + 2, edges.size - 1)]
    if last - first <= n_cells:
        return np.arange(int(first), int(last) + 1)
    width = np.diff(edges)
    new = _equidistant(edges, mass, n_cells)
    single = edges[:-1][(width == 1) & (mass > 1e-9 * mass.max())]
    new = np.unique(np.concatenate([np.clip(new.round(), first, last), single, single + 1, [first, last]]))
    return new.astype(np.int64)


def _log_mean_prior(counts: CountPrior, edges: np.ndarray) -> np.ndarray:
    """Return the log of the mean prior mass of the counts in each cell; in vast windows from eight counts of each."""
    first, last = int(edges[0]), int(edges[-1])
    if last - first <= _MOST_COUNTS:
        log_prior = counts.log_mass(np.arange(first, last, dtype=float))
        peak = log_prior.max()
        mass = np.add.reduceat(np.exp(log_prior - peak), edges[:-1] - first)
        with np.errstate(divide="ignore"):
            return peak + np.log(mass / np.diff(edges))
    share = (np.arange(8) + 0.5) / 8
    points = np.floor(edges[:-1, None] + share * np.diff(edges)[:, None])
    return np.logaddexp.reduce(counts.log_mass(points), axis=1) - np.log(8)
