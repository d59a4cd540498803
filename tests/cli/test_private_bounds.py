"""``discreet release --bounds quantiles:...``: bounds that are bought."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import run

ROWS = "smoker,age,days\n" + "".join(
    f"{'yes' if i % 3 else 'no'},{20 + i % 60},{i % 11}\n" for i in range(400)
)
AGE = "release data.csv -m normal -c age --epsilon 0.5 -o out.json"
BOUGHT = f"{AGE} --bounds quantiles:0.025,0.975 --within=0,128 --bounds-epsilon 0.1"
# what only somebody who writes Python could act on
PYTHON = re.compile(r"\bdc\.|=[\[('\"]|----|Value error|None")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(ROWS)
    return tmp_path


def test_bounds_are_bought_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(BOUGHT.split()) == 0
    made = dc.Release.load("out.json")
    assert made.guarantee == dc.PureDP("0.6")
    assert made.guarantees["bounds"] == dc.PureDP("0.1")
    assert made.bounds_choice is not None
    assert made.bounds_choice[0].within == (0, 128)
    assert made.bounds_choice[0].quantiles == (Fraction(1, 40), Fraction(39, 40))
    printed = " ".join(capsys.readouterr().out.split())
    assert "Wrote out.json: pure differential privacy with epsilon = 0.6." in printed
    assert printed.endswith(made.statement())
    assert run(["show", "out.json"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "bought quantiles 0.025 and 0.975 within [0, 128], 1024 cells; epsilon = 0.1" in shown


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*BOUGHT.split(), "--json"]) == 0
    answer, made = json.loads(capsys.readouterr().out), dc.Release.load("out.json")
    assert answer["guarantee"] == {"kind": "pure", "epsilon": "3/5", "neighbors": "replace"}
    assert answer["guarantees"]["bounds"] == {"kind": "pure", "epsilon": "1/10", "neighbors": "replace"}
    assert made.domain.bounds is not None
    assert answer["bounds"] == [[str(low), str(high)] for low, high in made.domain.bounds]


def test_several_columns_and_gaussian_noise() -> None:
    command = (
        "release data.csv -m multivariate_normal:dim=2 -c age -c days --mechanism gaussian --rho 0.5 -o out.json "
        "--bounds quantiles:0.1,0.9 --within=0,120 --within=0,30 --bounds-epsilon 1 --neighbors add_remove"
    )
    assert run(command.split()) == 0
    made = dc.Release.load("out.json")
    assert made.guarantee == dc.ZeroConcentratedDP(1, neighbors="add_remove")
    assert made.bounds_choice is not None
    assert [c.within for c in made.bounds_choice] == [(0, 120), (0, 30)]


@pytest.mark.parametrize(
    ("command", "clue"),
    [
        (f"{AGE} --bounds quantiles:0.025,0.975", "needs --within"),
        (f"{AGE} --bounds quantiles", "needs --within"),
        (f"{AGE} --bounds quantiles:0.025,0.975 --within=0,9", "needs --bounds-epsilon"),
        (BOUGHT.replace("=0,128", "=128,0"), "got --within=128,0"),
        (BOUGHT.replace("=0,128", "=128"), "cannot read --within '128'"),
        (BOUGHT.replace("=0,128", "=0,nan"), "within must be a finite number"),
        (BOUGHT.replace("0.1", "0"), "--bounds-epsilon must be positive, got --bounds-epsilon=0."),
        (BOUGHT.replace("0.1", "nan"), "--bounds-epsilon must be a finite number"),
        (BOUGHT.replace("0.025", "0"), "quantiles must be between 0 and 1"),
        (BOUGHT.replace("0.975", "1.5"), "quantiles must be between 0 and 1"),
        (BOUGHT.replace("0.025", "0.98"), "the lower quantile comes first"),
        (BOUGHT.replace("0.025,", ""), "cannot read --bounds '0.975'"),
        (BOUGHT.replace("0.025", "low"), "must be a finite number"),
        (BOUGHT.replace("normal", "poisson").replace("0,128", "-1,9"), "got --within=-1,9"),
        (BOUGHT.replace("normal -c age", "bernoulli -c smoker"), "takes no bounds"),
        (f"{BOUGHT} --within=0,9", "has 1 column"),
        (f"{BOUGHT} --bounds=0,9", "once, for all columns"),
        (f"{AGE} --bounds=0,9 --within=0,9", "go with --bounds quantiles"),
        (f"{AGE} --bounds=0,9 --bounds-epsilon 1", "go with --bounds quantiles"),
        (
            "check data.csv -m normal -c age --bounds quantiles:0.1,0.9",
            "only release and calibrate can buy bounds",
        ),
    ],
)
def test_one_line_and_nothing_written(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, clue: str
) -> None:
    assert run(command.split()) == 2
    printed = capsys.readouterr()
    lines = printed.err.splitlines()
    assert printed.out == ""
    assert lines[0].startswith("error: ")
    assert clue in lines[0]
    assert len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("hint: "))
    assert not PYTHON.search(printed.err)
    assert [path.name for path in folder.iterdir()] == ["data.csv"]


def test_the_hint_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(BOUGHT.replace("0.025", "0").split()) == 2
    hint = capsys.readouterr().err.splitlines()[1].removeprefix("hint: for example ")
    assert run([*AGE.split(), *hint.split()]) == 0
