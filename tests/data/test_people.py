"""Rows of one person become one record, the same in every engine, and one person moves the integers by one record."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.sources.people import PeopleRows
from discreet.data.summaries.registry import SUMMARIES
from discreet.data.summaries.sums import Summary, summarize
from discreet.domain.unit import FOR_FLAGS, FOR_NUMBERS, Rule, Unit, read_unit
from tests.data.builders import declarations, parquet_folder, postgresql
from tests.data.test_neighbors import assert_bounded

BOUNDS = (-3, 100)


def unit(model: Any, domain: Any, rule: Rule, **options: Any) -> Unit:
    by = "t" if rule == "last" else None
    limits = model.record_bounds(domain)
    allowed = model.unit_rules
    return read_unit(
        "id", rule, allowed=allowed, names=["x"], bounds=limits, last_by=by, model=model.name, **options
    )


def rows(rng: np.random.Generator, n: int = 1200) -> dict[str, list[Any]]:
    """Return rows of some two hundred people, with everything in them that a column may hold."""
    ids: list[str | None] = [f"p{i}" for i in rng.integers(0, 200, n)]
    x = rng.normal(40, 60, n).round(3)
    for place, value in enumerate([math.inf, -math.inf, 1e300, -1e300, 100.0, -3.0, 0.1, 5e-324]):
        x[place] = value
    t = rng.integers(0, 6, n).astype(float)
    missing = rng.random((3, n)) < 0.08
    return {
        "id": [None if gone else one for one, gone in zip(ids, missing[0], strict=True)],
        "x": [None if gone else float(one) for one, gone in zip(x, missing[1], strict=True)],
        "t": [None if gone else float(one) for one, gone in zip(t, missing[2], strict=True)],
        "y": rng.choice(["yes", "no", "?"], n).tolist(),
    }


def dressed(table: dict[str, list[Any]], folder: Path) -> dict[str, Any]:
    """Return the same rows in every kind of source."""
    frame = pd.DataFrame(table)
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_parquet(folder / "rows.parquet")
    arrow = pa.table(table)
    order = np.random.default_rng(5).permutation(len(frame))
    return {
        "dictionary": table,
        "pandas": frame,
        "shuffled": frame.iloc[order],
        "polars": pl.DataFrame(table),
        "lazy": pl.DataFrame(table).lazy(),
        "arrow": arrow,
        "stream": arrow.to_reader(max_chunksize=100),
        "duckdb": duckdb.from_arrow(arrow),
        "csv": folder / "rows.csv",
        "parquet": folder / "rows.parquet",
        "parquet folder": parquet_folder(table, folder),
        "postgresql": postgresql(table, folder),
    }


def by_hand(table: dict[str, list[Any]], rule: Rule) -> dict[str, float | None]:
    """Put each person's rows together in Python."""
    people: dict[str, list[tuple[float | None, float | None]]] = {}
    for one, x, t in zip(table["id"], table["x"], table["t"], strict=True):
        if one is not None:
            people.setdefault(one, []).append((None if x is None else min(max(x, -3.0), 100.0), t))
    out = {}
    for one, held in people.items():
        known = [x for x, _ in held if x is not None]
        if rule == "last":
            times = [t for _, t in held if t is not None]
            known = [x for x, t in held if x is not None and times and t == max(times)]
        combine: Any = {"mean": np.mean, "sum": sum, "min": min, "count": len}.get(rule, max)
        out[one] = float(combine(known)) if known or rule == "count" else None
    return out


@pytest.mark.parametrize("rule", FOR_NUMBERS)
def test_every_source_gives_the_same_people(rule: Rule, tmp_path: Path, rng: np.random.Generator):
    family = dc.Mean()
    table = rows(rng)
    domain, layout = declarations(family, BOUNDS, "clip", "count")
    who = unit(family, domain, rule)
    found = {
        name: summarize(PeopleRows(source, who), family, domain, layout, ["x"])
        for name, source in dressed(table, tmp_path).items()
    }
    assert len(set(found.values())) == 1, found
    values = [math.nan if value is None else value for value in by_hand(table, rule).values()]
    truth = summarize(np.array(values), family, domain, layout)
    (first,) = set(found.values())
    assert first.n_records == truth.n_records
    assert first.values[-1] == truth.values[-1]
    # rows are rounded to 32 bits before they are put together, and a record to 24
    assert np.allclose(first.values, truth.values, atol=truth.n_records)


@pytest.mark.parametrize("rule", FOR_FLAGS)
def test_labels_of_people(rule: Rule, tmp_path: Path, rng: np.random.Generator):
    family = dc.Bernoulli()
    domain, layout = declarations(family, None, "redact", "count")
    who = unit(family, domain, rule)
    found = {
        name: summarize(PeopleRows(source, who), family, domain, layout, ["y"])
        for name, source in dressed(rows(rng), tmp_path).items()
    }
    assert len(set(found.values())) == 1, found


def test_rows_without_a_unit_are_people_of_their_own(tmp_path: Path):
    table = {"id": [None, "a", None, "a", ""], "x": [1.0, 2.0, 3.0, 4.0, 5.0], "t": [0.0] * 5}
    family = dc.Histogram(edges=[0, 2.5, 3.5, 10])
    domain, layout = declarations(family, None, "clip", "count")
    count = __import__(SUMMARIES["bins"].partition(":")[0], fromlist=["x"]).count_histogram
    for name, source in dressed(table, tmp_path).items():
        together = PeopleRows(source, unit(family, domain, "mean", null="own"))
        summary: Summary = count(together, family, domain, layout, ["x"])
        assert summary.n_records == 4, name
    left = count(PeopleRows(table, unit(family, domain, "mean")), family, domain, layout, ["x"])
    assert left.n_records == 1


def test_whole_numbers_stay_whole():
    """A sum of whole numbers lies exactly on the edge of a bin that it equals."""
    table = {"id": ["a"] * 3 + ["b"], "x": [1, 1, 1, 3]}
    family = dc.Histogram(edges=[0, 3, 1000])
    made = [
        dc.release(table, family, column="x", unit="id", per_unit="sum", row_bounds=bounds, epsilon=1e4)
        for bounds in [(0, 1000), (-7, 999), (0, 3)]
    ]
    for release in made:
        assert release.totals.values[:2] == (2, 0)


people = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", None]), st.one_of(st.none(), st.floats(), st.floats(-5, 105))),
    max_size=8,
)
someone = st.lists(st.one_of(st.none(), st.floats(), st.floats(-5, 105)), min_size=1, max_size=6)


@pytest.mark.parametrize("rule", FOR_NUMBERS)
@settings(max_examples=10, derandomize=True, deadline=None)
@given(
    rest=people,
    old=someone,
    new=someone,
    neighbors=st.sampled_from(["replace", "add_remove"]),
    seed=st.integers(0, 99),
)
def test_a_person_is_one_record(rule: Rule, rest, old, new, neighbors, seed: int):
    """All rows of a person are replaced, added or removed; rows of others come before, after and between."""
    family = dc.Mean()
    domain, layout = declarations(family, BOUNDS, "clip", "count", neighbors)
    who = unit(family, domain, rule)

    def summary(held: list[Any], name: str) -> Summary:
        mixed = [*rest, *((name, x) for x in held)]
        order = np.random.default_rng(seed).permutation(len(mixed))
        table = {
            "id": [mixed[at][0] for at in order],
            "x": [mixed[at][1] for at in order],
            "t": [float(at % 3) for at in order],
        }
        return summarize(PeopleRows(pl.DataFrame(table, schema=SCHEMA), who), family, domain, layout, ["x"])

    before = summary(old, "z")
    after = summary(new, "y") if neighbors == "replace" else summary([], "z")
    assert before.n_records - after.n_records == (neighbors == "add_remove")
    assert_bounded(before, after, layout)


SCHEMA = {"id": pl.String, "x": pl.Float64, "t": pl.Float64}


def test_rows_as_records_would_move_further():
    """The control: the same rows, one record each, exceed the sensitivity of one record."""
    family = dc.Mean()
    domain, layout = declarations(family, BOUNDS, "clip", "count", "add_remove")
    with pytest.raises(AssertionError):
        assert_bounded(
            summarize([100.0] * 5, family, domain, layout), summarize([], family, domain, layout), layout
        )


def test_a_release_of_people_says_so(tmp_path: Path, rng: np.random.Generator):
    table = rows(rng)
    made = dc.release(table, dc.Mean(), column="x", bounds=BOUNDS, unit="id", per_unit="sum", epsilon=1)
    assert made.guarantee == dc.PureDP(1, unit="id")
    assert made.records == len({one for one in table["id"] if one is not None})
    assert "every single person, with all their rows (those with the same id)" in made.statement()
    assert "the sum of their rows, each row clipped to [-3, 100] first" in made.statement()
    made.save(tmp_path / "people.json")
    assert dc.Release.load(tmp_path / "people.json") == made
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'ledger.db'}", dc.PureDP(2))
    with pytest.raises(dc.DiscreetError, match="the unit record, the charge the unit id"):
        dc.release(
            table, dc.Mean(), column="x", bounds=BOUNDS, unit="id", per_unit="sum", epsilon=1,
            ledger=ledger, dataset="visits",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"unit": "nobody", "per_unit": "sum"},
            "there is no column 'nobody'.\nHint: the columns are id, x, t",
        ),
        ({"unit": "id"}, "unit needs per_unit"),
        ({"unit": "id", "per_unit": "most"}, "per_unit must be one of"),
        ({"unit": "id", "per_unit": "any"}, "is not for column"),
        ({"unit": "id", "per_unit": "last"}, "needs last_by"),
        ({"unit": "id", "per_unit": "sum", "last_by": "t"}, "last_by is for"),
        ({"unit": "x", "per_unit": "sum"}, "says whose a row is"),
        ({"unit": "id", "per_unit": "sum", "row_bounds": (2, 1)}, "the lower bound must be less"),
        ({"unit": "id", "per_unit": "sum", "null_unit": "all"}, "null_unit must be"),
        ({"per_unit": "sum"}, "need unit"),
        ({"unit": ["id"], "per_unit": "sum"}, "a column is named by text"),
    ],
)
def test_bad_declarations(options: dict[str, Any], said: str):
    table = {"id": ["a"], "x": [1.0], "t": [0.0]}
    with pytest.raises(dc.DiscreetError, match=said):
        dc.release(table, dc.Mean(), column="x", bounds=(0, 1), epsilon=1, **options)


def test_the_last_by_a_date_is_refused_with_what_to_write():
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    table = {"id": ["a", "a"], "x": [0.0, 1.0], "day": days}
    with pytest.raises(dc.DiscreetError, match="dates or times, but last_by needs numbers") as caught:
        dc.release(
            table, dc.Mean(), column="x", bounds=(0, 1), epsilon=1, unit="id", per_unit="last", last_by="day"
        )
    assert caught.value.hint == "give it as a number, such as days since some date"


def test_a_step_is_fine_enough():
    from discreet.data.sources.people import _step

    for bound in ("0.1", 1, 3, 1000, "1e-9", "1e90", 2**31 - 1):
        step = _step((Fraction(0), Fraction(bound)))
        assert 2**30 < Fraction(bound) / Fraction(step) <= 2**32
