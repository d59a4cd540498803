"""The study of noisy descent runs, and its claims can fail."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module; its parts are found next to it, as when it is run."""
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("noisy_sgd")


def test_exact_divergences_are_within_the_guarantees(study: Any) -> None:
    claims = study.places.places(np.random.default_rng(0), 20).claims + study.places.hiding().claims
    assert len(claims) == 6
    assert all(claim.holds for claim in claims), [claim.measured for claim in claims]


def test_guarantees_that_are_too_small_are_found(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = study.places.SGDCost
    right = kind.rhos
    monkeypatch.setattr(kind, "rhos", lambda self: 0.95 * right(self))
    claims = study.places.places(np.random.default_rng(0), 5).claims
    assert not claims[0].holds


def test_the_kept_results_are_of_a_full_run_and_hold() -> None:
    numbers = json.loads((STUDIES / "results" / "noisy_sgd.json").read_text(encoding="utf-8"))
    assert numbers["settings"]["quick"] is False
    assert all(claim["holds"] for claim in numbers["claims"])
    text = (STUDIES / "results" / "noisy_sgd.txt").read_text(encoding="utf-8")
    assert text.count("pass  ") == len(numbers["claims"]) == 10
    assert all(claim["measured"] in text for claim in numbers["claims"])


@pytest.mark.slow
def test_a_short_run_writes_picture_report_and_numbers(
    study: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study.main(["--quick", "--out", str(tmp_path), "--check"]) == 0
    printed = capsys.readouterr().out
    assert "FAIL" not in printed
    assert (tmp_path / "noisy_sgd.txt").read_text(encoding="utf-8") == printed
    assert (tmp_path / "noisy_sgd.png").stat().st_size > 20_000
