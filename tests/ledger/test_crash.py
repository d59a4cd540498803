"""Killed in the middle of charging and releasing, the ledger is whole and every file has its entries."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("crashing.py")


def crash(url: str, folder: Path, kills: int, seed: int) -> dict[str, int]:
    folder.mkdir()
    command = [sys.executable, str(PROGRAM), url, str(folder), str(kills), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["problems"] == []
    where = found["where"]
    assert sum(where.values()) == kills
    print(where)
    return where


def test_a_crash_wastes_budget_at_worst(tmp_path: Path, seed: int) -> None:
    where = crash(f"sqlite:///{tmp_path / 'budget.db'}", tmp_path / "files", 40, seed)
    # the phases are hit by design, not by luck: half of the kills are timed from the charge, and follow the machine
    assert where["charged, not noted"] + where["noted, not saved"] >= 6


@pytest.mark.slow
def test_two_hundred_crashes(url: str, tmp_path: Path, seed: int) -> None:
    where = crash(url, tmp_path / "files", 200, seed)
    assert where["charged, not noted"] + where["noted, not saved"] >= 40
