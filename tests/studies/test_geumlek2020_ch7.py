"""The study of profile-based privacy runs, and its claims can fail."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.profiles import KRandomizedResponse, RandomizedResponse

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module; its parts are found next to it, as when it is run."""
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("geumlek2020_ch7")


def failed(panel: Any) -> set[str]:
    return {claim.source for claim in panel.claims if not claim.holds}


@pytest.mark.slow
def test_a_quick_run_writes_picture_report_and_numbers(
    study: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study.main(["--quick", "--out", str(tmp_path), "--check"]) == 0
    printed = capsys.readouterr().out
    assert "FAIL" not in printed
    assert (tmp_path / "geumlek2020_ch7.txt").read_text(encoding="utf-8") == printed
    numbers = json.loads(
        (tmp_path / "geumlek2020_ch7.json").read_text(encoding="utf-8"), parse_constant=pytest.fail
    )
    assert len(numbers["claims"]) == 19
    assert len(numbers["panels"]) == 7
    assert (tmp_path / "geumlek2020_ch7.png").stat().st_size > 50_000


def test_flips_that_are_too_many_are_found(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = study.couplet._flip
    monkeypatch.setattr(study.couplet, "_flip", lambda *given: 1.001 * honest(*given))
    assert failed(study.couplet.closed_form(np.random.default_rng(0), 50)) == {"observation 10"}
    assert failed(study.couplet.couplet(4)) == {"figure 7.2"}


def test_a_printed_form_that_were_right_is_found(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study.couplet, "printed_bound", study.couplet._program)
    assert failed(study.couplet.closed_form(np.random.default_rng(0), 50)) == {"observation 10"}


def test_mechanisms_that_are_no_better_than_the_baseline_are_found(
    study: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    epsilons = np.array([0.2, 0.5])
    monkeypatch.setattr(study.chains, "SmoothOneBit", RandomizedResponse)
    assert failed(study.chains.bernoulli(6, epsilons)) == {"figures 7.5, 7.7", "section 7.5.1"}
    monkeypatch.setattr(study.chains, "SmoothCategorical", KRandomizedResponse)
    assert failed(study.chains.categorical(epsilons)) == {"figure 7.4", "program 7.7"}


def test_a_baseline_with_too_little_noise_is_found(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = KRandomizedResponse.fit
    monkeypatch.setattr(
        KRandomizedResponse, "fit", lambda self, graph, epsilon: honest(self, graph, 1.1 * epsilon)
    )
    assert failed(study.together.processing(np.random.default_rng(0), 20)) == {"theorem 26"}


def test_losses_that_are_too_large_are_found(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = study.together._loss
    monkeypatch.setattr(study.together, "_loss", lambda distributions: 1.01 * honest(distributions))
    epsilons = np.array([0.2, 0.5, 1.0])
    assert failed(study.together.composition(epsilons)) == {"observation 8", "observation 9"}


def test_the_page_shows_what_the_study_found() -> None:
    page = (STUDIES.parent / "docs" / "explanation" / "geumlek2020-ch7.md").read_text(encoding="utf-8")
    found = (STUDIES / "results" / "geumlek2020_ch7.txt").read_text(encoding="utf-8")
    numbers = ("0.3018", "0.3219", "0.4502", "0.3965", "0.0997", "0.8161", "0.1583", "0.1481", "30%", "219")
    for number in numbers:
        assert number in page
        assert number in found
    assert "FAIL" not in found
