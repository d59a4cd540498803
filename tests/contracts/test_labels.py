"""Many labels: every source gives the same integers, by work that does not grow with the labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import data
from discreet.artifact import readers
from discreet.data.sources.label_lookup import Lookup
from discreet.data.sources.opening import open_source
from discreet.data.sources.source import Need
from discreet.data.sources.values import Vocabulary
from discreet.data.summaries import sums
from discreet.data.summaries.label_counts import by_label
from discreet.samplers import secure as sampler
from tests.data.builders import NUMERIC, TEXT, Columns, declarations, expected, text_file

LONG = "x" * 900
STRANGE = [
    "A",
    "a",
    "é",
    "e\u0301",
    "K",
    "\u212a",
    "ß",
    "SS",
    "日本",
    "a b",
    "a,b",
    LONG,
    "nan",
    "null",
    "-0",
    "1.5",
]
# trimmed, the last two are labels that were there before
CATEGORIES = (
    *(f"v{i}" for i in range(2500)),
    *map(str, range(-20, 300)),
    *STRANGE,
    " padded ",
    " v3",
    "v4\t",
)
VALUES: list[str | None] = [
    *(f"v{i % 2600}" for i in range(0, 9000, 7)),
    *(
        "v7 ",
        "\tv7",
        " v7\t",
        "V7",
        "v07",
        "v3",
        "v4",
        "padded",
        " padded",
        "",
        None,
        " ",
        "unknown",
        "v\u00a07",
    ),
    *("0", "-0", "0.0", "-1", "-1.0", "007", "+1", "1e0", "1.0", " 17.0", "299", "300", "1.5", "١"),
    *STRANGE,
    *(LONG + "x", LONG[:-1], "É", "\u00c5", "A\u030a", "a\u200b", "k"),
]


@pytest.mark.parametrize("name", TEXT)
def test_many_labels_in_text(name: str, tmp_path: Path) -> None:
    family = dc.Categorical(CATEGORIES)
    domain, layout = declarations(family)
    vocabulary = Vocabulary.of(family.vocabulary)
    found = [vocabulary.find(value) for value in VALUES]
    columns: Columns = {"x": VALUES} if name == "list" else {"id": ["-"] * len(VALUES), "x": VALUES}
    source = TEXT[name](columns, tmp_path)
    summary = data.summarize(source, family, domain, layout, ["x"])
    counts = [found.count(at) for at in range(len(CATEGORIES))]
    assert summary.values == (*counts, sum(counts))
    assert summary.n_records == len(VALUES)
    if name != "pyarrow reader":
        seen = data.inspect(source, family, domain, ["x"])
        held = sum(value is not None and value.strip(" \t") != "" for value in VALUES)
        assert (seen.records, seen.usable, seen.missing) == (len(VALUES), sum(counts), found.count(None))
        assert seen.unknown == held - sum(counts)


TYPES: dict[str, pa.Array] = {
    "int64": pa.array([0, 5, 5, -500, 999, 1000, 2**63 - 1, -(2**63), None]),
    "uint64": pa.array([0, 5, 5, 7, 999, 1000, 2**64 - 1, None], pa.uint64()),
    "float64": pa.array([-0.0, 5.0, 5.0, -500.0, 999.0, 0.5, 2.0**53, 1e300, math.inf, math.nan, None]),
    "flag": pa.array([False, True, True, None]),
    "nothing": pa.nulls(3),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("engine", ["pyarrow", "polars", "duckdb", "parquet", "pandas", "list"])
def test_many_labels_that_are_numbers(engine: str, kind: str, tmp_path: Path) -> None:
    values = TYPES[kind]
    family = dc.Categorical(range(-500, 1000))
    domain, layout = declarations(family)
    vocabulary = Vocabulary.of(family.vocabulary)
    found = [vocabulary.find(value) for value in values.to_pylist()]
    table = pa.table({"x": values})
    if engine == "parquet":
        pq.write_table(table, tmp_path / "rows.parquet")
    build: dict[str, Callable[[], Any]] = {
        "pyarrow": lambda: table,
        "polars": lambda: pl.from_arrow(table),
        "duckdb": lambda: duckdb.connect().from_arrow(table),
        "parquet": lambda: tmp_path / "rows.parquet",
        # not through pandas' float64, which has no large integers
        "pandas": lambda: table.to_pandas(types_mapper=__import__("pandas").ArrowDtype),
        "list": values.to_pylist,
    }
    counts = [found.count(at) for at in range(1500)]
    summary = data.summarize(build[engine](), family, domain, layout, ["x"])
    assert summary.values == (*counts, sum(counts))
    assert summary.n_records == len(values)


def test_half_a_surrogate_pair_is_no_label() -> None:
    with pytest.raises(dc.errors.UsageError, match="half a character"):
        dc.Categorical(["a", "\ud800", "b"])


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> Iterator[list[int]]:
    """Count the calls of a function."""
    calls, original = [0], getattr(owner, name)

    def call(*arguments: Any, **options: Any) -> Any:
        calls[0] += 1
        return original(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, call)
        yield calls


SOURCES = {name: TEXT[name] for name in ("polars", "duckdb 2 threads", "csv", "parquet", "pyarrow", "list")}


@pytest.mark.parametrize("name", SOURCES)
def test_expressions_do_not_grow_with_the_labels(name, tmp_path, monkeypatch) -> None:
    counts = []
    for k in (10, 2000):
        family = dc.Categorical(k)
        domain, layout = declarations(family)
        source = SOURCES[name]({"x": ["1", "2", None, "-"]}, tmp_path)
        with counted(monkeypatch, nw.Expr, "__init__") as calls:
            assert data.summarize(source, family, domain, layout, ["x"]).values[:4] == (0, 1, 1, 0)
        counts.append(calls[0])
    assert counts[0] == counts[1]


def test_the_count_of_expressions_would_show_one_for_each_label(monkeypatch) -> None:
    """The control of the test above."""
    with counted(monkeypatch, nw.Expr, "__init__") as calls:
        pl.DataFrame({"x": ["1"]}).pipe(nw.from_native).select(
            **{f"l{i}": nw.col("x") == str(i) for i in range(50)}
        )
    assert calls[0] >= 50


@pytest.mark.parametrize("name", ["polars", "duckdb 2 threads", "csv", "parquet", "pyarrow", "rows"])
def test_expressions_grow_with_the_columns_and_not_with_their_products(name, tmp_path, monkeypatch) -> None:
    counts = []
    for d in (12, 24):
        family = dc.MultivariateNormal(d)
        domain, layout = declarations(family, [(0, 1)] * d)
        source = NUMERIC[name]({f"x{i}": [0.5, 0.25] for i in range(d)}, tmp_path)
        with counted(monkeypatch, nw.Expr, "__init__") as calls:
            data.summarize(source, family, domain, layout, [f"x{i}" for i in range(d)])
        counts.append(calls[0])
    # twice the columns, four times the products
    assert counts[1] <= 2 * counts[0]


EDGES = [
    math.nextafter(0.1, 1),
    0.1,
    1 / 3,
    -3.0,
    7.0,
    1e300,
    -0.0,
    5e-324,
    math.inf,
    math.nan,
    None,
    2.7,
    0.3,
    0.7,
]


@pytest.mark.parametrize(("neighbors", "outside"), [("replace", "redact"), ("add_remove", "clip")])
def test_many_products_are_the_oracles_integers(neighbors, outside, tmp_path, rng) -> None:
    d = 10
    family = dc.MultivariateNormal(d)
    bounds = [("-0.1", f"{i + 3}/3") for i in range(d)]
    domain, layout = declarations(family, bounds, outside, "count", neighbors)
    assert len(layout.rows) > sums._FEW
    # some records with nothing missing, some with everything inside, some with neither
    columns: Columns = {
        f"x{i}": [
            *rng.permutation(np.array(EDGES, dtype=object)),
            *rng.uniform(-1, 3, 5).tolist(),
            *rng.uniform(0, 1, 10).tolist(),
        ]
        for i in range(d)
    }
    truth = expected(columns, family, domain, layout)
    for name in ("polars", "duckdb 2 threads", "csv", "parquet", "pyarrow", "rows"):
        source = NUMERIC[name](columns, tmp_path)
        assert data.summarize(source, family, domain, layout, list(columns)).values == truth, name


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("family", [dc.Normal(), dc.Normal(mean=0.1), dc.Poisson()], ids=repr)
def test_blocks_and_expressions_give_the_same_integers(family, neighbors, monkeypatch, rng) -> None:
    x = np.concatenate([rng.uniform(0, 100, 20_000), [math.nan, math.inf, -1.0, 1e300]])
    domain, layout = declarations(family, (0, 100), "clip", "count", neighbors)
    by_expressions = data.summarize(pl.DataFrame({"x": x}), family, domain, layout, ["x"])
    monkeypatch.setattr(sums, "_FEW", 0)
    monkeypatch.setattr(sums, "_BLOCK", 7_001)
    for source in (x, pl.DataFrame({"x": x}), duckdb.connect().from_arrow(pa.table({"x": x}))):
        assert data.summarize(source, family, domain, layout, ["x"]).values == by_expressions.values


def plan(source: Any, k: int) -> str:
    opened = open_source(source)
    try:
        vocabulary = Vocabulary.of([(str(i),) for i in range(k)])
        picked = opened.pick([0], [Need("categorical", vocabulary)])
        lookup = Lookup.of(picked.kinds[0], vocabulary, latin1=picked.latin1)
        assert picked.beside is not None
        return by_label(next(picked.frames), picked.beside, lookup, {}).to_native().explain()
    finally:
        opened.close()


def test_duckdb_keeps_the_labels_in_memory_and_not_the_rows(tmp_path, monkeypatch) -> None:
    """What a hash join builds its table from must be the labels: rows may be any number, and nothing spills to disk."""
    path = text_file("rows.csv")({"x": ["1"] * 10}, tmp_path)
    relation = duckdb.connect().from_arrow(pa.table({"x": [1] * 10}))
    assert "LEFT" in plan(path, 1000)
    assert "RIGHT" not in plan(path, 1000)
    assert "RIGHT" not in plan(relation, 1000)

    # the control: left to itself DuckDB takes a stream of unknown length for the smaller side
    from discreet.data.sources import lines

    def careless() -> Any:
        return duckdb.connect()

    monkeypatch.setattr(lines, "connect", careless)
    assert "RIGHT" in plan(path, 1000)


def test_a_release_of_many_labels_makes_few_calls(monkeypatch, rng) -> None:
    """One call of OpenDP for thousands of labels, and one exact number read for all that are alike."""
    family = dc.Categorical(9_000)
    with counted(monkeypatch, sampler, "_measurement") as calls:
        release = dc.release(["5"] * 100, family, epsilon=1)
    assert calls[0] <= 8
    readers._rational.cache_clear()
    with counted(monkeypatch, readers, "exact") as calls:
        read = dc.Release.from_json(release.to_json())
    assert calls[0] <= 8
    assert read.totals == release.totals
    assert len(set(map(id, read.noise))) <= 2
    assert len(release.statement()) < 3000


def test_the_layout_of_100_000_labels_holds_no_table() -> None:
    family = dc.Categorical(100_000)
    _, layout = declarations(family)
    assert len(layout.rows) == 100_001
    assert layout.rows[5][6] == Fraction(1)
    assert list(layout.rows[1][:4]) == [0, 0, 1, 0]
    assert layout.is_count(100_000)
    assert not layout.is_count(0)
