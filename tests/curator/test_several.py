"""Several models at once: one release for each, one charge for all, shares by declared weights."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import BudgetError, DataError, UsageError

ROWS = {
    "smoker": ["yes", "no", None, "yes"] * 25,
    "age": [41.0, 55.0, 38.0, 61.0] * 25,
    "weight": [70.0, 80.0, 60.0, 90.0] * 25,
}
MODELS = {"smoker": dc.Bernoulli(), "age": dc.Normal()}


def test_the_budget_is_divided_by_weights() -> None:
    made = dc.release(ROWS, MODELS, bounds={"age": (0, 110)}, epsilon=1, split={"age": 3})
    assert {name: one.guarantee for name, one in made.items()} == {
        "smoker": dc.PureDP("1/4"),
        "age": dc.PureDP("3/4"),
    }
    assert made["age"].columns == ("age",)
    assert made["smoker"].family == dc.Bernoulli()
    for one in made.values():
        assert dc.Release.from_json(one.to_json()) == one
    thirds = dc.release(
        ROWS, {**MODELS, "weight": dc.Normal()}, bounds={"age": (0, 110), "weight": (0, 200)}, epsilon=1
    )
    assert [one.guarantee for one in thirds.values()] == [dc.PureDP("1/3")] * 3


def test_rho_and_delta_are_divided_too() -> None:
    by_rho = dc.release(ROWS, MODELS, bounds={"age": (0, 110)}, rho=1, mechanism="gaussian", split={"age": 3})
    assert by_rho["age"].guarantee == dc.ZeroConcentratedDP("3/4")
    both = dc.release(ROWS, MODELS, bounds={"age": (0, 110)}, epsilon=1, delta="4e-6", mechanism="gaussian")
    assert both["age"].guarantee == dc.ApproxDP("1/2", "2e-6")


def test_one_charge_for_all(tmp_path: Path) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'b.db'}", budget=dc.PureDP(1))
    made = dc.release(
        ROWS, MODELS, bounds={"age": (0, 110)}, epsilon=1, split={"age": 3}, ledger=ledger, dataset="clinic"
    )
    assert [entry.kind for entry in ledger.entries()] == ["ledger", "open", "charge", "released"]
    assert len({one.ledger for one in made.values()}) == 1
    assert ledger.account("clinic").spent == {"epsilon": Fraction(1)}
    assert ledger.verify(against=list(made.values())).passed
    with pytest.raises(BudgetError):
        dc.release(ROWS, MODELS, bounds={"age": (0, 110)}, epsilon="0.01", ledger=ledger, dataset="clinic")


def test_columns_policies_and_bought_bounds_by_name(tmp_path: Path) -> None:
    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'b.db'}", budget=dc.PureDP(2))
    made = dc.release(
        ROWS,
        {"smoker": dc.Bernoulli(), "body": dc.MultivariateNormal(2), "age": dc.Normal()},
        columns={"body": ["age", "weight"]},
        bounds={
            "body": [(0, 110), (0, 200)],
            "age": dc.mechanisms.PrivateQuantiles(0.1, 0.9, within=(0, 120), epsilon=1),
        },
        outside={"age": "redact"},
        missing={"age": "none"},
        epsilon=1,
        ledger=ledger,
        dataset="clinic",
    )
    assert made["body"].columns == ("age", "weight")
    assert {name: one.domain.outside for name, one in made.items()}["age"] == "redact"
    assert made["body"].domain.outside == "clip"
    assert [one.domain.missing for one in made.values()] == ["count", "count", "none"]
    assert ledger.account("clinic").remaining == {"epsilon": 0}


def test_labels_have_nothing_to_clip() -> None:
    made = dc.release(ROWS, MODELS, bounds={"age": (0, 110)}, outside="clip", epsilon=1)
    assert [one.domain.outside for one in made.values()] == ["redact", "clip"]
    assert "nearest bound" not in made["smoker"].statement()
    alone = dc.release(ROWS["smoker"], dc.Bernoulli(), outside="clip", epsilon=1)
    assert dc.Release.from_json(alone.to_json()).domain == dc.release([1], dc.Bernoulli(), epsilon=1).domain
    two = dc.models.Labels("smoker", ("yes", "no")), dc.models.Labels("asthma", ("yes", "no"))
    table = dc.models.NaiveBayes(two[0], (two[1],))
    assert dc.release(
        {**ROWS, "asthma": ROWS["smoker"]}, table, outside="clip", epsilon=1
    ).domain.outside == ("redact")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"split": {"nobody": 1}}, "split names 'nobody'"),
        ({"split": {"age": 0}}, "must be positive"),
        ({"split": {"age": "nan"}}, "finite number"),
        ({"bounds": (0, 110)}, "bounds must be a dictionary"),
        ({"bounds": {"nobody": (0, 1)}}, "bounds names 'nobody'"),
        ({"bounds": {}}, "bounds"),
        ({"columns": ["age"]}, "columns must be a dictionary"),
        ({"column": "age"}, "leave out column"),
        ({"epsilon": None}, "give a budget"),
        ({"epsilon": None, "mechanism": dc.mechanisms.Laplace(1)}, "by its name"),
        ({"outside": "cut"}, "outside must be"),
    ],
)
def test_what_cannot_be_meant(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        dc.release(ROWS, MODELS, **{"bounds": {"age": (0, 110)}, "epsilon": 1, **arguments})  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_no_model_and_one_model() -> None:
    with pytest.raises(UsageError, match="no model"):
        dc.release(ROWS, {}, epsilon=1)
    with pytest.raises(UsageError, match="there is one"):
        dc.release(ROWS, dc.Bernoulli(), column="smoker", epsilon=1, split={"smoker": 1})
    with pytest.raises(UsageError, match="must be a family"):
        dc.release(ROWS, {"smoker": "bernoulli"}, epsilon=1)  # pyright: ignore


def test_rows_that_can_be_read_once_only_are_not_charged_for(tmp_path: Path) -> None:
    import pyarrow as pa

    ledger = dc.Ledger(f"sqlite:///{tmp_path / 'b.db'}", budget=dc.PureDP(2))
    table = pa.table({"smoker": np.array([True, False] * 5), "age": np.arange(10.0)})
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    with pytest.raises((UsageError, DataError)):
        dc.release(reader, MODELS, bounds={"age": (0, 110)}, epsilon=1, ledger=ledger, dataset="clinic")
    assert [entry.kind for entry in ledger.entries()] == ["ledger"]
