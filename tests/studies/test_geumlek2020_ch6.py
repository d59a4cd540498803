"""The study of amplification runs, and its claims can fail."""

from __future__ import annotations

import doctest
import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.privacy.amplification import GaussianKernel

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module; its parts are found next to it, as when it is run."""
    monkeypatch.syspath_prepend(str(STUDIES))
    return importlib.import_module("geumlek2020_ch6")


@pytest.mark.slow
def test_a_short_run_writes_picture_report_and_numbers(
    study: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study.main(["--trials", "100", "--out", str(tmp_path), "--check"]) == 0
    printed = capsys.readouterr().out
    assert "FAIL" not in printed
    assert (tmp_path / "geumlek2020_ch6.txt").read_text(encoding="utf-8") == printed
    numbers = json.loads((tmp_path / "geumlek2020_ch6.json").read_text(encoding="utf-8"))
    assert len(numbers["claims"]) == 18
    assert len(numbers["panels"]) == 6
    assert (tmp_path / "geumlek2020_ch6.png").stat().st_size > 20_000


def scaled(function: Callable[..., Any], factor: float) -> Callable[..., Any]:
    return lambda *given, **named: factor * function(*given, **named)


@pytest.mark.parametrize(
    ("part", "name", "panel", "source"),
    [
        ("forgetting", "coupling_bound", "laplace_twice", "theorem 20"),
        ("forgetting", "after_pure_ultra_mixing", "pure_after_mixing", "theorem 15"),
        ("moving", "iteration_rho", "iteration", "theorem 21"),
        ("moving", "shuffled_epsilons", "descent", "theorem 22"),
    ],
)
def test_bounds_that_are_too_small_are_found(
    study: Any, monkeypatch: pytest.MonkeyPatch, part: str, name: str, panel: str, source: str
) -> None:
    module = importlib.import_module(f"geumlek.{part}")
    monkeypatch.setattr(module, name, scaled(getattr(module, name), 0.9))
    rng = np.random.default_rng(0)
    claims = getattr(module, panel)(rng, 100 if panel != "descent" else 2).claims
    assert any(claim.source == source and not claim.holds for claim in claims)


def test_walks_that_tell_more_than_noise_are_found(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    walking = importlib.import_module("geumlek.walking")
    # normal noise of a tenth more, which a walk of the asked noise does beat
    monkeypatch.setattr(walking, "GaussianKernel", lambda sigma, radius: GaussianKernel(1.1 * sigma, radius))
    monkeypatch.setattr(walking, "_after_noise", scaled(walking._after_noise, 1.1))
    assert not any(claim.holds for claim in walking.walks())


def test_the_page_shows_what_the_study_found() -> None:
    """The example runs, and each number of the prose that the study decides is in its report."""
    page = (STUDIES.parent / "docs" / "explanation" / "amplification.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```pycon\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest(block, {}, "amplification", None, 0)
    failed, tried = doctest.DocTestRunner(verbose=False).run(test)
    assert (failed, tried) == (0, 4)
    found = (STUDIES / "results" / "geumlek2020_ch6.txt").read_text(encoding="utf-8")
    numbers = ("0.7353", "0.6191", "0.4006", "0.2717", "0.000342", "0.00127", "0.18", "1.56", "1.55", "2.769")
    for number in (*numbers, "0.502", "1.009", "0.9999", "4.564", "4.637", "4.684", "4.561"):
        assert number in page
        assert number in found
