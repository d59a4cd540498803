"""Telling two tables apart by releases with Laplace noise: the best test against enumeration, and its limit."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError
from discreet.privacy.noise import DiscreteLaplace
from discreet.validation.noisy_distribution import shifted_laplace


@pytest.mark.parametrize(("steps", "width"), [(1, 0.4), (2, 3.0), (7, 2.0), (5000, 900.0)])
def test_a_shifted_coordinate_is_that_of_the_mass_function(steps: int, width: float) -> None:
    log_p, log_q = shifted_laplace(steps, width)
    k = np.arange(-60_000, 66_000)
    noise = DiscreteLaplace(width)
    p, q = np.exp(noise.log_mass(k)), np.exp(noise.log_mass(k - steps))
    assert np.exp(log_p).sum() == pytest.approx(1, abs=1e-12)
    assert np.exp(log_q).sum() == pytest.approx(1, abs=1e-12)
    # total variation, and the largest ratio: merging steps takes next to nothing
    exact = np.abs(p - q).sum() / 2
    assert np.abs(np.exp(log_p) - np.exp(log_q)).sum() / 2 == pytest.approx(exact, rel=1e-6)
    assert (log_p - log_q).max() == pytest.approx(steps / width, rel=1e-12)


@pytest.mark.parametrize("epsilon", ["0.5", 2])
def test_labels_under_noise_by_enumeration(epsilon: Any) -> None:
    first, second = ["a", "b", "b", "c"], ["a", "b", "c", "c"]
    model = dc.Categorical(["a", "b", "c"])
    mechanism = dc.mechanisms.Laplace(epsilon)
    found = dc.validation.distinguish(first, second, model, mechanism=mechanism, draws=[1, 3])
    # two cells change by one each, behind noise of scale 2 / epsilon
    a = math.exp(-float(epsilon) / 2)
    k = np.arange(-400, 401)
    mass = (1 - a) / (1 + a) * a ** np.abs(k)
    moved = np.roll(mass, 1)
    one, other = np.multiply.outer(moved, mass), np.multiply.outer(mass, moved)
    assert found.by_draws[0].best is not None
    assert found.by_draws[0].best.advantage == pytest.approx(np.abs(one - other).sum() / 2, abs=1e-9)
    # three releases: products of the four kinds of readings
    signs = np.array(list(itertools.product([1, -1], repeat=6)))
    log_mass = np.where(signs > 0, -math.log1p(a), math.log(a) - math.log1p(a)).sum(axis=1)
    back = np.where(signs < 0, -math.log1p(a), math.log(a) - math.log1p(a)).sum(axis=1)
    exact = np.abs(np.exp(log_mass) - np.exp(back)).sum() / 2
    assert found.by_draws[1].best is not None
    assert found.by_draws[1].best.advantage == pytest.approx(exact, abs=1e-9)
    for count in found.by_draws:
        assert count.best is not None
        assert count.best.advantage <= count.advantage_limit + 1e-12
    # noise for three times the budget is told apart better than the guarantee allows: the limit is felt
    weak = dc.validation.distinguish(
        first, second, model, mechanism=dc.mechanisms.Laplace(3 * float(epsilon)), draws=[1]
    )
    assert weak.by_draws[0].best is not None
    assert weak.by_draws[0].best.advantage > found.by_draws[0].advantage_limit


def test_numbers_and_bad_input() -> None:
    table = [1.0, 2.0, 3.0, 9.0]
    mechanism = dc.mechanisms.Laplace(1)
    column: Any = dc.Mean()
    told = dc.validation.distinguish(
        table, [0.0, 2.0, 3.0, 9.0], column, mechanism=mechanism, bounds=(0, 10), draws=[1]
    )
    far = dc.validation.distinguish(
        table, [10.0, 2.0, 3.0, 9.0], column, mechanism=mechanism, bounds=(0, 10), draws=[1]
    )
    assert told.by_draws[0].best is not None
    assert far.by_draws[0].best is not None
    assert told.by_draws[0].best.advantage < far.by_draws[0].best.advantage <= far.by_draws[0].advantage_limit
    other: Any = dc.mechanisms.Gaussian(rho=1)
    assert "noisy totals" in told.summary()
    with pytest.raises(UsageError, match="Laplace noise"):
        dc.validation.distinguish(table, table, column, mechanism=other, bounds=(0, 10))
    with pytest.raises(UsageError, match="equally many"):
        dc.validation.distinguish(table, table[1:], column, mechanism=mechanism, bounds=(0, 10))
