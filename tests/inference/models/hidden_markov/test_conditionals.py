"""The conditional distributions that the sampler draws from, against writing down every state of everything."""

from __future__ import annotations

import importlib
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import multinomial

from discreet.inference.models.hidden_markov import count_tables as tables
from discreet.inference.models.hidden_markov import paths
from tests.inference.models.hidden_markov.enumeration import (
    DISTRIBUTIONS,
    LENGTH,
    N_STATES,
    PATHS,
    READINGS,
    STARTS,
    cell_tables,
    latents,
    log_path_given,
    normalized,
    smooth,
)

EXACT = 1e-10
RATES = {"laplace": np.full(5, 1 / 1.5), "gaussian": np.full(5, 1 / 1.2)}


def simplex_rows(rng: np.random.Generator, *sizes: int, rows: int) -> np.ndarray:
    return np.concatenate([rng.dirichlet(np.ones(size), rows) for size in sizes], axis=1)


def test_filtering_and_smoothing_are_exact(rng: np.random.Generator) -> None:
    transition = rng.dirichlet(np.ones(N_STATES), N_STATES + 1)
    # far apart, so that plain products would underflow
    log_emission = rng.normal(0, 400, (LENGTH, N_STATES))
    joint = np.array(
        [
            log_path_given(path, transition) + sum(log_emission[t, k] for t, k in enumerate(path))
            for path in PATHS
        ]
    )
    filtered = np.empty((LENGTH, N_STATES))
    found = paths.filter_forward(transition, log_emission, filtered)
    assert found == pytest.approx(np.logaddexp.reduce(joint), abs=EXACT * abs(joint.max()))
    shares = normalized(joint)
    marginals = np.array(
        [[shares[[p[t] == k for p in PATHS]].sum() for k in range(N_STATES)] for t in range(LENGTH)]
    )
    smoothed = np.empty((LENGTH, N_STATES))
    smooth(transition, log_emission, LENGTH, smoothed)
    assert np.abs(smoothed - marginals).max() < EXACT


@pytest.mark.parametrize("noise", DISTRIBUTIONS)
def test_states_given_noisy_tables(noise: str, rng: np.random.Generator) -> None:
    """p(z_t | y) given the parameters: all tables summed over with the sampler's own filter, or all paths as well."""
    transition = rng.dirichlet(np.ones(N_STATES), N_STATES + 1)
    p = simplex_rows(rng, 2, 3, rows=N_STATES)
    every = latents(DISTRIBUTIONS[noise])
    log_path_of = [log_path_given(path, transition) for path in PATHS]
    by_hand = np.zeros((LENGTH, N_STATES))
    filtered, smoothed = np.empty((LENGTH, N_STATES)), np.empty((LENGTH, N_STATES))
    log_totals, marginals = [], []
    top = max(one.log_weight for one in every)
    for one in every:
        log_emission = one.counts @ np.log(p).T
        for path, prior in zip(PATHS, log_path_of, strict=True):
            weight = math.exp(
                one.log_weight - top + prior + sum(log_emission[t, k] for t, k in enumerate(path))
            )
            for t, k in enumerate(path):
                by_hand[t, k] += weight
        log_totals.append(one.log_weight + paths.filter_forward(transition, log_emission, filtered))
        smooth(transition, log_emission, LENGTH, smoothed)
        marginals.append(smoothed.copy())
    found = np.tensordot(normalized(log_totals), np.array(marginals), axes=1)
    assert np.abs(found - by_hand / by_hand.sum(axis=1, keepdims=True)).max() < EXACT


@pytest.mark.parametrize("noise", DISTRIBUTIONS)
def test_moves_of_tables_keep_their_distribution(noise: str, rng: np.random.Generator) -> None:
    """The acceptance of a pair move is the ratio of multinomial times noise masses."""
    p = simplex_rows(rng, 2, 3, rows=1)[0]
    distribution, gaussian = DISTRIBUTIONS[noise], noise == "gaussian"
    factorials = np.array([math.lgamma(n + 1) for n in range(4)])

    def log_mass(counts: np.ndarray) -> float:
        total = float(distribution.log_mass(READINGS[0] - counts).sum())
        for begin, end in pairwise(STARTS):
            total += float(multinomial.logpmf(counts[begin:end], counts[begin:end].sum(), p[begin:end]))
        return total

    tried = 0
    for counts, _ in cell_tables(5):
        for i, j, step in [(0, 1, 2.0), (1, 0, 1.0), (2, 4, -3.0), (3, 2, 1.0)]:
            ratio = tables.pair_ratio(
                counts, READINGS[0], RATES[noise], np.log(p), i, j, step, gaussian, factorials
            )
            if counts[i] < step or counts[j] < -step:
                assert ratio == -np.inf
                continue
            other = counts.copy()
            other[i] -= step
            other[j] += step
            assert ratio == pytest.approx(log_mass(other) - log_mass(counts), abs=EXACT)
            tried += 1
    assert tried > 100


@pytest.mark.parametrize("noise", DISTRIBUTIONS)
def test_moves_of_totals_keep_their_distribution(noise: str, rng: np.random.Generator) -> None:
    """Entries taken out at random and put in by the state's: posterior times proposal balances, move by move."""
    p = simplex_rows(rng, 2, 3, rows=1)[0]
    distribution, gaussian = DISTRIBUTIONS[noise], noise == "gaussian"
    full, size = 4, 2

    def log_multinomial(counts: np.ndarray) -> float:
        parts = [counts[begin:end] for begin, end in pairwise(STARTS)]
        shares = [p[begin:end] for begin, end in pairwise(STARTS)]
        return sum(float(multinomial.logpmf(c, c.sum(), q)) for c, q in zip(parts, shares, strict=True))

    def log_choose(n: float, k: float) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    tried = 0
    for counts, _ in cell_tables(full):
        for gone, _ in cell_tables(size):
            if (gone > counts).any():
                continue
            after = counts - gone
            log_out = sum(map(log_choose, counts, gone)) - 2 * log_choose(full, size)
            log_in = log_multinomial(gone)
            before = (
                log_multinomial(counts) + float(distribution.log_mass(READINGS[0] - counts).sum()) + log_out
            )
            back = log_multinomial(after) + float(distribution.log_mass(READINGS[0] - after).sum()) + log_in
            ratio = tables.shift_ratio(counts, READINGS[0], RATES[noise], gone, -1.0, gaussian)
            assert ratio == pytest.approx(back - before, abs=EXACT)
            assert ratio == pytest.approx(
                -tables.shift_ratio(after, READINGS[0], RATES[noise], gone, 1.0, gaussian), abs=EXACT
            )
            tried += 1
    assert tried > 100


def test_modules_load_numba_only_when_they_draw() -> None:
    module = importlib.import_module("discreet.inference.models.hidden_markov.hidden_markov_engine")
    assert (module.GIBBS.name, module.NAIVE.name) == ("gibbs", "naive")
