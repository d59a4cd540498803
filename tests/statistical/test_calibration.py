"""The promise of the exact engine: calibrated for every n, epsilon, noise distribution and neighbor relation.

Each setting runs 1,000 trials; the p-values of all assertions share a false-alarm rate of 1e-3 (see
``ranks.THRESHOLD``). The default suite has every n, every epsilon, every policy and both neighbor relations at least
once; all their combinations are marked ``slow``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest

import discreet as dc
from tests.statistical.ranks import THRESHOLD, Setting, simulate, tails_p, uniform_p

TRIALS = 1000
FAMILIES = {"bernoulli": dc.Bernoulli(), "categorical": dc.Categorical(4)}
SIZES = (10, 100, 1000)
EPSILONS = (0.01, 0.1, 1.0)


def some(combinations: Iterable[tuple[Any, ...]], wanted: Callable[..., bool]) -> list[Any]:
    """Mark the combinations that the default suite can do without."""
    return [each if wanted(*each) else pytest.param(*each, marks=pytest.mark.slow) for each in combinations]


def each_once(*setting: Any) -> bool:
    """Whether the default suite runs a setting: each n, epsilon, family and neighbor relation is there."""
    return setting in {
        ("bernoulli", 1.0, 10, "add_remove"),
        ("bernoulli", 0.01, 1000, "add_remove"),
        ("categorical", 0.1, 100, "replace"),
    }


@pytest.mark.parametrize(
    ("family", "epsilon", "n", "neighbors"),
    some(product(FAMILIES, EPSILONS, SIZES, ["replace", "add_remove"]), each_once),
)
def test_ranks_are_uniform(
    family: str, epsilon: float, n: int, neighbors: str, rng: np.random.Generator
) -> None:
    setting = Setting(FAMILIES[family], dc.mechanisms.Laplace(epsilon), n, neighbors)  # pyright: ignore[reportArgumentType]
    ranks = simulate(setting, TRIALS, rng)
    assert uniform_p(ranks[:, 0]) > THRESHOLD
    assert tails_p(ranks[:, 0]) > THRESHOLD
    if family == "categorical":
        assert uniform_p(ranks[:, -1]) > THRESHOLD


MECHANISMS = {"laplace": dc.mechanisms.Laplace(0.1), "gaussian": dc.mechanisms.Gaussian(rho=0.005)}


@pytest.mark.parametrize(
    ("family", "distribution", "n"),
    some(
        product(FAMILIES, MECHANISMS, (10, 100)),
        lambda *setting: setting == ("bernoulli", "laplace", 10),
    ),
)
def test_ranks_are_uniform_with_missing_values_counted(family, distribution, n, rng) -> None:
    ranks = simulate(Setting(FAMILIES[family], MECHANISMS[distribution], n, missing="count"), TRIALS, rng)
    assert uniform_p(ranks[:, 0]) > THRESHOLD


@pytest.mark.parametrize(
    ("family", "neighbors"),
    some(
        product(FAMILIES, ["replace", "add_remove"]),
        lambda family, neighbors: family == "bernoulli" and neighbors == "add_remove",
    ),
)
def test_ranks_are_uniform_with_gaussian_noise(family, neighbors, rng) -> None:
    setting = Setting(FAMILIES[family], dc.mechanisms.Gaussian(epsilon=0.5, delta=1e-5), 100, neighbors)
    assert uniform_p(simulate(setting, TRIALS, rng)[:, 0]) > THRESHOLD


@pytest.mark.parametrize("family", FAMILIES)
def test_the_naive_engine_is_rejected(family: str, rng: np.random.Generator) -> None:
    setting = Setting(FAMILIES[family], dc.mechanisms.Laplace(0.1), 100, engine="naive")
    assert uniform_p(simulate(setting, 300, rng)[:, 0]) < 1e-10


@pytest.mark.parametrize("claimed", [0.08, pytest.param(0.125, marks=pytest.mark.slow)])
def test_twenty_percent_too_much_or_too_little_noise_is_rejected(
    claimed: float, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control of the whole harness: an engine that believes a scale 20% off fails."""
    from discreet.artifact import Release
    from discreet.privacy import DiscreteLaplace

    believed = DiscreteLaplace(2 / claimed)
    monkeypatch.setattr(Release, "noise", (believed, believed))
    setting = Setting(dc.Bernoulli(), dc.mechanisms.Laplace(0.1), 300)
    assert tails_p(simulate(setting, 2 * TRIALS, rng)[:, 0]) < THRESHOLD


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bernoulli", "categorical"])
def test_intervals_cover_with_a_tenth_missing_at_random(family: str, rng: np.random.Generator) -> None:
    n = 10_000

    def lose_a_tenth(data: np.ndarray, n: int) -> np.ndarray:
        data[rng.random(n) < 0.1] = np.nan
        return data

    setting = Setting(FAMILIES[family], dc.mechanisms.Laplace(1), n, missing="count")
    ranks = simulate(setting, TRIALS, rng, keep=lose_a_tenth)[:, 0]
    covered = float(np.mean((ranks > 0.025) & (ranks < 0.975)))
    assert 0.93 <= covered <= 0.97


STRONGER = {
    "bernoulli": (dc.Bernoulli(), dc.priors.Beta(2, 8)),
    "categorical": (dc.Categorical(10), dc.priors.Dirichlet([0.3] * 5 + [4.0] * 5)),
}


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["count", "none"])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("n", [30, 300, 10_000])
@pytest.mark.parametrize("epsilon", [0.03, 0.3])
@pytest.mark.parametrize("family", STRONGER)
def test_long_run_with_uneven_priors(family, epsilon, n, neighbors, missing, rng) -> None:
    """Three thousand trials each, with priors that are not flat and ten cells."""
    model, prior = STRONGER[family]
    setting = Setting(model, dc.mechanisms.Laplace(epsilon), n, neighbors, missing, prior=prior)
    ranks = simulate(setting, 3 * TRIALS, rng)
    assert uniform_p(ranks[:, 0]) > THRESHOLD
    assert tails_p(ranks[:, 0]) > THRESHOLD
    assert uniform_p(ranks[:, -1]) > THRESHOLD
