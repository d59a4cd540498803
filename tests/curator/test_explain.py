"""What a release would do: told before anything is spent, and the same whatever the rows hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.cli import run
from discreet.data.sources.results import is_planning, only_planned
from discreet.samplers import secure

SMALL = pd.DataFrame({"x": [1.0, 2.0, None], "person": [7, 7, 8], "g": [1, 2, 1], "day": [1.0, 2.0, 3.0]})
LARGE = pd.DataFrame(
    {
        "x": np.linspace(-1e300, 98_765.4321, 5_003),
        "person": np.arange(5_003) % 977,
        "g": np.arange(5_003) % 5,
        "day": np.linspace(0.0, 1e9, 5_003),
    }
)


def parquet(frame: pd.DataFrame, folder: Path) -> Any:
    path = folder / "rows.parquet"
    path.unlink(missing_ok=True)
    pl.from_pandas(frame).write_parquet(path)
    return path


def csv(frame: pd.DataFrame, folder: Path) -> Any:
    path = folder / "rows.csv"
    frame.to_csv(path, index=False)
    return path


SOURCES = {
    "pandas": lambda frame, folder: frame,
    "polars": lambda frame, folder: pl.from_pandas(frame),
    "polars lazy": lambda frame, folder: pl.from_pandas(frame).lazy(),
    "pyarrow": lambda frame, folder: pa.Table.from_pandas(frame),
    "duckdb": lambda frame, folder: duckdb.connect().from_arrow(pa.Table.from_pandas(frame)),
    "parquet": parquet,
    "csv": csv,
}
NUMBER: dict[str, Any] = {"column": "x", "bounds": (0, 100), "epsilon": 1}
CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "mean": (dc.Mean(), NUMBER),
    "gaussian": (dc.Normal(), {**NUMBER, "mechanism": "gaussian", "delta": 1e-6}),
    "groups": (dc.Mean(), {**NUMBER, "by": "g", "groups": ["1", "2"]}),
    "people": (dc.Mean(), {**NUMBER, "unit": "person", "per_unit": "sum"}),
    "max_rows": (dc.Mean(), {**NUMBER, "unit": "person", "max_rows": 3}),
    "where": (dc.Mean(), {**NUMBER, "where": "day >= 2"}),
    "labels": (dc.Bernoulli(), {"column": "g", "epsilon": 1, "neighbors": "add_remove"}),
    "histogram": (dc.Histogram(bins=4), NUMBER),
    "fit check": (dc.Normal(), {**NUMBER, "fit_check": 0.2}),
    "bought bounds": (
        dc.Normal(),
        {**NUMBER, "bounds": dc.mechanisms.PrivateQuantiles(0.05, 0.95, within=(-1000, 1000), epsilon=1)},
    ),
    "sample": (
        dc.Bernoulli(),
        {
            "column": "g",
            "impute": "yes",
            "mechanism": dc.mechanisms.PosteriorSampling(
                prior=dc.priors.Beta(1, 1), support=(0.1, 0.9), epsilon=1
            ),
        },
    ),
    "several": ({"x": dc.Mean(), "g": dc.Bernoulli()}, {"bounds": {"x": (0, 100)}, "epsilon": 1}),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("source", SOURCES)
def test_the_same_text_whatever_the_rows_hold(source, call, tmp_path):
    model, arguments = CALLS[call]
    told = [
        dc.release(SOURCES[source](frame, tmp_path), model, **arguments, explain=True)
        for frame in (SMALL, LARGE)
    ]
    assert str(told[0]) == str(told[1])
    assert json.dumps(told[0].to_dict()) == json.dumps(told[1].to_dict())
    assert all(one.queries for one in told[0].releases.values())
    # nothing that only the large table holds
    every = json.dumps(told[1].to_dict()) + str(told[1])
    assert not any(number in every for number in ("5003", "5,003", "98765", "1e300", "977"))


def test_it_says_what_follows_from_the_declarations(tmp_path):
    text = str(dc.release(parquet(SMALL, tmp_path), dc.Mean(), **NUMBER, explain=True))
    for said in (
        "[0, 100]",
        "rows.parquet",
        "3 exact whole numbers",
        "sensitivity",
        "epsilon = 1",
        "No ledger",
    ):
        assert said in text
    # what leaves an engine that sums for itself are whole numbers
    assert "whole numbers alone" in str(dc.release(pl.from_pandas(SMALL), dc.Mean(), **NUMBER, explain=True))


def test_the_queries_are_those_that_run(tmp_path):
    """The text of the plan, run by hand, brings back the columns that a release adds up."""
    with duckdb.connect() as connection:
        rows = connection.from_arrow(pa.Table.from_pandas(SMALL))
        rows.create("held")
        told = dc.release(connection.table("held"), dc.Mean(), **NUMBER, explain=True)
        query, _ = told.releases[""].queries
        assert query.engine == "your DuckDB"
        assert connection.execute(query.text).fetchall() == [(1.0,), (2.0,), (None,)]
    # numbers of a Parquet file take no query
    told = dc.release(parquet(SMALL, tmp_path), dc.Mean(), **NUMBER, explain=True)
    (query,) = told.releases[""].queries
    assert (query.engine, query.text) == ("this process", f"x of {tmp_path / 'rows.parquet'}")


def test_nothing_is_drawn_read_or_charged(tmp_path, monkeypatch):
    def never(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("called")

    monkeypatch.setattr(secure.RandomSource, "noises", never)
    monkeypatch.setattr("discreet.data.sources.chosen_rows.new_key", never)
    monkeypatch.setattr("discreet.data.sources.results.arrow_reader", never)
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    ledger = dc.Ledger.create(url)
    ledger.open("clinic", dc.PureDP(1))
    call: dict[str, Any] = {**NUMBER, "ledger": ledger, "dataset": "clinic", "explain": True}
    told = dc.release(parquet(SMALL, tmp_path), dc.Mean(), **call)
    assert "would charge the data set clinic" in str(told)
    before = len(list(ledger.entries()))
    call["epsilon"] = 2
    refused = dc.release(parquet(SMALL, tmp_path), dc.Mean(), **call)
    assert "would refuse" in str(refused)
    assert len(list(ledger.entries())) == before
    dc.release(SMALL, dc.Mean(), **NUMBER, unit="person", max_rows=2, explain=True)
    assert not is_planning()


def test_a_release_after_an_explanation_is_whole(tmp_path):
    """The control: what is planned finds no row, and what is released does."""
    path = parquet(LARGE, tmp_path)
    with only_planned() as queries:
        assert dc.check(path, dc.Mean(), column="x", bounds=(0, 100)).counts.records == 0
    assert queries
    assert dc.release(path, dc.Mean(), **NUMBER).records == len(LARGE)


def test_long_queries_are_printed_in_part_and_kept_whole():
    told = dc.release(
        dc.datasets.clinic_survey(), dc.Mean(), column="age", bounds=(0, 100), epsilon=1, explain=True
    )
    (query,) = told.to_dict()["releases"][""]["queries"]
    assert len(query["text"]) > 1000
    assert query["text"][:200].splitlines()[0] in str(told)
    assert len(str(told)) < 2500
    assert f"{len(query['text']):,} characters" in str(told)


@pytest.mark.parametrize("as_json", [False, True])
def test_on_the_command_line(as_json, tmp_path, capsys):
    path = parquet(SMALL, tmp_path)
    words = ["release", str(path), "--model", "mean", "--column", "x", "--bounds", "0,100", "--epsilon", "1"]
    assert run([*words, "--explain", *(["--json"] if as_json else [])]) == 0
    said = capsys.readouterr().out
    if as_json:
        read = json.loads(said)
        assert read["schema"] == "discreet/release-explain/1"
        assert read["releases"][""]["queries"][0]["engine"] == "this process"
    else:
        assert "Leaves the engine" in said
    assert [file.name for file in tmp_path.iterdir()] == ["rows.parquet"]
    assert run(words) == 2
    assert "--output" in capsys.readouterr().err
