"""Hints that can be followed: what a message or a warning says to do is not refused in its turn."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreet as dc
from discreet.errors import EngineError, UsageError
from discreet.inference.engines.augment import augment_engine
from discreet.privacy.costs.posterior_neighbors import NeighboringPosteriors


def test_bounds_as_the_hint_writes_them() -> None:
    """They were refused, with themselves as the hint."""
    with pytest.raises(UsageError, match="needs bounds") as error:
        NeighboringPosteriors(dc.Exponential(), dc.priors.Gamma(1, 1), 10)
    assert error.value.hint == "for example bounds=(0, 100)"
    made = NeighboringPosteriors(dc.Exponential(), dc.priors.Gamma(1, 1), 10, bounds=(0, 100))  # pyright: ignore[reportArgumentType]
    assert made.bounds == ((Fraction(0), Fraction(100)),)


@pytest.mark.slow
def test_augment_sends_nobody_to_an_engine_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four columns: it said to compare with gibbs, which integrates over three."""
    release = dc.release(
        [[0.1, 0.2, 0.3, 0.4]] * 4,
        dc.MultivariateNormal(4),
        bounds=[(0, 1)] * 4,
        epsilon=5,
        outside="redact",
        missing="none",
    )
    monkeypatch.setattr(augment_engine, "_WARM_UP", (5, 5))
    with pytest.raises(EngineError, match="at most 3 columns"):
        dc.infer(release, engine="gibbs")
    (warning,) = [
        one
        for one in dc.infer(release, engine="augment", draws=4, chains=1, rng=0).diagnostics.warnings
        if "second mode" in one
    ]
    assert "compare a few calls with different rng" in warning
    assert "compare with engine='gibbs'" not in warning
