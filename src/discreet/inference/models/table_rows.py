r"""One noisy row of a table of counts: how likely it is, given the row's total, for every total at once.

A row has counts t_j of labels j with Dirichlet(alpha) probabilities, each read as y_j = t_j + noise_j, and their total
m is latent, because other rows share it. Integrating the probabilities and summing over the counts,

    L(m) = p(y | m) = [ w_1 * w_2 * ... * w_K ](m) / g_A(m),        w_j(t) = g_alpha_j(t) noise_j(y_j - t),

with g_a(t) = Gamma(a + t) / (t! Gamma(a)), A = sum_j alpha_j and a convolution over the labels. If missing values are
counted, m - v of the m records of the row have no label, with a beta-binomial prior that expects few, and

    L(m) = 1 / g_{a+b}(m)  sum over v of  g_b(v) [ w_1 * ... * w_K ](v) / g_A(v)  g_a(m - v) noise(y_missing - (m - v)),

one more convolution; a and b are the weights of :mod:`discreet.inference.missing_prior`. A convolution is accurate near
its peak only, and dividing by g_A, which grows like m^(A - 1), can lift what lies far below it. So the first one is
made in panels, each tilted to a part of the range of totals (:mod:`discreet.inference.counts.weights`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import OutOfReachError
from discreet.inference.counts.latent_cells import CellCounts
from discreet.inference.counts.panels import Panel
from discreet.inference.counts.splits import split_off
from discreet.inference.counts.weights import Cell, Table, log_rising, tilt_for
from discreet.inference.missing_prior import MISSING_WEIGHT, PRESENT_WEIGHT
from discreet.inference.models.totals import Window, log_sums
from discreet.privacy import Noise

# How far below its peak a convolution is trusted: rounding is 1e-16 of the peak, so to nine or ten digits.
_TRUSTED = 1e-6
_MOST_PANELS = 400
# Rejections before a draw gets a table of its own.
_TRIES = 64


@dataclass(frozen=True)
class Reading:
    """The noisy counts of one row and the prior of its labels; ``missing`` says whether the last is of no label."""

    alpha: np.ndarray
    y: np.ndarray
    noise: tuple[Noise, ...]
    missing: bool

    @property
    def total(self) -> int:
        """What the row reads in all."""
        return int(self.y.sum())

    @property
    def variance(self) -> float:
        """Variance of the noise on :attr:`total`."""
        return float(sum(law.sd**2 for law in self.noise))

    def reach(self, log_tail: float) -> float:
        """Return how far the least unwilling of the row's noises can carry it."""
        return max(law.reach(log_tail) for law in self.noise)

    def cells(self, most: int) -> list[Cell]:
        """Return the row's cells, last that of missing values if they are counted."""
        alpha = [*self.alpha, MISSING_WEIGHT] if self.missing else list(self.alpha)
        return [
            Cell(float(a), int(y), law, reference=min(max(int(y), 0), most))
            for a, y, law in zip(alpha, self.y, self.noise, strict=True)
        ]


@dataclass(frozen=True)
class RowLaw:
    """log L(m) for m = low, low + 1, ..., up to a constant; and the counts given m.

    ``labels`` splits the labelled records into labels; ``unlabelled`` and ``labelled`` are the weights of the two parts
    of m where missing values are counted.
    """

    low: int
    log_weights: np.ndarray
    labels: CellCounts
    unlabelled: Table | None = None
    labelled: Table | None = None

    def split(self, totals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the counts of the labels given the row's totals, labels on the last axis."""
        if self.unlabelled is not None and self.labelled is not None:
            part, rest = self.unlabelled, self.labelled
            drawn = np.empty(totals.size, dtype=np.int64)
            split_off(part.weights, part.low, rest.weights, rest.low, totals, rng, _TRIES, drawn)
            totals = totals - drawn
        return self.labels.split(totals, rng)

    def share(self, counts: np.ndarray, total: int) -> np.ndarray:
        """Return P(counts of the labels | the row's total) of count vectors."""
        used = counts.sum(axis=-1)
        inside = np.zeros(len(counts))
        for panel in self.labels.panels:
            mine = (used >= panel.low) & (used <= panel.high)
            inside[mine] = panel.share(counts[mine])
        if self.unlabelled is None or self.labelled is None:
            return np.where(used == total, inside, 0.0)
        v = np.arange(total + 1)
        weights = self.labelled.at(v) * self.unlabelled.at(total - v)
        return inside * Table(0, weights / weights.sum()).at(used)


def row_law(row: Reading, target: float, low: int, high: int) -> RowLaw:
    """Return the law of a row for totals in [low, high], accurate around ``target``."""
    cells = row.cells(high)
    named, mass = cells[: len(row.alpha)], float(row.alpha.sum())
    if not row.missing:
        labels = _covering(named, int(min(max(target, low), high)), low, high)
        sums = np.concatenate([panel.log_weights for panel in labels.panels])
        return RowLaw(low, sums - log_rising(mass, low, high), labels)
    gap = cells[-1]
    first, weights, _ = gap.weights(0.0, high)
    # of the records that the row could have, so many have a label
    least, most = max(low - first - weights.size + 1, 0), max(high - first, 0)
    spare = row.variance - gap.noise.sd**2
    pull = (target - row.total) * spare / max(row.variance, 1e-12)
    middle = int(min(max(row.total - int(row.y[-1]) + pull, least), most))
    labels = _covering(named, middle, least, most)
    sums = np.concatenate([panel.log_weights for panel in labels.panels])
    with np.errstate(divide="ignore"):
        of_labels = sums - log_rising(mass, least, most) + log_rising(PRESENT_WEIGHT, least, most)
        parts = [Window(first, np.log(weights)), Window(least, of_labels)]
    unlabelled, labelled = (Table(part.low, part.tilted(0.0)) for part in parts)
    log_weights = log_sums(parts[0], parts[1], low, high, target)
    log_weights -= log_rising(MISSING_WEIGHT + PRESENT_WEIGHT, low, high)
    return RowLaw(low, log_weights, labels, unlabelled, labelled)


def _covering(cells: list[Cell], target: int, low: int, high: int) -> CellCounts:
    """Return panels that hold the log of the cells' convolution at every total in [low, high], on one scale."""
    panels = [_panel(cells, target, low, high, target)]
    for above in (False, True):
        while (panels[-1].high < high) if above else (panels[0].low > low):
            last = panels[-1] if above else panels[0]
            half = (last.high - last.low) // 2
            edge = last.high + 1 if above else last.low - 1
            aim = min(edge + half, high) if above else max(edge - half, low)
            new = _panel(cells, aim, low, high, edge)
            new = new.cut(edge, high) if above else new.cut(low, edge)
            panels.insert(len(panels) if above else 0, new)
            if len(panels) > _MOST_PANELS:
                raise OutOfReachError(
                    "the prior is too strong for this noise to enumerate the counts exactly."
                )
    return CellCounts(tuple(panels))


def _panel(cells: list[Cell], aim: int, low: int, high: int, needed: int) -> Panel:
    """Return a panel around ``aim``, or nearer to ``needed``, that is accurate there; cut to [low, high]."""
    while True:
        tilt = tilt_for(cells, aim, high)
        made = [cell.weights(tilt, high) for cell in cells]
        tables = [Table(first, weights) for first, weights, _ in made]
        order = tuple(sorted(range(len(tables)), key=lambda k: -tables[k].spread))
        ordered = [tables[k] for k in order]
        partial = [ordered[0]]
        for table in ordered[1:]:
            partial.append(partial[-1].convolve(table))
        sums = partial[-1]
        trusted = np.flatnonzero(sums.weights >= _TRUSTED * sums.weights.max())
        first, last = max(sums.low + int(trusted[0]), low), min(sums.low + int(trusted[-1]), high)
        if first <= needed <= last:
            break
        if aim == needed:
            raise OutOfReachError("the noisy counts contradict each other too strongly to enumerate.")
        aim = (aim + needed) // 2 if abs(aim - needed) > 1 else needed
    u = np.arange(first, last + 1)
    # each cell is tilted around its own reading, so the total is tilted around their sum
    log_scale = sum(log_norm for _, _, log_norm in made) - tilt * (u - sum(cell.y for cell in cells))
    log_weights = np.log(sums.at(u)) + log_scale
    return Panel(first, log_weights, log_weights, order, tuple(ordered), tuple(partial))
