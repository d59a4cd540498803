"""What other engines do to whole numbers, as tests: casts that are dropped, and sums that wrap."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import polars as pl
import pytest

import discreet as dc
from discreet.data.summaries import engine_sums
from tests.data.builders import declarations

needs_ibis = pytest.mark.skipif(not find_spec("ibis"), reason="Ibis is not installed here")


def query(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the query of a mean as an Ibis expression, not run."""
    import ibis  # pyright: ignore[reportMissingImports]

    planned: list[Any] = []

    def only_row(frame: Any) -> list[int]:
        planned.append(frame.to_native())
        return [0] * len(frame.collect_schema())

    monkeypatch.setattr(engine_sums, "only_row", only_row)
    domain, layout = declarations(dc.Mean(), (-3, 100), "clip")
    frame = nw.from_native(ibis.table({"x": "float64"}, name="visits")).select(c0=nw.col("x"))
    engine_sums.sums_in_engine(frame, dc.Mean(), domain, layout)
    return planned[0]


WHOLE = {
    "bigquery": "INT64",
    "clickhouse": r"Nullable\(Int64\)",
    "databricks": "BIGINT",
    "duckdb": "BIGINT",
    "mssql": "BIGINT",
    "postgres": "BIGINT",
    "snowflake": "BIGINT",
    "trino": "BIGINT",
}


@needs_ibis
@pytest.mark.parametrize("dialect", WHOLE)
def test_what_is_summed_is_cast_to_whole_numbers(dialect, monkeypatch):
    import ibis  # pyright: ignore[reportMissingImports]

    text = str(ibis.to_sql(query(monkeypatch), dialect=dialect))
    casts = re.findall(rf"CAST\(FLOOR\([^;]*?\) AS {WHOLE[dialect]}\) AS .k[0-9]", text)
    assert len(casts) == len(re.findall(r"SUM\(", text)) == 3


@needs_ibis
def test_a_cast_of_rounded_numbers_is_dropped_for_sql_server():
    """The control: why steps are floors, and not rounded."""
    import ibis  # pyright: ignore[reportMissingImports]

    rounded = ibis.table({"x": "float64"}, name="visits").x.round().cast("int64")
    assert "BIGINT" not in str(ibis.to_sql(rounded, dialect="mssql"))


def test_sums_of_polars_wrap():
    """The control: why what is summed has few bits, and tables of too many rows are refused."""
    assert pl.Series([2**62] * 4).sum() == 0
