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

from dataclasses import dataclass

import numpy as np

from discreet.inference.counts.panels import Panel, PanelMaker
from discreet.inference.counts.weights import Cell, Table, log_rising, sample_index
from discreet.inference.record_prior import CountPrior
from discreet.privacy import Noise

#: Cells from which on they are summed as a tree.
MANY = 256


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
    cells = [Cell(a, v, law, reference=min(max(v, 0), most)) for a, v, law in (each[k] for k in firsts)]
    target = _first_guess(each, records, usable)

    def log_q(u_low: int, u_high: int) -> np.ndarray:
        """Log of q without the prior on records."""
        out = -log_rising(float(np.sum(alpha)), u_low, u_high, target)
        return out if usable is None else out + usable[1].log_mass(np.arange(u_low, u_high + 1) - usable[0])

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
        sd = {law: law.sd for law in {law for _, _, law in cells}}
        # two readings, each weighted by the other's variance; the floor is for noise that is never anything but 0
        from_cells, from_usable = (
            max(v, 1e-300) for v in (sum(sd[law] ** 2 for _, _, law in cells), usable[1].sd ** 2)
        )
        guess = (guess * from_usable + usable[0] * from_cells) / (from_cells + from_usable)
    sides = [records.nearest(max(guess, 0.0), above=above) for above in (True, False)]
    return min((side for side in sides if side is not None), key=lambda side: abs(side - guess))
