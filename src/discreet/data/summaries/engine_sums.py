r"""The same sums as :mod:`~discreet.data.summaries.sums`, as expressions that an engine elsewhere evaluates.

Few coordinates are expressions that the engine evaluates and sums. Many (a multivariate normal of 60 columns has 1,890)
would be a query that takes longer to plan than to run; then columns come in Arrow batches, and NumPy does the same.
Both give the same bits: the same operations in float64 for each number, and sums of integers. Float64 arithmetic is the
same in every engine only if each operation is, so the expressions keep to additions, multiplications and comparisons:

* no division, because some engines divide by a constant through its reciprocal: z = (u - shift) * (1 / half), with
  both constants rounded once, here;
* the domain test comes before any cast to integers, so 1e300, inf and NaN never reach one;
* "not null and not NaN" is written ``x <= inf``, which is false for NaN whether an engine orders NaN last
  or not at all, and null for null.

Null means "adds nothing" at every step and only a missing record can be null, so engines may disagree on where they
turn nulls into zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from operator import and_
from typing import Any

import narwhals as nw

from discreet.data.sources.results import rows_of
from discreet.data.sources.source import Frame
from discreet.domain.declarations import Domain
from discreet.families import RecordSums
from discreet.models.layout import Layout, Map


def sums_in_engine(frame: Frame, family: RecordSums, domain: Domain, layout: Layout) -> tuple[int, list[int]]:
    """Return the number of records and the sum of each coordinate of columns c0, c1, ..., by one query."""
    steps = grid_steps(family, layout)
    records = numeric_records(frame, family, domain, layout)
    totals = records.select(**steps).select(nw.len().alias("n"), *(nw.col(name).sum() for name in steps))
    n, *values = only_row(totals)
    return n, values


def is_usable(n_columns: int) -> nw.Expr:
    """Tell which records have no missing column."""
    return combined(and_, [nw.col(f"c{i}") <= math.inf for i in range(n_columns)])


def is_inside(limits: Sequence[tuple[float, float]]) -> nw.Expr:
    """Tell which records have every column within its bounds."""
    columns = [nw.col(f"c{i}") for i in range(len(limits))]
    return combined(and_, [(x >= low) & (x <= high) for x, (low, high) in zip(columns, limits, strict=True)])


def combined(operation: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """Combine expressions pairwise: engines walk an expression by recursion, and a long chain is too deep for some."""
    half = len(parts) // 2
    if not half:
        return parts[0]
    return operation(combined(operation, parts[:half]), combined(operation, parts[half:]))


def numeric_records(
    frame: Frame, family: RecordSums, domain: Domain, layout: Layout, *, keep: Sequence[str] = ()
) -> Frame:
    """Turn columns c0, c1, ... into z0, z1, ... and the usable flag; columns to ``keep`` stay as they are.

    Redacted: z = 0. Clipped: x moved to the nearest bound first. Missing: z = 0 and not usable.
    """
    identity = family.sums_values
    each = layout.maps(domain.bounds, identity=identity)
    usable, inside = is_usable(len(each)), is_inside([(m.low, m.high) for m in each])
    clip = domain.outside == "clip"
    kept = usable if clip else inside
    if len(each) > 1:
        # a column of its own: it mentions every column, and every column is to mention it
        frame = frame.with_columns(usable=usable, kept=kept)
        usable, kept = nw.col("usable"), nw.col("kept")
    mapped = {}
    for i, m in enumerate(each):
        x = nw.col(f"c{i}").clip(m.low, m.high) if clip else nw.col(f"c{i}")
        mapped[f"z{i}"] = nw.when(kept).then(_mapped(x if identity else family.measure(x), m)).otherwise(0.0)
    return frame.select(*keep, usable=usable.cast(nw.Int64), **mapped)


def _mapped(measured: Any, m: Map) -> Any:
    """Map a measured column; clamp so that a wrong certificate costs accuracy, never privacy."""
    z = (measured - m.shift) * m.slope
    return nw.when(z.is_nan()).then(0.0).otherwise(z.clip(-1.0, 1.0)) if m.clamp else z


def imputed(frames: Iterator[Frame], values: Sequence[Any]) -> Iterator[Frame]:
    """Put public values in the place of missing ones, column by column, before anything else is computed."""
    filled = {
        f"c{i}": nw.when(nw.col(f"c{i}") <= math.inf).then(nw.col(f"c{i}")).otherwise(float(value))
        for i, value in enumerate(values)
    }
    return (frame.with_columns(**filled) for frame in frames)


def only_row(frame: Frame) -> list[int]:
    """Run a query of one row of integers."""
    found = rows_of(frame)
    # a query that is only planned has no row
    (row,) = found or [(0,) * len(frame.collect_schema())]
    return [0 if value is None else int(value) for value in row]


def grid_steps(family: RecordSums, layout: Layout) -> dict[str, nw.Expr]:
    """Return each coordinate of the records z0, z1, ... in whole steps of its grid."""
    features = family.geometry.features([nw.col(f"z{i}") for i in range(family.n_columns)])
    # a power of two scales exactly
    return {
        f"k{j}": (t * float(1 / grid) + 0.5).floor().cast(nw.Int64)
        for j, (t, grid) in enumerate(
            zip(layout.coordinates(nw.col("usable"), features), layout.grid, strict=True)
        )
    }
