r"""Exact posterior of the cell counts behind a release of counts, each with its own noise.

Given the data the parameter is Dirichlet(alpha + c). The posterior of the counts factors up to their total,

    P(c | y)  ~  q(u) * prod_k g_k(c_k) noise_k(y_k - c_k),        u = sum_k c_k,
    q(u)      =  p(u) noise_u(y_u - u) / g_A(u),                   A = sum_k alpha_k,

with p(u) the prior on the number of usable records (a point when it is public and nothing is missing). So the
distribution of the total is a convolution, and counts are drawn backwards: the total first, then one cell after the
other, each from its weight times the convolution of the cells before it.

A convolution is accurate near its peak only. Every cell is therefore tilted by exp(lambda c), which changes nothing
(the total takes it back) but moves the peak to where the posterior of the total is. One such *panel* is enough
unless the prior is far stronger than the data; then neighboring panels share the range of totals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import softmax

from discreet.errors import OutOfReachError
from discreet.inference.counts.sum_tree import Tree
from discreet.inference.counts.weights import (
    DEPTH,
    FLOOR,
    Cell,
    Table,
    convolved,
    log_rising,
    sample_index,
    tilt_for,
)
from discreet.inference.engine import held, hold, too_wide
from discreet.inference.record_prior import CountPrior, capped, closest
from discreet.privacy import Noise

#: Cells from which on they are summed as a tree.
MANY = 256
# How much of the total's posterior rounding may misplace, and how far below its peak a panel is then trusted.
_ASTRAY = 1e-11
_TRUSTED = FLOOR / _ASTRAY
# Totals this far below the most likely one carry less than 1e-12 of the mass.
_DEPTH = 34.0
_MOST_PANELS = 400
# Numbers in all tables of a panel; each takes 8 bytes, and a convolution several times that of its own.
_MOST_NUMBERS = 6e7
# Rejections before a draw gets a table of its own.
_TRIES = 64
# Weights of all cells that differ, a gigabyte of them.
_MOST_WEIGHTS = 1 << 27


@dataclass(frozen=True)
class Panel:
    """A range of totals, their log weights, and the tilted tables that split a total into cells.

    ``log_bare`` leaves the prior on records out: it has no holes, so it can tell whether there is weight beyond an
    edge. Tables are in the order of ``order``, widest first: then what is left after splitting off a cell is always
    wider than the cell, and few candidates are rejected. Many cells have a ``tree`` instead, and of the tables only
    the last sum.
    """

    low: int
    log_weights: np.ndarray
    log_bare: np.ndarray
    order: tuple[int, ...]
    cells: tuple[Table, ...]
    partial: tuple[Table, ...]
    tree: Tree | None = None

    @property
    def n_cells(self) -> int:
        """How many cells a total is split into."""
        return len(self.cells) if self.tree is None else self.tree.root.n_cells

    @property
    def high(self) -> int:
        """The last total."""
        return self.low + self.log_weights.size - 1

    def cut(self, low: int, high: int) -> Panel:
        """Return the part of this panel inside [low, high]."""
        low, high = max(low, self.low), min(high, self.high)
        kept = slice(low - self.low, high - self.low + 1)
        return replace(self, low=low, log_weights=self.log_weights[kept], log_bare=self.log_bare[kept])

    def split(self, totals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw cell counts given their totals, cells on the last axis."""
        if self.tree is not None:
            return self.tree.split(totals, rng)
        # numba takes a moment to import
        from discreet.inference.counts.splits import split_off

        counts = np.empty((totals.size, len(self.cells)), dtype=np.int64)
        drawn = np.empty(totals.size, dtype=np.int64)
        for k in range(len(self.cells) - 1, 0, -1):
            cell, rest = self.cells[k], self.partial[k - 1]
            split_off(cell.weights, cell.low, rest.weights, rest.low, totals, rng, _TRIES, drawn)
            counts[:, self.order[k]] = drawn
            totals = totals - drawn
        counts[:, self.order[0]] = totals
        return counts


@dataclass(frozen=True)
class PanelMaker:
    """Makes the panels of one release: its cells, the prior on records, and the rest of q.

    ``members`` are the places of the cells that are like each of ``cells``; None if every cell is on its own.
    """

    cells: list[Cell]
    records: CountPrior
    log_q: Callable[[int, int], np.ndarray]
    members: list[np.ndarray] | None = None

    @cached_property
    def times(self) -> np.ndarray:
        """How many cells are like each of ``cells``."""
        return np.array([1.0] * len(self.cells) if self.members is None else [*map(len, self.members)], float)

    def panel(self, target: int) -> tuple[Panel, bool]:
        """Return the panel around ``target``, and whether it carries the whole posterior of the total by itself.

        If it does not, only the range of totals where it is accurate is kept.
        """
        records, members, times = self.records, self.members, self.times
        # cells are cut where the panel is, so that inside it nothing is missing
        reach = max(distribution.reach(DEPTH) for distribution in {cell.noise for cell in self.cells})
        if members is not None and 2 * reach * len(self.cells) > _MOST_WEIGHTS:
            raise OutOfReachError(
                f"{int(times.sum()):,} counts under noise this wide are too many to enumerate exactly.",
                hint="release fewer labels, or with a larger budget",
            )
        margin = (4 + 2 * np.sqrt(times.sum())) * reach
        most = capped(records, int(target + margin) + 8)
        tilt = tilt_for(self.cells, target, most, times)
        made, kept = [], 0
        for cell in self.cells:
            made.append(cell.weights(tilt, most))
            kept += made[-1][1].size
            if kept > _MOST_NUMBERS:
                raise too_wide()
        tables, log_norms = [Table(*cell[:2]) for cell in made], [cell[2] for cell in made]
        # so that a tree, which takes the tables over, can give up what it keeps no longer
        made.clear()
        tree = None if members is None else Tree.of(tables, members, most)
        if tree is None:
            order, ordered, partial = convolved(tables, _MOST_NUMBERS - kept)
        else:
            order, ordered, partial = (), (), (tree.root.table,)
        sums = partial[-1]
        low, high = max(sums.low, records.low), min(sums.high, most)
        if high < low:
            raise _contradiction()
        weights = sums.weights[low - sums.low : high - sums.low + 1]
        u = np.arange(low, high + 1)
        # each cell is tilted around its own reading, so the total is tilted around their sum
        each = list(zip(times.tolist(), log_norms, self.cells, strict=True))
        log_tilt = sum(n * log_norm for n, log_norm, _ in each)
        log_tilt -= tilt * (u - sum(int(n) * cell.y for n, _, cell in each))
        with np.errstate(divide="ignore"):
            log_rest = log_tilt + self.log_q(low, high)
            log_bare, log_prior = np.log(weights) + log_rest, records.log_mass(u)
        panel = Panel(low, log_bare + log_prior, log_bare, order, ordered, partial, tree)
        peak = panel.log_weights.max()
        if np.isfinite(peak):
            mass = np.exp(panel.log_weights - peak).sum()
            astray = FLOOR * sums.weights.max() * np.exp(log_rest + log_prior - peak).sum() / mass
            light = peak - _DEPTH - records.log_peak
            first, last = self.possible
            end = last if records.high is None else min(last, records.high)
            cut_low = log_bare[0] > light and low > max(records.low, first)
            cut_high = log_bare[-1] > light and high < end
            if astray < _ASTRAY and not (cut_low or cut_high):
                return panel, True
        trusted = np.flatnonzero(weights >= _TRUSTED * weights.max())
        return panel.cut(low + int(trusted[0]), low + int(trusted[-1])), False

    @cached_property
    def possible(self) -> tuple[float, float]:
        """The least and the most that the total can be, where noise goes only so far."""
        ends = [[cell.y - end for end in reversed(cell.noise.ends)] for cell in self.cells]
        least, most = np.array(ends, dtype=float).T
        return float(self.times @ np.maximum(np.ceil(least), 0.0)), float(self.times @ np.floor(most))

    def extend(self, first: Panel) -> list[Panel]:
        """Return panels on both sides of the first, until the totals left out carry no mass."""
        panels = [first]
        for above in (False, True):
            while True:
                last = panels[-1] if above else panels[0]
                edge = last.high + 1 if above else last.low - 1
                total = self.records.nearest(edge, above=above)
                peak = max(panel.log_weights.max() for panel in panels)
                light = peak - _DEPTH - self.records.log_peak
                if total is None or not self.possible[0] <= total <= self.possible[1]:
                    break
                if total == edge and last.log_bare[-1 if above else 0] <= light:
                    break
                half = (last.high - last.low) // 2
                new = self._reaching(total, total + half if above else max(total - half, 0))
                new = new.cut(edge, new.high) if above else new.cut(new.low, edge)
                if new.log_bare.max() <= light:
                    break
                panels.insert(len(panels) if above else 0, new)
                if len(panels) > _MOST_PANELS:
                    raise OutOfReachError(
                        "the prior is too strong for this noise to enumerate the counts exactly."
                    )
        return panels

    def _reaching(self, total: int, target: int) -> Panel:
        """Return a panel around ``target``, or nearer, that is accurate at ``total``."""
        target = capped(self.records, target)
        while True:
            before = held()
            panel, _ = self.panel(max(target, self.records.low))
            if panel.low <= total <= panel.high:
                return panel
            hold(before - held())
            if target == total:
                raise _contradiction()
            target = (target + total) // 2 if abs(target - total) > 1 else total


def _contradiction() -> OutOfReachError:
    return OutOfReachError("the noisy counts contradict each other too strongly to enumerate.")


@dataclass(frozen=True)
class CellCounts:
    """The posterior over cell counts, panel by panel of the total."""

    panels: tuple[Panel, ...]

    @property
    def log_weights(self) -> np.ndarray:
        """Log weights of the totals, up to a constant."""
        return np.concatenate([panel.log_weights for panel in self.panels])

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the possible totals and their posterior probabilities."""
        totals = np.concatenate([np.arange(panel.low, panel.high + 1) for panel in self.panels])
        return totals, softmax(self.log_weights)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw count vectors from the posterior, independently, cells on the last axis."""
        totals, probabilities = self.totals()
        return self.split(totals[sample_index(probabilities, size, rng)], rng)

    def split(self, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw counts given their totals, each of which must be in one of the panels."""
        if len(self.panels) == 1:
            return self.panels[0].split(u, rng)
        counts = np.empty((u.size, self.panels[0].n_cells), dtype=np.int64)
        for panel in self.panels:
            mine = np.flatnonzero((u >= panel.low) & (u <= panel.high))
            if mine.size:
                counts[mine] = panel.split(u[mine], rng)
        return counts


def cell_counts(
    alpha: np.ndarray,
    y: np.ndarray,
    noise: tuple[Noise, ...],
    records: CountPrior,
    usable: tuple[int, Noise] | None,
) -> CellCounts:
    """Enumerate the cells of noisy counts ``y``; ``usable`` is a noisy count of the total, if one was released."""
    most = max(int(np.max(y)), 0) if records.high is None else records.high
    each = list(zip(alpha.tolist(), y.tolist(), noise, strict=True))
    members = _alike(each) if len(each) > MANY else None
    firsts = range(len(each)) if members is None else [int(places[0]) for places in members]
    cells = [
        Cell(a, v, distribution, reference=min(max(v, 0), most))
        for a, v, distribution in (each[k] for k in firsts)
    ]
    target = _first_guess(each, records, usable)

    def log_q(u_low: int, u_high: int) -> np.ndarray:
        """Log of q without the prior on records."""
        out = -log_rising(float(np.sum(alpha)), u_low, u_high, target)
        return out if usable is None else out + usable[1].log_mass(usable[0] - np.arange(u_low, u_high + 1))

    maker = PanelMaker(cells, records, log_q, members)
    first, alone = maker.panel(target)
    return CellCounts((first,) if alone else tuple(maker.extend(first)))


def _alike(cells: list[tuple[float, int, Noise]]) -> list[np.ndarray]:
    """Return the places of cells that are alike, for each kind of them."""
    places: dict[tuple[float, int, Noise], list[int]] = {}
    for k, cell in enumerate(cells):
        places.setdefault(cell, []).append(k)
    return [np.array(found) for found in places.values()]


def _first_guess(
    cells: list[tuple[float, int, Noise]], records: CountPrior, usable: tuple[int, Noise] | None
) -> int:
    """Return a plausible total that is possible: what the cells say, averaged with what the usable count says."""
    guess = float(sum(max(v, 0) for _, v, _ in cells))
    if usable is not None:
        variance = {noise: noise.sd**2 for noise in {noise for _, _, noise in cells}}
        # two readings, each weighted by the other's variance; the floor is for noise that is never anything but 0
        from_cells = max(sum(variance[noise] for _, _, noise in cells), 1e-300)
        from_usable = max(usable[1].sd ** 2, 1e-300)
        guess = (guess * from_usable + usable[0] * from_cells) / (from_cells + from_usable)
    return closest(records, max(guess, 0.0))
