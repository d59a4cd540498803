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
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import and_
from typing import Any

import narwhals as nw
import numpy as np

from discreet.data.sources.conceal import quiet
from discreet.domain.bounds import Bounds
from discreet.domain.declarations import Domain
from discreet.errors import DataError, UsageError
from discreet.families.record_sums import RecordSums
from discreet.models.layout import Layout

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]

_LARGEST_SUM = 2**63 - 1


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


def numeric_records(frame: Frame, family: RecordSums, domain: Domain, layout: Layout) -> Frame:
    """Turn columns c0, c1, ... into z0, z1, ... and the usable flag.

    Redacted: z = 0. Clipped: x moved to the nearest bound first. Missing: z = 0 and not usable.
    """
    each = maps(domain.bounds, layout, identity=family.sums_values)
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
        measured = nw.col(f"u{i}") if family.measure_needs_arrays else family.measure(x)
        mapped[f"z{i}"] = nw.when(kept).then(m.z(measured)).otherwise(0.0)
    return frame.select(usable=usable.cast(nw.Int64), **mapped)


def imputed(frames: Iterator[Frame], values: Sequence[Any]) -> Iterator[Frame]:
    """Put public values in the place of missing ones, column by column, before anything else is computed."""
    filled = {
        f"c{i}": nw.when(nw.col(f"c{i}") <= math.inf).then(nw.col(f"c{i}")).otherwise(float(value))
        for i, value in enumerate(values)
    }
    return (frame.with_columns(**filled) for frame in frames)


def only_row(frame: Frame) -> list[int]:
    """Run a query of one row of integers."""
    native = frame.to_native()
    if nw.dependencies.is_duckdb_relation(native):
        # fetched as Python integers, because DuckDB's sums are 128 bits wide
        row = native.fetchall()[0]
    else:
        row = (frame.collect() if isinstance(frame, nw.LazyFrame) else frame).row(0)
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
