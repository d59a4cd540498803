"""Parquet files: what their statistics say about NaN is not believed, their paths are names."""

from __future__ import annotations

import math

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import data
from discreet.data.sources.results import connect
from tests.data.builders import declarations, expected

VALUES = [1.0, 2.0, math.nan, 3.0, None, math.nan]
WRITERS = {
    "pyarrow": lambda path: pq.write_table(pa.table({"x": VALUES}), path),
    "polars": lambda path: pl.DataFrame({"x": VALUES}).write_parquet(path),
    "pandas": lambda path: pd.DataFrame(
        {"x": pd.array(VALUES, dtype=pd.ArrowDtype(pa.float64()))}
    ).to_parquet(path),
    "duckdb": lambda path: duckdb.connect().from_arrow(pa.table({"x": VALUES})).write_parquet(str(path)),
}


@pytest.mark.parametrize("outside", ["redact", "clip"])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("writer", WRITERS)
def test_nan_within_the_statistics(writer, neighbors, outside, tmp_path):
    """Every number lies inside the bounds, so an optimizer that trusts the file's extremes finds no NaN."""
    path = tmp_path / "rows.parquet"
    WRITERS[writer](path)
    family = dc.Normal()
    domain, layout = declarations(family, (0, 10), outside, neighbors=neighbors)
    truth = expected({"x": VALUES}, family, domain, layout)
    for source in (
        path,
        duckdb.connect().read_parquet(str(path)),
        pl.scan_parquet(path),
        pl.read_parquet(path),
    ):
        assert data.summarize(source, family, domain, layout, ["x"]).values == truth
        seen = data.inspect(source, family, domain, ["x"])
        assert (seen.usable, seen.missing, seen.inside, seen.above) == (3, 3, 3, 0)


def test_folders_are_not_columns(tmp_path):
    folder = tmp_path / "x=77"
    folder.mkdir()
    pq.write_table(pa.table({"y": [1.0], "x": [2.0]}), folder / "rows.parquet")
    assert data.column_names(folder / "rows.parquet") == ["y", "x"]
    family = dc.Normal()
    domain, layout = declarations(family, (0, 10))
    assert data.summarize(folder / "rows.parquet", family, domain, layout, ["x"]).values == expected(
        {"x": [2.0]}, family, domain, layout
    )


def test_a_relative_path(tmp_path, monkeypatch):
    pq.write_table(pa.table({"x": [2.0]}), tmp_path / "rows.parquet")
    monkeypatch.chdir(tmp_path)
    assert data.column_names("rows.parquet") == ["x"]
    family = dc.Normal()
    assert data.summarize("rows.parquet", family, *declarations(family, (0, 10))).n_records == 1


def test_our_connection_sees_one_file(tmp_path):
    for name in ("a", "b"):
        pq.write_table(pa.table({"x": [2.0]}), tmp_path / f"{name}.parquet")
    connection = connect(str(tmp_path / "a.parquet"))
    assert connection.read_parquet(str(tmp_path / "a.parquet")).fetchall() == [(2.0,)]
    with pytest.raises(duckdb.Error):
        connection.read_parquet(str(tmp_path / "b.parquet")).fetchall()
    with pytest.raises(duckdb.Error):
        connection.execute(f"COPY (SELECT 1) TO '{tmp_path / 'c.csv'}'")
    table = pa.table({"x": [1]})  # noqa: F841 -- a Python variable that SQL must not find
    with pytest.raises(duckdb.Error):
        connection.execute("SELECT * FROM table")
    settings = dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    assert settings["enable_progress_bar"] == "false"
    assert settings["temp_directory"] == ""


def test_row_groups_and_threads(tmp_path, rng):
    x = np.where(rng.random(200_000) < 0.01, math.nan, rng.normal(40, 30, 200_000))
    family = dc.Normal()
    domain, layout = declarations(family, (-3, 100))
    found = set()
    for size in (1000, 65_536, 200_000):
        path = tmp_path / f"{size}.parquet"
        pq.write_table(pa.table({"x": rng.permutation(x)}), path, row_group_size=size)
        found.add(data.summarize(path, family, domain, layout, ["x"]).values)
        for threads in (1, 2):
            relation = duckdb.connect(config={"threads": threads}).read_parquet(str(path))
            found.add(data.summarize(relation, family, domain, layout, ["x"]).values)
    assert len(found) == 1
