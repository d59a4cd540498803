"""Many processes, one budget."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest
from sqlalchemy.engine.reflection import Inspector

import discreet as dc
from discreet.ledger.store import Store

PROGRAM = """
import sys
import discreet as dc

ledger = dc.Ledger(sys.argv[1], patience=300)
print("ready", flush=True)
sys.stdin.readline()
done = 0
for _ in range(int(sys.argv[2])):
    try:
        ledger.charge("clinic", dc.PureDP(0.01))
        done += 1
    except dc.errors.BudgetError:
        pass
print(done)
"""


@pytest.mark.parametrize(
    ("processes", "charges", "allowed"), [(4, 50, 75), pytest.param(8, 100, 300, marks=pytest.mark.slow)]
)
def test_exactly_as_many_charges_succeed_as_the_budget_allows(
    url: str, processes: int, charges: int, allowed: int
) -> None:
    budget = Fraction(allowed, 100)
    ledger = dc.Ledger(url, budget=dc.PureDP(budget))
    ledger.open("clinic")
    command = [sys.executable, "-c", PROGRAM, url, str(charges)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen(command, **pipes) for _ in range(processes)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    # all at once
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    done = [int(worker.communicate(timeout=500)[0]) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * processes
    assert sum(done) == allowed
    # they did take turns
    assert sum(n > 0 for n in done) > 1
    assert ledger.account("clinic").spent == {"epsilon": budget}
    found = ledger.verify()
    assert found.passed, found.problems
    assert found.entries == allowed + 2
    assert len(found.unreleased) == allowed


def test_creating_a_ledger_at_the_same_moment_makes_one(url: str) -> None:
    program = "import sys, discreet as dc; print(dc.Ledger(sys.argv[1], budget=dc.PureDP(3)).id)"
    command = [sys.executable, "-c", program, url]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    made = {worker.communicate(timeout=120)[0] for worker in workers}
    assert len(made) == 1
    assert dc.Ledger(url).verify().entries == 1


def test_tables_that_appear_while_one_looks_are_not_damage(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else makes the ledger between the looks at its first table and at the others."""
    look = Inspector.has_table
    looks: list[str] = []

    def has_table(self: Inspector, name: str, *more: Any, **options: Any) -> bool:
        found = look(self, name, *more, **options)
        looks.append(name)
        if looks == [name]:
            maker.create()
        return found

    maker, watcher = Store(url, patience=60), Store(url, patience=60)
    if url.startswith("sqlite"):
        # a reader keeps the lock until its last look, so nobody can come between
        maker.create()
        assert watcher.exists()
        return
    monkeypatch.setattr(Inspector, "has_table", has_table)
    assert not watcher.exists()
    assert len(looks) > 1
    assert watcher.exists()
