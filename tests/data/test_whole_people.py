"""All rows of one person, in every default source: the totals move by the declared joint sensitivity, never further."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.sources.chosen_rows import ChosenRows
from discreet.data.sources.people import MemberRows, PeopleRows
from discreet.data.summaries.cluster_sums import sum_clusters
from discreet.data.summaries.group_sums import sum_groups
from discreet.data.summaries.sums import Summary, summarize
from discreet.domain.unit import FOR_COUNTS, FOR_FLAGS, FOR_LABELS, FOR_NUMBERS, Unit, read_unit
from discreet.families.cluster_mean import ClusterMean
from discreet.models.grouped import read_groups
from tests.data.builders import declarations
from tests.data.test_neighbors import assert_bounded

KEY = bytes(range(32))
LABELS = ["yes", "no", "maybe"]
REGIONS = ["north", "south", "west"]
FIELDS = pa.schema(
    {"id": pa.string(), "x": pa.float64(), "y": pa.string(), "t": pa.float64(), "region": pa.string()}
)


def csv(table: pa.Table, folder: Path) -> Path:
    table.to_pandas().to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "rows.parquet")
    return folder / "rows.parquet"


ENGINES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: pl.from_arrow(table),
    "lazy": lambda table, _: pl.DataFrame(pl.from_arrow(table)).lazy(),
    "duckdb": lambda table, _: duckdb.from_arrow(table),
    "arrow": lambda table, _: table,
    "csv": csv,
    "parquet": parquet,
}
#: What becomes of a person's rows: one record by a rule, at most k rows, a record in each of at most g groups.
CASES: list[tuple[str, Any, Any, str, Any]] = [
    *[("rule", dc.Mean(), (-3, 100), "x", rule) for rule in FOR_NUMBERS],
    *[("rule", dc.Poisson(), (0, 7), "x", rule) for rule in FOR_COUNTS],
    *[("rule", dc.Bernoulli(), None, "y", rule) for rule in FOR_FLAGS],
    *[("rule", dc.Categorical(LABELS), None, "y", rule) for rule in FOR_LABELS],
    *[("max_rows", ClusterMean(k), (-3, 100), "x", k) for k in (1, 2, 5)],
    *[
        ("max_rows by groups", read_groups(ClusterMean(k), "region", REGIONS), (-3, 100), "x", k)
        for k in (1, 4)
    ],
    *[("max_groups", read_groups(dc.Mean(), "region", REGIONS, g), (-3, 100), "x", "mean") for g in (1, 2)],
    *[("max_groups", read_groups(dc.Bernoulli(), "region", REGIONS, g), None, "y", "any") for g in (1, 3)],
]
row = st.tuples(
    st.one_of(st.none(), st.floats(), st.floats(-5, 105)),
    st.sampled_from([*LABELS, "?", None]),
    st.sampled_from([None, 0.0, 1.0, 2.0]),
    st.sampled_from([*REGIONS, "nowhere", None]),
)
ROWS: dict[str, Any] = {
    "engine": st.sampled_from(list(ENGINES)),
    "case": st.sampled_from(CASES),
    "rest": st.lists(st.tuples(st.sampled_from(["a", "b", None]), row), max_size=4),
    "old": st.lists(row, min_size=1, max_size=7),
    "new": st.lists(row, min_size=1, max_size=7),
    "neighbors": st.sampled_from(["replace", "add_remove"]),
}


def totals(source: Any, case: tuple[str, Any, Any, str, Any], neighbors: str) -> tuple[Summary, Any]:
    """Return what is released about the people of a source, without its noise, and its layout."""
    kind, model, bounds, column, rule = case
    domain, layout = declarations(model, bounds, "clip" if bounds else "redact", "count", neighbors)
    if kind.startswith("max_rows"):
        people = ChosenRows(source, Unit("id", (), ()), KEY)
        return sum_clusters(people, model, domain, layout, model.read_columns((column,))), layout
    unit = read_unit(
        "id",
        rule,
        allowed=model.unit_rules,
        names=[column],
        bounds=model.record_bounds(domain),
        last_by="t" if rule == "last" else None,
        model=model.name,
    )
    if kind == "rule":
        return summarize(PeopleRows(source, unit), model, domain, layout, [column]), layout
    people = MemberRows(source, unit, model.max_groups, KEY)
    return sum_groups(people, model, domain, layout, [column, "region"]), layout


def check(engine: str, case: Any, rest: Any, old: Any, new: Any, neighbors: str) -> None:
    with tempfile.TemporaryDirectory() as folder:

        def summary(held: list[Any], name: str) -> tuple[Summary, Any]:
            mixed = [*rest, *((name, one) for one in held)]
            columns = [[one for one, _ in mixed], *([held[at] for _, held in mixed] for at in range(4))]
            return totals(ENGINES[engine](pa.table(columns, schema=FIELDS), Path(folder)), case, neighbors)

        before, layout = summary(old, "z")
        after, _ = summary(new, "y") if neighbors == "replace" else summary([], "z")
    assert before.n_records - after.n_records == (neighbors == "add_remove")
    assert_bounded(before, after, layout)


@settings(max_examples=20, derandomize=True, deadline=None)
@given(**ROWS)
def test_a_whole_person_moves_the_totals_by_the_sensitivity(engine, case, rest, old, new, neighbors):
    check(engine, case, rest, old, new, neighbors)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@settings(max_examples=200, derandomize=True, deadline=None)
@given(case=ROWS["case"], rest=ROWS["rest"], old=ROWS["old"], new=ROWS["new"])
def test_every_engine_rule_and_relation(engine, neighbors, case, rest, old, new):
    check(engine, case, rest, old, new, neighbors)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_count_as_records_move_further(engine: str, tmp_path: Path):
    """The controls: k rows of a person exceed the sensitivity of one record, and k times that of one row."""
    person = {"id": ["z"] * 5, "x": [100.0] * 5, "y": ["yes"] * 5, "t": [0.0] * 5, "region": ["north"] * 5}
    one = ENGINES[engine](pa.table(person, schema=FIELDS), tmp_path)
    family = dc.Mean()
    domain, layout = declarations(family, (-3, 100), "clip", "count", "add_remove")
    nobody = summarize([], family, domain, layout)
    with pytest.raises(AssertionError):
        assert_bounded(summarize(one, family, domain, layout, ["x"]), nobody, layout)
    case = ("max_rows", ClusterMean(5), (-3, 100), "x", 5)
    moved, wide = totals(one, case, "add_remove")
    none, _ = totals(pl.DataFrame(pl.from_arrow(pa.table(person, schema=FIELDS))).clear(), case, "add_remove")
    assert_bounded(moved, none, wide)
    _, single = declarations(ClusterMean(1), (-3, 100), "clip", "count", "add_remove")
    steps = sum(
        abs(a - b) * g / w
        for a, b, g, w in zip(moved.values, none.values, wide.grid, wide.width, strict=True)
    )
    assert steps > 5 * single.l1_sensitivity
