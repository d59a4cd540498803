"""Runs on other engines that do not come to their end: no release, one clear line, and a charge that says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.curator import draw
from discreet.errors import DataError
from tests.data.test_killed_runs import charged, kill_midway
from tests.engines.sessions import connect_server, engines, spark, spark_connect

ENGINES = engines()
HERE = [name for name in ENGINES if name.startswith("spark")]
BOUGHT = dc.mechanisms.PrivateQuantiles(0.05, 0.95, within=(0, 200), epsilon=1)


def said(error: pytest.ExceptionInfo[DataError]) -> str:
    assert error.value.__context__ is None
    return f"{error.value} {error.value.hint or ''}"


@pytest.mark.parametrize("engine", HERE)
def test_killed_after_the_charge(engine, tmp_path):
    ledger = kill_midway("spark", "", tmp_path, charged)
    found = ledger.verify()
    assert not found.problems
    assert len(found.unreleased) == 1
    assert [account.remaining["epsilon"] for account in ledger.accounts()] == [3]


def in_files(engine: str, folder: Path) -> Any:
    """Return a table of an engine that reads the Parquet files of a folder whenever a query runs."""
    if engine == "dask":
        import dask.dataframe as dd  # pyright: ignore[reportMissingImports]

        return dd.read_parquet(folder)
    if engine == "ibis":
        import ibis  # pyright: ignore[reportMissingImports]

        return ibis.duckdb.connect().read_parquet(f"{folder}/*.parquet")
    session = spark() if engine == "spark" else spark_connect()
    return session.read.parquet(str(folder))


def between_readings(monkeypatch: pytest.MonkeyPatch, action: Callable[[], Any]) -> None:
    """Let something happen after the bounds are chosen, when the rows are about to be read for the second time."""
    choose = draw.choose_bounds

    def interrupted(*arguments: Any) -> Any:
        chosen = choose(*arguments)
        action()
        return chosen

    monkeypatch.setattr(draw, "choose_bounds", interrupted)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_that_changes_between_two_readings(engine, tmp_path, monkeypatch):
    folder = tmp_path / "visits"
    folder.mkdir()
    table = pa.table({"x": [4242.5, 1.0, 2.0, 3.0]})
    pq.write_table(table, folder / "0.parquet")
    rows = in_files(engine, folder)
    more = pa.concat_tables([table] * 7)
    between_readings(monkeypatch, lambda: pq.write_table(more, folder / "0.parquet"))
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'budget.db'}", budget=dc.PureDP(5))
    with pytest.raises(DataError) as caught:
        dc.release(rows, dc.Mean(), column="x", bounds=BOUGHT, epsilon=1, ledger=ledger, dataset="clinic")
    assert "4242" not in said(caught)
    # bounds were bought: what was drawn stays paid for
    assert len(ledger.verify().unreleased) == 1


@pytest.mark.skipif("spark connect" not in ENGINES, reason="there is no server of Spark Connect here")
def test_a_lost_server(tmp_path, monkeypatch):
    from pyspark.sql.connect.client.retries import DefaultPolicy  # pyright: ignore[reportMissingImports]

    server, session = connect_server()
    # not for ten minutes
    session.client.set_retry_policies([DefaultPolicy(max_retries=2)])
    rows = session.createDataFrame(pa.table({"x": [4242.5, 1.0]}))
    between_readings(monkeypatch, server.stop)
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'budget.db'}", budget=dc.PureDP(5))
    call: dict[str, Any] = {"column": "x", "epsilon": 1, "ledger": ledger, "dataset": "clinic"}
    with pytest.raises(DataError, match="is its session still there") as caught:
        dc.release(rows, dc.Mean(), bounds=BOUGHT, **call)
    assert "4242" not in said(caught)
    assert len(ledger.verify().unreleased) == 1
    # before the charge: nothing is paid
    with pytest.raises(DataError, match=r"cannot plan the query|is its session still there"):
        dc.release(rows, dc.Mean(), bounds=(0, 10), **call)
    assert len(ledger.verify().unreleased) == 1


@pytest.mark.skipif("spark" not in ENGINES, reason="Apache Spark is not installed here")
def test_a_stopped_session(tmp_path, monkeypatch):
    """The last test: the one session of all of them is stopped between two readings."""
    rows = ENGINES["spark"](pa.table({"x": [4242.5, 1.0]}))
    between_readings(monkeypatch, spark().stop)
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'budget.db'}", budget=dc.PureDP(5))
    call: dict[str, Any] = {"column": "x", "epsilon": 1, "ledger": ledger, "dataset": "clinic"}
    with pytest.raises(DataError, match=r"is its session still there|cannot plan the query") as caught:
        dc.release(rows, dc.Mean(), bounds=BOUGHT, **call)
    assert "4242" not in said(caught)
    assert len(ledger.verify().unreleased) == 1
    with pytest.raises(DataError, match=r"is its session still there|cannot plan the query"):
        dc.release(rows, dc.Mean(), bounds=(0, 10), **call)
    assert len(ledger.verify().unreleased) == 1
