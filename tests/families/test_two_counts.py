"""Two counts in one column, a family of the how-to page: sensitivity, likelihood and posterior, each by enumeration."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

import discreet as dc
from discreet.curator.publish import release_with
from discreet.errors import UsageError
from discreet.mechanisms import Laplace

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/examples"))

import two_counts  # pyright: ignore[reportMissingImports]

stats: Any = scipy_stats
TwoCounts: Any = two_counts.TwoCounts
THREE = TwoCounts(low=0, high=8, most=2)
THETA = {"a": -0.5, "b": 0.2, "c": 0.5}


def mapped(family: Any) -> np.ndarray:
    """Return the statistics of all pairs, each mapped to [-1, 1]."""
    t = np.array([(x, y, x * y) for x, y in product(range(family.most + 1), repeat=2)], dtype=float)
    low, high = t.min(axis=0), t.max(axis=0)
    return (2 * t - low - high) / (high - low)


@pytest.mark.parametrize("family", [THREE, TwoCounts()])
def test_the_sensitivity_is_the_largest_distance_between_two_pairs(
    family: Any, rng: np.random.Generator
) -> None:
    z = mapped(family)
    l1 = np.abs(z[:, None] - z[None]).sum(axis=2).max()
    l2 = np.sqrt(((z[:, None] - z[None]) ** 2).sum(axis=2).max())
    layout = release_with(lambda noise: 0, np.zeros(2), family, Laplace(1), missing="none").layout
    assert l1 <= layout.l1_sensitivity <= l1 * (1 + 1e-6)
    assert l2 <= layout.l2_sensitivity <= l2 * (1 + 1e-6)

    def sums(u: list[float]) -> np.ndarray:
        made = release_with(lambda noise: 0, np.array(u), family, Laplace(1), missing="none")
        return np.array(made.totals.values) * float(made.totals.grid[0])

    first, last = sums([0, 0]), sums([0, family.high])
    attained = np.abs(first - last).sum()
    assert 0.999 * l1 <= attained <= float(layout.l1_sensitivity)
    # control: the two sums alone
    assert attained > np.abs(z[:, None, :2] - z[None, :, :2]).sum(axis=2).max() + 1


def test_values_beyond_the_bounds_and_broken_ones_move_no_further(rng: np.random.Generator) -> None:
    most = None
    for wrong in (-5.0, 1e300, np.inf, -np.inf, 3.4):
        made = release_with(lambda noise: 0, np.array([0.0, wrong]), THREE, Laplace(1), missing="none")
        base = release_with(lambda noise: 0, np.array([0.0, 0.0]), THREE, Laplace(1), missing="none")
        moved = np.abs(np.array(made.totals.values) - np.array(base.totals.values)).sum() * float(
            base.totals.grid[0]
        )
        assert moved <= float(base.layout.l1_sensitivity)
        most = max(most or 0.0, moved)
    assert most == pytest.approx(6)


def test_without_a_product_the_counts_are_binomial() -> None:
    family = TwoCounts()
    theta = {"a": np.array([-1.0]), "b": np.array([0.5]), "c": np.array([0.0])}
    eta = family.natural(theta)
    u = np.arange(169.0)
    log_p = family.sufficient(u) @ eta[0] + family.log_base_measure(u) - family.log_partition(eta)
    x, y = np.divmod(u, 13)
    p, q = 1 / (1 + np.exp(1.0)), 1 / (1 + np.exp(-0.5))
    assert np.exp(log_p) == pytest.approx(stats.binom(12, p).pmf(x) * stats.binom(12, q).pmf(y))
    assert family.pack([1, 20], [2, -3]).tolist() == [15, 156]


def exact_posterior(
    release: dc.Release, log_prior: Any, values: np.ndarray, log_proposal: np.ndarray
) -> np.ndarray:
    """Return weights of parameters given the noisy sums: the sums of n pairs by convolution, noise summed over."""
    n = release.records
    assert n is not None
    x, y = np.divmod(np.arange(9), 3)
    shape = (2 * n + 1, 2 * n + 1, 4 * n + 1)
    noise: Any = release.noise[0]
    grid = float(release.totals.grid[0])
    # sums in the units of the released coordinates: (x - 1), (y - 1), (xy - 2) / 2
    sums = [np.arange(shape[0]) - n, np.arange(shape[1]) - n, np.arange(shape[2]) / 2 - n]
    near = [
        -np.abs(value - s / grid) / noise.scale for value, s in zip(release.totals.values, sums, strict=True)
    ]
    weight = np.exp(near[0] - near[0].max())[:, None, None] * np.exp(near[1] - near[1].max())[:, None]
    weight = weight * np.exp(near[2] - near[2].max())
    log_weights = []
    for theta in values:
        log_p = theta @ np.array([x, y, x * y]) + THREE.log_base_measure(np.arange(9.0))
        p = np.exp(log_p - np.logaddexp.reduce(log_p))
        one = np.zeros(shape)
        one[x, y, x * y] = p
        mass = np.fft.irfftn(np.fft.rfftn(one) ** n, shape, axes=(0, 1, 2))
        log_weights.append(np.log(max(float((mass * weight).sum()), 1e-300)) + log_prior(*theta))
    log = np.array(log_weights) - log_proposal
    out = np.exp(log - log.max())
    return out / out.sum()


def test_the_posterior_is_that_of_enumeration(rng: np.random.Generator) -> None:
    def log_prior(a: Any, b: Any, c: Any) -> Any:
        return -0.5 * (a**2 + b**2 + c**2)

    u = THREE.sample(THETA, 16, rng)
    release = release_with(lambda noise: int(noise.sample(1, rng)[0]), u, THREE, Laplace(2), missing="none")
    prior = dc.priors.ByDensity(log_prior, [(-4, 4)] * 3)
    read = dc.infer(release, prior=prior, engine="gibbs", draws=600, rng=1)
    draws = np.column_stack([read.draws[name] for name in ("a", "b", "c")])
    around = stats.multivariate_t(draws.mean(axis=0), 1.5 * np.cov(draws.T), df=6, seed=rng)
    values = around.rvs(800)
    values = values[(np.abs(values) < 4).all(axis=1)]
    weights = exact_posterior(release, log_prior, values, around.logpdf(values))
    mean = weights @ values
    sd = np.sqrt(weights @ (values - mean) ** 2)
    # 4.9 standard errors of both, and a tenth of a standard deviation for the central limit of 16 records
    error = 4.9 * np.sqrt((weights**2).sum() + 1 / 300) + 0.1
    assert (np.abs(draws.mean(axis=0) - mean) < error * sd).all()
    assert np.abs(np.log(draws.std(axis=0) / sd)).max() < 0.25
    # control: noisy sums that are read as if they were exact
    naive = dc.infer(release, prior=prior, engine="naive", draws=600, rng=1)
    far = [abs(naive.draws[name].mean() - m) / s for name, m, s in zip("abc", mean, sd, strict=True)]
    narrow = [naive.draws[name].std() / s for name, s in zip("abc", sd, strict=True)]
    assert max(far) > error or min(narrow) < np.exp(-0.25)


def test_bad_declarations_are_refused_before_a_row_is_read() -> None:
    with pytest.raises(UsageError, match="at most"):
        dc.release("nowhere.csv", TwoCounts(low=0, high=9999, most=99), column="u", epsilon=1)
    with pytest.raises(UsageError):
        dc.release("nowhere.csv", TwoCounts(low=0, high=168, most=2), column="u", epsilon=1)
    with pytest.raises(UsageError, match="its own"):
        dc.release("nowhere.csv", THREE, column="u", epsilon=1, bounds=(0, Fraction(4)))
