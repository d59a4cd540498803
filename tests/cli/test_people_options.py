"""Options about people reach the release: what a person's rows become is in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import run


@pytest.mark.parametrize("rule", ["mean", "max"])
def test_the_rule_for_a_persons_rows_is_the_one_asked_for(tmp_path: Path, rule: str) -> None:
    rows = tmp_path / "visits.csv"
    rows.write_text("person,cost\n" + "".join(f"p{i % 40},{i % 7}\n" for i in range(120)), encoding="utf-8")
    out = tmp_path / "cost.json"
    asked = [
        "release",
        str(rows),
        "--model",
        "mean",
        "--column",
        "cost",
        "--bounds",
        "0,10",
        "--epsilon",
        "1",
    ]
    people = ["--unit", "person", "--per-unit", rule, "--row-bounds", "0,10"]
    assert run([*asked, *people, "--output", str(out)]) == 0
    unit = dc.Release.load(out).unit
    assert unit is not None
    assert unit.column == "person"
    assert f'"{rule}"' in out.read_text(encoding="utf-8")


def test_labels_of_groups_that_commas_separate_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """They would be one label that no row has, and the budget spent."""
    asked = ["release", "survey.csv", "-m", "bernoulli", "-c", "smoker", "--epsilon", "1", "-o", "by.json"]
    assert run([*asked, "--by", "sex=F,M"]) == 2
    assert '--by "sex=F|M"' in capsys.readouterr().err
