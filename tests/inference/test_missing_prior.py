"""The prior on the number of missing values is a distribution, for any n, and reads what the analyst gives."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from discreet.errors import UsageError
from discreet.inference.missing_prior import FewMissing, MissingBetween, ShareMissing, missing_prior


@pytest.mark.parametrize("n", [0, 1, 2, 50, 1000, 10**5])
def test_default_is_a_distribution(n: int) -> None:
    mass = np.exp(FewMissing(n).log_missing(np.arange(n + 1)))
    assert mass.sum() == pytest.approx(1)
    assert n == 0 or mass[0] >= 0.45
    assert (np.diff(mass) <= 1e-15).all()  # fewer are never less likely
    assert np.isneginf(FewMissing(n).log_missing(np.array([-1.0, n + 1.0]))).all()


def test_default_needs_no_work_of_the_size_of_the_table() -> None:
    n = 10**9
    prior = FewMissing(n)
    k = np.array([0, 1, 1000, n // 4, n])
    mass = np.exp(prior.log_missing(k))
    harmonic = np.log(n) + np.euler_gamma
    assert mass[1] == pytest.approx(0.15 / harmonic, rel=1e-6)
    assert mass[2] == pytest.approx(0.15 / (1000 * harmonic) + 1.2 / n, rel=1e-3)
    assert mass[4] > 0
    np.testing.assert_allclose(prior.log_mass(n - k), prior.log_missing(k))


def test_settings() -> None:
    assert isinstance(missing_prior(None, 10), FewMissing)
    share = missing_prior(0.05, 200)
    assert isinstance(share, ShareMissing)
    np.testing.assert_allclose(share.log_missing(np.arange(201)), binom.logpmf(np.arange(201), 200, 0.05))
    assert (missing_prior(0.0, 200).low, missing_prior(0.0, 200).high) == (200, 200)
    assert (missing_prior(1.0, 200).low, missing_prior(1.0, 200).high) == (0, 0)
    for given, low, high in (((0.0, 0.1), 0, 20), ((3, 7), 3, 7), ((0, 1), 0, 200), ((0.1, 0.1), 20, 20)):
        prior = missing_prior(given, 200)
        assert isinstance(prior, MissingBetween)
        assert (prior.least, prior.most) == (low, high)
        assert (prior.low, prior.high) == (200 - high, 200 - low)
        assert np.isneginf(prior.log_missing(np.array([low - 1, high + 1]))).all()
        assert (prior.log_missing(np.array([low, high])) == 0).all()
    weights = missing_prior([0.0, 2.0, 1.0], 200)
    assert (weights.least, weights.most) == (1, 2)
    assert np.exp(weights.log_missing(np.array([0, 1, 2, 3]))).tolist() == [0, 2, 1, 0]
    for prior in (missing_prior(v, 200) for v in (None, 0.1, (0, 5), [1.0])):
        assert prior.describe()


@pytest.mark.parametrize(
    "bad",
    [
        "none",
        1.5,
        -0.1,
        True,
        (0.5,),
        (5, 3),
        (0, 500),
        (0.2, 0.1),
        (0.1, 2),
        [],
        [-1.0],
        [0.0],
        [np.nan],
        [[1.0]],
        [1.0] * 300,
    ],
)
def test_bad_settings_are_refused(bad: object) -> None:
    with pytest.raises(UsageError):
        missing_prior(bad, 200)


def test_weights_on_single_numbers_are_not_lost_between_edges(rng: np.random.Generator) -> None:
    weights = np.where(rng.random(31) < 0.3, rng.random(31), 0.0)
    weights[[0, 30]] = 0.5
    prior = missing_prior(weights, 50)
    edges = np.array([19.5, 20.5, 25.5, 30.5, 40.5, 48.5, 49.5, 50.5])
    usable = np.arange(20, 51)
    mass = weights[50 - usable]
    expected = [mass[(usable > a) & (usable < b)].sum() for a, b in pairwise(edges)]
    np.testing.assert_allclose(prior.between(edges), expected, atol=1e-12)
