"""Ranks of the truth in posteriors read from released draws; handed on as they are, the draws fail."""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dc

OPS = dc.mechanisms.PosteriorSampling
RENYI = dc.mechanisms.RenyiPosterior
# family, bounds, prior of the mechanism and of the analyst, support, order of the Rényi divergence, and what a tempered
# and a rebalanced draw cost: temperatures of about 20
CASES: dict[str, tuple[Any, Any, str, Any, float, float, float]] = {
    "bernoulli": (dc.Bernoulli(), None, "beta:4,6", (0.05, 0.95), 1.5, 0.3, 0.02),
    "categorical": (dc.Categorical(list("abc")), None, "dirichlet:3,3,3", 0.03, 1.5, 0.35, 0.02),
    "poisson": (dc.Poisson(), (0, 12), "gamma:6,2", (0.3, 10), 1.1, 2.1, 0.1),
    "exponential": (dc.Exponential(), (0, 6), "gamma:6,4", (0.2, 6), 1.1, 1.7, 0.1),
    "normal": (dc.Normal(variance=4), (-8, 8), "normal:0,2", (-6, 6), 2, 2.4, 0.02),
}
# one false alarm in a thousand over all that is tested here
RATE = 1e-3 / (3 * len(CASES))
TRIALS = 300


def mechanism(case: str, way: str, samples: int) -> Any:
    """Return a mechanism of which every sample costs the same, however many there are."""
    _, _, prior, support, order, tempered, rebalanced = CASES[case]
    if way == "tempered":
        # 256 points, so that a trial takes a moment
        cells = None if case == "categorical" else 256
        return OPS(prior, epsilon=tempered * samples, samples=samples, support=support, cells=cells)
    return RENYI(prior, order=order, epsilon=rebalanced * samples, samples=samples, mode=way)  # pyright: ignore


def found(case: str, way: str, *, samples: int = 1, engine: Any = "auto", trials: int = TRIALS) -> Any:
    family, bounds, prior, *_ = CASES[case]
    return dc.calibrate(
        family,
        n=600,
        mechanism=mechanism(case, way, samples),
        prior=prior,
        bounds=bounds,
        engine=engine,
        trials=trials,
        rng=18,
        workers=1,
        progress=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", ["tempered", "diffused", "concentrated"])
@pytest.mark.parametrize("case", CASES)
def test_ranks_are_uniform(case: str, way: str) -> None:
    assert found(case, way).passed(RATE)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["tempered", "diffused", "concentrated"])
def test_several_draws_together(way: str) -> None:
    assert found("poisson", way, samples=5).passed(RATE)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["tempered", "diffused", "concentrated"])
@pytest.mark.parametrize("case", CASES)
def test_draws_handed_on_as_they_are_fail(case: str, way: str) -> None:
    """The control: the truth among 20 released draws themselves, at the same price each.

    They are from another posterior than the analyst's. At a much lower price they would be draws of the prior, among
    which the truth, drawn from it too, has uniform ranks.
    """
    assert not found(case, way, samples=20, engine="naive").passed(1e-3)


def test_a_few_trials_of_one_family() -> None:
    """What the default suite can afford; the control with it."""
    assert found("bernoulli", "diffused", trials=40).passed(1e-3)
    assert not found("poisson", "tempered", samples=20, engine="naive", trials=100).passed(1e-3)
