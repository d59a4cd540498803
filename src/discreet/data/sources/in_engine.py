"""Rows inside an engine, with labels as their positions: what is grouped by person or by label starts from here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import narwhals as nw
import pyarrow as pa

from discreet.data.sources.label_lookup import Lookup, lookup_key, lookups
from discreet.data.sources.results import connect, in_duckdb, picked_batches, reader_of
from discreet.data.sources.source import Need, Picked, Source, check_named, listed_names
from discreet.errors import UsageError


class EngineRows:
    """Columns that were picked, as one lazy frame: of the engine that holds them, or of a DuckDB of our own.

    Attributes
    ----------
    frame
        The columns c0, c1, ..., those of labels as positions in their vocabulary, null where they spell none.
    coded
        Which columns are such positions.
    beside
        Brings a public table into the same engine.
    """

    def __init__(self, picked: Picked, needs: Sequence[Need]) -> None:
        each = lookups(picked, needs)
        self.coded = [lookup is not None for lookup in each]
        self._connection: Any = None
        if picked.beside is None:
            self._connection = connect()
            self.beside = partial(in_duckdb, self._connection)
            self.frame: Any = nw.from_native(self._connection.from_arrow(_reader(picked, each)))
            return
        self.beside = picked.beside
        (frame,) = picked.frames
        self.frame = frame.lazy()
        for at, lookup in enumerate(each):
            if lookup is not None:
                known = self.beside(lookup.table()).lazy().rename({"key": f"k{at}", "label": f"l{at}"})
                keyed = self.frame.with_columns(lookup_key(nw.col(f"c{at}"), lookup.kind).alias(f"k{at}"))
                joined = keyed.join(known, on=f"k{at}", how="left")
                self.frame = joined.drop(f"c{at}", f"k{at}").rename({f"l{at}": f"c{at}"})

    def close(self) -> None:
        """Let go of the connection, if it is our own."""
        if self._connection is not None:
            self._connection.close()


class DerivedSource(Source):
    """Rows of another source with named columns, changed inside the engine that holds them."""

    #: What finds a column by its name, for a message if there are no names.
    finds: str

    def __init__(self, rows: Source) -> None:
        check_named(rows.names, self.finds)
        self._rows = rows
        self.names, self.header_of, self.once = rows.names, rows.header_of, rows.once
        self._engine: EngineRows | None = None

    def picked_rows(self, positions: Sequence[int], needs: Sequence[Need]) -> tuple[Picked, EngineRows]:
        """Pick columns of the other source, and take them to the engine."""
        picked = self._rows.pick(positions, needs)
        self._engine = EngineRows(picked, needs)
        return picked, self._engine

    def place(self, column: str, absent: str) -> int:
        """Return where a column is; raise if it is ``absent``, in these words, or there twice."""
        names = self.names or []
        if names.count(column) > 1:
            raise UsageError(f"column {column!r:.60} appears twice.")
        if column not in names:
            # of a file the first row may stand for names, and no message repeats it
            known = None if self.header_of is not None else f"the columns are {listed_names(names)}"
            raise UsageError(absent, hint=known)
        return names.index(column)

    def close(self) -> None:
        self._rows.close()
        if self._engine is not None:
            self._engine.close()


def _reader(picked: Picked, each: Sequence[Lookup | None]) -> pa.RecordBatchReader:
    """Stream columns in Arrow batches, with labels as their positions."""
    names = [f"c{at}" for at in range(len(each))]

    def coded(batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = []
        for name, lookup in zip(names, each, strict=True):
            array = batch.column(name)
            if lookup is not None:
                codes = lookup.codes(array)
                array = pa.array(codes.astype("int64"), mask=codes == lookup.n_labels)
            arrays.append(array.dictionary_decode() if pa.types.is_dictionary(array.type) else array)
        return pa.record_batch(arrays, names=names)

    return reader_of(
        map(coded, picked_batches(picked)), lambda: pa.schema(dict.fromkeys(names, pa.float64()))
    )
