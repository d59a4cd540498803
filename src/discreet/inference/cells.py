r"""Exact posterior of the cell counts behind a release of counts, each with its own noise.

Given the data the parameter is Dirichlet(alpha + c). The posterior of the counts factors up to their total,

    P(c | y)  ~  q(u) * prod_k g_k(c_k) noise_k(y_k - c_k),        u = sum_k c_k,
    q(u)      =  p(u) noise_u(y_u - u) / g_A(u),                   A = sum_k alpha_k,

with p(u) the prior on the number of usable records (a point when it is public and nothing is missing). So the law of
the total is a convolution, and counts are drawn backwards: the total first, then one cell after the other, each from
its weight times the convolution of the cells before it.

A convolution is accurate near its peak only. Every cell is therefore tilted by exp(lambda c), which changes nothing
(the total takes it back) but moves the peak to where the posterior of the total is. One such *panel* is enough
unless the prior is far stronger than the data; then neighboring panels share the range of totals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.errors import EngineError
from discreet.inference.records import RecordPrior
from discreet.inference.tilt import Cell, tilt_for
from discreet.inference.weights import DEPTH, log_rising, sample_index
from discreet.privacy import Noise

# Rounding in a convolution, relative to its peak.
_FLOOR = 1e-16
# How much of the total's posterior rounding may misplace, and how far below its peak a panel is then trusted.
_ASTRAY = 1e-11
_TRUSTED = _FLOOR / _ASTRAY
# Totals this far below the most likely one carry less than 1e-12 of the mass.
_DEPTH = 34.0
# Below this length direct convolution is as fast as Fourier's, and has no floor.
_DIRECT = 128
# Rejection gives way to tables after this many rounds, or when this few draws are left.
_ROUNDS = 64
_FEW = 16
_MOST_PANELS = 400


@dataclass(frozen=True)
class Table:
    """Weights of consecutive counts from ``low`` on."""

    low: int
    weights: np.ndarray

    @property
    def high(self) -> int:
        """The last count."""
        return self.low + self.weights.size - 1

    def at(self, counts: np.ndarray) -> np.ndarray:
        """Return the weights of these counts, 0 outside the table."""
        index = counts - self.low
        inside = (index >= 0) & (index < self.weights.size)
        return np.where(inside, self.weights[np.where(inside, index, 0)], 0.0)

    def convolve(self, other: Table) -> Table:
        """Return the table of the sum of two counts, trimmed where it is rounding noise."""
        if min(self.weights.size, other.weights.size) <= _DIRECT:
            weights = np.convolve(self.weights, other.weights)
        else:
            weights = _fourier_convolve(self.weights, other.weights)
        heavy = np.flatnonzero(weights > _FLOOR * weights.max())
        first, last = heavy[0], heavy[-1]
        return Table(self.low + other.low + int(first), np.maximum(weights[first : last + 1], 0.0))


def _fourier_convolve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    size = a.size + b.size - 1
    padded = 1 << (size - 1).bit_length()
    return np.fft.irfft(np.fft.rfft(a, padded) * np.fft.rfft(b, padded), padded)[:size]


@dataclass(frozen=True)
class Panel:
    """A range of totals, their log weights, and the tilted tables that split a total into cells.

    ``log_bare`` leaves the prior on records out: it has no holes, so it can tell whether there is weight beyond an
    edge.
    """

    low: int
    log_weights: np.ndarray
    log_bare: np.ndarray
    cells: tuple[Table, ...]
    partial: tuple[Table, ...]

    @property
    def high(self) -> int:
        """The last total."""
        return self.low + self.log_weights.size - 1

    def cut(self, low: int, high: int) -> Panel:
        """Return the part of this panel inside [low, high]."""
        low, high = max(low, self.low), min(high, self.high)
        kept = slice(low - self.low, high - self.low + 1)
        return Panel(low, self.log_weights[kept], self.log_bare[kept], self.cells, self.partial)

    def split(self, totals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw cell counts given their totals, cells on the last axis."""
        counts = np.empty((totals.size, len(self.cells)), dtype=np.int64)
        for k in range(len(self.cells) - 1, 0, -1):
            counts[:, k] = _draw_split(self.cells[k], self.partial[k - 1], totals, rng)
            totals = totals - counts[:, k]
        counts[:, 0] = totals
        return counts

    def share(self, counts: np.ndarray) -> np.ndarray:
        """Return P(c | its total) of count vectors."""
        cells = np.prod([table.at(counts[..., k]) for k, table in enumerate(self.cells)], axis=0)
        return cells / self.partial[-1].at(counts.sum(axis=-1))


@dataclass(frozen=True)
class CellCounts:
    """The posterior over cell counts, panel by panel of the total."""

    panels: tuple[Panel, ...]

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the possible totals and their posterior probabilities."""
        log_weights = np.concatenate([panel.log_weights for panel in self.panels])
        weights = np.exp(log_weights - log_weights.max())
        totals = np.concatenate([np.arange(panel.low, panel.high + 1) for panel in self.panels])
        return totals, weights / weights.sum()

    def probability(self, counts: np.ndarray) -> np.ndarray:
        """Return P(c | y) of count vectors, cells on the last axis."""
        counts = np.asarray(counts)
        u = counts.sum(axis=-1)
        out = np.zeros(u.shape)
        totals, probabilities = self.totals()
        for panel in self.panels:
            table = Table(
                panel.low, probabilities[np.searchsorted(totals, panel.low) :][: panel.log_bare.size]
            )
            mine = table.at(u) > 0
            out[mine] = table.at(u[mine]) * panel.share(counts[mine])
        return out

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw count vectors from the posterior, independently, cells on the last axis."""
        totals, probabilities = self.totals()
        u = totals[sample_index(probabilities, size, rng)]
        if len(self.panels) == 1:
            return self.panels[0].split(u, rng)
        counts = np.empty((size, len(self.panels[0].cells)), dtype=np.int64)
        for panel in self.panels:
            mine = np.flatnonzero((u >= panel.low) & (u <= panel.high))
            if mine.size:
                counts[mine] = panel.split(u[mine], rng)
        return counts


def _draw_split(cell: Table, rest: Table, total: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw c with weight cell(c) rest(total - c) for each total, exactly.

    Rejection from the cell's own weights needs no table per draw; the stubborn few get one.
    """
    out = np.empty(total.size, dtype=np.int64)
    ceiling = rest.weights.max()
    todo = np.arange(total.size)
    pool, used = np.empty(0, dtype=np.int64), 0
    for _ in range(_ROUNDS):
        if pool.size - used < todo.size:
            pool, used = cell.low + sample_index(cell.weights, 3 * todo.size, rng), 0
        c = pool[used : used + todo.size]
        used += todo.size
        accepted = rng.random(todo.size) * ceiling < rest.at(total[todo] - c)
        out[todo[accepted]] = c[accepted]
        todo = todo[~accepted]
        if todo.size <= _FEW:
            break
    support = cell.low + np.arange(cell.weights.size)
    block = max(1, 4_000_000 // support.size)
    for start in range(0, todo.size, block):
        some = todo[start : start + block]
        weights = np.cumsum(cell.weights * rest.at(total[some, None] - support), axis=1)
        targets = rng.random(some.size) * weights[:, -1]
        out[some] = cell.low + (weights <= targets[:, None]).sum(axis=1)
    return out


def cell_counts(
    alpha: np.ndarray,
    y: np.ndarray,
    noise: tuple[Noise, ...],
    records: RecordPrior,
    usable: tuple[int, Noise] | None,
) -> CellCounts:
    """Enumerate the cells of noisy counts ``y``; ``usable`` is a noisy count of the total, if one was released."""
    most = max(int(np.max(y)), 0) if records.high is None else records.high
    cells = [
        Cell(float(a), int(v), law, reference=min(max(int(v), 0), most))
        for a, v, law in zip(alpha, y, noise, strict=True)
    ]
    target = _first_guess(cells, records, usable)

    def log_q(u_low: int, u_high: int) -> np.ndarray:
        """Log of q without the prior on records."""
        out = -log_rising(float(np.sum(alpha)), u_low, u_high, target)
        return out if usable is None else out + usable[1].log_mass(np.arange(u_low, u_high + 1) - usable[0])

    maker = _PanelMaker(cells, records, log_q)
    first, alone = maker.panel(target)
    return CellCounts((first,) if alone else tuple(maker.extend(first)))


def _first_guess(cells: list[Cell], records: RecordPrior, usable: tuple[int, Noise] | None) -> int:
    """Return a plausible total that is possible: what the cells say, averaged with what the usable count says."""
    guess = float(sum(max(cell.y, 0) for cell in cells))
    if usable is not None:
        # two readings, each weighted by the other's variance; the floor is for noise that is never anything but 0
        from_cells, from_usable = (
            max(v, 1e-300) for v in (sum(c.noise.sd**2 for c in cells), usable[1].sd ** 2)
        )
        guess = (guess * from_usable + usable[0] * from_cells) / (from_cells + from_usable)
    sides = [records.nearest(max(guess, 0.0), above=above) for above in (True, False)]
    return min((side for side in sides if side is not None), key=lambda side: abs(side - guess))


@dataclass(frozen=True)
class _PanelMaker:
    """Makes the panels of one release: its cells, the prior on records, and the rest of q."""

    cells: list[Cell]
    records: RecordPrior
    log_q: Callable[[int, int], np.ndarray]

    def panel(self, target: int) -> tuple[Panel, bool]:
        """Return the panel around ``target``, and whether it carries the whole posterior of the total by itself.

        If it does not, only the range of totals where it is accurate is kept.
        """
        records = self.records
        # cells are cut where the panel is, so that inside it nothing is missing
        margin = (4 + 2 * np.sqrt(len(self.cells))) * max(cell.noise.reach(DEPTH) for cell in self.cells)
        most = int(target + margin) + 8
        most = most if records.high is None else min(most, records.high)
        tilt = tilt_for(self.cells, target, most)
        made = [cell.weights(tilt, most) for cell in self.cells]
        tables = tuple(Table(low, weights) for low, weights, _ in made)
        partial = [tables[0]]
        for table in tables[1:]:
            partial.append(partial[-1].convolve(table))
        sums = partial[-1]
        low, high = max(sums.low, records.low), min(sums.high, most)
        if high < low:
            raise _contradiction()
        convolved = sums.weights[low - sums.low : high - sums.low + 1]
        u = np.arange(low, high + 1)
        # each cell is tilted around its own reading, so the total is tilted around their sum
        log_tilt = sum(log_norm for _, _, log_norm in made) - tilt * (u - sum(cell.y for cell in self.cells))
        with np.errstate(divide="ignore"):
            log_rest = log_tilt + self.log_q(low, high)
            log_bare = np.log(convolved) + log_rest
            log_prior = records.log_mass(u)
        panel = Panel(low, log_bare + log_prior, log_bare, tables, tuple(partial))
        peak = panel.log_weights.max()
        if np.isfinite(peak):
            mass = np.exp(panel.log_weights - peak).sum()
            astray = _FLOOR * sums.weights.max() * np.exp(log_rest + log_prior - peak).sum() / mass
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
                    raise EngineError(
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


def _contradiction() -> EngineError:
    return EngineError("the noisy counts contradict each other too strongly to enumerate.")
