"""Class totals that a table of labels and the sums of a number share, against sums over all of them."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import laplace

import discreet as dc
from discreet.curator.publish import release_with
from discreet.inference.models.class_moments import BlockDistribution, BlockReading
from discreet.inference.models.naive_bayes import class_distribution, readings
from discreet.inference.models.table_rows import RowReading
from discreet.inference.record_prior import RecordPrior
from discreet.models import NaiveBayes
from tests.inference.test_naive_bayes_exact import CLOSE, direct, log_classless

N = 60
MODEL = NaiveBayes({"c": 2}, {"f": 2, "x": (0, 10)}, split={"x": 2})
MECHANISMS = [dc.mechanisms.Laplace(0.5), dc.mechanisms.Laplace(8), dc.mechanisms.Gaussian(rho=0.1)]


def released(rng: np.random.Generator, mechanism: Any, **how: Any) -> dc.Release:
    rows = {"c": rng.integers(2, size=N), "f": rng.integers(2, size=N), "x": rng.uniform(0, 10, N)}
    return release_with(lambda noise: int(noise.sample(1, rng)[0]), rows, MODEL, mechanism, **how)


def block_weights(block: BlockReading) -> np.ndarray:
    """What a block says of totals 0, ..., N, by sums of positive terms."""
    t = np.arange(N + 1)
    out = np.exp(block.log_density(t))
    if block.missing is None:
        return out
    missing = rising(0.15) * np.exp(block.missing.noise.log_mass(block.missing.y - t))
    return np.convolve(out * rising(2.0), missing)[: N + 1] / rising(2.15)


def rising(a: float) -> np.ndarray:
    """Weights of counts 0, ..., N in a beta-binomial distribution."""
    t = np.arange(N + 1)
    return np.exp(gammaln(a + t) - gammaln(t + 1) - gammaln(a))


def pair_weights(release: dc.Release, *, without: bool) -> np.ndarray:
    """Posterior weights of the two class totals; ``without`` leaves the first class's block out."""
    groups = readings(release, MODEL.concentrations(0.7))
    weights = []
    for c, group in enumerate(groups):
        label, block = group
        assert isinstance(label, RowReading)
        assert isinstance(block, BlockReading)
        w = np.exp(direct(label, N))
        weights.append(w if without and c == 0 else w * block_weights(block))
    i, j = np.meshgrid(np.arange(N + 1), np.arange(N + 1), indexing="ij")
    left, u = N - i - j, i + j
    polya = sum(gammaln(0.7 + m) - gammaln(m + 1) for m in (i, j)) - gammaln(1.4 + u) + gammaln(u + 1)
    p = weights[0][i] * weights[1][j] * np.exp(polya)
    if release.records is None:
        return np.where(left >= 0, p, 0)
    if len(weights) < 3:
        return p * (left == 0)
    lacking = np.array([np.exp(log_classless(N, k)) * comb(N, k) for k in range(N + 1)])
    return p * (weights[2] * lacking)[np.maximum(left, 0)] * (left >= 0)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("how", [{}, {"missing": "none"}, {"neighbors": "add_remove"}], ids=str)
def test_class_totals_and_what_is_left_without_a_block(
    how: Any, mechanism: Any, rng: np.random.Generator
) -> None:
    release = released(rng, mechanism, **how)
    records = RecordPrior(0, N) if release.records is None else RecordPrior()
    distribution = class_distribution(release, MODEL.concentrations(0.7), records)
    block = distribution.rows[0][1]
    assert isinstance(block, BlockDistribution)
    inside = slice(block.low, block.low + block.log_weights.size)
    p = pair_weights(release, without=False)
    np.testing.assert_allclose(
        distribution.totals.marginals[0], p.sum(axis=1)[inside] / p.sum(), atol=CLOSE, rtol=0
    )
    rest = pair_weights(release, without=True)
    # where the posterior lies, also of the other classes
    spans = [slice(rows[0].low, rows[0].low + rows[0].log_weights.size) for rows in distribution.rows[:2]]
    truth = rest[spans[0], spans[1]].sum(axis=1)
    found = distribution.without(0, 1)
    assert found.low == block.low
    np.testing.assert_allclose(np.exp(found.log_weights), truth / truth.sum(), atol=1e-8, rtol=0)
    # and, of these, how many have a number
    usable = block.usable(found)
    assert usable.weights is not None
    mine = np.zeros(N + 1)
    mine[inside] = truth
    if block.reading.missing is not None:
        t = np.arange(N + 1)
        lost = rising(0.15) * np.exp(block.reading.missing.noise.log_mass(block.reading.missing.y - t))
        mine = np.array([(mine[v:] / rising(2.15)[v:] * lost[: N + 1 - v]).sum() for v in t]) * rising(2.0)
    have = np.zeros(N + 1)
    have[usable.low : usable.low + usable.weights.size] = usable.weights
    np.testing.assert_allclose(have / have.sum(), mine / mine.sum(), atol=1e-8, rtol=0)
    # the control: with the block, the distribution is another one
    assert np.abs(distribution.totals.marginals[0] - truth / truth.sum()).max() > 1e-4


def test_three_noises_added(rng: np.random.Generator) -> None:
    """The density of the sum of three Laplace noises, against the convolution of three."""
    release = released(rng, dc.mechanisms.Laplace(1), missing="none")
    block = readings(release, MODEL.concentrations(1))[0][1]
    assert isinstance(block, BlockReading)
    scale, step = float(block.scales[0]), 0.01
    x = np.arange(-6000, 6001) * step
    one = laplace.pdf(x, scale=scale)
    three = np.convolve(np.convolve(one, one, "same"), one, "same") * step**2
    at = 6000 + np.arange(-1000, 1001, 50)
    mine = np.exp(block.log_density(block.usable - x[at])) / (16 * scale)
    # the trapezoid rule misses about (step / scale)^2 / 12 at the kink, three times
    np.testing.assert_allclose(mine, three[at], rtol=1e-3)
    assert block.variance == pytest.approx(6 * scale**2)


def test_a_block_is_a_release_of_a_normal(rng: np.random.Generator) -> None:
    release = released(rng, dc.mechanisms.Laplace(1))
    block = readings(release, MODEL.concentrations(1))[1][1]
    assert isinstance(block, BlockReading)
    made = block.release
    assert made.totals.names == made.layout.names
    assert made.totals.values == release.totals.values[9 + 4 : 9 + 7]
    assert made.noise == release.noise[9 + 4 : 9 + 7]
    wider = replace(release.noise_record, scale=tuple(2 * s for s in release.noise_record.scale))
    again = BlockReading(replace(release, mechanism=wider), block.table, block.cells)
    assert again.variance == pytest.approx(4 * block.variance, rel=1e-2)
