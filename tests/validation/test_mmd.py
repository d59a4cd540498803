"""The discrepancy between two sets of draws, against double loops and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import discreet as dc
from discreet.errors import UsageError
from discreet.inference import Diagnostics, Posterior
from discreet.validation import mmd

#: Standard errors at which one of the assertions below is wrong once in a million runs.
FAR = float(norm.isf(0.5e-6))


def double_loop(x: np.ndarray, y: np.ndarray, h: float) -> float:
    """Return the estimate as it is written down."""

    def k(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.exp(-np.sum((a - b) ** 2) / (2 * h**2)))

    m, n = len(x), len(y)
    within_x = sum(k(x[i], x[j]) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
    within_y = sum(k(y[i], y[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    return within_x + within_y - 2 * sum(k(a, b) for a in x for b in y) / (m * n)


def closed_form(mean: float, sd: float, h: float) -> float:
    """Return the squared discrepancy between N(0, 1) and N(mean, sd^2)."""

    def expected(shift: float, variance: float) -> float:
        return h / np.sqrt(h**2 + variance) * np.exp(-(shift**2) / (2 * (h**2 + variance)))

    return expected(0, 2) + expected(0, 2 * sd**2) - 2 * expected(mean, 1 + sd**2)


@pytest.mark.parametrize("shape", [(7, 5, 1), (6, 9, 3)])
def test_the_blocked_sum_is_the_double_loop(
    shape: tuple[int, int, int], rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, n, d = shape
    x, y = rng.normal(size=(m, d)), rng.normal(1, 2, (n, d))
    monkeypatch.setattr(mmd, "_BLOCK", 16)  # several blocks
    found = dc.validation.discrepancy(x, y, bandwidth=0.7)
    assert found.squared == pytest.approx(double_loop(x, y, 0.7), rel=1e-12)
    assert float(found) == found.squared
    assert found.n_draws == (m, n)
    # the jackknife, by leaving out for real
    variance = 0.0
    for sample, rest in ((x, lambda s: (s, y)), (y, lambda s: (x, s))):
        left = np.array([double_loop(*rest(np.delete(sample, i, 0)), 0.7) for i in range(len(sample))])
        variance += (len(sample) - 1) / len(sample) * ((left - left.mean()) ** 2).sum()
    assert found.standard_error == pytest.approx(np.sqrt(variance), rel=1e-10)


@pytest.mark.parametrize(
    ("mean", "sd", "h"), [(0.3, 1.0, 1.0), (0.0, 1.5, 0.5), (1.0, 0.4, 2.0), (5.0, 1.0, 1.0)]
)
def test_two_normals(mean: float, sd: float, h: float, rng: np.random.Generator) -> None:
    found = dc.validation.discrepancy(rng.normal(size=3000), rng.normal(mean, sd, 2500), bandwidth=h)
    assert abs(found.squared - closed_form(mean, sd, h)) < FAR * found.standard_error
    assert found.standard_error < 0.05


@pytest.mark.parametrize(("mean", "most"), [(0.0, np.sqrt(2)), (0.7, 1.0)])
def test_unbiased_with_an_honest_standard_error(mean: float, most: float, rng: np.random.Generator) -> None:
    """The jackknife is right where the two differ, and up to sqrt(2) too large where they agree."""
    runs = 400
    found = [
        dc.validation.discrepancy(rng.normal(size=60), rng.normal(mean, 1, 60), bandwidth=1)
        for _ in range(runs)
    ]
    squared = np.array([f.squared for f in found])
    spread = squared.std(ddof=1)
    assert abs(squared.mean() - closed_form(mean, 1, 1)) < FAR * spread / np.sqrt(runs)
    claimed = np.sqrt(np.mean([f.standard_error**2 for f in found]))
    # the spread of 400 runs is itself known to about 5% (7% for the skewed distribution of the first case)
    assert 0.75 < claimed / spread < 1.25 * most
    if mean == 0:
        assert (squared < 0).any()


def test_far_from_the_origin_no_digit_is_lost(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 200))
    near, far = (dc.validation.discrepancy(x + at, y + at, bandwidth=1).squared for at in (0, 2.0**30))
    # moving by 2^30 rounds each draw to 2^-22
    assert far == pytest.approx(near, abs=2e-6)


def test_the_median_distance_is_the_default(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 300))
    pooled = np.concatenate([x, y])
    i, j = np.triu_indices(600, 1)
    found = dc.validation.discrepancy(x, y)
    assert found.bandwidth == pytest.approx(np.median(np.abs(pooled[i] - pooled[j])))
    assert found.squared == dc.validation.discrepancy(x, y, bandwidth=found.bandwidth).squared


def test_one_bandwidth_for_each_scalar(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 50, 2))
    scale = np.array([1.0, 100.0])
    found = dc.validation.discrepancy(x * scale, y * scale, bandwidth=scale)
    assert found.squared == pytest.approx(dc.validation.discrepancy(x, y, bandwidth=1).squared)


def test_posteriors_are_compared_scalar_by_scalar(rng: np.random.Generator) -> None:
    how = Diagnostics("exact", independent=True)
    a, b = (Posterior({"p": rng.dirichlet([1, 2, 3], 200)}, how, labels={"p": ["a", "b", "c"]}) for _ in "ab")
    assert dc.validation.discrepancy(a, b, bandwidth=1) == dc.validation.discrepancy(
        a.draws["p"], b.draws["p"], bandwidth=1
    )
    other = Posterior({"p": rng.random((200, 3))}, how)
    with pytest.raises(UsageError, match="same parameters"):
        dc.validation.discrepancy(a, other)


def test_noise_costs_more_the_smaller_epsilon(rng: np.random.Generator) -> None:
    """The paper's use: distance to the posterior of the rows themselves falls as epsilon grows."""
    rows = dc.Posterior({"p": rng.beta(31, 71, 2000)}, Diagnostics("non-private", independent=True))
    answers = [1] * 30 + [0] * 70
    found = [
        dc.validation.discrepancy(
            rows, dc.infer(dc.release(answers, dc.Bernoulli(), epsilon=e), draws=2000, rng=rng)
        )
        for e in (0.01, 30)
    ]
    assert found[0].squared > 0.1
    assert abs(found[1].squared) < FAR * found[1].standard_error


def test_too_many_draws_are_thinned_by_the_seed(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mmd, "MOST_DRAWS", 100)
    x, y = rng.normal(size=(2, 300))
    found = [dc.validation.discrepancy(x, y, bandwidth=1, rng=seed) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert found[0].n_draws == (100, 100)


@pytest.mark.parametrize(
    ("a", "b", "options", "words"),
    [
        ([1, 2], [1, 2, 3], {}, "three draws"),
        ([], [1, 2, 3], {}, "three draws"),
        ([1, 2, np.nan], [1, 2, 3], {}, "finite"),
        (["a", "b", "c"], [1, 2, 3], {}, "numbers"),
        ([[1, 2]] * 3, [1, 2, 3], {}, "components"),
        ([1, 1, 1], [1, 1, 1], {}, "median"),
        ([1, 2, 3], [1, 2, 3], {"bandwidth": 0}, "bandwidth=0"),
        ([1, 2, 3], [1, 2, 3], {"bandwidth": [1, 1]}, "bandwidth"),
        ([1, 2, 3], [1, 2, 3], {"bandwidth": "wide"}, "bandwidth"),
    ],
)
def test_bad_input_is_one_clear_line(a: list, b: list, options: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        dc.validation.discrepancy(a, b, **options)
