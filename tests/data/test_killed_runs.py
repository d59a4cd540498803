"""A run that is killed midway leaves no release and, if it was charged, an entry that is marked unreleased."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import discreet as dc

ROOT = Path(__file__).parents[2]


def kill_midway(kind: str, where: str, folder: Path, now: Callable[[dc.Ledger], bool]) -> dc.Ledger:
    """Start a release from slow rows, kill it when ``now`` says so, and return its ledger."""
    url, output = f"sqlite:///{folder / 'budget.db'}", folder / "out.json"
    ledger = dc.Ledger(url, budget=dc.PureDP(5))
    run = subprocess.Popen(
        [sys.executable, "-m", "tests.data.killed", kind, where, url, str(output)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 300
        while not now(ledger):
            assert run.poll() is None, "the release was over before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        run.kill()
        run.wait()
    assert [path.name for path in folder.iterdir() if not path.name.startswith("budget.db")] == []
    return ledger


def charged(ledger: dc.Ledger) -> bool:
    return bool(ledger.verify().unreleased)


@pytest.mark.parametrize("kind", ["postgresql", "duckdb"])
def test_killed_after_the_charge(kind, postgres, tmp_path):
    ledger = kill_midway(kind, postgres, tmp_path, charged)
    found = ledger.verify()
    assert not found.problems
    assert len(found.unreleased) == 1
    assert [account.remaining["epsilon"] for account in ledger.accounts()] == [3]


def test_killed_before_the_charge(postgres, tmp_path):
    def reading(_: dc.Ledger) -> bool:
        with psycopg.connect(postgres) as other:
            text = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(2)%made%' AND state = 'active'"
            return bool(other.execute(text).fetchall())

    ledger = kill_midway("postgresql", postgres, tmp_path, reading)
    assert ledger.verify().unreleased == ()
    assert list(ledger.accounts()) == []
