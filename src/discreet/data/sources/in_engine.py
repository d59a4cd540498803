"""Rows inside an engine, with labels as their positions: what is grouped by person or by label starts from here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import narwhals as nw
import pyarrow as pa

from discreet.data.sources.label_lookup import Lookup, lookup_key
from discreet.data.sources.results import batches, connect, in_duckdb
from discreet.data.sources.source import Frame, Need, Picked


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
        lookups = [
            None if need.vocabulary is None else Lookup.of(kind, need.vocabulary, latin1=picked.latin1)
            for need, kind in zip(needs, picked.kinds, strict=True)
        ]
        self.coded = [lookup is not None for lookup in lookups]
        self._connection: Any = None
        if picked.beside is None:
            self._connection = connect()
            self.beside = partial(in_duckdb, self._connection)
            self.frame: Any = nw.from_native(self._connection.from_arrow(_reader(picked.frames, lookups)))
            return
        self.beside = picked.beside
        (frame,) = picked.frames
        self.frame = frame.lazy()
        for at, lookup in enumerate(lookups):
            if lookup is not None:
                known = self.beside(lookup.table()).lazy().rename({"key": f"k{at}", "label": f"l{at}"})
                keyed = self.frame.with_columns(lookup_key(nw.col(f"c{at}"), lookup.kind).alias(f"k{at}"))
                joined = keyed.join(known, on=f"k{at}", how="left")
                self.frame = joined.drop(f"c{at}", f"k{at}").rename({f"l{at}": f"c{at}"})

    def close(self) -> None:
        """Let go of the connection, if it is our own."""
        if self._connection is not None:
            self._connection.close()


def _reader(frames: Iterator[Frame], lookups: Sequence[Lookup | None]) -> pa.RecordBatchReader:
    """Stream frames in Arrow batches, with labels as their positions."""
    names = [f"c{at}" for at in range(len(lookups))]

    def coded(batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = []
        for name, lookup in zip(names, lookups, strict=True):
            array = batch.column(name)
            if lookup is not None:
                codes = lookup.codes(array)
                array = pa.array(codes.astype("int64"), mask=codes == lookup.n_labels)
            arrays.append(array.dictionary_decode() if pa.types.is_dictionary(array.type) else array)
        return pa.record_batch(arrays, names=names)

    pieces = (coded(batch) for frame in frames for batch in batches(frame))
    first = next(pieces, None)
    if first is None:
        return pa.RecordBatchReader.from_batches(
            pa.schema([(name, pa.float64()) for name in names]), iter([])
        )
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], pieces))
