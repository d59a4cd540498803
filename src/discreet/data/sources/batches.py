"""Rows out of an engine, for arithmetic that needs arrays."""

from __future__ import annotations

from collections.abc import Iterator

import narwhals as nw
import pyarrow as pa

from discreet.data.sources.engines import arrow_reader
from discreet.data.sources.memory import BATCH
from discreet.data.sources.source import Frame
from discreet.data.sources.stand_in import stand_in_of


def batches(frame: Frame) -> Iterator[pa.RecordBatch]:
    """Bring rows out of an engine, in Arrow batches."""
    native = frame.to_native()
    if isinstance(frame, nw.DataFrame):
        yield from native.to_batches(max_chunksize=BATCH)
    elif nw.dependencies.is_duckdb_relation(native):
        held = stand_in_of(native)
        yield from arrow_reader(native, BATCH) if held is None else held.batches(native)
    else:
        pieces = native.collect_batches() if hasattr(native, "collect_batches") else [native.collect()]
        for piece in pieces:
            yield from piece.to_arrow().to_batches(max_chunksize=BATCH)
