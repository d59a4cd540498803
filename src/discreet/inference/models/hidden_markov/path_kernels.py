"""One iteration over all chains, compiled: what changes from chain to chain is the first axis of every array."""

from __future__ import annotations

from functools import cache

import numpy as np

from discreet.compiled import compiled
from discreet.inference.models.hidden_markov.count_tables import (
    Latent,
    Read,
    exchange_sweep,
    grow_sweep,
    pair_sweep,
)
from discreet.inference.models.hidden_markov.emissions import draw_emissions
from discreet.inference.models.hidden_markov.paths import draw_transitions, sample_paths
from discreet.inference.models.hidden_markov.transport import switch_paths, tilt_sweep

# What one iteration does to the latent tables, a share of them at a time: the tables of every eighth cell, the
# probabilities of one feature, the path of one sequence. More would make an iteration cost more than ten without noise.
STRIDE = 8


@cache
def log_factorials(most: int) -> np.ndarray:
    """Return log 0!, log 1!, ..., up to ``most``."""
    from scipy.special import gammaln

    return gammaln(np.arange(1.0, most + 2))


@compiled
def draw_parameters(
    gen: np.random.Generator,
    counts: np.ndarray,
    z: np.ndarray,
    n_placed: int,
    length: int,
    starts: np.ndarray,
    alpha: float,
    beta: np.ndarray,
    p: np.ndarray,
    log_p: np.ndarray,
    transition: np.ndarray,
) -> None:
    """Draw emission and transition probabilities given states and counts."""
    for m in range(z.shape[0]):
        draw_emissions(gen, counts[m % counts.shape[0]], z[m], starts, beta, p[m], log_p[m])
        draw_transitions(gen, z[m, :n_placed], length, alpha, transition[m])


@compiled
def draw_states(
    gen: np.random.Generator,
    z: np.ndarray,
    n_placed: int,
    length: int,
    transition: np.ndarray,
    log_emission: np.ndarray,
) -> None:
    """Draw the paths."""
    for m in range(z.shape[0]):
        sample_paths(gen, transition[m], log_emission[m], length, z[m, :n_placed])


@compiled
def move_tables(
    gen: np.random.Generator,
    turn: int,
    moves: np.ndarray,
    sizes: np.ndarray,
    switch: np.ndarray,
    active: np.ndarray,
    latent: Latent,
    transition: np.ndarray,
    read: Read,
    beta: np.ndarray,
    n_placed: int,
    length: int,
    factorials: np.ndarray,
    log_prior: np.ndarray,
    low: int,
) -> np.ndarray:
    """Move latent tables, totals, and states and probabilities with their tables.

    ``moves`` exchanges of ``sizes`` entries and, where ``switch`` says so, a path with its tables, chain by chain.
    Returns, for each chain, the share of accepted exchanges and the number of states that switched.
    """
    n_features = read.starts.size - 1
    n_chains = latent.z.shape[0]
    done = np.zeros((2, n_chains))
    n_sequences = n_placed // length
    for m in range(n_chains):
        one = Latent(latent.counts[m], latent.totals[m], latent.z[m], latent.p[m], latent.log_p[m])
        pair_sweep(gen, turn % STRIDE, STRIDE, one, read, factorials)
        if active.size > 1:
            done[0, m] = exchange_sweep(gen, moves[m], sizes[m], active, one, read)
        if log_prior.size > 0:
            grown = grow_sweep(gen, moves[m], sizes[m], active, one, read, log_prior, low)
            done[0, m] = grown if active.size == 1 else 0.5 * (done[0, m] + grown)
        done[0, m] /= moves[m]
        tilt_sweep(gen, turn % n_features, one, read, beta)
        if switch[m]:
            first = int(gen.random() * n_sequences) * length
            done[1, m] = switch_paths(gen, first, length, one, transition[m], read)
    return done
