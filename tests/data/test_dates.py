"""Dates as bounded numbers: one integer vector from every source, and nothing that a row holds raises."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.data.summaries.bin_counts import count_histogram
from discreet.data.summaries.sums import summarize
from discreet.domain.dates import shown_day
from discreet.errors import UsageError

BOUNDS = ("1968-06-01", "2024-12-31")
EDGES = ["1960-01-01", "1969-12-31", dt.date(1990, 2, 3), "2020-01-01"]
FIRST = dt.datetime(1965, 1, 1)


def moments(rng: np.random.Generator) -> list[dt.datetime | None]:
    """Moments before and after 1970, in and out of the bounds, some missing."""
    days, hours = rng.integers(0, 25_000, 120), rng.integers(0, 24, 120)
    some = [
        FIRST + dt.timedelta(days=int(d), hours=int(h), seconds=1) for d, h in zip(days, hours, strict=True)
    ]
    return [None if i % 11 == 0 else one for i, one in enumerate(some)]


def csv(values: list[str], path: Path) -> Path:
    path.write_text("d,e\n" + "".join(f"{value},1\n" for value in values))
    return path


def parquet(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path)
    return path


def sources(values: list[Any], folder: Path) -> dict[str, Any]:
    dates = [None if v is None else v.date() for v in values]
    text = ["" if v is None else v.isoformat(sep=" " if i % 2 else "T") for i, v in enumerate(values)]
    short = ["" if v is None else v.date().isoformat() for v in values]
    typed = {
        "moments": pa.table({"d": values}),
        "dates": pa.table({"d": dates}),
        "text": pa.table({"d": text}),
    }
    return {
        "list of moments": {"d": values},
        "list of dates": {"d": dates},
        "list of text": {"d": text},
        "mixed list": {"d": [*values[:60], *short[60:]]},
        "numpy": {"d": np.array(values, dtype="datetime64[us]")},
        "numpy days": {"d": np.array(dates, dtype="datetime64[D]")},
        "pandas": pd.DataFrame({"d": pd.to_datetime(pd.Series(values))}),
        "pandas objects": pd.DataFrame({"d": pd.Series(dates, dtype=object)}),
        "polars": pl.DataFrame({"d": values}),
        "polars dates": pl.DataFrame({"d": dates}).lazy(),
        "polars text": pl.DataFrame({"d": text}),
        "date64": pa.table({"d": pa.array(dates, pa.date64())}),
        "nanoseconds": pa.table({"d": pa.array(values, pa.timestamp("ns"))}),
        "csv": csv(text, folder / "long.csv"),
        "csv dates": csv(short, folder / "short.csv"),
        **{f"pyarrow {name}": table for name, table in typed.items()},
        **{f"parquet {name}": parquet(table, folder / f"{name}.parquet") for name, table in typed.items()},
        **{f"duckdb {name}": duckdb.connect().from_arrow(table) for name, table in typed.items()},
    }


def of_mean(data: Any) -> tuple[int, ...]:
    model = dc.Mean()
    domain = model.read_domain(BOUNDS, "clip", "count")
    return summarize(data, model, domain, model.layout(domain, "replace"), ["d"]).values


def of_histogram(data: Any) -> tuple[int, ...]:
    model = dc.Histogram(edges=EDGES)
    domain = model.read_domain(None, "clip", "count")
    return count_histogram(data, model, domain, model.layout(domain, "replace"), ["d"]).values


def test_every_source_gives_the_same_integers(rng: np.random.Generator, tmp_path: Path) -> None:
    values = moments(rng)
    kept = np.array([(v - dt.datetime(1970, 1, 1)).days for v in values if v is not None])
    low, high = (
        dt.date.fromisoformat(bound).toordinal() - dt.date(1970, 1, 1).toordinal() for bound in BOUNDS
    )
    z = (np.clip(kept, low, high) - (low + high) / 2) / ((high - low) / 2)
    expected = (*(int(np.floor(t * 2.0**24 + 0.5).sum()) for t in (z, z * z)), len(kept))
    for name, data in sources(values, tmp_path).items():
        assert of_mean(data) == expected, name
    # a relation is read once
    counts = {name: of_histogram(data) for name, data in sources(values, tmp_path).items()}
    assert set(counts.values()) == {of_histogram({"d": values})}


BAD = [
    "2020-02-30", "2020-13-01", "0000-01-01", "2020-1-1", "20200101", "2020-01-01T25:00", "2020-01-01Z",
    "2020-01-01T00:00+02:00", "18262", "x", "١٩٩٩-01-01",
]  # fmt: skip
OBJECTS = [18262, 1.5, True, dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.time(3), object(), pd.NaT, None]


def test_what_is_no_date_is_missing_everywhere(tmp_path: Path) -> None:
    alone = of_mean({"d": ["2020-01-05"]})
    assert alone[2] == 1
    texts = pa.table({"d": [*BAD, "2020-01-05"]})
    assert of_mean({"d": [*BAD, *OBJECTS, "2020-01-05"]}) == alone
    for data in (
        texts,
        pl.DataFrame({"d": texts["d"].to_pylist()}),
        csv(texts["d"].to_pylist(), tmp_path / "bad.csv"),
        parquet(texts, tmp_path / "bad.parquet"),
        duckdb.connect().from_arrow(texts),
    ):
        assert of_mean(data) == alone
    endless = duckdb.sql(
        "SELECT * FROM (VALUES ('infinity'::DATE), ('-infinity'::DATE), (DATE '2020-01-05')) AS t(d)"
    )
    assert of_mean(endless) == alone
    nothing = of_mean(pa.table({"d": pa.nulls(3)}))
    assert nothing == (0, 0, 0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pa.table({"d": pa.array([None], pa.timestamp("us", "UTC"))}), "has a time zone"),
        (pl.DataFrame({"d": []}, schema={"d": pl.Datetime(time_zone="UTC")}), "has a time zone"),
        (duckdb.sql("SELECT now() AS d"), "has a time zone"),
        (pa.table({"d": [1.0]}), "holds no dates"),
        (pl.DataFrame({"d": [1]}), "holds no dates"),
        (duckdb.sql("SELECT TIME '12:00' AS d"), "holds no dates"),
    ],
)
def test_columns_declared_as_something_else_are_refused(data: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        of_mean(data)


@pytest.mark.parametrize(
    ("model", "bounds", "message"),
    [
        (dc.Poisson(), ("1980-01-01", "2020-01-01"), "does not read dates"),
        (dc.MultivariateNormal(2), [BOUNDS, (0, 1)], "does not read dates"),
        (dc.Mean(), ("2020-01-01", 5), "one end is a date and the other is not"),
        (dc.Mean(), ("2020-13-01", "2020-12-31"), "'2020-13-01' is no date"),
        (dc.Mean(), ("2020-01-02", "2020-01-01"), r"got bounds=\(2020-01-02, 2020-01-01\)"),
        (dc.Mean(), (dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.date(2021, 1, 1)), "time zone"),
        (dc.Histogram(edges=[0, 9, 18262]), ("1970-01-01", "2020-01-01"), "must be dates, or both numbers"),
    ],
)
def test_declarations_that_make_no_sense(model: Any, bounds: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        dc.release(["2020-01-01"], model, bounds=bounds, epsilon=1)


def test_date_objects_are_the_same_bounds_as_text() -> None:
    ends = dt.date(1968, 6, 1), dt.datetime(2024, 12, 31)
    domains = [dc.Mean().read_domain(one, "clip", "count") for one in (ends, BOUNDS, [BOUNDS])]
    assert domains[0] == domains[1] == domains[2]
    assert domains[0].dates


def test_files_summaries_and_statements_show_dates(tmp_path: Path, rng: np.random.Generator) -> None:
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(x)) for x in rng.gamma(3, 150, 2000)]
    release = dc.release(
        {"visit": days}, dc.Mean(), column="visit", bounds=("2020-01-01", "2024-12-31"), epsilon=5
    )
    release.save(tmp_path / "visit.json")
    read = dc.Release.load(tmp_path / "visit.json")
    assert read.domain == release.domain
    assert "[2020-01-01, 2024-12-31]" in read.statement()
    summary = dc.infer(read, rng=rng).summary()
    truth = shown_day(np.mean([day.toordinal() for day in days]) - dt.date(1970, 1, 1).toordinal())  # pyright: ignore[reportArgumentType]
    row = summary.to_dict()["parameters"][0]
    assert row["low"] < truth < row["high"]
    assert row["mean"][:5] in str(summary)
    assert [own.name for own in summary.table] == ["usable", "mean"]
    edges = dc.Histogram(edges=["2020-01-01", "2021-01-01", "2022-01-01", "2024-12-31"])
    release = dc.release({"visit": days}, edges, column="visit", epsilon=5)
    release.save(tmp_path / "bins.json")
    posterior = dc.infer(tmp_path / "bins.json", rng=rng)
    assert posterior.model == edges
    assert "p[2020-01-01 to 2021-01-01]" in posterior.scalars()
    assert posterior.summary().to_dict()["quantiles"][0]["low"] == "2020-01-01"


def test_dates_of_people_with_several_rows() -> None:
    rows = {"id": [1, 1], "d": ["2020-01-01", "2020-01-02"]}
    made = dc.release(rows, dc.Mean(), column="d", bounds=BOUNDS, unit="id", per_unit="mean", epsilon=1)
    assert made.records == 1


def test_groups_have_dates() -> None:
    rows = {"g": ["n", "s"] * 40, "d": ["2000-01-01", "2020-01-01"] * 40}
    release = dc.release(
        rows, dc.Mean(), column="d", bounds=BOUNDS, by="g", groups={"g": ["n", "s"]}, epsilon=100
    )
    means = {name: one.median()["mean"] for name, one in dc.infer(release, rng=0).items()}  # pyright: ignore[reportAttributeAccessIssue]
    assert list(means.values()) == pytest.approx([10_957, 18_262], abs=400)
