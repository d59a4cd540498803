"""Rows out of an engine, for arithmetic that needs arrays."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import narwhals as nw
import pyarrow as pa

from discreet.data.sources.engines import arrow_reader
from discreet.data.sources.memory import BATCH
from discreet.data.sources.planned import is_planning, noted
from discreet.data.sources.queries import engine_of, stream
from discreet.data.sources.source import Frame
from discreet.data.sources.stand_in import stand_in_of

# at most so many rows a batch where they only pass through: asking the system for larger pieces takes time
STREAMED = 1 << 16
# Arrow and NumPy hold no lock of Python's while they read and compute
_WORKERS = 2

_T = TypeVar("_T")


def is_here(frame: Frame) -> bool:
    """Tell whether rows are in this process, in a form that comes out in Arrow batches at little cost."""
    if isinstance(frame, nw.DataFrame):
        return True
    native = frame.to_native()
    return nw.dependencies.is_duckdb_relation(native) and stand_in_of(native) is None


def batches(frame: Frame, rows: int = BATCH) -> Iterator[pa.RecordBatch]:
    """Bring rows out of an engine, in Arrow batches of at most so many ``rows``."""
    native = frame.to_native()
    if isinstance(frame, nw.DataFrame) and is_planning():
        yield pa.RecordBatch.from_pylist([], schema=native.schema)
    elif noted(frame, streams=True):
        return
    elif isinstance(frame, nw.DataFrame):
        yield from native.to_batches(max_chunksize=rows)
    elif nw.dependencies.is_duckdb_relation(native):
        held = stand_in_of(native)
        yield from arrow_reader(native, rows) if held is None else held.batches(native)
    elif (engine := engine_of(native)) is not None:
        yield from stream(frame, engine)
    else:
        pieces = native.collect_batches() if hasattr(native, "collect_batches") else [native.collect()]
        for piece in pieces:
            yield from piece.to_arrow().to_batches(max_chunksize=rows)


def side_by_side(work: Callable[[pa.RecordBatch], _T], pieces: Iterable[pa.RecordBatch]) -> Iterator[_T]:
    """Work on batches while the next ones are read, and return the results in order; few are in memory at a time."""
    waiting: deque[Future[_T]] = deque()
    with ThreadPoolExecutor(_WORKERS) as pool:
        for piece in pieces:
            waiting.append(pool.submit(work, piece))
            if len(waiting) > _WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
