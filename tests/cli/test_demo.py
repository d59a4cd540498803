from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import run


def test_demo_sets_three_readings_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    printed = capsys.readouterr().out
    for words in (
        "systolic_bp: mean",
        "smoker",
        "health: poor",
        "non-private",
        "naive",
        "noise-aware",
        "95% interval",
        "width",
    ):
        assert words in printed
    folder = tmp_path / "discreet-demo"
    assert sorted(path.name for path in folder.iterdir()) == [
        "health.json",
        "health.png",
        "report.html",
        "smoker.json",
        "smoker.png",
        "systolic_bp.json",
        "systolic_bp.png",
    ]
    assert dc.Release.load(folder / "smoker.json").guarantee == dc.PureDP("0.05")


def test_demo_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # little noise, so that every reading must agree with the rows
    assert run(["demo", "--json", "--epsilon", "200", "-o", str(tmp_path / "deep" / "folder")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "discreet/demo/1"
    assert all(Path(file).is_file() for file in answer["files"])
    with open(dc.datasets.clinic_survey(), newline="") as lines:
        answers = Counter(line["smoker"] for line in csv.DictReader(lines))
    share = answers["yes"] / (answers["yes"] + answers["no"])
    readings = {row["reading"]: row for row in answer["posteriors"] if row["share"] == "smoker"}
    assert list(readings) == ["non-private", "naive", "noise-aware"]
    # the mean of 4,000 draws whose sd is below 0.01: five standard errors, and the prior's pull of under 1/2000
    for row in readings.values():
        assert row["mean"] == pytest.approx(share, abs=5 * 0.01 / 4000**0.5 + 1 / 2000)
        assert row["low"] < share < row["high"]


def test_the_survey_is_what_its_script_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from scripts import make_clinic_survey

    monkeypatch.setattr(make_clinic_survey, "TARGET", tmp_path / "survey.csv")
    make_clinic_survey.main()
    assert (tmp_path / "survey.csv").read_bytes() == dc.datasets.clinic_survey().read_bytes()
