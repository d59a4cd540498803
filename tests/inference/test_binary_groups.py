"""Counts of many groups at once: the distribution that one group's own enumeration has, and who is left to it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import discreet as dc
from discreet.inference.counts.binary_groups import BinaryGroups
from discreet.inference.counts.latent_cells import cell_counts
from discreet.inference.record_prior import RecordPrior
from discreet.privacy.noise import DiscreteGaussian, DiscreteLaplace, Noise
from tests.inference.count_probabilities import probability

# small, empty, balanced, lopsided either way, below zero, large
READINGS = np.array([[3, -2], [0, 0], [60, 40], [5, 30], [-7, -9], [1000, 3]])


@pytest.mark.parametrize("noise", [DiscreteLaplace(1.0), DiscreteGaussian(3.0), DiscreteLaplace(6.0)])
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.3, 2.5)])
def test_counts_have_the_distribution_of_each_group(
    noise: Noise, a: float, b: float, rng: np.random.Generator
) -> None:
    size = 20_000
    no, yes, p, left_out = BinaryGroups(a, b, READINGS, noise).draw(size, rng)
    assert not left_out.any()
    for g, y in enumerate(READINGS):
        exact = cell_counts(np.array([b, a]), y, (noise, noise), RecordPrior(), None)
        pairs, times = np.unique(np.stack([no[g], yes[g]], axis=1), axis=0, return_counts=True)
        expected = size * probability(exact, pairs)
        likely = expected > 10
        # pairs that are expected less often are taken together, the ones never drawn among them
        observed = np.append(times[likely], size - times[likely].sum())
        meant = np.append(expected[likely], size - expected[likely].sum())
        statistic = ((observed - meant) ** 2 / meant).sum()
        # 36 groups in all: one in 36,000 each
        assert statistic < chi2.isf(1e-3 / 36, likely.sum())
        mean = (a + yes[g]) / (a + b + no[g] + yes[g])
        assert p[g].mean() == pytest.approx(mean.mean(), abs=5 * p[g].std() / np.sqrt(size))


def test_a_strong_prior_and_wide_noise_are_left_to_the_engine_that_convolves(
    rng: np.random.Generator,
) -> None:
    *_, left_out = BinaryGroups(9e4, 1e4, np.array([[50, 50]]), DiscreteLaplace(1.0)).draw(10, rng)
    assert left_out.all()
    assert not BinaryGroups(1, 1, READINGS, DiscreteLaplace(100.0)).applies()
    assert not BinaryGroups(1, 1, np.array([[10**8, 1]]), DiscreteLaplace(1.0)).applies()


def test_all_at_once_and_one_by_one_agree(rng: np.random.Generator) -> None:
    groups = [str(i) for i in range(60)]
    table = {"g": rng.choice(groups, 3000).tolist(), "y": rng.integers(0, 2, 3000).tolist()}
    made = dc.release(
        table, dc.Bernoulli(), column="y", by="g", groups=groups, epsilon=1, neighbors="add_remove"
    )
    together = dc.infer(made, rng=1)
    assert together["7"].diagnostics.reason == "the counts of all groups are enumerated at once"  # pyright: ignore[reportIndexIssue]
    apart = dc.infer(made.by_group(), rng=1)
    error = [
        (together[g].mean()["p"] - apart[g].mean()["p"]) / together[g].sd()["p"] * np.sqrt(2000)  # pyright: ignore[reportIndexIssue]
        for g in groups
    ]
    # 60 standard normal differences
    assert np.sum(np.square(error)) < chi2.isf(1e-3, len(groups))
    again = dc.infer(made, rng=1)
    assert np.array_equal(together["7"].draws["p"], again["7"].draws["p"])  # pyright: ignore[reportIndexIssue]
    # a prior for each group, or one on records, is read one by one
    strong = dc.infer(made, prior={"7": "beta:9e6,1e6"}, draws=40, rng=1)
    assert strong["7"].mean()["p"] == pytest.approx(0.9, abs=0.01)  # pyright: ignore[reportIndexIssue]


def test_too_many_draws_of_groups_are_refused() -> None:
    made = dc.release(
        {"g": ["1"], "y": [1]},
        dc.Bernoulli(),
        column="y",
        by="g",
        groups=[str(i) for i in range(1000)],
        epsilon=1,
    )
    with pytest.raises(dc.DiscreetError, match="numbers to keep in memory"):
        dc.infer(made, draws=400_000)
