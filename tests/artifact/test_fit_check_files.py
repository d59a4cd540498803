"""The fit check in release files: every way it can be wrong, and that a reader and the schema agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import discreet as dc
from discreet.cli import run
from discreet.errors import ReleaseFileError
from tests.artifact.test_release_file import GOLDEN, SCHEMA, _drop, _put, forge

CHECKED = next(path for path in GOLDEN if path.stem == "v1-normal-fit-check").read_text(encoding="utf-8")
PEOPLE = {
    "column": "id",
    "per_unit": ["mean"],
    "row_bounds": [["-3", "100"]],
    "last_by": None,
    "null_unit": "leave_out",
}

FORGERIES = {
    "no counts": _drop("fit_check"),
    "null": _put("fit_check", None),
    "not paid for": lambda body: body["guarantees"].pop(),
    "paid for twice": lambda body: body["guarantees"].append(body["guarantees"][1]),
    "paid for too little": _put("guarantees", 1, "epsilon", "1/6"),
    "another currency": _put("guarantees", 1, {"kind": "zero_concentrated", "rho": "1", "for": "fit_check"}),
    "check first": lambda body: body["guarantees"].reverse(),
    "less noise": _put("fit_check", "scale", "25/3"),
    "no noise": _put("fit_check", "scale", "0"),
    "endless noise": _put("fit_check", "scale", str(2**60)),
    "less sensitivity": _put("fit_check", "sensitivity", "1"),
    "extra field": _put("fit_check", "seed", 1),
    "no cuts": _put("fit_check", "cuts", []),
    "a cut too few": lambda body: body["fit_check"]["cuts"].pop(),
    "a cut off the grid": _put("fit_check", "cuts", 0, "1/3"),
    "a cut at a bound": _put("fit_check", "cuts", 0, "-3"),
    "cuts reversed": lambda body: body["fit_check"]["cuts"].reverse(),
    "a cut twice": lambda body: body["fit_check"]["cuts"].__setitem__(0, body["fit_check"]["cuts"][1]),
    "an impossible count": _put("fit_check", "values", 0, "100000"),
    "a float count": _put("fit_check", "values", 0, 12.5),
    "of people": _put("unit", PEOPLE),
    "another model": _put("model", {"name": "mean", "parameters": {}}),
}  # fmt: skip


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_fit_check_must_hang_together(change: Any) -> None:
    with pytest.raises(ReleaseFileError) as caught:
        dc.Release.from_json(forge(CHECKED, change))
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", ["extra field", "null", "no cuts", "a float count"])
def test_the_schema_agrees_with_the_reader(name: str) -> None:
    body = json.loads(CHECKED)
    FORGERIES[name](body)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, SCHEMA)


def test_the_statement_says_it_in_words() -> None:
    said = dc.Release.from_json(CHECKED).statement()
    assert "it also holds noisy counts of the values in ten ranges of the column, cut at " in said
    assert "cuts that were computed from the noisy totals alone." in said
    assert (
        "epsilon = 0.8 for the totals, and pure differential privacy with epsilon = 0.2 for the counts of"
        in said
    )
    assert "The promise is pure differential privacy with epsilon = 1:" in said


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("visits\n" + "".join(f"{20 * (i % 4 == 0)}\n" for i in range(2000)))
    made = (
        "release data.csv -m poisson -c visits --bounds 0,20 --epsilon 1 --fit-check 0.2 -o out.json --json"
    )
    assert run(made.split()) == 0
    printed = capsys.readouterr()
    answer = json.loads(printed.out)
    assert answer["guarantee"]["epsilon"] == "1"
    assert answer["guarantees"]["fit_check"]["epsilon"] == "1/5"
    assert any("the column does not look Poisson" in said for said in answer["warnings"])
    assert "warning: fit check: p < " in printed.err
    assert run(["show", "out.json"]) == 0
    shown = capsys.readouterr().out
    assert "fit check   counts of " in shown
    assert "fit check: values from" in shown
    assert run(["infer", "out.json", "--json", "--draws", "400"]) == 0
    assert json.loads(capsys.readouterr().out)["fit_check"]["p"] < 0.001
