"""Bounds bought with private quantiles, through the whole release: price, grid, odd rows, and what is refused."""

from __future__ import annotations

import inspect
import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import discreet as dc
from discreet.artifact import BoundsChoice
from discreet.curator.publish import release_with
from discreet.domain.bin_grid import Grid
from discreet.mechanisms.quantile import plan_choices, quantile_distributions
from discreet.privacy import PermuteAndFlip
from discreet.samplers.secure import secure_choose
from tests.mechanisms.test_quantile import THRESHOLD


def seeded(data: Any, family: Any, mechanism: Any, rng: np.random.Generator, **options: Any) -> dc.Release:
    return release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        data,
        family,
        mechanism,
        choose=lambda distribution: distribution.sample(rng),
        **options,
    )


def test_the_price_of_bounds_adds_up() -> None:
    x = np.linspace(0, 50, 500)
    bounds = dc.mechanisms.PrivateQuantiles(0.025, 0.975, within=(0, 100), epsilon=0.1)
    for neighbors in ("replace", "add_remove"):
        made = dc.release(x, dc.Normal(), bounds=bounds, epsilon=0.5, neighbors=neighbors)
        assert made.guarantee == dc.PureDP("0.6", neighbors=neighbors)
        assert made.guarantees == {
            "statistics": dc.PureDP("0.5", neighbors=neighbors),
            "bounds": dc.PureDP("0.1", neighbors=neighbors),
        }
    by_rho = dc.release(x, dc.Normal(), bounds=bounds, mechanism="gaussian", rho=0.5)
    assert by_rho.guarantee == dc.ZeroConcentratedDP(Fraction(1, 2) + Fraction(1, 200))
    by_delta = dc.release(x, dc.Normal(), bounds=bounds, mechanism="gaussian", epsilon=1, delta=1e-6)
    assert by_delta.guarantee == dc.ApproxDP("1.1", "1e-6")
    # what is left for the totals is not touched: the noise is that of epsilon = 0.5
    declared = dc.release(x, dc.Normal(), bounds=(0, 100), epsilon=0.5)
    assert made.noise_record.scale != declared.noise_record.scale or made.neighbors != "replace"
    again = dc.release(x, dc.Normal(), bounds=bounds, epsilon=0.5)
    assert again.mechanism == declared.mechanism


def test_rich_bounds_are_the_quantiles(rng: np.random.Generator) -> None:
    """With a large budget the chosen cells are the right ones, to within a cell."""
    x = rng.exponential(10, 5000)
    bounds = dc.mechanisms.PrivateQuantiles("0.1", "0.9", within=(0, 128), epsilon=1000)
    made = dc.release(x, dc.Exponential(), bounds=bounds, epsilon=1)
    assert made.domain.bounds is not None
    ((low, high),) = made.domain.bounds
    assert abs(float(low) - np.quantile(x, 0.1)) <= 0.125 + 0.01
    assert abs(float(high) - np.quantile(x, 0.9)) <= 0.125 + 0.05
    assert low.denominator in (1, 2, 4, 8)
    assert high.denominator in (1, 2, 4, 8)
    assert made.bounds_choice == (
        BoundsChoice(
            "permute_and_flip",
            (Fraction(1, 10), Fraction(9, 10)),
            (Fraction(0), Fraction(128)),
            1024,
            Fraction(1000),
        ),
    )


def test_chance_decides_as_the_distribution_says(rng: np.random.Generator) -> None:
    """Through the whole release: the lower bound's frequencies, at a budget where several cells are likely."""
    x = np.array([0.5] * 3 + [1.5] * 4 + [2.5] * 5 + [3.5] * 2 + [np.nan] * 3 + [np.inf, -np.inf])
    counts = (4, 4, 5, 3)
    asked = dc.mechanisms.PrivateQuantiles("1/4", "3/4", within=(0, 4), epsilon=1, cells=4)
    (plan,) = plan_choices(asked, dc.Normal())
    distribution, _ = quantile_distributions(counts, plan, "replace")
    seen = []

    def choose(which: PermuteAndFlip) -> int:
        seen.append(which)
        return which.sample(rng)

    lows = []
    for _ in range(600):
        made = release_with(
            lambda _: 0, x, dc.Normal(), dc.mechanisms.Laplace(1), bounds=asked, choose=choose
        )
        assert made.domain.bounds is not None
        lows.append(made.domain.bounds[0][0])
    assert set(seen[::2]) == {distribution}
    low_mass, high_mass = (one.mass() for one in quantile_distributions(counts, plan, "replace"))
    grid, expected = plan.grid(dc.Normal()), dict.fromkeys(range(5), 0.0)
    for i, j in product(range(4), repeat=2):
        expected[int(grid.pair(i, j)[0])] += low_mass[i] * high_mass[j]
    observed = [lows.count(Fraction(k)) for k in range(5) if expected[k] > 0]
    share = np.array([e for e in expected.values() if e > 0])
    assert chisquare(observed, share * len(lows)).pvalue > THRESHOLD


@pytest.mark.parametrize("family", [dc.Poisson(), dc.Geometric()], ids=["poisson", "geometric"])
@pytest.mark.parametrize("within", [(0, 1), (0, 9), (3, 100_000), (0, 2**60)])
def test_counts_get_integer_bounds(family, within, rng: np.random.Generator) -> None:
    for epsilon in ("0.001", 1000):
        asked = dc.mechanisms.PrivateQuantiles("0.1", "0.9", within=within, epsilon=epsilon)
        made = seeded(rng.poisson(4, 50), family, dc.mechanisms.Laplace(1), rng, bounds=asked)
        assert made.domain.bounds is not None
        ((low, high),) = made.domain.bounds
        assert low.denominator == high.denominator == 1
        assert within[0] <= low < high <= within[1]
        assert dc.Release.from_json(made.to_json()) == made


def test_several_columns_share_the_price(rng: np.random.Generator) -> None:
    x = rng.normal([40, 120], [12, 15], (3000, 2))
    x[::7, 0] = np.nan
    one = dc.mechanisms.PrivateQuantiles("0.1", "0.9", within=[(0, 100), (0, 300)], epsilon=400)
    made = seeded(x, dc.MultivariateNormal(2), dc.mechanisms.Laplace(1), rng, bounds=one)
    assert made.guarantee == dc.PureDP(401)
    assert made.bounds_choice is not None
    assert [c.epsilon for c in made.bounds_choice] == [200, 200]
    assert made.domain.bounds is not None
    usable = x[~np.isnan(x).any(axis=1)]
    for pair, column in zip(made.domain.bounds, usable.T, strict=True):
        assert np.allclose([float(b) for b in pair], np.quantile(column, [0.1, 0.9]), atol=0.6)
    same = dc.mechanisms.PrivateQuantiles("0.1", "0.9", within=(0, 300), epsilon=1)
    assert [c.within for c in plan_choices(same, dc.MultivariateNormal(2))] == [(0, 300)] * 2
    parts = [
        dc.mechanisms.PrivateQuantiles("0.1", "0.9", within=(0, 100), epsilon="0.1"),
        dc.mechanisms.PrivateQuantiles("0.2", "0.7", within=(0, 300), epsilon="0.3", cells=64),
    ]
    made = dc.release(x, dc.MultivariateNormal(2), bounds=parts, epsilon=1, neighbors="add_remove")
    assert made.guarantee == dc.PureDP("1.4", neighbors="add_remove")
    assert dc.Release.from_json(made.to_json()) == made


@pytest.mark.parametrize("rows", [[None] * 5, [math.nan] * 5, ["word"] * 5, [math.inf] * 5, [5] * 5])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_rows_that_say_nothing_raise_nothing(rows, neighbors, capfd, caplog, recwarn) -> None:
    asked = dc.mechanisms.PrivateQuantiles(0.025, 0.975, within=(0, 10), epsilon=1)
    made = dc.release(rows, dc.Normal(), bounds=asked, epsilon=1, neighbors=neighbors)
    assert made.domain.bounds is not None
    ((low, high),) = made.domain.bounds
    assert 0 <= low < high <= 10
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert not recwarn.list


def test_an_empty_table() -> None:
    asked = dc.mechanisms.PrivateQuantiles(0.025, 0.975, within=(0, 10), epsilon=1)
    with pytest.raises(dc.errors.UsageError, match="empty"):
        dc.release([], dc.Normal(), bounds=asked, epsilon=1)
    assert dc.release([], dc.Normal(), bounds=asked, epsilon=1, neighbors="add_remove").records is None


def test_release_offers_no_sampler_for_bounds() -> None:
    assert "choose" not in inspect.signature(dc.release).parameters
    assert inspect.signature(release_with).parameters["choose"].default is secure_choose


# -- the grid ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("within", [(0, 1), (-3, 7), (0, 100)])
@pytest.mark.parametrize("cells", [2, 3, 8])
def test_bounds_are_sorted_widened_and_on_the_grid(within, cells, discrete) -> None:
    low, high = map(Fraction, within)
    grid = Grid.over(low, high, cells, discrete=discrete)
    assert grid.lower(0) == low
    assert grid.upper(grid.n_cells - 1) == high
    for i, j in product(range(grid.n_cells), repeat=2):
        a, b = grid.pair(i, j)
        assert low <= a < b <= high
        assert grid.holds(a, b)
        if grid.lower(i) < grid.upper(j):
            assert (a, b) == (grid.lower(i), grid.upper(j))
        elif grid.lower(i) > grid.upper(j):
            assert (a, b) == (grid.upper(j), grid.lower(i))
        else:
            assert b - a <= grid.step
        if discrete:
            assert a.denominator == b.denominator == 1
    assert not grid.holds(low, low)
    assert not grid.holds(low - 1, high)
    assert not grid.holds(low, high - Fraction(1, 1000))


# -- what is refused ---------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {"within": (0, 10), "epsilon": 1}


@pytest.mark.parametrize(
    ("quantiles", "options", "message"),
    [
        ((0, 0.9), GOOD, "quantiles must be between 0 and 1"),
        ((0.1, 1), GOOD, "quantiles must be between 0 and 1"),
        ((-0.1, 0.9), GOOD, "quantiles must be between 0 and 1"),
        ((0.9, 0.1), GOOD, "the lower quantile comes first"),
        ((0.5, 0.5), GOOD, "the lower quantile comes first"),
        ((float("nan"), 0.5), GOOD, "quantile must be a finite number"),
        ((1 / 3, 0.5), GOOD, "at most six decimals"),
        ((0.1, 0.9), {"epsilon": 1}, "need within"),
        ((0.1, 0.9), {**GOOD, "within": (10, 0)}, r"got within=\(10, 0\)"),
        ((0.1, 0.9), {**GOOD, "within": (1, 1)}, "less than the upper bound"),
        ((0.1, 0.9), {**GOOD, "within": 5}, "within must be a pair"),
        ((0.1, 0.9), {**GOOD, "within": (0, float("inf"))}, "within must be a finite number"),
        ((0.1, 0.9), {**GOOD, "within": (0, 1e200)}, "within must be at most 1e100"),
        ((0.1, 0.9), {"within": (0, 10)}, "need an epsilon"),
        ((0.1, 0.9), {**GOOD, "epsilon": 0}, "epsilon must be positive"),
        ((0.1, 0.9), {**GOOD, "epsilon": -1}, "epsilon must be positive"),
        ((0.1, 0.9), {**GOOD, "epsilon": float("nan")}, "epsilon must be a finite number"),
        ((0.1, 0.9), {**GOOD, "cells": 1}, "cells must be a whole number"),
        ((0.1, 0.9), {**GOOD, "cells": 1e3}, "cells must be a whole number"),
        ((0.1, 0.9), {**GOOD, "cells": 10**6}, "cells must be a whole number"),
    ],
)
def test_meaningless_quantiles_are_refused(quantiles, options, message) -> None:
    with pytest.raises(dc.errors.UsageError, match=message) as caught:
        dc.mechanisms.PrivateQuantiles(*quantiles, **options)
    assert "\n" not in caught.value.message


class Untouchable:
    def __getattr__(self, name: str) -> object:
        raise AssertionError("the data was touched")


@pytest.mark.parametrize(
    ("family", "options", "message"),
    [
        (dc.Bernoulli(), {}, "takes no bounds"),
        (dc.Categorical(["a", "b"]), {}, "takes no bounds"),
        (dc.Exponential(), {"within": (-1, 5)}, "exponential lies in"),
        (dc.Poisson(), {"within": (0, 5.5)}, "must be integers"),
        (dc.Normal(), {"within": [(0, 1), (0, 1)]}, "has 1 column"),
        (dc.MultivariateNormal(3), {"within": [(0, 1), (0, 1)]}, "has 3 column"),
        (dc.Normal(), {"epsilon": 1e-30}, "too small"),
        (dc.Normal(), {"within": ("1", "1.000000000001")}, "too narrow"),
        (dc.Normal(), {"neighbors": "swap"}, "neighbors must be"),
        (dc.Normal(), {"outside": "drop"}, "outside must be"),
        (dc.Normal(), {"budget": None}, "give a budget"),
    ],
)
def test_refused_before_any_row_is_read(family, options, message) -> None:
    asked = {**GOOD, **{k: options[k] for k in ("within", "epsilon") if k in options}}
    rest = {k: options[k] for k in ("neighbors", "outside") if k in options}
    bounds = dc.mechanisms.PrivateQuantiles(0.025, 0.975, **asked)
    with pytest.raises(dc.errors.UsageError, match=message):
        dc.release(Untouchable(), family, bounds=bounds, epsilon=options.get("budget", 1), **rest)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([(0, 1), dc.mechanisms.PrivateQuantiles(0.1, 0.9, **GOOD)], "either all"),
        ([dc.mechanisms.PrivateQuantiles(0.1, 0.9, **GOOD)], "takes 2 column"),
        ([dc.mechanisms.PrivateQuantiles(0.1, 0.9, within=[(0, 1)] * 2, epsilon=1)] * 2, "within one pair"),
    ],
)
def test_lists_that_do_not_fit(bounds, message) -> None:
    with pytest.raises(dc.errors.UsageError, match=message):
        dc.release(Untouchable(), dc.MultivariateNormal(2), bounds=bounds, epsilon=1)
