"""Trials in other processes: the same results, every error, and the caller's script runs once."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DiscreetError, UsageError
from discreet.families.base import Family
from discreet.validation import calibration
from discreet.validation.simulation import Setting, run_trial
from discreet.validation.workers import run_in_workers
from tests.validation.coins import Coin, DeadlyCoin, OddCoin, RefusingCoin


def setting(model: Family) -> Setting:
    return Setting(model, dc.priors.Beta(1, 1), dc.mechanisms.Laplace(1), 10, engine="naive")


def seeds(number: int) -> list[np.random.SeedSequence]:
    return np.random.SeedSequence(5).spawn(number)


def test_the_number_of_workers_does_not_matter() -> None:
    alone, together = (
        dc.calibrate(dc.Categorical(["a", "b"]), n=10, epsilon=1, trials=250, rng=9, workers=workers)
        for workers in (1, 2)
    )
    assert alone.trials == together.trials == 250
    for name, ranks in alone.ranks.items():
        assert (ranks == together.ranks[name]).all()


def test_a_family_of_ones_own_that_prints(capfd: pytest.CaptureFixture[str]) -> None:
    counted = []
    found = run_in_workers(setting(Coin()), seeds(9), 2, 0.1, counted.append)
    assert sum(counted) == 9
    # what a family prints goes to stderr there, and does not mix with the answers
    assert "tossing" in capfd.readouterr().err
    here = [run_trial(setting(Coin()), seed) for seed in seeds(9)]
    assert [trial.ranks for trial in found] == [trial.ranks for trial in here]


def test_an_error_in_a_worker_is_the_same_error() -> None:
    with pytest.raises(UsageError, match="cannot be tossed") as caught:
        run_in_workers(setting(RefusingCoin()), seeds(200), 2, 0.001, lambda _: None)
    assert caught.value.hint == "take another"


def test_an_error_that_does_not_travel_is_told() -> None:
    with pytest.raises(RuntimeError, match="lost coin"):
        run_in_workers(setting(OddCoin()), seeds(4), 2, 0.1, lambda _: None)


def test_a_worker_that_dies_is_an_error() -> None:
    with pytest.raises(DiscreetError, match="ended early"):
        run_in_workers(setting(DeadlyCoin()), seeds(4), 2, 0.1, lambda _: None)


def test_a_family_that_nobody_can_import(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Local(dc.Bernoulli):
        pass

    monkeypatch.setattr(calibration, "_TASTE", 0.0)
    with pytest.raises(UsageError, match="other processes"):
        dc.calibrate(Local(), n=5, epsilon=1, engine="naive", trials=5, rng=0, workers=2)
    # nobody asked for processes, so nobody needs to know
    monkeypatch.setattr(calibration, "_WORTH_WORKERS", 0.0)
    monkeypatch.setattr(calibration, "available_cores", lambda: 2)
    assert dc.calibrate(Local(), n=5, epsilon=1, engine="naive", trials=5, rng=0).trials == 5


SCRIPT = """
from dataclasses import dataclass
import discreet as dc
from discreet.validation import calibration

print("spending budget")
calibration._TASTE = 0.0
print(dc.calibrate(dc.Bernoulli(), n=5, epsilon=1, trials=8, rng=0, workers=2).trials)

@dataclass(frozen=True)
class Mine(dc.Bernoulli):
    pass

try:
    dc.calibrate(Mine(), n=5, epsilon=1, engine="naive", trials=8, rng=0, workers=2)
except dc.errors.UsageError as problem:
    print(problem.hint)
"""


def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True, timeout=60, check=False
    )
    hint = "define its class in a module that can be imported, or ask for workers=1"
    assert (done.stdout.splitlines(), done.stderr) == (["spending budget", "8", hint], "")
