"""The study of private chains runs, and its claims can fail."""

from __future__ import annotations

import importlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.privacy.costs.grid_walk import GridWalk

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module; its parts are found next to it, as when it is run."""
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("foulds2016_mcmc")


def holds(panel: Any) -> bool:
    return all(claim.holds for claim in panel.claims)


def test_what_one_update_costs(study: Any) -> None:
    assert holds(study.updates.random_scan())
    assert holds(study.updates.rules())
    assert holds(study.paying.temperatures())


@pytest.mark.slow
def test_paying_once_beats_paying_per_update(study: Any, rng: np.random.Generator) -> None:
    panel = study.paying.by_epsilon(rng, 1, 1000, (3.0,))
    assert panel.claims[0].holds
    assert "pay once" in panel.claims[0].text


def test_the_kept_numbers_are_drawn(study: Any, tmp_path: Path) -> None:
    kept = json.loads((STUDIES / "results" / "foulds2016_mcmc.json").read_text(encoding="utf-8"))
    assert all(claim["holds"] for claim in kept["claims"])
    assert not kept["settings"]["quick"]
    claim = importlib.import_module("common.claim")
    panels = [claim.Panel(name, series) for name, series in kept["panels"].items()]
    study.draw_figure(panels, path=tmp_path / "sheet.png")
    assert (tmp_path / "sheet.png").stat().st_size > 50_000


def test_a_range_that_is_too_small_is_found(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    true = GridWalk.range
    monkeypatch.setattr(GridWalk, "range", lambda walk: true(walk) * Fraction(9, 10))
    assert not study.updates.rules().claims[0].holds


def test_a_chain_that_finds_the_components_is_noticed(
    study: Any, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(study.paying, "private_gibbs", lambda *given: -2.62)
    monkeypatch.setattr(study.paying, "noisy_statistics", lambda *given: -2.62)
    claims = study.paying.by_epsilon(rng, 1, 1000, (3.0,)).claims
    assert not claims[0].holds
    assert not claims[3].holds


@pytest.mark.slow
def test_a_short_run_writes_picture_report_and_numbers(
    study: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study.main(["--quick", "--out", str(tmp_path), "--check"]) == 0
    assert "FAIL" not in capsys.readouterr().out
