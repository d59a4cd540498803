"""Plans for tables like those of a file of public records, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import discreet as dc
from discreet.cli import run
from discreet.errors import DataError, UsageError
from discreet.planning.simulated_tables import Width
from discreet.planning.solving import solve_records

MODEL = """model = "linear_regression"
target = "pressure"
features = ["age", "smoker"]
[bounds]
pressure = [60, 220]
age = [18, 100]
smoker = ["0", "1"]
"""


@pytest.fixture
def survey(rng: np.random.Generator) -> dict[str, np.ndarray]:
    age, smoker = rng.uniform(20, 90, 300), rng.integers(0, 2, 300)
    pressure = 90 + 0.5 * age + 8 * smoker + rng.normal(0, 10, 300)
    # what no page of a survey is without: a column beside those asked for, with a line break in it
    return {"pressure": pressure, "note": np.array(["a\nb"] * 300), "age": age, "smoker": smoker}


def test_a_file_is_the_table_in_it(survey: dict[str, np.ndarray], tmp_path: Path) -> None:
    bounds = {"pressure": (60, 220), "age": (18, 100), "smoker": ["0", "1"]}
    model = dc.models.LinearRegression("pressure", ["age", "smoker"], bounds=bounds)
    table = pa.table(survey)
    csv.write_csv(table, tmp_path / "survey.csv")
    csv.write_csv(table, tmp_path / "survey.tsv", csv.WriteOptions(delimiter="\t"))
    parquet.write_table(table, tmp_path / "survey.parquet")
    asked = {"n": 2000, "mechanism": "gaussian", "rho": 1, "parameter": "coefficients[age]"}
    widths = {
        name: dc.plan(model, public=public, **asked).width  # pyright: ignore
        for name, public in {
            "table": survey,
            "csv": tmp_path / "survey.csv",
            "tsv": str(tmp_path / "survey.tsv"),
            "parquet": tmp_path / "survey.parquet",
        }.items()
    }
    assert len(set(widths.values())) == 1, widths


def test_what_is_no_table_is_one_line(survey: dict[str, np.ndarray], tmp_path: Path) -> None:
    model = dc.models.LinearRegression("pressure", ["age"], bounds={"pressure": (60, 220), "age": (18, 100)})
    csv.write_csv(pa.table({"age": survey["age"]}), tmp_path / "part.csv")
    (tmp_path / "torn.csv").write_text("pressure,age\n1\n")
    for name, error in (("none.csv", DataError), ("torn.csv", DataError), ("part.csv", UsageError)):
        with pytest.raises(error) as caught:
            dc.plan(model, n=2000, epsilon=1, public=tmp_path / name)
        assert "\n" not in caught.value.message
        assert caught.value.hint


def test_the_command_line_plans_regressions(
    survey: dict[str, np.ndarray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.toml").write_text(MODEL)
    csv.write_csv(pa.table(survey), tmp_path / "survey.csv")
    asked = f"plan -m {tmp_path}/model.toml --n 2000 --mechanism gaussian --rho 1 --public".split()
    assert run([*asked, f"{tmp_path}/survey.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["model"], found["expects"]) == (
        "linear_regression",
        f"records like those of {tmp_path}/survey.csv",
    )
    assert run([*asked, "mean=40", "--public", "sd=12"]) == 2
    assert "write --public survey.csv" in capsys.readouterr().err
    assert run([*asked, f"{tmp_path}/other.csv"]) == 1
    assert "no public records can be read from" in capsys.readouterr().err


def test_a_frame_has_as_many_records_as_rows(survey: dict[str, np.ndarray]) -> None:
    model = dc.models.LinearRegression("pressure", ["age"], bounds={"pressure": (60, 220), "age": (18, 100)})
    plan = dc.plan(model, n=2000, mechanism="gaussian", rho=1, public=pd.DataFrame(survey))
    assert plan.expects == "records like 300 public ones"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_plan_says_what_no_number_of_records_narrows(rng: np.random.Generator) -> None:
    x = rng.exponential(2, 1000)
    rows = {"y": (rng.random(1000) < 1 / (1 + np.exp(3 - x))).astype(int), "x": x}
    model = dc.models.LogisticRegression("y", ["x"], bounds={"y": (0, 1), "x": (0, 10)})
    known = "part of the width is what the shapes of the features may be"
    asked = {"public": rows, "parameter": "x"}
    assert known in dc.plan(model, n=10_000, epsilon=1, **asked).summary()
    with pytest.raises(UsageError, match="cannot be reached with 10,000 records") as caught:
        dc.plan(model, n=10_000, width=0.02, **asked)
    assert (caught.value.hint or "").startswith(known)
    assert "records would do" not in (caught.value.hint or "")
    with pytest.raises(UsageError, match="cannot be reached with 1,000,000,000 records") as caught:
        solve_records(lambda n: Width(np.full(3, 0.5), np.full(3, 0.1)), 0.02, model.allowance_in_words)
    assert known in (caught.value.hint or "")
    start = dc.models.LogisticRegression({"y": ["0", "1"]}, {"x": (0, 10)}, start=[0, 0])
    line = dc.models.LinearRegression({"y": (0, 1)}, {"x": (0, 10)})
    assert start.allowance_in_words == line.allowance_in_words == ""


def test_a_plan_for_too_many_terms_says_what_to_plan_for(rng: np.random.Generator) -> None:
    labels = [f"g{i}" for i in range(60)]
    rows = {"y": rng.random(300), "g": rng.choice(labels, 300)}
    model = dc.models.LinearRegression("y", ["g"], bounds={"y": (0, 1), "g": labels})
    with pytest.raises(dc.DiscreetError, match="takes too long for that") as caught:
        dc.plan(model, n=300, epsilon=1, public=rows)
    assert (caught.value.hint or "").startswith(
        "plan for fewer terms: infer reads a regression of 59 terms only"
    )
