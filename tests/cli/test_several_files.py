"""``discreet infer`` with several files, and groups that are pooled."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.cli import run


@pytest.fixture
def hospitals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, share in (("north", 0.3), ("south", 0.35), ("west", 0.32)):
        rows = (np.arange(200) < 200 * share).astype(int).tolist()
        dc.release(rows, dc.Bernoulli(), epsilon=1).save(f"{name}.json")
    table = {"g": ["a", "b", "c"] * 40, "y": [0, 1, 1, 0, 0, 1] * 20}
    dc.release(table, dc.Bernoulli(), column="y", by="g", groups=["a", "b", "c"], epsilon=1).save(
        "wards.json"
    )
    return tmp_path


def test_several_files_are_read_together(hospitals: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("infer north.json south.json west.json --seed 1 --draws 400 --json".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["release"]) == 3
    assert [row["name"] for row in answer["parameters"]] == ["p"]
    assert run("infer north.json south.json west.json --pool --seed 1 --draws 400 --plot p.png".split()) == 0
    said = capsys.readouterr().out
    assert "population.mean" in said
    assert "west.p" in said
    assert (hospitals / "p.png").stat().st_size > 1000
    assert run("infer north.json south.json --same-table --seed 1 --draws 400".split()) == 0
    assert "2 readings of one table" in capsys.readouterr().out
    assert run("infer north.json wards.json".split()) == 2
    assert "has groups" in capsys.readouterr().err


def test_groups_are_pooled(hospitals: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("infer wards.json --pool --seed 1 --draws 400 --json".split()) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)["parameters"]]
    assert names == ["population.mean", "population.sd", "a.p", "b.p", "c.p"]
    assert run("infer north.json --pool".split()) == 2
    assert "pool is for several releases" in capsys.readouterr().err
