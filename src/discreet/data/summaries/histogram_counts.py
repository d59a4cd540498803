"""How many records fall into each bin of a histogram, and into each group of bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.sources.conceal import concealed
from discreet.data.sources.opening import opened
from discreet.data.sources.results import batches
from discreet.data.sources.source import Need
from discreet.data.summaries.sums import Summary, check_size
from discreet.domain.declarations import Domain
from discreet.families.histogram import Histogram
from discreet.models.layout import Layout


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
        for frame in picked.frames:
            for batch in batches(frame):
                n_records += batch.num_rows
                x = np.asarray(batch.column("c0").to_numpy(zero_copy_only=False), dtype=np.float64)
                counts += np.bincount(bins_of(x[~np.isnan(x)], edges), minlength=model.bins)
        check_size(n_records, layout)
        values = np.concatenate([np.add.reduceat(counts, starts) for starts in model.level_starts()])
        usable = [int(counts.sum())] if len(layout.names) > len(values) else []
        return Summary((*values.tolist(), *usable), n_records, names)


def bins_of(x: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the bin of each value, none of which is NaN: the first whose upper edge is not exceeded, or the last."""
    return np.searchsorted(edges[1:-1], x, side="left")
