"""The study of one posterior sample runs, and its claims can fail."""

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
    return importlib.import_module("foulds2016")


@pytest.mark.slow
def test_a_quick_run_writes_picture_report_and_numbers(
    study: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study.main(["--quick", "--out", str(tmp_path), "--check"]) == 0
    printed = capsys.readouterr().out
    assert "FAIL" not in printed
    assert (tmp_path / "foulds2016.txt").read_text(encoding="utf-8") == printed
    numbers = json.loads((tmp_path / "foulds2016.json").read_text(encoding="utf-8"))
    assert len(numbers["claims"]) == 22
    assert len(numbers["panels"]) == 6
    assert (tmp_path / "foulds2016.png").stat().st_size > 20_000


def failed(panel: Any) -> set[str]:
    return {claim.source for claim in panel.claims if not claim.holds}


@pytest.mark.slow
def test_noise_and_temperatures_that_are_off_are_found(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    accuracy = importlib.import_module("foulds.accuracy")
    honest = accuracy.library_laplace
    # noise that grows like the sum's own spread never becomes negligible
    monkeypatch.setattr(
        accuracy, "library_laplace", lambda e, k, n, rng: honest(float(e / np.sqrt(n)), k, n, rng)
    )
    draw = accuracy.OneSample.draw
    monkeypatch.setattr(
        accuracy.OneSample,
        "draw",
        lambda self, k, n, rng, temperature=None: draw(
            self, k, n, rng, 1.3 * (temperature or self.temperature)
        ),
    )
    found = failed(accuracy.efficiency(np.random.default_rng(0), 4000))
    assert {"theorem 4", "theorem 5", "remark 1", "section 3.3"} <= found
    assert "figure 2" in failed(accuracy.errors(np.random.default_rng(0), 1000))


def test_costs_that_are_too_large_are_found(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = importlib.import_module("foulds.costs")
    honest = costs.NextRecord.epsilon
    monkeypatch.setattr(costs.NextRecord, "epsilon", lambda *given: 1.02 * honest(*given))
    assert "theorem 2" in failed(costs.adversary(60))
    monkeypatch.setattr(costs, "_log_odds", lambda *given: 0.0)
    assert failed(costs.recipe()) == {"theorem 2"}


def test_the_page_shows_what_the_study_found() -> None:
    """Each number of the prose that the study decides is in its report."""
    page = (STUDIES.parent / "docs" / "explanation" / "foulds2016.md").read_text(encoding="utf-8")
    found = (STUDIES / "results" / "foulds2016.txt").read_text(encoding="utf-8")
    for number in (
        "4.346",
        "4.394",
        "4.5951",
        "9.19",
        "2.009",
        "2.012",
        "1.007",
        "5.028",
        "8.942",
        "3,225",
        "4.60",
        "3.69",
    ):
        assert number in page
        assert number in found
