"""The curator's look at a column: what it counts, and where its counts are not shown."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet.errors import UsageError

ROWS = {"age": [3, 40, None, "x", 300, -5], "smoker": ["yes", "no", "perhaps", None, "no", "no"]}


def test_counts_of_a_number():
    seen = dc.check(pd.DataFrame(ROWS), dc.Mean(), column="age", bounds=(0, 100))
    counts = seen.counts
    assert (counts.records, counts.usable, counts.missing, counts.unknown) == (6, 4, 2, 1)
    assert (counts.inside, counts.below, counts.above) == (2, 1, 1)
    assert "above the bounds, clipped" in str(seen)
    assert "redacted" in str(dc.check(ROWS, dc.Normal(), column="age", bounds=(0, 100), outside="redact"))


def test_counts_of_labels_and_a_warning():
    seen = dc.check(ROWS, dc.Bernoulli(), column="smoker")
    assert (seen.counts.usable, seen.counts.unknown, seen.warnings) == (4, 1, [])
    (warning,) = dc.check(["M", "F", "F"], dc.Bernoulli()).warnings
    assert 'dc.Bernoulli(yes="F", no="M")' in warning
    assert dc.check(["M", "F", "F"], dc.Bernoulli(yes="F", no="M")).counts.usable == 3


def test_what_a_notebook_keeps_has_no_counts():
    seen = dc.check([7] * 4321, dc.Mean(), bounds=(0, 100))
    assert "4,321" in str(seen)
    assert "321" not in repr(seen)
    assert not hasattr(seen, "_repr_html_")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"model": 3}, "model must be"),
        ({"model": dc.Mean()}, "needs bounds"),
        ({"model": dc.Mean(), "bounds": (0, 1), "outside": "x"}, "outside"),
        ({"model": dc.Mean(), "bounds": (0, 1), "column": "a", "columns": ["a"]}, "not both"),
        ({"model": dc.models.NaiveBayes({"a": 2}, {"b": 2}), "column": "a"}, "declares its own columns"),
    ],
)
def test_what_cannot_be_checked(how: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=said):
        dc.check([1, 2], **how)


def test_a_model_of_several_columns_is_counted_column_by_column():
    rows = pd.DataFrame({"sex": ["f", "x", "m"], "age": [30, 200, None], "one": ["a", "b", "a"]})
    model = dc.models.NaiveBayes({"sex": ["f", "m"]}, {"age": (0, 120)})
    seen = dc.check(rows, model)
    assert {name: one.counts.usable for name, one in seen.items()} == {"sex": 2, "age": 2}
    assert seen["age"].counts.above == 1
