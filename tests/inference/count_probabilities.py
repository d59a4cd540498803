"""The probabilities that enumerated counts have by the engine's own tables, to be compared with full enumeration."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.inference.counts.latent_cells import CellCounts, Panel
from discreet.inference.counts.sum_tree import Tree
from discreet.inference.counts.weights import Table
from discreet.inference.models.table_rows import RowDistribution, SharedTotals


def probability(posterior: CellCounts, counts: np.ndarray) -> np.ndarray:
    """Return P(c | y) of count vectors, cells on the last axis."""
    counts = np.asarray(counts)
    u = counts.sum(axis=-1)
    out = np.zeros(u.shape)
    totals, probabilities = posterior.totals()
    for panel in posterior.panels:
        table = Table(panel.low, probabilities[np.searchsorted(totals, panel.low) :][: panel.log_bare.size])
        mine = table.at(u) > 0
        out[mine] = table.at(u[mine]) * panel_share(panel, counts[mine])
    return out


def panel_share(panel: Panel, counts: np.ndarray) -> np.ndarray:
    """Return P(c | its total) of count vectors."""
    each = zip(panel.order, panel.cells, strict=True) if panel.tree is None else tree_cells(panel.tree)
    cells = np.prod([table.at(counts[..., k]) for k, table in each], axis=0)
    return cells / panel.partial[-1].at(counts.sum(axis=-1))


def tree_cells(tree: Tree) -> Iterator[tuple[int, Table]]:
    """Yield every cell's place and table."""
    left_to_do, at = [tree.root], 0
    while left_to_do:
        node = left_to_do.pop()
        if node.halves is None:
            yield int(tree.order[at]), node.table
            at += 1
        else:
            left_to_do += node.halves[::-1]


def totals_probability(shared: SharedTotals, totals: np.ndarray) -> np.ndarray:
    """Return the probability of vectors of totals, which are on the last axis."""
    return np.where(totals.sum(axis=-1) == shared.whole, panel_share(shared.panel, totals), 0.0)


def row_share(row: RowDistribution, counts: np.ndarray, total: int) -> np.ndarray:
    """Return P(counts of the labels | the row's total) of count vectors."""
    used = counts.sum(axis=-1)
    inside = np.zeros(len(counts))
    for panel in row.labels.panels:
        mine = (used >= panel.low) & (used <= panel.high)
        inside[mine] = panel_share(panel, counts[mine])
    if row.unlabelled is None or row.labelled is None:
        return np.where(used == total, inside, 0.0)
    v = np.arange(total + 1)
    weights = row.labelled.at(v) * row.unlabelled.at(total - v)
    return inside * Table(0, weights / weights.sum()).at(used)
