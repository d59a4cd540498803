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

Few coordinates are expressions that the engine evaluates and sums. Many (a multivariate normal of 60 columns has 1,890)
would be a query that takes longer to plan than to run: then the engine maps the columns, one expression each, and
products and rounding are NumPy's, on blocks of records. Both give the same bits: one multiplication, one scaling by a
power of two, one floor for each number, and sums of integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import and_
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from discreet.data.sources.batches import batches
from discreet.data.sources.conceal import quiet
from discreet.data.sources.opening import look_at
from discreet.data.sources.source import Frame, Need, Picked
from discreet.data.sources.stand_in import rows_of
from discreet.data.sources.values import Vocabulary
from discreet.data.summaries.label_counts import count_labels, label_sums
from discreet.domain.bounds import Bounds
from discreet.domain.declarations import Domain
from discreet.errors import DataError, UsageError
from discreet.families.impute import imputed_position
from discreet.families.record_sums import RecordSums
from discreet.models.layout import Layout

_LARGEST_SUM = 2**63 - 1
# coordinates that are worth an expression each
_FEW = 64
# numbers in a block: 32 MB; at most 2^27 records of 25 bits, so that sums in float64 are exact
_BLOCK = 1 << 22


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
        if family.measure_needs_arrays:
            frames = _measured(frames, family, maps(domain.bounds, layout, identity=family.sums_values))
        n_records, totals = 0, [0] * len(layout.names)
        for frame in frames:
            n, values = _sums(numeric_records(frame, family, domain, layout), family, layout)
            n_records += n
            totals = [total + value for total, value in zip(totals, values, strict=True)]
        check_size(n_records, layout)
        return Summary(tuple(totals), n_records, names)

    return look_at(data, columns, needs, look)


@dataclass(frozen=True)
class Map:
    """The public affine map of one column, in float64.

    ``clamp`` says whether z could leave [-1, 1] (or be NaN) without being clamped. For the identity measure it cannot,
    if it does not at the two bounds: subtraction and multiplication round monotonically.
    """

    low: float
    high: float
    shift: float
    slope: float
    clamp: bool

    def z(self, measured: Any) -> Any:
        """Map a measured column; clamp so that a wrong certificate costs accuracy, never privacy."""
        z = (measured - self.shift) * self.slope
        return nw.when(z.is_nan()).then(0.0).otherwise(z.clip(-1.0, 1.0)) if self.clamp else z


def maps(bounds: Bounds | None, layout: Layout, *, identity: bool = True) -> list[Map]:
    """Return the map of each column as declared; ``identity`` says that values are summed as they are."""
    if bounds is None or layout.shift is None or layout.half is None:
        raise UsageError("numbers need bounds, chosen without looking at the data.")
    out = []
    for (low, high), shift, half in zip(bounds, layout.shift, layout.half, strict=True):
        try:
            numbers = [float(low), float(high), float(shift), float(1 / half)]
        except (OverflowError, ZeroDivisionError):
            numbers = [math.inf]
        if not all(map(math.isfinite, numbers)):
            raise UsageError("the bounds are too wide or too narrow for floating-point numbers.")
        edges = [abs((x - numbers[2]) * numbers[3]) for x in numbers[:2]]
        out.append(Map(*numbers, clamp=not (identity and max(edges) <= 1)))
    return out


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
        if not identity:
            x = nw.col(f"u{i}") if family.measure_needs_arrays else family.measure(x)
        mapped[f"z{i}"] = nw.when(kept).then(m.z(x)).otherwise(0.0)
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
    (row,) = rows_of(frame)
    return [0 if value is None else int(value) for value in row]


def check_size(n_records: int, layout: Layout) -> None:
    """Raise if sums over this many records could leave 64-bit integers in some engine."""
    finest = min(step for step, _ in groupby(layout.grid))
    if n_records / finest > _LARGEST_SUM:
        raise DataError("too many records to be summed exactly in 64-bit integers.")


def measure_arrays(x: np.ndarray, family: RecordSums, m: Map) -> np.ndarray:
    """Evaluate a measure that only understands arrays, at values moved into the bounds.

    The measure must treat each value on its own. Whatever it returns is clamped later; if it fails, the
    message says so and nothing about the values.
    """
    safe = np.where(np.isnan(x), m.low, np.clip(x, m.low, m.high))
    with quiet():
        try:
            measured = np.asarray(family.measure(safe), dtype=np.float64)
        except Exception:
            measured = None
    if measured is None or measured.shape != x.shape:
        raise UsageError(f"the measure of {family.name} must return one number per value.")
    return measured


def _sums(records: Frame, family: RecordSums, layout: Layout) -> tuple[int, list[int]]:
    """Return the number of records and the sum of each coordinate of columns z0, z1, ... and the usable flag."""
    z = [f"z{i}" for i in range(family.n_columns)]
    if len(layout.names) > _FEW:
        return _by_blocks(records, z, family, layout)
    steps = grid_steps(family, layout)
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


def _measured(frames: Iterable[Frame], family: RecordSums, each: Sequence[Map]) -> Iterator[Frame]:
    """Add columns u0, u1, ... with a measure that only understands arrays, batch by batch."""
    for frame in frames:
        for batch in batches(frame):
            columns = {}
            for i, m in enumerate(each):
                x = batch.column(f"c{i}").to_numpy(zero_copy_only=False)
                columns[f"c{i}"] = pa.array(x)
                columns[f"u{i}"] = pa.array(measure_arrays(np.asarray(x, dtype=np.float64), family, m))
            yield nw.from_native(pa.table(columns), eager_only=True)
