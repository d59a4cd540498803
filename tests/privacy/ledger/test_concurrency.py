"""Eight processes, one budget."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import discreet as dc

PROCESSES, CHARGES = 8, 100
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
    except dc.BudgetError:
        pass
print(done)
"""


def test_exactly_as_many_charges_succeed_as_the_budget_allows(url: str) -> None:
    ledger = dc.Ledger(url, budget=dc.PureDP(3))
    ledger.open("clinic")
    command = [sys.executable, "-c", PROGRAM, url, str(CHARGES)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen(command, **pipes) for _ in range(PROCESSES)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    # all at once
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    done = [int(worker.communicate(timeout=500)[0]) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * PROCESSES
    assert sum(done) == 300
    # they did take turns
    assert sum(n > 0 for n in done) > 1
    assert ledger.account("clinic").spent == {"epsilon": Fraction(3)}
    found = ledger.verify()
    assert found.passed, found.problems
    assert found.entries == 302
    assert len(found.unreleased) == 300


def test_creating_a_ledger_at_the_same_moment_makes_one(url: str) -> None:
    program = "import sys, discreet as dc; print(dc.Ledger(sys.argv[1], budget=dc.PureDP(3)).id)"
    command = [sys.executable, "-c", program, url]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    made = {worker.communicate(timeout=120)[0] for worker in workers}
    assert len(made) == 1
    assert dc.Ledger(url).verify().entries == 1
