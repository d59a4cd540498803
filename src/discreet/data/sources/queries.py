"""Tables of other engines: Spark (classic and Connect), Dask, Ibis. narwhals writes their queries, and they run there.

Only results leave the engine: sums and counts, one row of them or one for each label or group. What needs every record
(histograms, models of several columns, private bounds, samplers) is streamed from there, the columns that were asked
for; so are labels, keys and dates of Dask and Ibis, which have no common way to trim text, or raise at missing
integers, and dates in text on Spark, which raises at text that is none.

Sums do not overflow: what is summed are integers of at most 33 bits, and a table that has more than 2^30 times as many
rows as that allows in 64 bits is refused by its number of rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import Any

import narwhals as nw
import pyarrow as pa

from discreet.data.sources.conceal import run_concealed
from discreet.data.sources.source import Frame
from discreet.domain.dates import EARLIEST, LATEST

# rows that travel together
_STREAMED = 1 << 16
_ARROW = {
    "double": pa.float64(),
    "bigint": pa.int64(),
    "int": pa.int64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
}


def engine_of(native: Any) -> str | None:
    """Return the name of the engine that a table belongs to, if it is one of these."""
    known = nw.dependencies
    if known.is_pyspark_dataframe(native) or known.is_pyspark_connect_dataframe(native):
        return "Spark"
    if known.is_dask_dataframe(native):
        return "Dask"
    return "Ibis" if known.is_ibis_table(native) else None


def fetch(frame: Frame, engine: str) -> list[tuple[Any, ...]]:
    """Run a query of few rows."""
    native = frame.to_native()

    def run() -> list[tuple[Any, ...]]:
        with silent(native):
            found = frame.lazy().collect("pyarrow").to_native()
        # Dask's comes with an index
        table = found.select(frame.collect_schema().names())
        return [tuple(None if v != v else v for v in row.values()) for row in table.to_pylist()]

    return run_concealed(run, _trouble(engine))


def stream(frame: Frame, engine: str) -> Iterator[pa.RecordBatch]:
    """Bring the rows of a query here, in batches."""
    native = frame.to_native()
    pieces = _STREAMS[engine](native)

    def following() -> pa.RecordBatch | None:
        with silent(native):
            return next(pieces, None)

    while (piece := run_concealed(following, _trouble(engine))) is not None:
        yield piece


def _trouble(engine: str) -> str:
    return f"{engine} could not run the query to its end; is its session still there?"


def numbered_rows(native: Any, engine: str) -> Any:
    """Return a table with a column ``own`` in which each row has a number of its own."""
    if engine == "Spark":
        return native.withColumn("own", _spark_functions(native).monotonically_increasing_id())
    if engine == "Ibis":
        import ibis  # pyright: ignore[reportMissingImports]

        return native.mutate(own=ibis.row_number())
    return native.assign(own=1).assign(own=lambda table: table["own"].cumsum())


def planned_schema(frame: Frame) -> nw.Schema:
    """Return the columns of a query; raise if its session was stopped, of which Spark would tell while it plans."""
    native = frame.to_native()
    if _is_classic(native) and native.sparkSession.sparkContext._jsc is None:
        raise RuntimeError("stopped")
    return frame.collect_schema()


def days_in_spark(native: Any, name: str) -> Any:
    """Return a Spark table whose column of dates, or of moments without a time zone, is days since 1970-01-01."""
    functions = _spark_functions(native)
    day = functions.datediff(native[name].cast("date"), functions.lit("1970-01-01").cast("date"))
    return native.withColumn(name, functions.when(day.between(EARLIEST, LATEST), day).cast("double"))


@contextmanager
def silent(native: Any) -> Iterator[None]:
    """Let the engine log nothing: a Spark driver writes whole errors to the screen, with the values in them."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with _spark_logs_off(native) if _is_classic(native) else nullcontext():
            yield
    finally:
        logging.disable(before)


def _is_classic(native: Any) -> bool:
    """Tell whether a table is of a Spark in the same process; a table of Spark Connect has the same base class."""
    known = nw.dependencies
    return known.is_pyspark_dataframe(native) and not known.is_pyspark_connect_dataframe(native)


@contextmanager
def _spark_logs_off(native: Any) -> Iterator[None]:
    context = native.sparkSession.sparkContext
    root = context._jvm.org.apache.logging.log4j.LogManager.getRootLogger()
    before = str(root.getLevel())
    context.setLogLevel("OFF")
    try:
        yield
    finally:
        context.setLogLevel(before)


def _plain(table: pa.Table) -> pa.Table:
    """Return a table whose text is of the type that every engine has."""
    fields = [(f.name, pa.string() if pa.types.is_large_string(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(fields))


def _beside_spark(native: Any, table: pa.Table) -> Frame:
    with silent(native):
        return nw.from_native(native.sparkSession.createDataFrame(_plain(table)))


def _beside_dask(native: Any, table: pa.Table) -> Frame:
    import dask.dataframe as dd  # pyright: ignore[reportMissingImports]

    return nw.from_native(dd.from_pandas(table.to_pandas(), npartitions=1))


def _beside_ibis(native: Any, table: pa.Table) -> Frame:
    import ibis  # pyright: ignore[reportMissingImports]

    return nw.from_native(ibis.memtable(_plain(table)))


BESIDE: dict[str | None, Callable[[Any, pa.Table], Frame]] = {
    "Spark": _beside_spark,
    "Dask": _beside_dask,
    "Ibis": _beside_ibis,
}


def _stream_spark(native: Any) -> Iterator[pa.RecordBatch]:
    fields = pa.schema([(f.name, _ARROW[f.dataType.simpleString()]) for f in native.schema.fields])
    rows = native.toLocalIterator()
    while piece := list(islice(rows, _STREAMED)):
        columns = zip(*piece, strict=True)
        yield pa.record_batch(
            [pa.array(values, field.type) for values, field in zip(columns, fields, strict=True)],
            schema=fields,
        )


def _stream_dask(native: Any) -> Iterator[pa.RecordBatch]:
    schema = pa.Schema.from_pandas(native._meta, preserve_index=False)
    for at in range(native.npartitions):
        part = native.partitions[at].compute()
        yield from pa.Table.from_pandas(part, schema=schema, preserve_index=False).to_batches(_STREAMED)


def _stream_ibis(native: Any) -> Iterator[pa.RecordBatch]:
    # all at once: Ibis 12 asks DuckDB 2 for batches by a name that is gone
    yield from native.to_pyarrow().to_batches(_STREAMED)


_STREAMS: dict[str, Callable[[Any], Iterator[pa.RecordBatch]]] = {
    "Spark": _stream_spark,
    "Dask": _stream_dask,
    "Ibis": _stream_ibis,
}


def _spark_functions(native: Any) -> Any:
    if nw.dependencies.is_pyspark_connect_dataframe(native):
        from pyspark.sql.connect import functions  # pyright: ignore[reportMissingImports]
    else:
        from pyspark.sql import functions  # pyright: ignore[reportMissingImports]
    return functions
