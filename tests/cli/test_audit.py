"""``discreet audit``."""

from __future__ import annotations

import json

import pytest

from discreet.cli import run


def test_the_bound_and_the_verdict_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "audit -m bernoulli --epsilon 1 --runs 1000 --bound-only --confidence 0.9999 --seed 1".split()
    assert run(arguments) == 0
    shown = capsys.readouterr().out
    assert "pure differential privacy with epsilon = 1" in shown
    assert "with confidence 99.99%" in shown
    assert "passed: nothing speaks against the claim" in shown
    assert run([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "discreet/audit/1"
    assert found["passed"]
    assert 0 <= found["epsilon_lower"] <= 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("-m bernoulli", "give a budget"),
        ("-m mean --epsilon 1", "bounds"),
        ("-m bernoulli --epsilon 1 --runs 3", "runs must be"),
        ("-m bernoulli --epsilon 1 --mechanism langevin", "langevin"),
    ],
)
def test_bad_options_are_one_line(arguments: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", *arguments.split()]) == 2
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.startswith("error: ")
    assert words in first
    assert len(rest) <= 1
