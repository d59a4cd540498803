"""Ten million rows, shuffled and cut differently: the same integers from every source, for rows, groups and people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.data.sources.database import rows_in
from tests.data.builders import shared_server

MANY, FEW = 10_000_000, 20_000
GROUPS = tuple(str(i) for i in range(50))


def many_rows(rng: np.random.Generator, n: int = MANY) -> pa.Table:
    """Return numbers with all that a column may hold, the group and the person of each."""
    x = rng.normal(40, 60, n)
    # on edges of grid cells of bounds (-3, 100): 48.5 + 51.5 (m + 1/2) / 2^24
    edges = n // 10
    x[:edges] = 48.5 + 51.5 * (rng.integers(-(2**24), 2**24, edges) + 0.5) / 2**24
    x[edges : edges + 8] = [np.inf, -np.inf, 1e300, -1e300, 5e-324, 2.0**63, -3.0, 100.0]
    x[edges + 8 :: 97] = np.nan
    gone = rng.random(n) < 0.01
    return pa.table(
        {
            "x": pa.array(x, mask=gone),
            "g": pa.array(rng.integers(0, 60, n), mask=rng.random(n) < 0.01),
            "id": pa.array(rng.integers(0, n // 20, n)),
        }
    )


def many_sums(source: Any) -> list[tuple[int, ...]]:
    """Return the sums of all rows, of groups and of people, by the verb, at a budget whose noise rounds to zero."""
    number: dict[str, Any] = {
        "column": "x",
        "bounds": (-3, 100),
        "neighbors": "add_remove",
        "epsilon": 10**10,
    }
    calls: list[tuple[Any, dict[str, Any]]] = [
        (dc.Normal(), {}),
        (dc.Mean(), {"by": "g", "groups": GROUPS}),
        (dc.Mean(), {"unit": "id", "per_unit": "sum", "bounds": (-60, 2000), "row_bounds": (-3, 100)}),
    ]
    return [dc.release(source, model, **{**number, **call}).totals.values for model, call in calls]


def csv(table: pa.Table, folder: Path) -> Path:
    arrow_csv.write_csv(table, folder / "rows.csv")
    return folder / "rows.csv"


def parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "rows.parquet", row_group_size=len(table) // 7)
    return folder / "rows.parquet"


def parquet_folder(table: pa.Table, folder: Path) -> Path:
    place = folder / "pieces"
    place.mkdir()
    for at, start in enumerate(range(0, len(table), len(table) // 3)):
        pq.write_table(table.slice(start, len(table) // 3), place / f"{at}.parquet")
    return place


def postgresql(table: pa.Table, folder: Path) -> Any:
    """Copy a CSV file into a table of the tests' own server."""
    url, name = shared_server(), f"many_{len(table)}"
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {name}".encode())
        cursor.execute(f"CREATE UNLOGGED TABLE {name} (x float8, g int8, id int8)".encode())
        copying = f"COPY {name} FROM STDIN (FORMAT CSV, HEADER)".encode()
        with csv(table, folder).open("rb") as file, cursor.copy(copying) as copy:
            while block := file.read(1 << 22):
                copy.write(block)
    return rows_in(url, name, None)


SOURCES: dict[str, Any] = {
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: pl.from_arrow(table),
    "polars lazy": lambda table, _: pl.LazyFrame(table),
    "pyarrow": lambda table, _: table.combine_chunks(),
    "duckdb": lambda table, _: duckdb.connect(config={"threads": 2}).from_arrow(table),
    "csv": csv,
    "parquet": parquet,
    "parquet folder": parquet_folder,
    "postgresql": postgresql,
}


def check(source: str, n: int, rng: np.random.Generator, folder: Path) -> None:
    table = many_rows(rng, n)
    truth = many_sums(table)
    assert sum(truth[0]) != 0
    shuffled = table.take(pa.array(rng.permutation(n)))
    assert many_sums(SOURCES[source](shuffled, folder)) == truth


@pytest.mark.parametrize("source", SOURCES)
def test_rows_in_any_order(source, rng, tmp_path):
    check(source, FEW, rng, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_ten_million_rows_in_any_order(source, rng, tmp_path):
    check(source, MANY, rng, tmp_path)
