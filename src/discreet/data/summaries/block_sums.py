r"""Sums of records that are in this process: NumPy on blocks of Arrow columns, and the same integers as an engine's.

DuckDB reads and decodes Parquet faster than anything else here, but an expression that clips a column takes it as long
as reading the column does. So where rows are in this process anyway (Arrow tables, DuckDB relations), the engine hands
over columns, a block at a time, and one block after the other is mapped and added up while it is in the processor's
cache. Engines elsewhere evaluate the same operations as expressions and hand over sums; see
:mod:`~discreet.data.summaries.sums`.

**Exactness.** A coordinate of a record is at most 1 in size, so a step k = floor(t / g + 1/2) is a whole number of at
most 2^24 in size, and every partial sum of a block of at most 2^27 of them, in whatever order NumPy adds, is a whole
number of at most 2^51: float64 holds all of them exactly up to 2^53. Blocks are added up as Python's integers, or as
64-bit ones where :func:`~discreet.data.summaries.sums.check_size` says that they suffice.

**Missing and redacted records** get z = 0 in every column, after which all products and sums are exact. A redacted
record counts like that. A missing one must add nothing, so what z = 0 adds to the sums, the same for all of them, is
taken off again as often as there are missing records.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.data.sources.results import side_by_side
from discreet.data.summaries.column_maps import Map, maps, measure_arrays
from discreet.domain.declarations import Domain
from discreet.families.record_sums import RecordSums
from discreet.models.layout import Layout, terms

# numbers of a column that are worked on at a time: 256 KB, which stay in the cache
_BLOCK = 1 << 15
# numbers of all features of a block: 32 MB
_NUMBERS = 1 << 22

# values, and which of them are null
_Column = tuple[np.ndarray, np.ndarray | None]


class BlockSums:
    """What records add to the coordinates of a layout, in whole steps of its grid."""

    def __init__(self, family: RecordSums, domain: Domain, layout: Layout) -> None:
        self._family, self._layout = family, layout
        self._maps = maps(domain.bounds, layout, identity=family.sums_values)
        self._clip = domain.outside == "clip"
        self._size = max(1, min(_BLOCK, _NUMBERS // len(layout.names)))
        # powers of two, which scale exactly
        self._per_step = [float(1 / grid) for grid in layout.grid]
        self._rows = [[(at, float(c)) for at, c in terms(row)] for row in layout.rows]
        # the others are the same for every usable record
        self._summed = [j for j in range(len(layout.rows)) if not layout.is_count(j)]
        at_zero = layout.coordinates(1.0, family.geometry.features([0.0] * len(self._maps)))
        self._at_zero = [
            math.floor(float(t) * scale + 0.5) for t, scale in zip(at_zero, self._per_step, strict=True)
        ]

    def total(self, batches: Iterable[pa.RecordBatch]) -> tuple[int, list[int]]:
        """Return the number of records and the sum of each coordinate of columns c0, c1, ... of all batches."""
        n_records, totals = 0, [0] * len(self._per_step)
        for n, values in side_by_side(self._batch_total, batches):
            n_records += n
            totals = [total + value for total, value in zip(totals, values, strict=True)]
        return n_records, totals

    def by_group(self, batch: pa.RecordBatch, group: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the sums of each group, coordinates × groups, given the group of each record."""
        aside = np.empty(batch.num_rows, dtype=bool)
        steps = np.empty((len(self._summed), batch.num_rows))
        for at, missing, inputs in self._blocks(batch):
            aside[at] = missing
            for j, out in zip(self._summed, steps, strict=True):
                out[at] = self._steps(j, inputs)
        counts = np.bincount(group, minlength=n_groups)
        gone = np.bincount(group[aside], minlength=n_groups)
        totals = np.outer(self._at_zero, counts)
        for j, weights in zip(self._summed, steps, strict=True):
            totals[j] = np.bincount(group, weights, minlength=n_groups)
        totals -= np.outer(self._at_zero, gone)
        return totals

    def _batch_total(self, batch: pa.RecordBatch) -> tuple[int, list[int]]:
        n_missing, totals = 0, [zero * batch.num_rows for zero in self._at_zero]
        for j in self._summed:
            totals[j] = 0
        for _, missing, inputs in self._blocks(batch):
            n_missing += int(np.count_nonzero(missing))
            for j in self._summed:
                totals[j] += int(self._steps(j, inputs).sum())
        taken_off = [total - n_missing * zero for total, zero in zip(totals, self._at_zero, strict=True)]
        return batch.num_rows, taken_off

    def _blocks(self, batch: pa.RecordBatch) -> Iterator[tuple[slice, np.ndarray, list[Any]]]:
        """Return of one block after the other its place, which records are missing, and (usable, features)."""
        columns = [_numbers(batch.column(f"c{i}")) for i in range(len(self._maps))]
        for start in range(0, batch.num_rows, self._size):
            at = slice(start, min(start + self._size, batch.num_rows))
            missing, z = self._records([(x[at], None if null is None else null[at]) for x, null in columns])
            yield at, missing, [1.0, *self._family.geometry.features(z)]

    def _records(self, columns: Sequence[_Column]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return which records are missing, and z of each column, 0 for missing and redacted records."""
        missing = np.logical_or.reduce(
            [np.isnan(x) if null is None else np.isnan(x) | null for x, null in columns]
        )
        aside = missing
        if not self._clip:
            inside = [(x >= m.low) & (x <= m.high) for (x, _), m in zip(columns, self._maps, strict=True)]
            aside = missing | ~np.logical_and.reduce(inside)
        mapped = []
        for (x, _), m in zip(columns, self._maps, strict=True):
            z = self._mapped(x, m)
            np.copyto(z, 0.0, where=aside)
            mapped.append(z)
        return missing, mapped

    def _mapped(self, x: np.ndarray, m: Map) -> np.ndarray:
        """Return z of each value, a new array; what it is where a value is missing does not matter."""
        if self._family.measure_needs_arrays:
            z = np.array(measure_arrays(x, self._family, m))
        else:
            z = np.clip(x, m.low, m.high)
            if not self._family.sums_values:
                z = np.array(self._family.measure(z))
        z -= m.shift
        z *= m.slope
        if m.clamp:
            np.clip(z, -1.0, 1.0, out=z)
            np.copyto(z, 0.0, where=np.isnan(z))
        return z

    def _steps(self, j: int, inputs: Sequence[Any]) -> np.ndarray:
        """Return floor(t / g + 1/2) of coordinate ``j``: what :meth:`Layout.coordinates` does, in the same order."""
        (first, coefficient), *others = self._rows[j]
        t = inputs[first] if coefficient == 1 else inputs[first] * coefficient
        for at, c in others:
            t = t + inputs[at] * c
        # a new array: a feature can be a coordinate
        steps = t * self._per_step[j]
        steps += 0.5
        return np.floor(steps, out=steps)


def _numbers(array: pa.Array) -> _Column:
    """Return a column of float64 without copying it, and which of its values are null, whatever stands there."""
    if not pa.types.is_float64(array.type):
        array = array.cast(pa.float64(), safe=False)
    valid, held = array.buffers()
    if not len(array) or held is None:
        return np.full(len(array), np.nan), None
    n, skipped = len(array), array.offset
    x = np.frombuffer(held, dtype=np.float64, count=skipped + n)[skipped:]
    if valid is None or not array.null_count:
        return x, None
    bits = np.unpackbits(np.frombuffer(valid, dtype=np.uint8), count=skipped + n, bitorder="little")
    return x, bits[skipped:] == 0
