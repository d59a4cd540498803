"""The study of smooth likelihoods runs, its claims can fail, and the page shows what it found."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module; its parts are found next to it, as when it is run."""
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("dimitrakakis2017")


@pytest.mark.slow
def test_a_run_writes_picture_report_and_numbers(
    study: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study.main(["--out", str(tmp_path), "--check"]) == 0
    printed = capsys.readouterr().out
    assert "FAIL" not in printed
    assert (tmp_path / "dimitrakakis2017.txt").read_text(encoding="utf-8") == printed
    numbers = json.loads((tmp_path / "dimitrakakis2017.json").read_text(encoding="utf-8"))
    assert len(numbers["claims"]) == 28
    assert len(numbers["panels"]) == 6
    assert (tmp_path / "dimitrakakis2017.png").stat().st_size > 20_000


def failed(panel: Any) -> set[str]:
    return {claim.source for claim in panel.claims if not claim.holds}


def test_printed_constants_are_caught(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the printed numbers in place of the library's, their claims fail."""
    lemmas, records, draws = (
        importlib.import_module(f"dimitrakakis.{name}") for name in ("lemmas", "records", "draws")
    )
    honest = lemmas.examples
    monkeypatch.setattr(
        lemmas,
        "examples",
        lambda: [
            replace(one, constants=replace(one.constants, ratio=max(1.0, one.printed))) for one in honest()
        ],
    )
    assert failed(lemmas.ratios()) == {"lemma 20", "lemma 22"}
    network = records.network_posterior
    monkeypatch.setattr(records, "network_posterior", lambda *a, **k: network(*a, **k | {"changed": "value"}))
    assert "lemma 24" in failed(records.neighbors(np.random.default_rng(0)))
    monkeypatch.setattr(
        draws,
        "distinguishing_distance",
        lambda constant, n, error: 3 * np.log(1 / error) / (4 * constant * n),
    )
    assert failed(draws.adversaries(np.random.default_rng(0))) == {"theorem 13"}


def test_other_wrong_numbers_are_caught(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    coins, draws = (importlib.import_module(f"dimitrakakis.{name}") for name in ("coins", "draws"))
    guarantee = coins.lipschitz_posterior
    monkeypatch.setattr(
        coins, "lipschitz_posterior", lambda level, metric: guarantee(0.9 * float(level), metric)
    )
    assert "theorem 8.1" in failed(coins.smooth_mass("uniform", weighted=False))
    growth = draws.StochasticLipschitz.growth
    monkeypatch.setattr(draws.StochasticLipschitz, "growth", lambda self, r: min(growth(self, r), np.e))
    monkeypatch.setattr(draws, "kl_bound", lambda constant, distance: constant * distance / 1000)
    assert {"theorem 7.1", "theorem 7.2"} <= failed(draws.deltas())


def test_the_page_shows_what_the_study_found() -> None:
    """Each number of the prose that the study decides is in its report."""
    page = (STUDIES.parent / "docs" / "explanation" / "dimitrakakis2017.md").read_text(encoding="utf-8")
    found = (STUDIES / "results" / "dimitrakakis2017.txt").read_text(encoding="utf-8")
    for number in (
        "1.386",
        "2.944",
        "0.707",
        "1.325",
        "0.269",
        "0.688",
        "20.086",
        "0.360",
        "1.094",
        "1.064",
        "1.383",
        "9.488",
        "68.0",
        "1518",
        "17.67",
        "11.98",
        "4.71",
        "0.223",
        "137.2",
        "3.000",
        "4.5e-05",
        "0.974",
    ):
        assert number in page
        assert number in found
