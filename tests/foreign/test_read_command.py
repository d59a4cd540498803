"""``discreet read``: published numbers in, a release file out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import run


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_options_say_what_was_published(capsys: pytest.CaptureFixture[str]) -> None:
    words = "read -m bernoulli --value yes=123.4 --value no=170 --noise yes=laplace,no=gaussian --scale 12.5 -o y.json"
    assert (
        run([*words.split(), "--clipped", "0", "--rounded", "--claims-epsilon", "1", "--column", "smoker"])
        == 0
    )
    assert "rounded, clipped below at 0" in " ".join(capsys.readouterr().out.split())
    assert dc.Release.load("y.json").columns == ("smoker",)
    assert run(["show", "y.json"]) == 0
    assert "published number" in capsys.readouterr().out
    assert run(["infer", "y.json", "--seed", "1", "--draws", "400", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"][0]["name"] == "p"
    assert run(["report", "y.json", "-o", "y.html"]) == 0
    assert run([*words.split()]) == 2
    assert "exists already" in capsys.readouterr().err


def test_a_file_says_what_was_published(capsys: pytest.CaptureFixture[str]) -> None:
    Path("sums.toml").write_text(
        'model = "mean"\nbounds = [0, 100]\nnoise = "laplace"\nscale = {sum = 200, count = 2}\n'
        'claims = {epsilon = 1}\nsource = "PipelineDP 0.3.1"\n[values]\nsum = 9825.13\ncount = 189.36\n'
    )
    assert run(["read", "sums.toml", "-o", "sums.json"]) == 0
    assert "“PipelineDP 0.3.1” published" in " ".join(capsys.readouterr().out.split())
    same = {"model": "mean", "bounds": [0, 100], "noise": "laplace", "scale": {"sum": 200, "count": 2}}
    Path("more.json").write_text(json.dumps(same | {"values": {"sum": 9825.13, "count": 189.36}}))
    assert run(["read", "more.json", "-o", "more-release.json"]) == 0
    first, second = dc.Release.load("sums.json"), dc.Release.load("more-release.json")
    assert first.statistics == second.statistics


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-m bernoulli --value yes=1 --records 9 --noise laplac --scale 1", "did you mean 'laplace'"),
        ("-m bernoulli --value yes=1 --records 9 --noise laplace --scale=-1", "must be positive"),
        ("-m bernoulli --value yes --records 9 --noise laplace --scale 1", "cannot read --value"),
        ("-m bernoulli --value yes=1 --noise laplace --scale 1 --clipped 1,2,3", "cannot read --clipped"),
        ("--value yes=1 --noise laplace --scale 1", "say the model"),
        ("-m bernoulli --noise laplace --scale 1", "say the values with --value"),
        ("typo.toml", "unknown key"),
        ("broken.toml", "not valid TOML"),
        ("nowhere.toml", "cannot read nowhere.toml"),
    ],
)
def test_bad_input_is_one_line(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("typo.toml").write_text('model = "mean"\nvalue = 3\n')
    Path("broken.toml").write_text("model = ")
    assert run(["read", *words.split(), "-o", "out.json"]) in (1, 2)
    assert said in " ".join(capsys.readouterr().err.split())
    assert not Path("out.json").exists()
