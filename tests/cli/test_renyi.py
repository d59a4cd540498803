"""``discreet release --mechanism renyi-posterior`` and ``statistical-query``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import run

ROWS = "smoker,share,age\n" + "".join(
    f"{'yes' if i % 3 else 'no'},{i % 5 / 4},{20 + i % 60}\n" for i in range(100)
)
SMOKER = "release data.csv -m bernoulli -c smoker --mechanism renyi-posterior --impute no -o out.json"
FULL = f"{SMOKER} --prior beta:6,12 --order 2 --epsilon 0.1"
# what only somebody who writes Python could act on
PYTHON = re.compile(r"\bdc\.|=[\[('\"]|----|Value error|None")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(ROWS)
    return tmp_path


def test_samples_are_released_shown_and_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"{FULL} --samples 3 --mode concentrated".split()) == 0
    made = dc.Release.load("out.json")
    assert made.guarantee == dc.RenyiDP([2], ["0.1"])
    assert made.samples is not None
    assert made.samples.count == 3
    assert run("show out.json".split()) == 0
    assert run("infer out.json --seed 1".split()) == 0
    printed = capsys.readouterr()
    assert "exact, given that" in printed.out
    assert "note" not in printed.err
    assert run("infer out.json --engine naive --draws 100 --chains 1".split()) == 0
    assert "--draws, --chains and --seed change nothing" in capsys.readouterr().err


def test_a_query_is_answered() -> None:
    command = (
        "release data.csv -m predicate -c share --mechanism statistical-query --prior beta:1,1 --order 2"
    )
    assert run(f"{command} --epsilon 0.1 --impute 0.5 -o out.json".split()) == 0
    assert dc.Release.load("out.json").family == dc.families.Predicate()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"{SMOKER} --order 2 --epsilon 0.1", "needs --prior"),
        (f"{SMOKER} --prior beta:6,12 --epsilon 0.1", "needs --order"),
        (f"{SMOKER} --prior beta:6,12 --order 2", "needs --epsilon"),
        (f"{FULL} --delta 1e-6", "takes no --delta"),
        (f"{FULL} --support=0.1,0.9", "no --support"),
        (f"{FULL} --mode direct --samples 9", "would take an epsilon of 1.722"),
        (FULL.replace("--order 2", "--order 1"), "must be above 1"),
        (FULL.replace("--order 2", "--order 9 --mode direct"), "orders below 7 only"),
        (FULL.replace("0.1", "1e-50"), "too small"),
        (FULL.replace("beta:6,12", "beta:0,0"), "positive and finite"),
        (FULL.replace("--impute no", ""), "impute"),
        (f"{FULL} --outside redact", "redact"),
        (FULL.replace("renyi-posterior", "posterior-sample --support=0.1,0.9"), "takes no --order"),
        (FULL.replace("renyi-posterior", "laplace"), "releases? samples"),
        (FULL.replace("renyi-posterior", "statistical-query"), "between 0 and 1"),
    ],
)
def test_bad_input(command: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command.split()) == 2
    said = capsys.readouterr().err
    assert re.search(message, " ".join(said.split()))
    assert not PYTHON.search(said), said
    assert not Path("out.json").exists()
