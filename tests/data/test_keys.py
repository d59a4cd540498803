"""One odd key changes nobody else's record, and no key decides whether there is a release."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data.sources.people import PeopleRows
from discreet.data.summaries.sums import summarize
from tests.data.builders import declarations
from tests.data.test_people import unit

FAMILY = dc.Mean()
DOMAIN, LAYOUT = declarations(FAMILY, (0, 8), "clip", "count")


def people(table: Any, rule: Any = "count", **options: Any) -> tuple[int, tuple[int, ...]]:
    found = summarize(PeopleRows(table, unit(FAMILY, DOMAIN, rule, **options)), FAMILY, DOMAIN, LAYOUT, ["x"])
    return found.n_records, found.values


def frame(keys: Any, x: Any = None) -> pd.DataFrame:
    return pd.DataFrame({"id": pd.Series(keys), "x": np.arange(len(keys)) if x is None else pd.Series(x)})


@pytest.mark.parametrize("null", ["leave_out", "own"])
@pytest.mark.parametrize("odd", [dt.date(2020, 1, 1), b"x", (1, 2), Decimal("0.5"), 1.5, object(), True])
def test_an_odd_key_among_numbers(odd: Any, null: str):
    """Where it makes a typed column one of objects, all others are the people that they were."""
    clean = frame([1, 1, 2, 3, 3])
    typed = people(clean, null=null)
    mixed = frame([1, 1, 2, 3, 3, odd])
    assert mixed["id"].dtype == object or isinstance(odd, float | bool)
    # the odd row belongs to nobody, whatever becomes of rows without a key
    assert people(mixed.assign(x=1), null=null) == people(clean.assign(x=1), null=null)
    assert typed[0] == 3


def test_whole_floats_are_whole_numbers():
    for keys in (
        [1, 1.0, 2],
        np.array([1, 1.0, 2]),
        [1, 1.0, "2"],
        ["1", 1.0, Decimal(2)],
        [1, Fraction(1), 2],
    ):
        assert people({"id": keys, "x": [1, 2, 3]})[0] == 2


def test_great_numbers_are_kept_apart():
    keys = [Decimal("9007199254740993"), Decimal("9007199254740992"), 2**60, 2**60 + 1, 10**5000]
    assert people({"id": keys, "x": [1, 2, 3, 4, 5]})[0] == 5


def test_identifiers():
    one, other = uuid.UUID(int=1), uuid.UUID(int=2)
    for null in ("leave_out", "own"):
        assert people({"id": [one, one, other], "x": [1, 2, 3]}, null=null)[0] == 2


def test_unreadable_keys_are_no_people_of_their_own():
    day = dt.date(2020, 1, 1)
    table = {"id": [day, day, None, "a"], "x": [1, 2, 3, 4]}
    assert people(table, null="own")[0] == 2
    assert people(table)[0] == 1


def test_what_is_counted_may_be_anything():
    days = [dt.date(2020, 1, 1), None, dt.date(2020, 1, 2), dt.date(2020, 1, 3)]
    wanted = people({"id": ["a", "a", "a", "b"], "x": [1.0, None, 2.0, 3.0]})
    for column in (
        days,
        pd.Series(pd.to_datetime(days)),
        pd.Series([*days[:3], "odd"], dtype=object),
        pa.array(days),
        pl.Series(days),
        pa.array([b"\xff\xfe", None, b"\xff", b"x"]),
        pa.array([b"\xff\xfe", None, b"\xff\xff", b"xx"], type=pa.binary(2)),
        [[1], None, {}, object()],
    ):
        assert people({"id": ["a", "a", "a", "b"], "x": column}) == wanted


def test_what_is_counted_in_engines(tmp_path: Path):
    wanted = people({"id": ["a", "a", "b"], "x": [1.0, None, 3.0]})
    odd = pl.DataFrame({"id": ["a", "a", "b"], "x": pl.Series([b"\xff\xfe", None, b"x"])})
    assert people(odd) == wanted
    assert people(odd.lazy()) == wanted
    far = pl.DataFrame(
        {"id": ["a", "a", "b"], "x": pl.Series([2**31 - 1, None, 0], dtype=pl.Int32).cast(pl.Date)}
    )
    assert people(far) == wanted
    table = pa.table({"id": ["a", "a", "b"], "x": pa.array([b"\xff\xfe", None, b"xx"], type=pa.binary(2))})
    pa.parquet.write_table(table, tmp_path / "rows.parquet")  # pyright: ignore[reportAttributeAccessIssue]
    assert people(tmp_path / "rows.parquet") == wanted


@pytest.mark.parametrize(
    "keys",
    [
        pl.Series([b"\xff", b"a", b"a"]),
        pl.Series([dt.date(2020, 1, 1)] * 3),
        pl.Series([dt.timedelta(1)] * 3),
        pl.Series([True, False, True]),
        pl.Series([[1], [2], [1]]),
    ],
    ids=lambda keys: str(keys.dtype),
)
def test_types_that_tell_nobody_apart_are_refused(keys: pl.Series):
    for table in (
        pl.DataFrame({"id": keys, "x": [1, 2, 3]}),
        pl.DataFrame({"id": keys, "x": [1, 2, 3]}).to_arrow(),
    ):
        with pytest.raises(dc.DiscreetError, match="cannot tell people apart"):
            people(table)


def test_parts_of_groups_keep_their_unit():
    table = {"id": ["a", "a", "b"], "x": [1, 2, 3], "g": ["u", "v", "u"]}
    made = dc.release(
        table,
        FAMILY,
        column="x",
        bounds=(0, 8),
        by="g",
        groups=["u", "v"],
        unit="id",
        per_unit={"x": "sum", "g": "max"},
        epsilon=1,
    )
    for part in made.by_group().values():
        again = dc.Release.from_json(part.to_json())
        assert again.guarantee == dc.PureDP(1, neighbors="add_remove", unit="id")
        assert "every single person" in again.statement()


@pytest.mark.parametrize(
    ("by", "groups"),
    [(["g", "h"], {"g": ["a, b", "a"], "h": ["c", "b, c"]}), ("g", ["a", "a "]), ("g", ["  "])],
)
def test_groups_whose_names_are_the_same(by: Any, groups: Any):
    with pytest.raises(dc.DiscreetError):
        dc.release(
            {"x": [1], "g": ["a"], "h": ["c"]},
            FAMILY,
            column="x",
            bounds=(0, 8),
            by=by,
            groups=groups,
            epsilon=1,
        )


def test_bounds_of_rows_too_near_to_zero():
    with pytest.raises(dc.DiscreetError, match="1e-200"):
        dc.release(
            {"id": ["a"], "x": [1]}, FAMILY, column="x", bounds=(0, 8), unit="id", per_unit="mean",
            row_bounds=(0, "1e-300"), epsilon=1,
        )  # fmt: skip
