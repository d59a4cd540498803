"""Truncated Dirichlet draws: the distribution is exact, the acceptance never falls below its public bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from discreet.errors import UsageError
from discreet.privacy.costs.rejection import acceptance_bound
from discreet.samplers.truncated_dirichlet import (
    Proposal,
    _until_accepted,
    sample_truncated_dirichlet,
)
from discreet.samplers.truncated_gamma import draw_above

# The suite-wide false-alarm rate of 1e-3, split over the statistical assertions of this file.
THRESHOLD = 1e-3 / 40
PERMUTATIONS = 60_000  # a p-value can be as small as 1 / 60,001, below the threshold

DISTRIBUTIONS = [
    pytest.param([2.0, 1.0, 5.0], 0.02, id="3 cells, loose"),
    pytest.param([2.0, 0.3, 12.0], 0.25, id="3 cells, tight"),
    pytest.param([3.0, 0.5, 1.0, 8.0, 2.0], 0.01, id="5 cells, loose"),
    pytest.param([3.0, 0.5, 1.0, 8.0, 2.0], 0.1, id="5 cells, tight"),
]


def plain_rejection(alpha: list[float], lower: float, size: int, rng: np.random.Generator) -> np.ndarray:
    kept = np.empty((0, len(alpha)))
    while len(kept) < size:
        p = rng.dirichlet(alpha, 200_000)
        kept = np.concatenate([kept, p[(p >= lower).all(axis=1)]])
    return kept[:size]


def sequential_beta(alpha: list[float], lower: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """The printed recipe: each component from a truncated beta distribution, as if the others were not constrained."""
    p, left = np.empty((size, len(alpha))), np.ones(size)
    for k in range(len(alpha) - 1):
        a, b = alpha[k], sum(alpha[k + 1 :])
        ends = special.betainc(a, b, [lower / left, 1 - (len(alpha) - 1 - k) * lower / left])
        p[:, k] = left * special.betaincinv(a, b, ends[0] + rng.random(size) * (ends[1] - ends[0]))
        left = left - p[:, k]
    p[:, -1] = left
    return p


def differ(one: np.ndarray, other: np.ndarray, rng: np.random.Generator) -> bool:
    """Permutation test of equal distributions by the energy distance between two samples of one size.

    The p-value is (1 + larger) / (1 + PERMUTATIONS), which only grows: it ends where that is above the threshold.
    """
    both = np.concatenate([one, other])
    # in standard deviations, so that no cell is drowned
    both = both / both.std(axis=0)
    distance = np.linalg.norm(both[:, None] - both[None], axis=2).astype(np.float32)
    signs = np.repeat(np.float32([1, -1]), len(one))  # pyright: ignore[reportArgumentType]
    observed = -float(signs @ distance @ signs)
    larger = 0
    for _ in range(PERMUTATIONS // 2000):
        mixed = rng.permuted(np.tile(signs, (2000, 1)), axis=1)
        larger += int((-((mixed @ distance) * mixed).sum(axis=1) >= observed * (1 - 1e-5)).sum())
        if (1 + larger) / (1 + PERMUTATIONS) > THRESHOLD:
            return False
    return True


@pytest.mark.parametrize(("alpha", "lower"), DISTRIBUTIONS)
def test_draws_match_plain_rejection(alpha: list[float], lower: float, rng: np.random.Generator) -> None:
    drawn = sample_truncated_dirichlet(alpha, lower, 300, rng)
    assert not differ(drawn, plain_rejection(alpha, lower, 300, rng), rng)


@pytest.mark.parametrize(("alpha", "lower"), [DISTRIBUTIONS[1], DISTRIBUTIONS[3]])
def test_the_sequential_recipe_is_rejected(
    alpha: list[float], lower: float, rng: np.random.Generator
) -> None:
    wrong = sequential_beta(alpha, lower, 300, rng)
    assert differ(wrong, plain_rejection(alpha, lower, 300, rng), rng)


def marginal_cdf(alpha: np.ndarray, lower: float, at: np.ndarray) -> np.ndarray:
    """Distribution function of the first of three cells, by quadrature over what is left to the other two."""

    def log_density(x: np.ndarray) -> np.ndarray:
        edge = np.minimum(lower / (1 - x), 0.5)
        ends = special.betainc(alpha[1], alpha[2], [edge, 1 - edge])
        other = special.betaincc(alpha[1], alpha[2], [edge, 1 - edge])
        # of two differences take the one that cancels less
        mass = np.where(ends[1] < 0.5, ends[1] - ends[0], other[0] - other[1])
        with np.errstate(divide="ignore"):
            return (
                (alpha[0] - 1) * np.log(x) + (alpha[1] + alpha[2] - 1) * np.log1p(-x) + np.log(mass.clip(0))
            )

    # first find where the mass is, on a grid that is fine at both ends, then look closer
    ends = np.concatenate([np.geomspace(1e-9, 0.5, 30_001), 1 - np.geomspace(1e-9, 0.5, 30_001)[::-1]])
    x = lower + (1 - 3 * lower) * ends
    log_f = log_density(x)
    high = np.flatnonzero(log_f > log_f.max() - 45)
    x = np.linspace(x[max(high[0] - 1, 0)], x[min(high[-1] + 1, x.size - 1)], 100_001)
    log_f = log_density(x)
    area = integrate.cumulative_trapezoid(np.exp(log_f - log_f.max()), x, initial=0)
    return np.interp(at, x, area / area[-1], left=0, right=1)


@pytest.mark.parametrize(
    ("alpha", "lower"),
    [
        ([1.0, 1.0, 1.0], 0.001),
        ([0.4, 0.4, 0.4], 0.05),
        ([1.0, 501.0, 1.0], 0.01),  # all records in one cell: mass on the edge
        ([501.0, 1.0, 1.0], 0.01),
        ([0.5, 0.5, 20_000.5], 0.02),
        ([300.0, 500.0, 200.0], 0.1),
        ([3.0, 2.0, 1.0], 0.33),
    ],
)
def test_marginals_match_quadrature(alpha: list[float], lower: float, rng: np.random.Generator) -> None:
    distribution = np.array(alpha)
    drawn = sample_truncated_dirichlet(distribution, lower, 20_000, rng)[:, 0]
    assert stats.kstest(drawn, lambda x: marginal_cdf(distribution, lower, x)).pvalue > THRESHOLD
    # a distribution ten percent wider, or moved, is found
    off = drawn.mean() + 1.1 * (drawn - drawn.mean())
    assert stats.kstest(off, lambda x: marginal_cdf(distribution, lower, x)).pvalue < THRESHOLD


def test_two_cells_are_a_truncated_beta_distribution(rng: np.random.Generator) -> None:
    low, high = special.betainc(1e6, 3.0, [0.01, 0.99])
    drawn = sample_truncated_dirichlet([1e6, 3.0], 0.01, 20_000, rng)[:, 0]
    assert low == 0
    assert high < 1e-300  # no quantile function reaches here
    # next to the bound the distribution is exponential, of rate a/x - (b-1)/(1-x), up to 1e-3
    rate = 1e6 / 0.99 - 2 / 0.01
    assert stats.kstest((0.99 - drawn) * rate, stats.expon.cdf).pvalue > THRESHOLD
    assert stats.kstest((0.99 - drawn) * rate * 1.1, stats.expon.cdf).pvalue < THRESHOLD


@pytest.mark.parametrize(
    ("shape", "floor"),
    [(3.0, 0.0), (3.0, 1.0), (50.0, 55.0), (50.0, 70.0), (1.0, 2.0), (0.3, 1.5), (0.3, 0.01), (0.01, 0.01)],
)
def test_gamma_draws_above_a_floor(shape: float, floor: float, rng: np.random.Generator) -> None:
    drawn = draw_above(np.array([shape, 2.0]), np.array([floor, 1.0]), 20_000, rng)[:, 0]
    mass = special.gammaincc(shape, floor)

    def cdf(t: np.ndarray) -> np.ndarray:
        return 1 - special.gammaincc(shape, np.maximum(t, floor)) / mass

    assert drawn.min() >= floor
    assert stats.kstest(drawn, cdf).pvalue > THRESHOLD
    assert stats.kstest(floor + 1.1 * (drawn - floor), cdf).pvalue < THRESHOLD


positive = st.floats(-6, 9).map(lambda exponent: 10.0**exponent)


@settings(max_examples=200, deadline=None)
@given(
    alpha=st.lists(st.one_of(positive, st.just(1.0)), min_size=2, max_size=30),
    share=st.sampled_from([1e-9, 1e-3, 0.5, 0.99, 0.999]),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_draw_is_inside(alpha: list[float], share: float, seed: int) -> None:
    if max(alpha) < 1:
        alpha[0] = 1.0
    k = len(alpha)
    p = sample_truncated_dirichlet(alpha, share / k, 5, np.random.default_rng(seed))
    assert p.shape == (5, k)
    assert (p >= share / k).all()
    assert np.abs(p.sum(axis=1) - 1).max() <= k * 2.0**-40
    # and with bounds of their own, zero among them
    lower = share * np.arange(k) / sum(range(k))
    assert (sample_truncated_dirichlet(alpha, lower, 5, np.random.default_rng(seed)) >= lower).all()


def acceptance(proposal: Proposal, rng: np.random.Generator) -> tuple[float, float]:
    chance = np.exp(proposal.propose(20_000, rng)[2])
    return float(chance.mean()), float(chance.std() / math.sqrt(chance.size))


@pytest.mark.parametrize("k", [2, 5, 25])
@pytest.mark.parametrize("base", [1.0, 0.5])
def test_acceptance_is_above_its_bound_for_all_data(k: int, base: float, rng: np.random.Generator) -> None:
    """Data from even to extreme, bounds from loose to tight."""
    n = 400
    for lower in (0.001, 0.01, 0.5 / k, 0.999 / k):
        for weight in (np.ones(k), np.eye(k)[0], 1.0 / np.arange(1, k + 1), np.eye(k)[0] + np.eye(k)[1]):
            alpha = base + n * weight / weight.sum()
            measured, error = acceptance(Proposal.tuned(alpha, np.full(k, lower)), rng)
            assert measured > acceptance_bound(np.full(k, base), n) + 5 * error > 0


def test_an_untuned_rate_would_miss_the_bound(rng: np.random.Generator) -> None:
    alpha, lower = np.full(5, 81.0), np.full(5, 0.01)
    tuned = Proposal.tuned(alpha, lower)
    off = Proposal(alpha, lower, 1.5 * tuned.rate, tuned.last)
    assert acceptance(off, rng)[0] < acceptance_bound(alpha, 0) < acceptance(tuned, rng)[0]


def test_acceptance_of_exponential_cells_is_known(rng: np.random.Generator) -> None:
    """Flat on the simplex: the sum of K exponentials at its mean against one of them at its peak."""
    for k in (2, 5, 25):
        measured, error = acceptance(Proposal.tuned(np.ones(k), np.full(k, 0.5 / k)), rng)
        known = stats.gamma.pdf(k, k)
        assert abs(measured - known) < stats.norm.isf(THRESHOLD / 2) * error


def test_what_the_bound_rests_on() -> None:
    """Variance at least 1/b^2 if alpha >= 1 and at most that below; kurtosis at most 9; by quadrature."""
    for shape in (0.05, 0.3, 0.9, 1.0, 1.1, 2.0, 7.0, 60.0):
        for floor in (0.01, 0.3, 1.0, 4.0, 20.0, 100.0):
            t = floor + np.concatenate([np.geomspace(1e-9, 1, 40_001), np.linspace(1, 200, 200_001)[1:]])
            log_f = (shape - 1) * np.log(t) - t
            f = np.exp(log_f - log_f.max())
            mass = integrate.trapezoid(f, t)
            mean = integrate.trapezoid(f * t, t) / mass
            variance, fourth = (integrate.trapezoid(f * (t - mean) ** r, t) / mass for r in (2, 4))
            assert (variance >= 1 - 1e-6) if shape >= 1 else (variance <= 1 + 1e-6)
            excess = fourth - 3 * variance**2
            assert excess <= (6 * variance**2 if shape >= 1 else 6 * variance) * (1 + 1e-4)
    v, x = math.sqrt(5), np.linspace(-50, 50, 1001)
    q = x * (x + v) ** 2 * (2 * v - x)
    assert (q[(x < 0) | (x > 2 * v)] <= 1e-9).all()
    assert integrate.quad(lambda y: y * (y + v) ** 2 * (2 * v - y), 0, 2 * v)[0] == pytest.approx(5.6 * v**5)
    assert acceptance_bound([0.5, 1.0], 0) == pytest.approx((3 * v**2 - 9) / (5.6 * v**5) / math.sqrt(2))


def test_the_bound_knows_only_public_facts() -> None:
    assert acceptance_bound([1.0] * 25, 0) == pytest.approx(1 / (math.e * math.sqrt(12 * 25)))
    assert acceptance_bound([0.5] * 4, 2.0) == acceptance_bound([0.5] * 4, 1e9)
    # the fullest cell may still be below 1: nothing is promised
    assert acceptance_bound([0.5] * 4, 1.99) == 0
    assert acceptance_bound([0.5, 0.5, 0.5, 1.0], 0) > 0


def test_without_bounds_it_is_the_dirichlet_distribution() -> None:
    one, other = (np.random.default_rng(3) for _ in range(2))
    found = sample_truncated_dirichlet([1.0, 2.0], 0, 4, one) - other.dirichlet([1.0, 2.0], 4)
    assert np.abs(found).max() <= 2.0**-41
    assert sample_truncated_dirichlet([1.0, 2.0], 0.1, 0, one).shape == (0, 2)


@pytest.mark.parametrize("n_cells", [2, 3])
def test_the_last_bits_of_a_draw_do_not_say_which_parameter_is_larger(
    n_cells: int, rng: np.random.Generator
) -> None:
    """A parameter that is 0.001 larger decided how the first cell was drawn, and with it how draws end."""
    lower, alphas = np.full(n_cells, 0.1), np.eye(n_cells)[[0, -1]] / 1000 + 1
    first, second = (sample_truncated_dirichlet(alpha, lower, 4000, rng)[:, 0] for alpha in alphas)
    for drawn in (first, second):
        assert (np.isin(drawn, 0.1) | (drawn * 2.0**40 % 1 == 0)).all()

    def ends(drawn: np.ndarray, grid: float) -> np.ndarray:
        """Return how often draws end in each of the last two bits of a multiple of one over ``grid``."""
        return np.bincount(np.round(drawn * grid).astype(np.int64) % 4, minlength=4)

    def p_value(table: list[np.ndarray]) -> float:
        return float(stats.chi2_contingency(table)[1])  # pyright: ignore[reportArgumentType]

    assert p_value([ends(first, 2.0**40), ends(second, 2.0**40)]) > 1e-6
    # control: as they are drawn, before rounding
    raw = [_until_accepted(Proposal.tuned(alpha, lower), 4000, rng)[:, 0] for alpha in alphas]
    assert p_value([ends(one, 2.0**55) for one in raw]) < 1e-6


@pytest.mark.parametrize(
    ("alpha", "lower", "words"),
    [
        ([1.0, 1.0], 0.5, "leaves no room"),
        ([1.0, 1.0, 1.0], 0.34, "leaves no room"),
        ([1.0, 1.0], -0.1, "not negative"),
        ([1.0, 1.0], float("nan"), "not negative"),
        ([1.0, 1.0], [0.1, 0.1, 0.1], "one for each cell"),
        ([1.0], 0.1, "at least two"),
        ([1.0, 0.0], 0.1, "positive and finite"),
        ([1.0, float("inf")], 0.1, "positive and finite"),
        ([9e15, 1.0], 0.1, "at most"),
    ],
)
def test_what_cannot_be_drawn_is_refused(alpha: list[float], lower: float | list[float], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        sample_truncated_dirichlet(alpha, lower, 1, np.random.default_rng(0))


def test_errors_do_not_show_the_counts() -> None:
    with pytest.raises(UsageError) as caught:
        sample_truncated_dirichlet([123456.5, 1.0], 0.7, 1, np.random.default_rng(0))
    assert "123456" not in str(caught.value)
