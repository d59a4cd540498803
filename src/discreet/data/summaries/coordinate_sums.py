"""The exact sums of the coordinates of numeric records, in grid steps.

Few coordinates are expressions that the engine evaluates and sums. Many (a multivariate normal of 60 columns has 1,890)
would be a query that takes longer to plan than to run: then the engine maps the columns, one expression each, and
products and rounding are NumPy's, on blocks of records. Both give the same bits: one multiplication, one scaling by a
power of two, one floor for each number, and sums of integers.
"""

from __future__ import annotations

import narwhals as nw
import numpy as np

from discreet.data.sources.batches import batches
from discreet.data.summaries.fixed_point import Frame, only_row
from discreet.families.record_sums import RecordSums
from discreet.models.layout import Layout
from discreet.models.shapes import UNIT

# coordinates that are worth an expression each
_FEW = 64
# numbers in a block: 32 MB; at most 2^27 records of 25 bits, so that sums in float64 are exact
_BLOCK = 1 << 22


def sums(records: Frame, family: RecordSums, layout: Layout) -> tuple[int, list[int]]:
    """Return the number of records and the sum of each coordinate of columns z0, z1, ... and the usable flag."""
    z = [f"z{i}" for i in range(family.n_columns)]
    if len(layout.rows) > _FEW:
        return _by_blocks(records, z, family, layout)
    features = family.geometry.features([nw.col(name) for name in z])
    steps = {}
    for j, t in enumerate(layout.coordinates(nw.col("usable"), features)):
        grid = layout.grid[j]
        # counts are whole already; a power of two scales exactly
        k = t if grid == UNIT and layout.is_count(j) else (t * float(1 / grid) + 0.5).floor()
        steps[f"k{j}"] = k.cast(nw.Int64)
    totals = records.select(**steps).select(nw.len().alias("n"), *(nw.col(name).sum() for name in steps))
    n, *values = only_row(totals)
    return n, values


def _by_blocks(records: Frame, z: list[str], family: RecordSums, layout: Layout) -> tuple[int, list[int]]:
    per_step = np.array([float(1 / grid) for grid in layout.grid])
    n_records, totals = 0, np.zeros(len(layout.rows), dtype=np.int64)
    size = max(1, _BLOCK // len(layout.rows))
    for batch in batches(records):
        n_records += batch.num_rows
        for start in range(0, batch.num_rows, size):
            block = batch.slice(start, size)
            usable, *columns = (
                block.column(name).fill_null(0).to_numpy(zero_copy_only=False) for name in ("usable", *z)
            )
            mapped = np.stack(columns, axis=1).astype(np.float64)
            t = layout.coordinate_matrix(usable.astype(np.float64), family.geometry.feature_matrix(mapped))
            totals += np.floor(t * per_step + 0.5).sum(axis=0).astype(np.int64)
    return n_records, totals.tolist()
