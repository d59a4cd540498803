"""The band holds a whole distribution function as often as it says."""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from scipy import stats

from discreet.errors import UsageError
from discreet.validation.bands import (
    Band,
    _pointwise,
    empirical,
    probability_inside,
    simultaneous_band,
)

RARE = 1e-6


def by_enumeration(size: int, low: np.ndarray, high: np.ndarray) -> float:
    """Add up the multinomial probabilities of every way to fill the cells between the points."""
    k = len(low) + 1
    total = 0.0
    for cells in product(range(size + 1), repeat=k):
        if sum(cells) == size:
            path = np.cumsum(cells)[:-1]
            if ((path >= low) & (path <= high)).all():
                total += factorial(size) / prod(map(factorial, cells)) / k**size
    return total


@pytest.mark.parametrize(
    ("size", "low", "high"),
    [
        (5, [0, 1, 2], [3, 4, 5]),
        (5, [0, 0, 0], [5, 5, 5]),
        (4, [1, 1, 1, 3], [1, 3, 4, 4]),
        (6, [0, 3, 3], [2, 3, 6]),
        (3, [2, 2], [1, 3]),
        (2, [], []),
    ],
)
def test_the_probability_is_exact(size: int, low: list[int], high: list[int]) -> None:
    limits = np.array(low, dtype=int), np.array(high, dtype=int)
    assert probability_inside(size, *limits) == pytest.approx(by_enumeration(size, *limits), rel=1e-12)


@pytest.mark.parametrize("prob", [0.5, 0.95])
@pytest.mark.parametrize("size", [10, 100, 1000])
def test_uniform_samples_stay_inside_as_often_as_the_band_says(
    size: int, prob: float, rng: np.random.Generator
) -> None:
    band = simultaneous_band(size, prob)
    exact = probability_inside(size, *(np.rint(limit * size).astype(int) for limit in (band.low, band.high)))
    # counts jump, so the level is met from above; the jumps of ten values are large
    assert prob <= exact < prob + (0.1 if size == 10 else 0.04)
    trials = 2000
    inside = sum(band.holds(rng.random(size)) for _ in range(trials))
    assert stats.binomtest(inside, trials, exact).pvalue > RARE
    if size == 1000 and prob == 0.95:
        assert abs(inside / trials - 0.95) < 0.025


def test_the_next_narrower_band_holds_less_often_than_asked_for() -> None:
    size, prob = 200, 0.95
    band = simultaneous_band(size, prob)
    low, high = (np.rint(limit * size).astype(int) for limit in (band.low, band.high))
    gamma = 2 * min(stats.binom.cdf(low - 1, size, band.points).max(), 0.5)
    gammas = np.geomspace(gamma, 0.05, 400)
    narrower = next(
        limits
        for limits in (_pointwise(size, band.points, g) for g in gammas)
        if (limits[0] > low).any() or (limits[1] < high).any()
    )
    assert probability_inside(size, *narrower) < prob


def test_the_band_lies_between_pointwise_and_bonferroni() -> None:
    band = simultaneous_band(400, 0.95)
    single = _pointwise(400, band.points, 0.05)
    divided = _pointwise(400, band.points, 0.05 / len(band.points))
    low, high = np.rint(band.low * 400), np.rint(band.high * 400)
    assert (divided[0] <= low).all()
    assert (low <= single[0]).all()
    assert (single[1] <= high).all()
    assert (high <= divided[1]).all()
    assert (low < single[0]).any()


def test_a_sample_that_is_not_uniform_leaves_the_band(rng: np.random.Generator) -> None:
    band = simultaneous_band(500, 0.99)
    assert not band.holds(rng.beta(0.6, 0.6, 500))
    assert not band.holds(rng.beta(1, 1.5, 500))


def test_limits_are_included() -> None:
    values = np.array([0.1, 0.6, 0.7])
    points = np.array([1 / 3, 2 / 3])
    assert empirical(values, points) == pytest.approx([1 / 3, 2 / 3])
    share = empirical(values, points)
    assert Band(points, share, share, 0.5).holds(values)
    assert not Band(points, share + 1 / 3, share + 1 / 3, 0.5).holds(values)


@pytest.mark.parametrize("prob", [0, 1, -0.1, float("nan")])
def test_a_probability_is_wanted(prob: float) -> None:
    with pytest.raises(UsageError, match="prob"):
        simultaneous_band(10, prob)


def test_one_value_has_nothing_to_leave() -> None:
    assert simultaneous_band(1).holds(np.array([0.3]))
