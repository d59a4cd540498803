from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from discreet.domain.columns import decode_columns, encode_columns, only_labels
from discreet.errors import UsageError
from discreet.models import Labels, Numeric, Table, read_columns

DECLARED = {"sex": ["f", "m"], "pressure": (60, 200.5), "stage": 3, "flag": (0, 1), "code": [0, 1]}


def test_columns_are_read_in_order() -> None:
    assert read_columns(DECLARED) == (
        Labels("sex", ("f", "m")),
        Numeric("pressure", Fraction(60), Fraction(401, 2)),
        Labels("stage", ("0", "1", "2")),
        Numeric("flag", Fraction(0), Fraction(1)),
        Labels("code", ("0", "1")),
    )


def test_one_label_is_taken_where_it_is_asked_for() -> None:
    (column,) = read_columns({"a": ["x"]}, least_labels=1)
    assert decode_columns(json.loads(json.dumps(encode_columns([column]))), least_labels=1) == (column,)
    with pytest.raises(UsageError, match="at least two labels"):
        decode_columns(encode_columns([column]))


def test_columns_survive_a_file() -> None:
    columns = read_columns(DECLARED)
    assert decode_columns(json.loads(json.dumps(encode_columns(columns)))) == columns
    assert read_columns(columns) == columns


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"a": ["x", "x"]}, "'x' is repeated"),
        ({"a": ["x"]}, "column 'a' needs at least two labels"),
        ({"a": []}, "at least one label"),
        ({"a": ["x", ""]}, "empty text"),
        ({"a": (200, 60)}, "lower bound must be less"),
        ({"a": (1, 1)}, "lower bound must be less"),
        ({"a": (0, float("inf"))}, "finite number"),
        ({"a": (0, float("nan"))}, "finite number"),
        ({"a": "yes"}, "list of texts"),
        ({"a": 1}, "column 'a' needs at least two labels"),
        ({"a": 0}, "from 1 to"),
        ([Labels("a", ("x",))], "at least two labels"),
        ({"a": [1.5, 2.5]}, "texts or whole numbers"),
        ({"a": None}, "list of texts"),
        ({}, "at least one column"),
        ({1: ["x", "y"]}, "named by text"),
        ({"": ["x", "y"]}, "named by text"),
        ({"a": Labels("b", ("x", "y"))}, "another name"),
        (["a", "b"], "in a dictionary"),
        ("a", "in a dictionary"),
        (None, "in a dictionary"),
        ([Labels("a", ("x", "y")), Numeric("a", Fraction(0), Fraction(1))], "declared twice"),
    ],
)
def test_bad_declarations_are_one_line(declared: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        read_columns(declared)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        [],
        ["a"],
        [{"name": "a"}],
        [{"name": 1, "labels": ["x", "y"]}],
        [{"name": "a", "labels": "xy"}],
        [{"name": "a", "labels": ["x", 1]}],
        [{"name": "a", "labels": ["x", "x"]}],
        [{"name": "a", "bounds": ["1", "0"]}],
        [{"name": "a", "bounds": ["0", "1", "2"]}],
        [{"name": "a", "bounds": [0, 1]}],
        [{"name": "a", "bounds": ["0", "1e999999999"]}],
        [{"name": "a", "labels": ["x", "y"], "bounds": ["0", "1"]}],
        [{"name": "a", "labels": ["x", "y"]}, {"name": "a", "labels": ["x", "y"]}],
    ],
)
def test_hostile_columns_are_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        decode_columns(value)


def test_cells_are_named_in_c_order() -> None:
    table = Table((Labels("smoker", ("yes", "no")), Labels("sex", ("f", "m"))))
    assert table.cells("none") == (
        "smoker=yes|sex=f",
        "smoker=yes|sex=m",
        "smoker=no|sex=f",
        "smoker=no|sex=m",
    )
    assert table.shape("count") == (3, 3)
    assert table.cells("count")[2] == "smoker=yes|sex=<missing>"
    assert len(set(table.cells("count"))) == 9


def test_models_of_counts_refuse_numbers() -> None:
    with pytest.raises(UsageError, match="'pressure' is declared as numbers"):
        only_labels(read_columns(DECLARED), "a toy")
