"""``discreet distinguish`` and ``discreet adversary``: the library's own numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import run

PATH = "adversary -m bernoulli --prior beta:1,1 --support=0.1,0.9 --epsilon 1 --records 20"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_distinguish_prints_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("distinguish --epsilon 0.5".split()) == 0
    assert capsys.readouterr().out == dc.validation.distinguish(dc.PureDP("0.5")).summary() + "\n"


@pytest.mark.parametrize(
    ("options", "guarantee", "distance"),
    [
        ("--epsilon 1 --distance 3", dc.PureDP(1), 3),
        ("--epsilon 1 --delta 0.001", dc.ApproxDP(1, "0.001"), 1),
        ("--rho 0.01 --distance 2", dc.ZeroConcentratedDP("0.01"), 2),
    ],
)
def test_every_budget_has_a_limit(
    options: str, guarantee: dc.PureDP, distance: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"distinguish {options} --error 0.1 --json".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer.pop("schema") == "discreet/distinguish/1"
    assert answer.pop("files") == []
    assert answer == dc.validation.distinguish(guarantee, distance=distance, delta=0.1).to_dict()


def test_adversary_prints_the_path_and_draws_it(capsys: pytest.CaptureFixture[str]) -> None:
    mechanism = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=("0.1", "0.9"))
    path = dc.validation.adversary(dc.Bernoulli(), mechanism=mechanism, records=20)
    assert run([*PATH.split(), "-o", "path.png"]) == 0
    assert capsys.readouterr().out == path.summary() + "\nWrote path.png.\n"
    assert Path("path.png").read_bytes().startswith(b"\x89PNG")
    assert run([*PATH.split(), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "discreet/adversary/1"
    assert answer["epsilon"] == pytest.approx(path.epsilon.tolist())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("distinguish", "give the guarantee"),
        ("distinguish --epsilon 1 --rho 1", "--rho alone"),
        ("distinguish --epsilon 1 --error 0.7", "got --error=0.7"),
        ("distinguish --epsilon 1 --error 0", "got --error=0"),
        ("distinguish --epsilon 1 --distance 0", "got --distance 0"),
        ("distinguish --epsilon 1 -o limit.txt", "--output"),
        (PATH.replace("--prior beta:1,1", ""), "needs --prior"),
        (PATH.replace("0.1,0.9", "0,0.9"), "strictly inside"),
        (PATH.replace("beta:1,1", "gamma:1,1"), "use --prior beta:"),
        (PATH.replace("20", "0"), "records must be"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    command: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    first, *hints = printed.err.splitlines()
    assert first.startswith("error: ")
    assert all(hint.startswith("hint: ") for hint in hints)
    assert words in printed.err
