r"""One noisy row of a table of counts: how likely it is, given the row's total, for every total at once.

A row has counts t_j of labels j with Dirichlet(alpha) probabilities, each read as y_j = t_j + noise_j, and their total
m is latent, because other rows share it. Integrating the probabilities and summing over the counts,

    L(m) = p(y | m) = [ w_1 * w_2 * ... * w_K ](m) / g_A(m),        w_j(t) = g_alpha_j(t) noise_j(y_j - t),

with g_a(t) = Gamma(a + t) / (t! Gamma(a)), A = sum_j alpha_j and a convolution over the labels. If missing values are
counted, m - v of the m records of the row have no label, any number of them as likely as any other, and

    L(m) = 1 / (m + 1)  sum over v of  [ w_1 * ... * w_K ](v) / g_A(v)  noise(y_missing - (m - v)),

one more convolution. Convolutions are accurate near their peak, so all cells are tilted to where the total is wanted
(:mod:`discreet.inference.counting.tilt`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import EngineError
from discreet.inference.counting.panels import Panel
from discreet.inference.counting.splits import split_off
from discreet.inference.counting.tables import FLOOR, Table
from discreet.inference.counting.tilt import Cell, tilt_for
from discreet.inference.counting.weights import log_rising
from discreet.privacy import Noise

# How much of a law may be lost beyond the edge of a table that was cut where rounding begins.
_LOST = 1e-11
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

    def cells(self, most: int) -> list[Cell]:
        """Return the row's cells; a count of missing values has a flat prior, which is g_1."""
        alpha = [*self.alpha, 1.0] if self.missing else list(self.alpha)
        return [
            Cell(float(a), int(y), law, reference=min(max(int(y), 0), most))
            for a, y, law in zip(alpha, self.y, self.noise, strict=True)
        ]


@dataclass(frozen=True)
class RowLaw:
    """log L(m) for m = low, low + 1, ..., up to a constant; and the counts given m.

    ``panel`` splits the labelled records into labels; ``unlabelled`` and ``labelled`` are the weights of the two parts
    of m where missing values are counted.
    """

    low: int
    log_weights: np.ndarray
    panel: Panel
    unlabelled: Table | None = None
    labelled: Table | None = None

    def split(self, totals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the counts of the labels given the row's totals, labels on the last axis."""
        if self.unlabelled is not None and self.labelled is not None:
            part, rest = self.unlabelled, self.labelled
            drawn = np.empty(totals.size, dtype=np.int64)
            split_off(part.weights, part.low, rest.weights, rest.low, totals, rng, _TRIES, drawn)
            totals = totals - drawn
        return self.panel.split(totals, rng)

    def share(self, counts: np.ndarray, total: int) -> np.ndarray:
        """Return P(counts of the labels | the row's total) of count vectors."""
        used = counts.sum(axis=-1)
        inside = self.panel.share(counts)
        if self.unlabelled is None or self.labelled is None:
            return np.where(used == total, inside, 0.0)
        v = np.arange(total + 1)
        weights = self.labelled.at(v) * self.unlabelled.at(total - v)
        return inside * Table(0, weights / weights.sum()).at(used)


def row_law(row: Reading, target: float, low: int, high: int) -> RowLaw:
    """Return the law of a row for totals in [low, high], accurate around ``target``."""
    cells = row.cells(high)
    tilt = tilt_for(cells, min(max(target, 0.0), high), high)
    made = [Table(*cell.weights(tilt, high)[:2]) for cell in cells]
    named = made[: len(row.alpha)]
    order = tuple(sorted(range(len(named)), key=lambda k: -named[k].spread))
    ordered = [named[k] for k in order]
    partial = [ordered[0]]
    for table in ordered[1:]:
        partial.append(partial[-1].convolve(table))
    panel = Panel(0, np.empty(0), np.empty(0), order, tuple(ordered), tuple(partial))
    m = np.arange(low, high + 1)
    mass = float(row.alpha.sum())
    if not row.missing:
        sums = partial[-1]
        with np.errstate(divide="ignore"):
            log_weights = np.log(sums.at(m)) - tilt * (m - low) - log_rising(mass, low, high)
        return RowLaw(low, log_weights, panel)
    labelled = _divided(partial[-1], mass, high)
    sums = labelled.convolve(made[-1])
    with np.errstate(divide="ignore"):
        log_weights = np.log(sums.at(m)) - tilt * (m - low) - np.log(m + 1.0)
    return RowLaw(low, log_weights, panel, made[-1], labelled)


def _divided(sums: Table, mass: float, high: int) -> Table:
    """Divide weights of totals by g_A, which no cell knows of; refuse if that lifts what rounding has swallowed."""
    last = min(sums.high, high)
    weights = sums.weights[: last - sums.low + 1] * np.exp(-log_rising(mass, sums.low, last))
    swallowed = sums.weights[: weights.size] <= 100 * FLOOR * sums.weights.max()
    cut = [weights[0] if sums.low > 0 else 0.0, weights[-1] if last < high else 0.0, weights[swallowed].sum()]
    if max(cut) > _LOST * weights.sum():
        raise EngineError("the prior is too strong for this noise to enumerate the counts exactly.")
    return Table(sums.low, weights / weights.sum())
