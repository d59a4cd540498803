"""How the exact engine draws: indices from weights, and beta variables given counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.inference.counts.weights import log_rising, sample_index
from discreet.inference.models.bernoulli import _betas

WEIGHTS = {
    "one": np.ones(1),
    "holes": np.array([0.0, 0.0, 3.0, 0.0, 1.0, 0.0]),
    "powers of two": np.full(256, 0.25),
    "steep": np.exp(-np.arange(900.0)),
    "peaked": np.exp(-np.abs(np.arange(1001.0) - 300) / 10),
    "longer than the sample": np.linspace(1, 2, 5001),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_an_index_is_where_its_level_falls(name: str) -> None:
    """The guide changes nothing: the same levels, looked up one by one, give the same indices."""
    weights, size = WEIGHTS[name], 2000
    drawn = sample_index(weights, size, np.random.default_rng(5))
    levels = np.random.default_rng(5).random(size)
    expected = np.searchsorted(np.cumsum(weights) / weights.cumsum()[-1], levels, side="right")
    assert np.array_equal(drawn, expected)
    assert weights[drawn].min() > 0


def test_the_first_and_the_last_level() -> None:
    class Extreme:
        def random(self, size: int) -> np.ndarray:
            return np.resize([0.0, np.nextafter(1.0, 0.0), 0.5], size)

    for weights in WEIGHTS.values():
        heavy = np.flatnonzero(weights)
        drawn = sample_index(weights, 3000, Extreme())  # pyright: ignore[reportArgumentType]
        assert drawn[0] == heavy[0]
        # weights below 2^-53 of the sum have no level of their own
        assert weights[drawn[1]] > 0
        assert drawn[0] <= drawn[2] <= drawn[1] <= heavy[-1]


def test_ratios_of_a_flat_prior_are_all_one() -> None:
    """What is returned at once for alpha = 1 is what the ratios give beside it."""
    assert np.array_equal(log_rising(1.0, 3, 9), np.zeros(7))
    beside = log_rising(1.0 + 1e-12, 3, 9)
    assert 0 < np.abs(beside).max() < 1e-11


@pytest.mark.parametrize(
    "shapes", [(1.01, 1.01), (1.2, 30.0), (2.0, 2.0), (301.0, 701.0), (3.0, 1e9), (0.3, 5.0), (7e8, 3e8)]
)
def test_betas_follow_their_distribution(shapes: tuple[float, float], rng: np.random.Generator) -> None:
    a, b = shapes
    drawn = _betas(np.full(20_000, a), np.full(20_000, b), a + b, rng)
    # seven distributions, each with a control a tenth of a standard deviation away
    distribution = stats.beta(a, b)
    assert stats.kstest(drawn, distribution.cdf).pvalue > 1e-3 / 14
    assert stats.kstest(drawn + distribution.std() / 10, distribution.cdf).pvalue < 1e-3 / 14


class Twice:
    """The same uniforms again: a generator whose first candidates are known."""

    def __init__(self, uniforms: np.ndarray) -> None:
        self.uniforms = uniforms

    def random(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.broadcast_to(self.uniforms[:, None], shape).copy()

    def beta(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.full(a.shape, np.nan)


@pytest.mark.parametrize("shapes", [(1.01, 1.01), (3.0, 40.0), (301.0, 701.0), (3e8, 7e8)])
def test_candidates_are_accepted_as_the_densities_say(shapes: tuple[float, float]) -> None:
    """The odds of acceptance follow the density of the beta over that of the candidate, and never exceed 1."""
    a, b = shapes
    first = np.linspace(0.001, 0.999, 999)
    spread = np.sqrt((a + b - 2) / (2 * a * b - a - b))
    x = spread * np.log(first / (1 - first))
    p = 1 / (1 + b / a * np.exp(-x))
    # log density of the log odds of p, over that of the logistic candidate
    log_odds = stats.beta.logpdf(p, a, b) + np.log(p) + np.log1p(-p) - np.log(first * (1 - first))
    accept = np.exp(log_odds - np.interp(0.5, first, log_odds))
    for u, chance, expected in zip(first[::37], accept[::37], p[::37], strict=True):
        assert chance <= 1 + 1e-6
        for v, kept in ((chance * (1 - 1e-5), True), (chance * (1 + 1e-5), False)):
            if 1e-300 < v < 1:
                one = np.ones(1)
                (drawn,) = _betas(one * a, one * b, a + b, Twice(np.array([u, v])))  # pyright: ignore[reportArgumentType]
                assert np.isnan(drawn) != kept
                if kept:
                    assert abs(drawn - expected) < 1e-12
