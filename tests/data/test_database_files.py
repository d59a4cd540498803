"""Tables of DuckDB and SQLite files: the same integers as from memory, and nothing said about a row."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

import discreet as dc
from discreet.cli import run
from discreet.errors import DataError, UsageError

ROWS: list[tuple[Any, ...]] = [
    (1.5, "a", "north", 3),
    (None, "a", "south", 4),
    (math.inf, "b", "north", 5),
    (1e300, "c", None, 2**62),
    (-3.0, None, "north", None),
]


def duck(folder: Path) -> Path:
    path = folder / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits (x DOUBLE, id VARCHAR, region VARCHAR, k BIGINT)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", ROWS)
    return path


def sqlite(folder: Path) -> Path:
    path = folder / "clinic.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE visits (x REAL, id TEXT, region TEXT, k INTEGER)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", ROWS)
    connection.close()
    return path


MEMORY = dict(zip(("x", "id", "region", "k"), map(list, zip(*ROWS, strict=True)), strict=True))
CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "mean": (dc.Mean(), {"column": "x", "bounds": (0, 10)}),
    "whole numbers": (dc.Mean(), {"column": "k", "bounds": (0, 10)}),
    "labels": (dc.Categorical(["north", "south"]), {"column": "region"}),
    "groups": (dc.Mean(), {"column": "x", "bounds": (0, 10), "by": "region", "groups": ["north", "south"]}),
    "people": (dc.Mean(), {"column": "x", "bounds": (0, 10), "unit": "id", "per_unit": "max"}),
    "filtered": (dc.Mean(), {"column": "x", "bounds": (0, 10), "where": "k >= 4"}),
    "bins": (dc.Histogram(bins=4), {"column": "x", "bounds": (0, 10)}),
}


@pytest.mark.parametrize("made", [duck, sqlite])
@pytest.mark.parametrize("call", CALLS)
def test_the_same_integers(made, call, tmp_path):
    model, arguments = CALLS[call]
    path = made(tmp_path)
    truth = dc.release(MEMORY, model, epsilon=10**10, **arguments).totals.values
    assert dc.release(path, model, table="visits", epsilon=10**10, **arguments).totals.values == truth
    query = "SELECT * FROM visits WHERE 1 = 1 -- all;"
    assert dc.release(str(path), model, query=query, epsilon=10**10, **arguments).totals.values == truth


@pytest.mark.parametrize("made", [duck, sqlite])
def test_what_is_refused(made, tmp_path, capsys):
    path, number = made(tmp_path), {"column": "x", "bounds": (0, 10), "epsilon": 1}
    before = path.read_bytes()
    for where in (
        {"table": "Patients"},
        {"query": "DELETE FROM visits"},
        {"query": "SELECT CAST('HIV-4242' AS DOUBLE) AS x FROM nowhere"},
    ):
        with pytest.raises(DataError) as caught:
            dc.release(path, dc.Mean(), **where, **number)
        assert "4242" not in f"{caught.value}{caught.value.hint}"
        assert caught.value.__context__ is None
    with pytest.raises(UsageError, match="takes a table or a query"):
        dc.release(path, dc.Mean(), table="visits", query="SELECT 1", **number)
    with pytest.raises(UsageError, match="cannot tell what kind of file"):
        dc.release(path, dc.Mean(), **number)
    assert path.read_bytes() == before
    words = [
        "release",
        str(path),
        "--model",
        "mean",
        "--table",
        "visits",
        "--column",
        "x",
        "--bounds",
        "0,10",
    ]
    assert run([*words, "--epsilon", "1", "--output", str(tmp_path / "out.json")]) == 0
    assert dc.check(path, dc.Mean(), column="x", bounds=(0, 10), table="visits").counts.records == len(ROWS)


def test_text_of_sqlite_that_is_no_text(tmp_path):
    """Bytes that are not UTF-8, and values that are not of the declared type, are records without a value."""
    path = sqlite(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO visits VALUES ('HIV', CAST(X'FF41' AS TEXT), CAST(X'FF' AS TEXT), X'00')"
        )
    connection.close()
    model, arguments = CALLS["people"]
    assert dc.release(path, model, table="visits", epsilon=1, **arguments).records == 4
    assert dc.release(path, dc.Mean(), column="x", bounds=(0, 10), table="visits", epsilon=1).records == 6


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_record_equals_one_label_whatever_the_collation(kind, tmp_path):
    """A column may say that A and a are the same; then a record would be in two groups, two filters, two cells."""
    path, rows = tmp_path / "clinic", [("a", "p", 1.0), ("A", "P", 1.0), ("b", "q", 0.0)]
    connection: Any = duckdb.connect(str(path)) if kind == "duckdb" else sqlite3.connect(path)
    connection.execute("CREATE TABLE t (k TEXT COLLATE NOCASE, id TEXT COLLATE NOCASE, x REAL)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()

    def values(model: Any, **arguments: Any) -> tuple[int, ...]:
        made = dc.release(path, model, table="t", epsilon=10**10, neighbors="add_remove", **arguments)
        return made.totals.values

    assert values(dc.Categorical(["a", "A", "b"]), column="k") == (1, 1, 1)
    for label in ("a", "A"):
        assert sum(values(dc.Categorical(["a", "A", "b"]), column="k", where=f"k = '{label}'")) == 1
    people = {"column": "x", "bounds": (0, 1), "unit": "id", "per_unit": "max"}
    assert sum(values(dc.Mean(), **people)) == 3 * 2**24
    grouped = values(dc.Mean(), by="k", groups=["a", "A", "b"], max_groups=1, **people)
    assert [sum(grouped[at : at + 3]) for at in (0, 3, 6)] == [2**24] * 3
