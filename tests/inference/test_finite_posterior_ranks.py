"""Ranks of the truth in posteriors read from draws on a finite set; the draws as they are fail."""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dc


def found(samples: int, engine: Any, trials: int) -> Any:
    """Ranks under a prior that is not bound to the set."""
    mechanism = dc.mechanisms.FinitePosterior([0.1, 0.3, 0.5, 0.7], epsilon=0.3 * samples, samples=samples)
    how = {"prior": "beta:4,6", "trials": trials, "rng": 18, "workers": 1, "progress": False}
    return dc.calibrate(dc.Bernoulli(), n=600, mechanism=mechanism, engine=engine, **how)


@pytest.mark.slow
def test_ranks_are_uniform() -> None:
    assert found(1, "auto", 300).passed(1e-4)


@pytest.mark.slow
def test_draws_handed_on_as_they_are_fail() -> None:
    """The control: the truth among 20 draws, which are four values."""
    assert not found(20, "naive", 300).passed(1e-3)
