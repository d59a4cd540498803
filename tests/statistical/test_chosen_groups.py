"""Groups that were chosen by a noisy number of people: read alone and pooled, they are calibrated all the same.

Many groups of six records, of which noise lets some pass a threshold of eleven. Their totals have noise of their own,
so the likelihood given that a group was chosen is that of a declared group. The control chooses by the totals' own
noise: those that pass look larger than they are, and their shares nearer to one half.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.curator.publish import release_with
from discreet.mechanisms import Laplace
from discreet.mechanisms.private_groups import LabelBudget
from discreet.models.grouped import Grouped

GROUPS, RECORDS, TRIALS = 60, 6, 30


def by_their_own_noise(release: dc.Release) -> dc.Release:
    """Keep the groups, about one in six, whose noisy totals are largest."""
    sums = np.array(release.totals.values).reshape(-1, 2).sum(axis=1)
    kept = np.flatnonzero(sums >= np.quantile(sums, 0.84))
    model = release.model.require(Grouped, "groups are chosen")
    model = model.with_labels("g", [model.groups[at] for at in kept])
    s, which = release.totals, [2 * at + cell for at in kept for cell in (0, 1)]
    names = model.layout(release.domain, release.neighbors).names

    def taken(values: Any) -> tuple[Any, ...]:
        return tuple(values[at] for at in which)

    statistics = replace(s, names=names, values=taken(s.values), grid=taken(s.grid), width=taken(s.width))
    noise = replace(release.noise_record, scale=taken(release.noise_record.scale))
    return replace(release, model=model, statistics=statistics, mechanism=noise)


def ranks(
    rng: np.random.Generator, *, pool: bool, own: bool, trials: int = TRIALS
) -> tuple[np.ndarray, np.ndarray]:
    """Return where the true shares of chosen groups lie among their draws, and where the population's mean does."""
    shares, means = [], []
    for _ in range(trials):
        p = rng.beta(12, 4, GROUPS) if pool else rng.random(GROUPS)
        rows = {
            "g": np.repeat([f"{at:02d}" for at in range(GROUPS)], RECORDS).tolist(),
            "y": (rng.random(GROUPS * RECORDS) < np.repeat(p, RECORDS)).astype(int).tolist(),
        }
        made = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            rows,
            dc.Bernoulli(),
            Laplace(1),
            column="y",
            by="g",
            groups=sorted(set(rows["g"])) if own else "private",
            neighbors="add_remove",
            label_budget=LabelBudget(Fraction(1, 4), Fraction(1, 20)),
        )
        chosen = by_their_own_noise(made) if own else made
        posterior: Any = dc.infer(chosen, rng=rng, draws=400, pool=pool)
        shares += [np.mean(posterior[name].draws["p"] < p[int(name)]) for name in posterior]
        if pool:
            means.append(np.mean(posterior.population.draws["mean"] < 0.75))
    return np.array(shares), np.array(means)


def covered(found: np.ndarray) -> int:
    return int(((found > 0.05) & (found < 0.95)).sum())


@pytest.mark.slow
def test_alone(rng: np.random.Generator):
    found, _ = ranks(rng, pool=False, own=False)
    print(f"{found.size} groups: 90% intervals cover {covered(found) / found.size:.3f}")
    assert stats.kstest(found, "uniform").pvalue > 1e-4
    assert stats.binomtest(covered(found), found.size, 0.9, alternative="less").pvalue > 1e-4
    wrong, _ = ranks(rng, pool=False, own=True)
    print(f"control, {wrong.size} groups: {covered(wrong) / wrong.size:.3f}")
    assert stats.binomtest(covered(wrong), wrong.size, 0.9, alternative="less").pvalue < 1e-4


@pytest.mark.slow
def test_pooled(rng: np.random.Generator):
    found, mean = ranks(rng, pool=True, own=False)
    print(
        f"{found.size} groups: {covered(found) / found.size:.3f}; "
        f"the population's mean: {covered(mean) / mean.size:.3f}"
    )
    assert stats.binomtest(covered(found), found.size, 0.9, alternative="less").pvalue > 1e-4
    assert stats.binomtest(covered(mean), mean.size, 0.9, alternative="less").pvalue > 1e-4
    # pooling hides much of the choice: a coverage of 85% needs this many groups to be told from 90%
    wrong, shifted = ranks(rng, pool=True, own=True, trials=3 * TRIALS)
    print(f"control: {covered(wrong) / wrong.size:.3f}; {covered(shifted) / shifted.size:.3f}")
    assert stats.binomtest(covered(wrong), wrong.size, 0.9, alternative="less").pvalue < 1e-4
    # drawn towards one half: far more often than uniform ranks would be
    assert (shifted.mean() - 0.5) * np.sqrt(12 * shifted.size) > 4
