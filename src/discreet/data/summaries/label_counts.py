"""How many records spell each declared label.

An engine joins its rows with a table of the declared spellings and groups what it finds by label: one query, whose
number of expressions does not depend on the number of labels. The join comes first, so neither memory nor what leaves
the engine grows with the number of different values in the rows: everything undeclared is one group. Arrow batches,
which no engine holds, are looked up by :class:`~discreet.data.sources.label_lookup.Lookup` and counted one batch
after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from discreet.data.sources.label_lookup import Lookup, lookup_key
from discreet.data.sources.results import picked_batches, rows_of, side_by_side
from discreet.data.sources.source import Frame, Picked
from discreet.data.sources.values import Vocabulary
from discreet.families import RecordSums
from discreet.models.layout import UNIT, Layout, UnitRows, terms


@dataclass(frozen=True)
class LabelCounts:
    """Records of each label, of no declared label, and of these how many raised each flag. Private."""

    known: tuple[int, ...]
    unknown: int
    flags: Mapping[str, int]

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return sum(self.known) + self.unknown

    def imputed(self, position: int) -> LabelCounts:
        """Count every record without a declared label under a public one."""
        known = list(self.known)
        known[position] += self.unknown
        return LabelCounts(tuple(known), 0, self.flags)


def count_labels(
    picked: Picked, vocabulary: Vocabulary, flags: Mapping[str, nw.Expr] | None = None
) -> LabelCounts:
    """Count the records of each label in the one column that was picked, and the flags of those without a label.

    Privacy
    -------
    The result is private. What leaves an engine is one row of counts per declared label, and one for all else.
    """
    flags = flags or {}
    lookup = Lookup.of(picked.kinds[0], vocabulary, latin1=picked.latin1)
    counts = np.zeros(lookup.n_labels + 1, dtype=np.int64)
    raised = dict.fromkeys(flags, 0)
    if picked.beside is None:
        work = partial(_count_batch, lookup=lookup, flags=flags)
        for more, held in side_by_side(work, picked_batches(picked)):
            counts += more
            raised = {name: n + held[name] for name, n in raised.items()}
    else:
        for frame in picked.frames:
            for label, n, *held in rows_of(by_label(frame, picked.beside, lookup, flags)):
                counts[lookup.n_labels if label is None else label] += n
                if label is None:
                    raised = {
                        name: had + int(more or 0)
                        for (name, had), more in zip(raised.items(), held, strict=True)
                    }
    return LabelCounts(tuple(counts[:-1].tolist()), int(counts[-1]), raised)


def label_sums(counts: LabelCounts, family: RecordSums, layout: Layout) -> list[int]:
    """Return the sum of each coordinate, in grid steps: exact, because features are linear in the labels."""
    inputs = [sum(counts.known), *family.geometry.features_of_labels(counts.known)]
    rows = layout.rows
    if isinstance(rows, UnitRows) and all(grid is UNIT for grid in layout.grid):
        return [inputs[at] for at in rows.picked]
    exact = [sum((c * inputs[at] for at, c in terms(row)), Fraction(0)) for row in rows]
    return [math.floor(t / grid + Fraction(1, 2)) for t, grid in zip(exact, layout.grid, strict=True)]


def _count_batch(
    batch: pa.RecordBatch, lookup: Lookup, flags: Mapping[str, nw.Expr]
) -> tuple[np.ndarray, dict[str, int]]:
    codes = lookup.codes(batch.column("c0"))
    counts = np.bincount(codes, minlength=lookup.n_labels + 1)
    if not flags:
        return counts, {}
    aside = codes == lookup.n_labels
    return counts, {name: int(held[aside].sum()) for name, held in _flagged(batch, flags).items()}


def _flagged(batch: pa.RecordBatch, flags: Mapping[str, nw.Expr]) -> dict[str, np.ndarray]:
    """Evaluate flags on a batch."""
    columns = {
        name: column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    marked = nw.from_native(pa.table(columns), eager_only=True).select(
        **{name: flag.cast(nw.Int64).fill_null(0) for name, flag in flags.items()}
    )
    return {name: marked[name].to_numpy() for name in flags}


def by_label(
    frame: Frame, beside: Callable[[pa.Table], Frame], lookup: Lookup, flags: Mapping[str, nw.Expr]
) -> nw.LazyFrame[Any]:
    """Return the query: (label or null, records, flags) of every label that is there."""
    rows = frame.select(
        key=lookup_key(nw.col("c0"), lookup.kind),
        **{name: flag.cast(nw.Int64) for name, flag in flags.items()},
    )
    joined = rows.lazy().join(beside(lookup.table()).lazy(), on="key", how="left")
    return joined.group_by("label").agg(nw.len().alias("n"), *(nw.col(name).sum() for name in flags))
