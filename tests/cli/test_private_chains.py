"""``discreet release --mechanism private-metropolis`` and ``private-annealing``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import run

ROWS = "smoker\n" + "".join(f"{'yes' if i % 3 else 'no'}\n" for i in range(100))
SMOKER = "release data.csv -m bernoulli -c smoker --impute no -o out.json"
WALK = f"{SMOKER} --mechanism private-metropolis --prior beta:1,1 --support=0.05,0.95 --epsilon 1 --steps 20"
ANNEAL = f"{SMOKER} --mechanism private-annealing --prior beta:1,1 --support=0.05,0.95 --epsilon 1"
# what only somebody who writes Python could act on
PYTHON = re.compile(r"\bdc\.|=[\[('\"]|----|Value error|None")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(ROWS)
    return tmp_path


def test_a_walk_is_released_shown_and_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(WALK.split()) == 0
    made = dc.Release.load("out.json")
    assert made.guarantee == dc.PureDP(1)
    assert made.samples is not None
    assert made.samples.count == 20
    assert run("show out.json".split()) == 0
    assert run("infer out.json".split()) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "the trace of a tempered Markov chain" in printed
    assert "not independent" in printed


def test_annealed_draws_are_released() -> None:
    assert run(f"{ANNEAL} --samples 2".split()) == 0
    made = dc.Release.load("out.json")
    assert made.samples is not None
    assert made.samples.count == 2


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (WALK.replace("--steps 20", ""), "needs --steps"),
        (WALK.replace("--epsilon 1", ""), "needs --epsilon"),
        (WALK.replace("--support=0.05,0.95", ""), "needs --support"),
        (f"{WALK} --samples 2", "takes no --samples"),
        (f"{WALK} --delta 1e-6", "takes no --delta"),
        (WALK.replace("0.05,0.95", "0,0.95"), "without limit"),
        (WALK.replace("--steps 20", "--steps 0"), "whole number"),
        (f"{ANNEAL} --steps 2", "takes no --steps"),
        (ANNEAL.replace("--epsilon 1", "--epsilon 1e-7"), "too small for so many updates"),
        (WALK.replace("private-metropolis", "laplace"), "releases? samples"),
        (WALK.replace("private-metropolis", "posterior-sample"), "takes no --steps"),
    ],
)
def test_bad_input(command: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command.split()) == 2
    said = capsys.readouterr().err
    assert re.search(message, " ".join(said.split()))
    assert not PYTHON.search(said), said
    assert not Path("out.json").exists()
