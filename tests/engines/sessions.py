"""Sessions of other engines for tests, started here from packages, on the loopback interface."""

from __future__ import annotations

import atexit
import os
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def connect_server() -> tuple[Any, Any]:
    """A server of Spark Connect and a session on it; ``pysail`` needs no Java."""
    from pysail.spark import SparkConnectServer  # pyright: ignore[reportMissingImports]
    from pyspark.sql import SparkSession  # pyright: ignore[reportMissingImports]

    server = SparkConnectServer(ip="127.0.0.1", port=0)
    server.start(background=True)
    _, port = server.listening_address
    return server, SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()


@cache
def spark_connect() -> Any:
    """A Spark Connect session for all tests."""
    server, session = connect_server()
    atexit.register(server.stop)
    return session


#: What the Java processes of Spark write goes here: they keep the standard error that they were started with.
SPARK_LOG = Path(tempfile.gettempdir()) / f"discreet-spark-{os.getpid()}.log"


@cache
def spark(master: str = "local-cluster[2,1,1024]") -> Any:
    """A classic Spark session, with two worker processes; everything that makes many small queries slow is off."""
    from pyspark.sql import SparkSession  # pyright: ignore[reportMissingImports]

    # a compiler that is done early, and a collector that needs no threads
    java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "WARN",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": java,
        "spark.executor.extraJavaOptions": java,
        "spark.executor.memory": "1g",
    }
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    screen = os.dup(2)
    with SPARK_LOG.open("wb") as log:
        os.dup2(log.fileno(), 2)
        try:
            session = builder.getOrCreate()
        finally:
            os.dup2(screen, 2)
            os.close(screen)
    atexit.register(SPARK_LOG.unlink, missing_ok=True)
    atexit.register(session.stop)
    return session


def new_session() -> Any:
    """A session of the Spark that is here, for a process of its own."""
    return spark_connect() if find_spec("pysail") else spark("local[1]")


def spark_frame(session: Any, table: pa.Table, pieces: int = 2) -> Any:
    # rows given here are part of the plan, which is sent with every question: many of them are read from files
    frame = session.read.parquet(_files(table)) if len(table) > _MANY else session.createDataFrame(table)
    for field in table.schema:
        if pa.types.is_timestamp(field.type):
            # what has no time zone gets that of the session
            frame = frame.withColumn(field.name, frame[field.name].cast("timestamp_ntz"))
    return frame.repartition(pieces)


_MANY = 1_000_000


def _files(table: pa.Table) -> str:
    """Write rows to a folder of Parquet files that is removed at the end, and return its path."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    for at in range(0, len(table), _MANY):
        pq.write_table(table.slice(at, _MANY), Path(folder.name) / f"part-{at}.parquet")
    return folder.name


def dask_frame(table: pa.Table, pieces: int = 3) -> Any:
    import dask.dataframe as dd  # pyright: ignore[reportMissingImports]
    import pandas as pd

    return dd.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=pieces, sort=False)


def ibis_table(table: pa.Table) -> Any:
    import ibis  # pyright: ignore[reportMissingImports]

    return ibis.duckdb.connect().create_table("rows", table)


#: How a table of Arrow becomes one of each engine that can be tried in this environment.
def engines() -> dict[str, Any]:
    found: dict[str, Any] = {}
    if find_spec("pysail"):
        found["spark connect"] = lambda table: spark_frame(spark_connect(), table)
    elif find_spec("pyspark"):
        found["spark"] = lambda table: spark_frame(spark(), table)
    if find_spec("dask"):
        found["dask"] = dask_frame
    if find_spec("ibis"):
        found["ibis"] = ibis_table
    return found
