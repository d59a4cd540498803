r"""From columns to one exact integer vector.

Each record becomes z in [-1, 1] per column, then features, then coordinates, then k = floor(t / g + 1/2) on the grid
g; the integers are summed. Float64 arithmetic is the same in every engine only if each operation is, so the
expressions keep to additions, multiplications and comparisons:

* no division, because some engines divide by a constant through its reciprocal: z = (u - shift) * (1 / half), with
  both constants rounded once, here;
* the domain test comes before any cast to integers, so 1e300, inf and NaN never reach one;
* "not null and not NaN" is written ``x <= inf``, which is false for NaN whether an engine orders NaN last
  or not at all, and null for null.

Null means "adds nothing" at every step and only a missing record can be null, so engines may disagree on where they
turn nulls into zeros.

Rows in an engine elsewhere: few coordinates are expressions that it evaluates and sums. Many (a multivariate normal of
60 columns has 1,890) would be a query that takes longer to plan than to run, and rows in this process are faster
summed here: then columns come in Arrow batches, and :mod:`~discreet.data.summaries.block_sums` does the same in NumPy.
Both give the same bits: the same operations in float64 for each number, and sums of integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import and_
from typing import Any

import narwhals as nw

from discreet.data.sources.opening import look_at
from discreet.data.sources.results import STREAMED, batches, is_here, rows_of
from discreet.data.sources.source import Frame, Need, Picked
from discreet.data.sources.values import Vocabulary
from discreet.data.summaries.block_sums import BlockSums
from discreet.data.summaries.column_maps import maps
from discreet.data.summaries.label_counts import count_labels, label_sums
from discreet.domain.declarations import Domain
from discreet.errors import DataError
from discreet.families.impute import imputed_position
from discreet.families.record_sums import RecordSums
from discreet.models.layout import Layout

_LARGEST_SUM = 2**63 - 1
# coordinates that are worth an expression each
_FEW = 64


@dataclass(frozen=True, repr=False)
class Summary:
    """The exact sums: one integer per coordinate of the layout, in steps of its grid. Private."""

    values: tuple[int, ...]
    n_records: int
    columns: tuple[str, ...]


def summarize(
    data: Any, family: RecordSums, domain: Domain, layout: Layout, columns: Sequence[str] | None = None
) -> Summary:
    """Sum the statistics of every record exactly.

    Parameters
    ----------
    data
        A path to a CSV or Parquet file, a pandas, Polars, PyArrow or DuckDB table, an array, a list, or a dictionary
        of columns.
    family, domain, layout
        The declarations, which say what one record adds.
    columns
        Which columns make a record; not needed when the data has no others, unless it is a text file.

    Returns
    -------
    Summary
        The same integers whatever the engine, the chunks and the order of rows.

    Privacy
    -------
    The result is private. Only declarations raise: an absent column, a column whose type is wrong, a file that is not
    there. Values never do, and no message contains one. One record changes the values by at most the layout's
    sensitivity, whatever it holds.
    """
    vocabulary = None if family.vocabulary is None else Vocabulary.of(family.vocabulary)
    needs = [Need(family.name, vocabulary, dates=domain.dates)] * family.n_columns

    def look(picked: Picked, names: tuple[str, ...]) -> Summary:
        if vocabulary is not None:
            counts = count_labels(picked, vocabulary)
            stand_in = imputed_position(family, domain)
            if stand_in is not None:
                counts = counts.imputed(stand_in)
            check_size(counts.n_records, layout)
            return Summary(tuple(label_sums(counts, family, layout)), counts.n_records, names)
        frames = picked.frames
        if domain.impute is not None:
            frames = imputed(frames, domain.impute)
        n_records, totals = 0, [0] * len(layout.names)
        for frame in frames:
            n, values = _sums(frame, family, domain, layout)
            n_records += n
            totals = [total + value for total, value in zip(totals, values, strict=True)]
        check_size(n_records, layout)
        return Summary(tuple(totals), n_records, names)

    return look_at(data, columns, needs, look)


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
    each = maps(domain.bounds, layout, identity=identity)
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
        mapped[f"z{i}"] = nw.when(kept).then(m.z(x if identity else family.measure(x))).otherwise(0.0)
    return frame.select(*keep, usable=usable.cast(nw.Int64), **mapped)


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


def check_size(n_records: int, layout: Layout) -> None:
    """Raise if sums over this many records could leave 64-bit integers in some engine."""
    finest = min(step for step, _ in groupby(layout.grid))
    if n_records / finest > _LARGEST_SUM:
        raise DataError("too many records to be summed exactly in 64-bit integers.")


def _sums(frame: Frame, family: RecordSums, domain: Domain, layout: Layout) -> tuple[int, list[int]]:
    """Return the number of records and the sum of each coordinate of columns c0, c1, ..."""
    if is_here(frame) or family.measure_needs_arrays or len(layout.names) > _FEW:
        return BlockSums(family, domain, layout).total(batches(frame, STREAMED))
    steps = grid_steps(family, layout)
    records = numeric_records(frame, family, domain, layout)
    totals = records.select(**steps).select(nw.len().alias("n"), *(nw.col(name).sum() for name in steps))
    n, *values = only_row(totals)
    return n, values


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
