"""A public filter of rows: read here, the same in every engine, and a filtered-out row is a row without a value."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.data.sources.filtered import FilteredRows
from discreet.data.summaries.sums import summarize
from discreet.domain.where import Condition, Joined, read_where
from tests.data.builders import declarations
from tests.data.test_neighbors import assert_bounded
from tests.data.test_people import dressed

WHERE = "t >= 2 and (y = 'yes' or y != 'no' and x < 60)"


def table(rng: np.random.Generator, n: int = 400) -> dict[str, list[Any]]:
    x, t = rng.normal(40, 40, n).round(2), rng.integers(0, 5, n).astype(float)
    gone = rng.random((2, n)) < 0.1
    return {
        "id": [f"p{at}" for at in rng.integers(0, 60, n)],
        "x": [None if a else float(b) for a, b in zip(gone[0], x, strict=True)],
        "t": [None if a else float(b) for a, b in zip(gone[1], t, strict=True)],
        "y": rng.choice(["yes", " no ", "?", ""], n).tolist(),
    }


def holds(where: Condition, row: dict[str, Any]) -> bool:
    """Evaluate a filter in Python."""
    if isinstance(where, Joined):
        return (all if where.word == "and" else any)(holds(part, row) for part in where.parts)
    value = row[where.column]
    if isinstance(value, str):
        value = value.strip() or None
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return False
    other = where.value if isinstance(where.value, str) else float(where.value)
    return {
        "=": value == other,
        "!=": value != other,
        **({} if isinstance(other, str) else {"<": value < other, "<=": value <= other}),  # pyright: ignore[reportOperatorIssue]
        **({} if isinstance(other, str) else {">": value > other, ">=": value >= other}),  # pyright: ignore[reportOperatorIssue]
    }[where.operator]


def test_every_source_filters_alike(tmp_path: Path, rng: np.random.Generator):
    rows, where = table(rng), read_where(WHERE)
    assert where is not None
    domain, layout = declarations(dc.Mean(), (0, 100), "clip", "count")
    found = {
        name: summarize(FilteredRows(source, where), dc.Mean(), domain, layout, ["x"])
        for name, source in dressed(rows, tmp_path).items()
    }
    assert len(set(found.values())) == 1, found
    each = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    kept = [row["x"] if holds(where, row) else None for row in each]
    assert 20 < sum(x is not None for x in kept) < 200
    assert found["csv"] == summarize(pl.Series(kept, dtype=pl.Float64), dc.Mean(), domain, layout, ["x"])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("age>=18", "age >= 18"),
        ("age == 18 AND x <> 1.50", "age = 18 and x != 1.5"),
        ("a = 1 or b = 2 and c = 3", "a = 1 or (b = 2 and c = 3)"),
        ("((a = 1) and (b = 2)) and c = -3e2", "a = 1 and b = 2 and c = -300"),
        ("\"two words\" = 'it''s'", "\"two words\" = 'it''s'"),
        ("day < date '2024-02-29'", "day < date '2024-02-29'"),
        ("größe > .5", "größe > 0.5"),
    ],
)
def test_filters_are_written_one_way(written: str, read: str):
    assert str(read_where(written)) == read
    assert str(read_where(read)) == read


@pytest.mark.parametrize(
    "bad",
    ["", "age", "age >=", "age >= 18 and", "18 <= age", "age >= 18; drop table x", "name like 'a%'", "age >= '18'",
     "f(age) = 1", "age = 1 or", "(age = 1", "age = 1)", "age in (1, 2)", "age = nan", "day = date '2024-02-30'", 7,
     "a = 1 and " * 60 + "a = 1", "(" * 60 + "a = 1" + ")" * 60, "a = 'x' -- c", "\x00 = 1", '"" = 1'],
)  # fmt: skip
def test_other_texts_are_refused(bad: Any):
    with pytest.raises(dc.DiscreetError):
        read_where(bad)


row = st.tuples(
    st.one_of(st.none(), st.floats(), st.floats(-5, 105)),
    st.one_of(st.none(), st.floats(), st.integers(0, 4).map(float)),
    st.sampled_from(["yes", "no", "?", None]),
)


@settings(max_examples=25, derandomize=True, deadline=None)
@given(rest=st.lists(row, max_size=4), old=row, new=row, neighbors=st.sampled_from(["replace", "add_remove"]))
def test_a_record_that_comes_into_the_filter_moves_the_totals_by_the_sensitivity(rest, old, new, neighbors):
    where = read_where(WHERE)
    assert where is not None
    domain, layout = declarations(dc.Mean(), (0, 100), "clip", "count", neighbors)

    def summary(rows: list[Any]) -> Any:
        frame = pl.DataFrame(rows, schema={"x": pl.Float64, "t": pl.Float64, "y": pl.String}, orient="row")
        return summarize(FilteredRows(frame, where), dc.Mean(), domain, layout, ["x"])

    before, after = summary([*rest, old]), summary([*rest, new] if neighbors == "replace" else rest)
    assert before.n_records - after.n_records == (neighbors == "add_remove")
    assert_bounded(before, after, layout)


def test_leaving_the_number_public_would_tell(rng: np.random.Generator):
    """The control: without a count of usable rows, one record moves the totals beyond the sensitivity that is left."""
    where = read_where("t = 1")
    assert where is not None
    domain, layout = declarations(dc.Normal(variance=1), (0, 100), "clip", "none")
    rows = [FilteredRows({"x": [0.0], "t": [t]}, where) for t in (1.0, 0.0)]
    one, other = (summarize(each, dc.Normal(variance=1), domain, layout, ["x"]) for each in rows)
    # the public number of records would be 1 and 0: a difference that no noise covers
    assert one.values != other.values
    made = dc.release(
        {"x": [1.0], "t": [0.0]},
        dc.Mean(),
        column="x",
        bounds=(0, 100),
        where="t = 1",
        missing="none",
        epsilon=1,
    )
    assert made.domain.missing == "count"
    assert made.records == 1


def test_a_release_says_what_was_filtered(tmp_path: Path, rng: np.random.Generator):
    rows = table(rng)
    made = dc.release(rows, dc.Bernoulli(), column="y", where="t >= 3", epsilon=1e3)
    assert made.records == 400
    assert "rows count only where t >= 3" in made.statement()
    assert "how many rows that leaves is protected" in made.statement()
    made.save(tmp_path / "where.json")
    assert dc.Release.load(tmp_path / "where.json") == made
    posterior = dc.infer(made, rng=1, draws=400)
    assert not posterior.diagnostics.warnings
    for forge in (
        lambda body: body.update(where="t >= 3.0"),
        lambda body: body.update(where="1=1; --"),
        lambda body: body["domain"].update(missing="none"),
    ):
        body = json.loads(made.to_json())
        forge(body)
        body["sha256"] = checksum(body)
        with pytest.raises(dc.errors.ReleaseFileError):
            dc.Release.from_json(json.dumps(body))


def test_a_row_that_is_filtered_out_is_no_row_of_its_person():
    rows = {"id": ["a", "a", "b"], "x": [1.0, 9.0, 5.0], "t": [1, 2, 3]}
    common = {"column": "x", "bounds": (0, 10), "unit": "id", "epsilon": 1e6}
    for rule, more, value in (("last", {"last_by": "t"}, 6.0), ("sum", {}, 6.0), ("count", {}, 2.0)):
        made = dc.release(rows, dc.Mean(), per_unit=rule, where="x < 8", **more, **common)
        assert made.records == 2
        found = dc.infer(made, rng=1, draws=400).table
        assert found is not None
        assert np.median(found.draws["sum"]) == pytest.approx(value, abs=0.01)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"where": "nobody > 3"}, "where names the column 'nobody'"),
        ({"where": "y > 3"}, "holds text|needs numbers"),
        ({"where": "x >"}, "where ends too early"),
    ],
)
def test_bad_declarations(options: dict[str, Any], said: str, tmp_path: Path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1.0], "y": ["a"]}), tmp_path / "t.parquet")
    with pytest.raises(dc.DiscreetError, match=said):
        dc.release(tmp_path / "t.parquet", dc.Mean(), column="x", bounds=(0, 1), epsilon=1, **options)
