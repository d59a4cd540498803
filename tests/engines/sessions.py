"""Sessions of other engines for tests, started here from packages, on the loopback interface."""

from __future__ import annotations

import atexit
from functools import cache
from typing import Any

import pyarrow as pa


@cache
def spark_connect() -> Any:
    """A Spark Connect session, on the server of ``pysail``, which needs no Java."""
    from pysail.spark import SparkConnectServer  # pyright: ignore[reportMissingImports]
    from pyspark.sql import SparkSession  # pyright: ignore[reportMissingImports]

    server = SparkConnectServer(ip="127.0.0.1", port=0)
    server.start(background=True)
    _, port = server.listening_address
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    atexit.register(server.stop)
    return session


@cache
def spark() -> Any:
    """A classic Spark session with two worker processes."""
    from pyspark.sql import SparkSession  # pyright: ignore[reportMissingImports]

    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "1g")
        .getOrCreate()
    )
    atexit.register(session.stop)
    return session


def spark_frame(session: Any, table: pa.Table, pieces: int = 3) -> Any:
    return session.createDataFrame(table).repartition(pieces)


def dask_frame(table: pa.Table, pieces: int = 3) -> Any:
    import dask.dataframe as dd  # pyright: ignore[reportMissingImports]
    import pandas as pd

    return dd.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=pieces, sort=False)


def ibis_table(table: pa.Table) -> Any:
    import ibis  # pyright: ignore[reportMissingImports]

    return ibis.duckdb.connect().create_table("rows", table)


#: How a table of Arrow becomes one of each engine that can be tried in this environment.
def engines() -> dict[str, Any]:
    from importlib.util import find_spec

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
