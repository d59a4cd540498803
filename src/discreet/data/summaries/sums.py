r"""From columns to one exact integer vector.

Each record becomes z in [-1, 1] per column, then features, then coordinates, then k = floor(t / g + 1/2) on the grid
g; the integers are summed. Rows that are in this process (files, Arrow tables, DuckDB relations) are summed here, by
NumPy: DuckDB reads and decodes Parquet faster than anything else, but an expression that clips a column takes it as
long as reading the column does. So the engine hands over columns in Arrow batches, and one block after the other is
mapped and added up while it is in the processor's cache. Engines elsewhere evaluate the same operations and hand over
sums, the same integers: :mod:`~discreet.data.summaries.engine_sums`.

**Exactness.** A coordinate of a record is at most 1 in size, so a step k is a whole number of at most 2^24 in size, and
every partial sum of a block of at most 2^27 of them, in whatever order NumPy adds, is a whole number of at most 2^51:
float64 holds all of them exactly up to 2^53. Blocks are added up as Python's integers, or as 64-bit ones where
:func:`check_size` says that they suffice.

**Missing and redacted records** get z = 0 in every column, after which all products and sums are exact. A redacted
record counts like that. A missing one must add nothing, so what z = 0 adds to the sums, the same for all of them, is
taken off again as often as there are missing records.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from discreet.data.sources.conceal import concealed, quiet
from discreet.data.sources.memory import BATCH
from discreet.data.sources.opening import opened
from discreet.data.sources.results import STREAMED, batches, is_here, side_by_side
from discreet.data.sources.source import Need
from discreet.data.sources.values import Vocabulary
from discreet.data.summaries.engine_sums import imputed, sums_in_engine
from discreet.data.summaries.label_counts import count_labels, label_sums
from discreet.domain.declarations import Domain
from discreet.errors import DataError, UsageError
from discreet.families import RecordSums
from discreet.families.impute import imputed_position
from discreet.models.layout import Layout, Map

_LARGEST_SUM = 2**63 - 1
# coordinates that are worth an expression each
_FEW = 64
# numbers of a column that are worked on at a time: 512 KB, half of a common cache
_BLOCK = 1 << 16
# numbers of all features of a block: 32 MB
_NUMBERS = 1 << 22

# values, and which of them are null
_Column = tuple[np.ndarray, np.ndarray | None]


@dataclass(frozen=True, repr=False)
class Summary:
    """The exact sums: one integer per coordinate of the layout, in steps of its grid. Private."""

    values: tuple[int, ...]
    n_records: int
    columns: tuple[str, ...]


@concealed
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
    needs = record_needs(family, domain)

    with opened(data, columns, needs) as (picked, names):
        if needs[0].vocabulary is not None:
            counts = count_labels(picked, needs[0].vocabulary)
            stand_in = imputed_position(family, domain)
            if stand_in is not None:
                counts = counts.imputed(stand_in)
            n_records, totals = counts.n_records, label_sums(counts, family, layout)
        else:
            frames = picked.frames if domain.impute is None else imputed(picked.frames, domain.impute)
            # all frames are where the first is, and one that is elsewhere is alone
            first = next(frames, None)
            if first is None:
                n_records, totals = 0, [0] * len(layout.names)
            elif is_here(first) or family.measure_needs_arrays or len(layout.names) > _FEW:
                rows = BATCH if isinstance(first, nw.DataFrame) else STREAMED
                pieces = (batch for frame in chain([first], frames) for batch in batches(frame, rows))
                n_records, totals = BlockSums(family, domain, layout).total(pieces)
            else:
                n_records, totals = sums_in_engine(first, family, domain, layout)
        check_size(n_records, layout)
        return Summary(tuple(totals), n_records, names)


def record_needs(family: RecordSums, domain: Domain) -> list[Need]:
    """Return what is wanted of the columns that make a record of a family."""
    vocabulary = None if family.vocabulary is None else Vocabulary.of(family.vocabulary)
    return [Need(family.name, vocabulary, dates=domain.dates)] * family.n_columns


def check_size(n_records: int, layout: Layout) -> None:
    """Raise if sums over this many records could leave 64-bit integers in some engine."""
    finest = min(step for step, _ in groupby(layout.grid))
    if n_records / finest > _LARGEST_SUM:
        raise DataError("too many records to be summed exactly in 64-bit integers.")


class BlockSums:
    """What records add to the coordinates of a layout, in whole steps of its grid."""

    def __init__(self, family: RecordSums, domain: Domain, layout: Layout) -> None:
        self._family = family
        self._maps = layout.maps(domain.bounds, identity=family.sums_values)
        self._clip = domain.outside == "clip"
        self._size = max(1, min(_BLOCK, _NUMBERS // len(layout.names)))
        # each coordinate in steps: what every usable record adds, and coefficients of features
        per_step = [float(1 / grid) for grid in layout.grid]
        scaled = [[(at, c * n) for at, c in form] for form, n in zip(layout.forms(), per_step, strict=True)]
        self._constants = [sum(c for at, c in form if at == 0) for form in scaled]
        self._terms = [[(at - 1, c) for at, c in form if at > 0] for form in scaled]
        # the others are the usable count, the same for every usable record
        self._summed = [j for j, terms in enumerate(self._terms) if terms]
        # arrays that each thread works in: to get and give back memory takes longer than to compute
        self._held = threading.local()
        zero = family.geometry.features([np.zeros(1)] * len(self._maps))
        self._at_zero = [
            int(self._steps(j, zero)[0]) if terms else int(self._constants[j])
            for j, terms in enumerate(self._terms)
        ]

    def total(self, batches: Iterable[pa.RecordBatch]) -> tuple[int, list[int]]:
        """Return the number of records and the sum of each coordinate of columns c0, c1, ... of all batches."""
        n_records, totals = 0, [0] * len(self._at_zero)
        for n, values in side_by_side(self._batch_total, batches):
            n_records += n
            totals = [total + value for total, value in zip(totals, values, strict=True)]
        return n_records, totals

    def by_group(self, batch: pa.RecordBatch, group: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the sums of each group, coordinates × groups.

        Given is the group of each record, the number of groups if it is in none; that of missing ones is overwritten.
        """
        steps = self._array("groups", len(self._summed) * batch.num_rows).reshape(len(self._summed), -1)
        for at, missing, features in self._blocks(batch):
            # what adds nothing is in no group
            np.copyto(group[at], n_groups, where=missing)
            for j, out in zip(self._summed, steps, strict=True):
                self._steps(j, features, out[at])
        totals = np.outer(self._at_zero, np.bincount(group, minlength=n_groups + 1))
        for j, weights in zip(self._summed, steps, strict=True):
            totals[j] = np.bincount(group, weights, minlength=n_groups + 1)
        return totals[:, :n_groups]

    def _batch_total(self, batch: pa.RecordBatch) -> tuple[int, list[int]]:
        n_missing, totals = 0, [zero * batch.num_rows for zero in self._at_zero]
        for j in self._summed:
            totals[j] = 0
        for _, missing, features in self._blocks(batch):
            n_missing += int(np.count_nonzero(missing))
            for j in self._summed:
                totals[j] += int(self._steps(j, features, self._array("steps", len(missing))).sum())
        taken_off = [total - n_missing * zero for total, zero in zip(totals, self._at_zero, strict=True)]
        return batch.num_rows, taken_off

    def _blocks(self, batch: pa.RecordBatch) -> Iterator[tuple[slice, np.ndarray, list[np.ndarray]]]:
        """Return of one block after the other its place, which records are missing, and the features."""
        names = [f"c{i}" for i in range(len(self._maps))]
        for start in range(0, batch.num_rows, self._size):
            rows = batch.slice(start, self._size)
            at = slice(start, start + rows.num_rows)
            missing, z = self._records([_numbers(rows.column(name)) for name in names])
            yield at, missing, self._family.geometry.features(z)

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
        for i, ((x, _), m) in enumerate(zip(columns, self._maps, strict=True)):
            z = self._mapped(x, m, self._array(f"z{i}", len(x)))
            np.copyto(z, 0.0, where=aside)
            mapped.append(z)
        return missing, mapped

    def _mapped(self, x: np.ndarray, m: Map, out: np.ndarray) -> np.ndarray:
        """Return z of each value, not in their place; what it is where a value is missing does not matter."""
        if self._family.measure_needs_arrays:
            z = np.array(_measure_arrays(x, self._family, m))
        else:
            z = np.clip(x, m.low, m.high, out=out)
            if not self._family.sums_values:
                z = np.array(self._family.measure(z))
        z -= m.shift
        z *= m.slope
        if m.clamp:
            np.clip(z, -1.0, 1.0, out=z)
            np.copyto(z, 0.0, where=np.isnan(z))
        return z

    def _steps(self, j: int, features: Sequence[np.ndarray], out: np.ndarray | None = None) -> np.ndarray:
        """Return floor(t / g + 1/2) of coordinate ``j``: what :meth:`Layout.coordinates` does, in the same order.

        Multiplied by 1 / g, a power of two, first and not last, which changes no bit; and in place, because asking
        for memory takes longer than all the rest.
        """
        (first, coefficient), *others = self._terms[j]
        # not in its own place: a feature can be a coordinate
        steps = np.multiply(features[first], coefficient, out=out)
        if self._constants[j]:
            steps += self._constants[j]
        for at, c in others:
            steps += np.multiply(features[at], c, out=self._array("term", len(steps)))
        steps += 0.5
        return np.floor(steps, out=steps)

    def _array(self, name: str, n: int) -> np.ndarray:
        """Return this thread's array of a name, of ``n`` numbers; what it held is gone."""
        held = self._held.__dict__.get(name)
        if held is None or len(held) < n:
            held = self._held.__dict__[name] = np.empty(n)
        return held[:n]


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
    whole, within = divmod(skipped, 8)
    bits = np.unpackbits(
        np.frombuffer(valid, dtype=np.uint8, offset=whole), count=within + n, bitorder="little"
    )
    return x, bits[within:] == 0


def _measure_arrays(x: np.ndarray, family: RecordSums, m: Map) -> np.ndarray:
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
