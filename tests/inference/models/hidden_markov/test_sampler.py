"""The whole sampler against enumeration, and each of its draws against its distribution."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

from discreet.inference.models.hidden_markov import count_tables as tables
from discreet.inference.models.hidden_markov import paths, transport
from discreet.inference.models.hidden_markov.noisy_cells import Noisy, SequenceCells
from discreet.inference.models.hidden_markov.relabel import assignment_shares, relabel
from discreet.inference.models.hidden_markov.sampler import Draws, sample
from tests.inference.models.hidden_markov.enumeration import (
    DISTRIBUTIONS,
    LENGTH,
    N_ENTRIES,
    PATHS,
    READINGS,
    SIZES,
    latents,
    log_emissions,
    log_path,
    normalized,
)

FALSE_ALARM = 1e-3
WIDTHS = {"laplace": 1.5, "gaussian": 1.2}


def batch_z(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Distance of chains' means from the truth in standard errors, from 30 batches of each chain."""
    batches = (
        values.reshape(-1, 30, values.shape[1] // 30, values.shape[2])
        .mean(axis=2)
        .reshape(-1, values.shape[2])
    )
    return (batches.mean(axis=0) - truth) / (batches.std(axis=0, ddof=1) / np.sqrt(len(batches)))


def features_of(states: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Numbers that do not depend on how states are called: which neighbors agree, and the totals."""
    same = states[..., 1:] == states[..., :-1]
    ends = (states[..., :1] == states[..., -1:]).astype(float)
    return np.concatenate([same.astype(float), ends, totals, totals[..., :2] ** 2], axis=-1)


@cache
def enumerated(noise: str) -> np.ndarray:
    """Posterior means of all features, everything summed over."""
    log_paths = [log_path(path, 1.0) for path in PATHS]
    log_weights, rows = [], []
    for one in latents(DISTRIBUTIONS[noise]):
        for path, prior in zip(PATHS, log_paths, strict=True):
            log_weights.append(one.log_weight + prior + log_emissions(path, one.counts, 1.0))
            rows.append(features_of(np.array(path), np.array(one.totals, dtype=float)))
    return normalized(log_weights) @ np.array(rows)


@pytest.mark.parametrize(("noise", "other"), [("laplace", "gaussian"), ("gaussian", "laplace")])
def test_the_chain_has_the_enumerated_posterior(noise: str, other: str, rng: np.random.Generator) -> None:
    drawn = sample(
        2,
        SequenceCells(READINGS, SIZES, 1, LENGTH),
        noisy=Noisy(np.full(5, WIDTHS[noise]), noise == "gaussian", n_entries=N_ENTRIES),
        draws=3000,
        burn_in=100,
        chains=4,
        thin=3,
        rng=rng,
    )
    assert drawn.totals is not None
    found = features_of(drawn.states, drawn.totals)
    z = batch_z(found, enumerated(noise))
    # batches of 100 draws are nearly independent; the limit is for all numbers together
    limit = stats.t.isf(FALSE_ALARM / 4 / len(z), 119)
    assert np.abs(z).max() < limit
    # the posterior under the other distribution of the noise is told apart
    assert np.abs(batch_z(found, enumerated(other))).max() > 2 * limit


def test_a_private_number_of_entries(rng: np.random.Generator) -> None:
    """One cell, one feature: p(N | y) can be written down."""
    distribution = DISTRIBUTIONS["laplace"]
    n = np.arange(40)
    reading = np.array([6.0, 3.0])
    p = np.array([0.7, 0.3])
    log_weights = [
        np.logaddexp.reduce(
            stats.binom.logpmf(np.arange(m + 1), m, p[0])
            + distribution.log_mass(reading[0] - np.arange(m + 1))
            + distribution.log_mass(reading[1] - (m - np.arange(m + 1)))
        )
        for m in n
    ]
    truth = normalized(log_weights) @ n
    counts, totals = np.array([[6.0, 3.0]]), np.array([9.0])
    found = np.empty(24_000)
    latent = tables.Latent(counts, totals, np.zeros(1, dtype=np.int64), p[None], np.log(p)[None])
    read = tables.Read(reading[None], np.full(2, 1 / 1.5), np.array([0, 2]), np.ones(1, dtype=bool), False)
    for i in range(found.size):
        tables.grow_sweep(rng, 2, 3, np.zeros(1, dtype=np.int64), latent, read, np.zeros(40), 0)
        tables.pair_sweep(rng, 0, 1, latent, read, np.array([0.0]))
        found[i] = totals[0]
    batches = found.reshape(120, -1).mean(axis=1)
    z = (batches.mean() - truth) / (batches.std(ddof=1) / np.sqrt(120))
    assert abs(z) < stats.t.isf(FALSE_ALARM / 8, 119)


def test_carried_tables_have_the_new_distribution_and_the_coupling_can_be_read_backwards(
    rng: np.random.Generator,
) -> None:
    starts = np.array([0, 3])
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    size, n = 20_000, 12
    before = rng.multinomial(n, p, size).astype(float)
    after = np.empty_like(before)
    for i in range(size):
        transport.carry(rng, before[i], p, q, starts, after[i])

    def p_value(table: np.ndarray, distribution: np.ndarray) -> float:
        worst = 1.0
        for j in range(3):
            seen = np.bincount(table[:, j].astype(int), minlength=n + 1)
            expected = size * stats.binom.pmf(np.arange(n + 1), n, distribution[j])
            big = expected > 5
            both = [np.append(x[big], x[~big].sum()) for x in (seen.astype(float), expected)]
            worst = min(worst, float(stats.chisquare(*both).pvalue))  # pyright: ignore[reportArgumentType]
        return worst

    assert p_value(after, q) > FALSE_ALARM / 24
    assert p_value(after, p) < 1e-9
    # entries that changed their label, either way: as few as can be, on average n times the total variation
    kept = np.minimum(before, after).sum(axis=1)
    assert kept.mean() >= n * np.minimum(p, q).sum() - 5 * kept.std() / np.sqrt(size)
    # carried back, the first distribution again
    back = np.empty_like(before)
    for i in range(size):
        transport.carry(rng, after[i], q, p, starts, back[i])
    assert p_value(back, p) > FALSE_ALARM / 24
    # label 1 is as likely before and after, so nothing leaves it and nothing enters
    assert np.array_equal(before[:, 1], after[:, 1])


def test_known_counts(rng: np.random.Generator) -> None:
    counts = np.array([[3.0, 0, 2, 0, 1], [2, 1, 2, 1, 0], [0, 3, 0, 0, 3], [1, 2, 0, 2, 1]])
    truth_weights = [log_path(path, 0.7) + log_emissions(path, counts, 0.5) for path in PATHS]
    nothing = np.zeros(LENGTH)
    rows = np.array([features_of(np.array(path), nothing) for path in PATHS])[:, :LENGTH]
    truth = normalized(truth_weights) @ rows
    drawn = sample(
        2,
        SequenceCells(counts, SIZES, 1, LENGTH),
        draws=6000,
        burn_in=50,
        chains=4,
        alpha=0.7,
        beta=0.5,
        rng=rng,
    )
    found = features_of(drawn.states, np.zeros(drawn.states.shape))[..., :LENGTH]
    assert np.abs(batch_z(found, truth)).max() < stats.t.isf(FALSE_ALARM / 4 / LENGTH, 119)
    # another concentration is another distribution
    other = normalized([log_path(path, 5.0) + log_emissions(path, counts, 5.0) for path in PATHS]) @ rows
    assert np.abs(batch_z(found, other)).max() > 10


def test_transition_probabilities_go_with_the_path_they_are_kept_with(rng: np.random.Generator) -> None:
    counts = np.array([[3.0, 0, 2, 0, 1], [2, 1, 2, 1, 0], [0, 3, 0, 0, 3], [1, 2, 0, 2, 1]])
    alpha, steps = 0.3, np.arange(LENGTH - 1)
    weights = normalized([log_path(path, alpha) + log_emissions(path, counts, 0.5) for path in PATHS])
    expected = []
    for path in PATHS:
        n = np.full((2, 2), alpha)
        np.add.at(n, (path[:-1], path[1:]), 1.0)
        p = n / n.sum(axis=1, keepdims=True)
        expected.append([p[path[t], path[t + 1]] for t in steps])
    drawn = sample(
        2,
        SequenceCells(counts, SIZES, 1, LENGTH),
        draws=3000,
        burn_in=50,
        chains=4,
        alpha=alpha,
        beta=0.5,
        rng=rng,
    )
    z = drawn.states
    chain, draw = np.ogrid[: len(z), : z.shape[1]]
    found = np.stack([drawn.transition[chain, draw, z[..., t], z[..., t + 1]] for t in steps], axis=-1)
    assert np.abs(batch_z(found, weights @ np.array(expected))).max() < stats.t.isf(FALSE_ALARM / 12, 119)
    # any path's transitions with any other's probabilities are told apart
    apart = np.stack([drawn.transition[chain, draw - 1, z[..., t], z[..., t + 1]] for t in steps], axis=-1)
    assert np.abs(batch_z(apart, weights @ np.array(expected))).max() > 8


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.2])
def test_small_concentrations_are_drawn_whole(alpha: float, rng: np.random.Generator) -> None:
    """Gamma variables of a small shape are all zero in floating point, one time in four at 0.001."""
    drawn = np.zeros((4000, 2))
    for one in drawn:
        paths.draw_dirichlet(rng, one, alpha)
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-12)

    def p_value(a: float) -> float:
        # how many draws have less than a hundredth, and how many have a half, on the first label
        points = np.array([1e-2, 0.5, 1 - 1e-2])
        shares = np.diff(stats.beta.cdf(points, a, a), prepend=0.0, append=1.0)
        seen = np.bincount(np.searchsorted(points, drawn[:, 0]), minlength=4)
        return float(stats.chisquare(seen, shares * len(drawn)).pvalue)

    assert p_value(alpha) > FALSE_ALARM / 3
    assert p_value(3 * alpha) < 1e-3


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.001), (0.001, 1.0)])
def test_the_smallest_concentrations_give_probabilities(
    alpha: float, beta: float, rng: np.random.Generator
) -> None:
    counts = rng.multinomial(50, [0.7, 0.3], size=12)
    drawn = sample(
        3, SequenceCells(counts, (2,), 2, 6), draws=200, burn_in=50, alpha=alpha, beta=beta, rng=rng
    )
    np.testing.assert_allclose(drawn.emission.sum(axis=-1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(drawn.transition.sum(axis=-1), 1.0, rtol=1e-9)


def test_states_are_numbered_by_all_draws() -> None:
    """Also where the draws agree from the start: the draw that the others are compared with does not decide."""
    states = np.zeros((1, 9, 10), dtype=np.int32)
    states[0, :8, 7:] = 1
    states[0, 8, 4:] = 1
    states = 1 - states
    drawn = Draws(states, np.full((1, 9, 2, 2), 0.5), np.full((1, 9, 3, 2), 0.5))
    # in the last draw state 1 has four cells of ten, in the others seven
    assert (relabel(drawn).states == 0).mean() > 0.5


def test_cells_that_were_not_observed_say_nothing(rng: np.random.Generator) -> None:
    counts = np.tile([[30.0, 0.0], [0.0, 30.0]], (5, 1)).repeat(2, axis=0)
    observed = np.ones(len(counts), dtype=bool)
    observed[[3, 8]] = False
    counts[3] = counts[8] = 1000.0
    drawn = sample(2, SequenceCells(counts, (2,), 2, 10, observed=observed), draws=200, burn_in=50, rng=rng)
    # a thousand entries of both labels would leave their mark
    assert np.abs(drawn.emission[0].mean(axis=0) - 0.5).min() > 0.4


def test_states_are_named_alike(rng: np.random.Generator) -> None:
    path = np.repeat([0, 1, 2], [30, 20, 10])
    emission = rng.dirichlet(np.ones(4), 3)
    transition = rng.dirichlet(np.ones(3), 4)
    states, emissions, transitions = [], [], []
    for _ in range(50):
        order = rng.permutation(3)
        noisy = np.where(rng.random(60) < 0.1, rng.integers(3, size=60), path)
        states.append(order[noisy])
        back = np.argsort(order)
        emissions.append(emission[back])
        transitions.append(transition[np.append(back, 3)][:, back])
    shape = (2, 25)
    drawn = relabel(
        Draws(
            np.array(states).reshape(*shape, 60),
            np.array(emissions).reshape(*shape, 3, 4),
            np.array(transitions).reshape(*shape, 4, 3),
        )
    )
    assert np.array_equal(assignment_shares(drawn.states, 3).argmax(axis=1), path)
    assert np.ptp(drawn.emission, axis=(0, 1)).max() == 0
    assert np.array_equal(drawn.emission[0, 0], emission)
    assert np.array_equal(drawn.transition[1, 7], transition)
