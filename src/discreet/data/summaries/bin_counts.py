"""How many records fall into each cell of a public grid: bounds, fit checks and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.data.sources.conceal import concealed
from discreet.data.sources.opening import opened
from discreet.data.sources.results import picked_batches
from discreet.data.sources.source import Need
from discreet.data.sources.values import floats
from discreet.data.summaries.sums import Summary, check_size
from discreet.domain.bin_grid import Grid
from discreet.domain.declarations import Domain
from discreet.families import Histogram, RecordSums
from discreet.models.layout import Layout


@dataclass(frozen=True, repr=False)
class BinCounts:
    """Usable records per cell, for each column; and the number of all records. Private."""

    counts: tuple[tuple[int, ...], ...]
    n_records: int


@concealed
def count_bins(
    data: Any,
    family: RecordSums,
    grids: Sequence[Grid],
    columns: Sequence[str] | None = None,
    *,
    purpose: str = "a choice of bounds",
) -> BinCounts:
    """Count the usable records in each cell of each column's grid.

    A value outside a grid counts in its first or last cell, infinities too; a record with a missing value counts
    nowhere. The rows are read as :func:`~discreet.data.summaries.sums.summarize` reads them and will be read again by
    it.

    Privacy
    -------
    The result is private. Values raise nothing. One record is in one cell of each column, or in none: a missing column
    takes the record out of all of them.
    """
    needs = [Need(family.name, None)] * family.n_columns

    with opened(data, columns, needs, twice=purpose) as (picked, _):
        totals = [np.zeros(grid.n_cells, dtype=np.int64) for grid in grids]
        n_records = 0
        for batch in picked_batches(picked):
            n_records += batch.num_rows
            x = [floats(batch.column(f"c{i}")) for i in range(len(grids))]
            usable = np.logical_and.reduce([~np.isnan(column) for column in x])
            for total, grid, column in zip(totals, grids, x, strict=True):
                total += np.bincount(cells(column[usable], grid), minlength=grid.n_cells)
        return BinCounts(tuple(tuple(total.tolist()) for total in totals), n_records)


def cells(x: np.ndarray, grid: Grid) -> np.ndarray:
    """Return the cell of each value, none of which is NaN.

    In NumPy whatever the engine, with the two constants rounded once, so that the counts are the same everywhere. A
    value within rounding of an edge may fall on either side of it: on the same side every time.
    """
    low, high, slope = float(grid.low), float(grid.high), float(1 / grid.step)
    index = np.floor((np.clip(x, low, high) - low) * slope)
    return np.clip(index, 0, grid.n_cells - 1).astype(np.int64)


@concealed
def count_histogram(
    data: Any, model: Histogram, domain: Domain, layout: Layout, columns: Sequence[str] | None = None
) -> Summary:
    """Count the usable records in every bin and group, in the order of the layout.

    Values are compared with the edges in NumPy, whatever the engine, as float64: comparisons are exact, so that the
    counts are the same everywhere. A value outside the bounds counts in the first or the last bin, infinities too; a
    missing one counts nowhere.

    Privacy
    -------
    The result is private. Values raise nothing. One record is in one bin and in one group of every level, or in none.
    """
    edges = model.edges_within(domain.bounds)
    needs = [Need(model.name, None, dates=domain.dates)]

    with opened(data, columns, needs) as (picked, names):
        counts = np.zeros(model.bins, dtype=np.int64)
        n_records = 0
        for batch in picked_batches(picked):
            n_records += batch.num_rows
            x = floats(batch.column("c0"))
            counts += np.bincount(bins_of(x[~np.isnan(x)], edges), minlength=model.bins)
        check_size(n_records, layout)
        values = np.concatenate([np.add.reduceat(counts, starts) for starts in model.level_starts()])
        usable = [int(counts.sum())] if len(layout.names) > len(values) else []
        return Summary((*values.tolist(), *usable), n_records, names)


def bins_of(x: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the bin of each value, none of which is NaN: the first whose upper edge is not exceeded, or the last."""
    return np.searchsorted(edges[1:-1], x, side="left")
