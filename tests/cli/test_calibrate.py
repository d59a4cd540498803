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
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.split() == str(found.summary()).split()
    # sentences are wrapped, tables are not
    lines = printed.out.splitlines()
    assert max(map(len, lines[:3])) <= 80
    assert set(found.summary().tables) <= set(lines)
    assert "none missing" in lines[0]


def test_bounds_can_be_bought(capsys: pytest.CaptureFixture[str]) -> None:
    command = (
        "calibrate -m exponential --n 50 --epsilon 1 --engine naive --prior gamma:10,10 --trials 5 --seed 1 --json"
        " --bounds quantiles:0.1,0.9 --within=0,8 --bounds-epsilon 0.25"
    )
    assert run(command.split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["guarantee"] == "pure differential privacy with epsilon = 1.25"
    assert answer["bounds"] == [{"quantiles": ["0.1", "0.9"], "within": ["0", "8"], "epsilon": "0.25"}]
    # a prior that does not fit is answered with one scaled to the widest bounds
    assert run(command.replace("gamma:10,10", "beta:1,1").split()) == 2
    assert "for example --prior gamma:" in json.loads(capsys.readouterr().out)["hint"]


def test_the_picture_has_the_rate_of_the_verdict(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {}
    monkeypatch.setattr("discreet.reporting.plot_calibration", lambda ranks, **options: seen.update(options))
    assert run([*COMMAND.split(), "--false-alarm", "0.03", "-o", "plot.png"]) == 0
    assert seen["prob"] == pytest.approx(0.97)
    assert any("false-alarm rate of 3%" in note for note in seen["notes"])


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
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert "\nNOT calibrated: " in printed
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
