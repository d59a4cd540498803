"""The study of rebalanced posteriors runs, and its claims can fail."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.privacy.costs.posterior_neighbors import NeighboringPosteriors

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module; its parts are found next to it, as when it is run."""
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("geumlek2020_ch5")


@pytest.mark.slow
def test_a_short_run_writes_picture_report_and_numbers(
    study: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study.main(["--quick", "--out", str(tmp_path), "--check"]) == 0
    printed = capsys.readouterr().out
    assert "FAIL" not in printed
    assert (tmp_path / "geumlek2020_ch5.txt").read_text(encoding="utf-8") == printed
    numbers = json.loads((tmp_path / "geumlek2020_ch5.json").read_text(encoding="utf-8"))
    assert len(numbers["claims"]) == 30
    assert len(numbers["panels"]) == 12
    assert (tmp_path / "geumlek2020_ch5.png").stat().st_size > 50_000


def scaled(function: Callable[..., Any], factor: float) -> Callable[..., Any]:
    return lambda *given, **named: factor * function(*given, **named)


def failed(claims: list[Any], source: str) -> bool:
    return any(claim.source == source and not claim.holds for claim in claims)


def test_a_divergence_that_is_too_small_is_found(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        NeighboringPosteriors, "worst_divergence", scaled(NeighboringPosteriors.worst_divergence, 0.95)
    )
    claims = study.largest.corners(np.random.default_rng(0), 100).claims
    assert failed(claims, "corollary 16")
    assert failed(claims, "theorem 10")


def test_a_weight_that_is_too_large_is_found(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    study.largest.weight.cache_clear()
    for name in ("find_r", "find_m"):
        monkeypatch.setattr(NeighboringPosteriors, name, scaled(getattr(NeighboringPosteriors, name), 1.01))
    claims = study.largest.found(4).claims
    assert failed(claims, "theorem 8")
    assert failed(claims, "theorem 9")
    study.largest.weight.cache_clear()


def test_a_largest_order_that_is_wrong_is_found(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        NeighboringPosteriors, "largest_order", scaled(NeighboringPosteriors.largest_order, 1.05)
    )
    assert failed(study.levels.levels("r").claims, "figure 5.1")


def test_a_simulation_that_is_off_is_found(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prior of 6.6 in place of 6 is noticed."""
    from discreet.priors import Beta

    simulated = study.heldout._simulated
    monkeypatch.setattr(
        study.heldout,
        "_simulated",
        lambda rng, runs, prior, *rest: simulated(rng, runs, Beta(6.6, 12), *rest),
    )
    panel = study.heldout.heldout("5.6", np.random.default_rng(0), 5000, 3, rate=0.5, order=15.0)
    assert failed(panel.claims, "figure 5.6")


def test_the_page_shows_what_the_study_found() -> None:
    page = (STUDIES.parent / "docs" / "explanation" / "geumlek2020-ch5.md").read_text(encoding="utf-8")
    found = (STUDIES / "results" / "geumlek2020_ch5.txt").read_text(encoding="utf-8")
    numbers = ("0.1913", "0.7183", "0.5264", "0.098", "0.022", "27.2", "2.6155", "1.35", "6.61", "2.84")
    for number in (*numbers, "3.7378", "10.5337"):
        assert number in page
        assert number in found
    assert "FAIL" not in found
