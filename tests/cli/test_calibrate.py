"""``discreet calibrate``: the library's own numbers, and a verdict that is no exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import run

COMMAND = "calibrate -m bernoulli --n 100 --epsilon 0.1 --trials 60 --seed 1 --workers 1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_it_prints_the_librarys_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMAND.split()) == 0
    found = dc.calibrate(dc.Bernoulli(), n=100, epsilon=0.1, trials=60, rng=1)
    assert capsys.readouterr() == (f"{found.summary()}\n", "")


def test_json_holds_the_verdict_and_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMAND.split(), "--json", "-o", "plot.svg"]) == 0
    answer = json.loads(capsys.readouterr().out)
    found = dc.calibrate(dc.Bernoulli(), n=100, epsilon=0.1, trials=60, rng=1)
    assert answer["schema"] == "discreet/calibrate/1"
    assert (answer["passed"], answer["trials"], answer["engines"]) == (True, 60, {"exact": 60})
    assert answer["parameters"][0]["ks"] == found.uniformity["p"].ks
    assert (answer["seed"], answer["files"]) == (1, ["plot.svg"])
    assert "<svg" in Path("plot.svg").read_text()


def test_a_bad_verdict_is_still_a_good_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMAND.split(), "--engine", "naive", "-o", "plot.png"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith("NOT calibrated: ")
    assert lines[-1] == "Wrote plot.png."
    assert Path("plot.png").read_bytes().startswith(b"\x89PNG")


def test_the_false_alarm_rate_moves_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """At 99.9% hardly anything passes: each of the two p-values must exceed 0.4995."""
    assert run([*COMMAND.split(), "--false-alarm", "0.999", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    found = dc.calibrate(dc.Bernoulli(), n=100, epsilon=0.1, trials=60, rng=1)
    assert answer["passed"] is found.passed(0.999)
    assert answer["false_alarm"] == 0.999


def test_every_option_reaches_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    command = (
        "calibrate -m normal:variance=4 --n 9 --prior normal:0,1 --bounds=-5,5 --mechanism gaussian --rho 0.5"
        " --engine naive --outside clip --neighbors add_remove --records=3,8 --trials 5 --draws 19 --seed 2 --json"
    )
    assert run(command.split()) == 0
    answer = json.loads(capsys.readouterr().out)
    found = dc.calibrate(
        dc.Normal(variance=4),
        n=9,
        prior="normal:0,1",
        bounds=(-5, 5),
        mechanism="gaussian",
        rho=0.5,
        engine="naive",
        outside="clip",
        neighbors="add_remove",
        records=(3, 8),
        trials=5,
        draws=19,
        rng=2,
    )
    assert {**answer, "seconds": 0} == {
        "schema": "discreet/calibrate/1",
        **found.to_dict(),
        "seconds": 0,
        "seed": 2,
        "files": [],
    }
