"""Ranks, and what is concluded from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.validation.ranks import PROBS, coverage, noticeable_coverage, rank, uniformity

#: False-alarm rate of each assertion below.
RARE = 1e-6


def test_a_rank_lies_in_the_step_that_the_draws_leave(rng: np.random.Generator) -> None:
    draws = np.array([0.1, 0.2, 0.3])
    for truth, step in ((0.0, 0), (0.15, 1), (0.25, 2), (0.9, 3)):
        values = [rank(truth, draws, rng) for _ in range(200)]
        assert all(step / 4 <= value < (step + 1) / 4 for value in values)
        assert stats.kstest(values, stats.uniform(step / 4, 1 / 4).cdf).pvalue > RARE


def test_ties_are_broken_at_random(rng: np.random.Generator) -> None:
    """Truth and draws from a distribution with two values: without the tie rule the ranks would pile up."""
    values = [rank(x[0], x[1:], rng) for x in rng.integers(0, 2, (2000, 10)).astype(float)]
    assert stats.kstest(values, "uniform").pvalue > RARE


def test_the_tests_are_those_of_scipy(rng: np.random.Generator) -> None:
    ranks = rng.random(500)
    found = uniformity(ranks)
    beyond = int(((ranks < 0.05) | (ranks > 0.95)).sum())
    assert found.ks == stats.kstest(ranks, "uniform").statistic
    assert found.p_value == stats.kstest(ranks, "uniform").pvalue
    assert found.outside == beyond / 500
    assert found.outside_p_value == pytest.approx(stats.binomtest(beyond, 500, 0.1).pvalue, rel=1e-12)
    assert found.least_p_value == min(found.p_value, found.outside_p_value)


@pytest.mark.parametrize("shape", [0.6, 1.6])
def test_width_is_seen_before_location(shape: float, rng: np.random.Generator) -> None:
    """Ranks of a posterior too narrow or too wide, symmetric: the test of the width rejects first."""
    found = uniformity(rng.beta(shape, shape, 600))
    assert found.outside_p_value < found.p_value
    assert found.outside_p_value < 1e-4


def test_coverage_counts_central_intervals() -> None:
    ranks = (np.arange(1000) + 0.5) / 1000
    for row, prob in zip(coverage(ranks), PROBS, strict=True):
        assert row.prob == prob
        assert row.share == pytest.approx(prob, abs=0.002)
        # Clopper-Pearson: the tail beyond each limit is 2.5%
        held = round(row.share * 1000)
        assert stats.binom.sf(held - 1, 1000, row.low) == pytest.approx(0.025)
        assert stats.binom.cdf(held, 1000, row.high) == pytest.approx(0.025)


def test_coverage_at_the_extremes() -> None:
    assert all((row.share, row.high) == (1.0, 1.0) for row in coverage(np.full(50, 0.5)))
    assert all((row.share, row.low) == (0.0, 0.0) for row in coverage(np.full(50, 0.999)))


@pytest.mark.parametrize("n", [3, 20, 300])
def test_what_is_noticeable_is_noticed_four_times_in_five(n: int) -> None:
    """Summed over every count of truths outside: exactly 0.8 at the share that is returned."""
    held = noticeable_coverage(n, 0.005)
    assert held is not None
    k = np.arange(n + 1)
    condemned = np.array([stats.binomtest(int(i), n, 0.1).pvalue <= 0.005 for i in k]) & (k > 0.1 * n)
    assert stats.binom.pmf(k[condemned], n, 1 - held).sum() == pytest.approx(0.8, rel=1e-6)
    assert noticeable_coverage(2, 0.005) is None
