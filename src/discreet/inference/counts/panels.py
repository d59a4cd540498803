"""Panels: ranges of totals over which one tilted convolution of cells is accurate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import OutOfReachError
from discreet.inference.counts.sum_tree import Tree
from discreet.inference.counts.weights import DEPTH, FLOOR, Cell, Table, tilt_for
from discreet.inference.engine import too_wide
from discreet.inference.record_prior import CountPrior

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

    def share(self, counts: np.ndarray) -> np.ndarray:
        """Return P(c | its total) of count vectors."""
        each = zip(self.order, self.cells, strict=True) if self.tree is None else self.tree.cells()
        cells = np.prod([table.at(counts[..., k]) for k, table in each], axis=0)
        return cells / self.partial[-1].at(counts.sum(axis=-1))


@dataclass(frozen=True)
class PanelMaker:
    """Makes the panels of one release: its cells, the prior on records, and the rest of q.

    ``members`` are the places of the cells that are like each of ``cells``; None if every cell is on its own.
    """

    cells: list[Cell]
    records: CountPrior
    log_q: Callable[[int, int], np.ndarray]
    members: list[np.ndarray] | None = None

    def panel(self, target: int) -> tuple[Panel, bool]:
        """Return the panel around ``target``, and whether it carries the whole posterior of the total by itself.

        If it does not, only the range of totals where it is accurate is kept.
        """
        records, members = self.records, self.members
        times = np.ones(len(self.cells)) if members is None else np.array([len(m) for m in members], float)
        # cells are cut where the panel is, so that inside it nothing is missing
        reach = max(law.reach(DEPTH) for law in {cell.noise for cell in self.cells})
        if members is not None and 2 * reach * len(self.cells) > _MOST_WEIGHTS:
            raise OutOfReachError(
                f"{int(times.sum()):,} counts under noise this wide are too many to enumerate exactly.",
                hint="release fewer labels, or with a larger budget",
            )
        margin = (4 + 2 * np.sqrt(times.sum())) * reach
        most = int(target + margin) + 8
        most = most if records.high is None else min(most, records.high)
        tilt = tilt_for(self.cells, target, most, times)
        made, kept = [], 0
        for cell in self.cells:
            made.append(cell.weights(tilt, most))
            kept += made[-1][1].size
            if kept > _MOST_NUMBERS:
                raise too_wide()
        tables = [Table(low, weights) for low, weights, _ in made]
        tree = None if members is None else Tree.of(tables, members)
        if tree is None:
            order = tuple(sorted(range(len(tables)), key=lambda k: -tables[k].spread))
            tables = [tables[k] for k in order]
            partial = [tables[0]]
            for table in tables[1:]:
                partial.append(partial[-1].convolve(table))
                kept += partial[-1].weights.size
                if kept > _MOST_NUMBERS:
                    raise too_wide()
        else:
            order, tables, partial = (), [], [tree.root.table]
        sums = partial[-1]
        low, high = max(sums.low, records.low), min(sums.high, most)
        if high < low:
            raise _contradiction()
        convolved = sums.weights[low - sums.low : high - sums.low + 1]
        u = np.arange(low, high + 1)
        # each cell is tilted around its own reading, so the total is tilted around their sum
        each = list(zip(times.tolist(), made, self.cells, strict=True))
        log_tilt = sum(n * log_norm for n, (_, _, log_norm), _ in each)
        log_tilt -= tilt * (u - sum(int(n) * cell.y for n, _, cell in each))
        with np.errstate(divide="ignore"):
            log_rest = log_tilt + self.log_q(low, high)
            log_bare = np.log(convolved) + log_rest
            log_prior = records.log_mass(u)
        panel = Panel(low, log_bare + log_prior, log_bare, order, tuple(tables), tuple(partial), tree)
        peak = panel.log_weights.max()
        if np.isfinite(peak):
            mass = np.exp(panel.log_weights - peak).sum()
            astray = FLOOR * sums.weights.max() * np.exp(log_rest + log_prior - peak).sum() / mass
            light = peak - _DEPTH - records.log_peak
            cut_low = log_bare[0] > light and low > records.low
            cut_high = log_bare[-1] > light and (records.high is None or high < records.high)
            if astray < _ASTRAY and not (cut_low or cut_high):
                return panel, True
        trusted = np.flatnonzero(convolved >= _TRUSTED * convolved.max())
        return panel.cut(low + int(trusted[0]), low + int(trusted[-1])), False

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
                if total is None or (total == edge and last.log_bare[-1 if above else 0] <= light):
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
        if self.records.high is not None:
            target = min(target, self.records.high)
        while True:
            panel, _ = self.panel(max(target, self.records.low))
            if panel.low <= total <= panel.high:
                return panel
            if target == total:
                raise _contradiction()
            target = (target + total) // 2 if abs(target - total) > 1 else total


def _contradiction() -> OutOfReachError:
    return OutOfReachError("the noisy counts contradict each other too strongly to enumerate.")
