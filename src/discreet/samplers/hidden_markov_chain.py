r"""A tempered Gibbs sampler of a hidden Markov model of log entries, part by part.

The chain's target is prior(transitions) prior(p) P[z | transitions] P[x | z, p]^{1/T}: the likelihood of the entries is
tempered, and nothing else. Its three conditionals are

- z, all paths at once: proportional to P[z | transitions] prod over entries of p_{z(place), d}(x_d)^{1/T}, drawn by
  filtering forward and sampling backward;
- p_{k,d}: Dirichlet(label_prior + counts / T) where no probability is below the column's least, which reads the counts
  of the entries at places in state k;
- transitions: Dirichlet(transition_prior + how often the paths go from state to state), which reads no record once z is
  public.

Costs are in :mod:`discreet.privacy.costs.gibbs_costs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.samplers.chain_draws import choose_states, draw_tables, draw_weights


@dataclass(frozen=True)
class HiddenMarkovChain:
    """What everybody knows of the chain: so many hidden states, and labels of each feature."""

    states: int
    sizes: tuple[int, ...]
    least: tuple[float, ...]
    temperature: float
    transition_prior: float = 1.0
    label_prior: float = 1.0


@dataclass(frozen=True)
class HiddenMarkovState:
    """One state, all of it published.

    ``transitions`` has one row for each state and a last one for where sequences start; ``tables`` one matrix of states
    by labels for each feature; ``paths`` are sequences by times.
    """

    transitions: np.ndarray
    tables: tuple[np.ndarray, ...]
    paths: np.ndarray


def log_emissions(
    chain: HiddenMarkovChain, tables: Sequence[np.ndarray], counts: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the tempered log-likelihood of the entries of every place in every state: sequences, times, states.

    ``counts`` has one array for each feature: how many entries of each sequence and time have each label.
    """
    parts = [each @ np.log(table).T for table, each in zip(tables, counts, strict=True)]
    return np.sum(parts, axis=0) / chain.temperature


def label_parameters(
    chain: HiddenMarkovChain, counts: Sequence[np.ndarray], paths: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return the parameters of the truncated Dirichlet distribution of every state in every feature."""
    held = np.eye(chain.states)[paths.ravel()]
    return tuple(
        chain.label_prior + held.T @ each.reshape(-1, size) / chain.temperature
        for each, size in zip(counts, chain.sizes, strict=True)
    )


def draw_paths(log_emission: np.ndarray, transitions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the hidden states of all sequences: filter forward, sample backward."""
    n_sequences, n_times, n_states = log_emission.shape
    start, moves = np.log(transitions[n_states]), np.log(transitions[:n_states])
    reached = [start + log_emission[:, 0]]
    for t in range(1, n_times):
        into = np.logaddexp.reduce(reached[-1][:, :, None] + moves, axis=1)
        reached.append(into - into.max(axis=1, keepdims=True) + log_emission[:, t])
    paths = np.empty((n_sequences, n_times), dtype=np.int64)
    paths[:, -1] = choose_states(reached[-1], rng)
    for t in range(n_times - 2, -1, -1):
        paths[:, t] = choose_states(reached[t] + moves.T[paths[:, t + 1]], rng)
    return paths


def moves_made(paths: np.ndarray, n_states: int) -> np.ndarray:
    """Return how often paths go from state to state; the last row is how often they start in each."""
    counts = np.zeros((n_states + 1, n_states))
    np.add.at(counts, (paths[:, :-1], paths[:, 1:]), 1)
    np.add.at(counts, (np.full(len(paths), n_states), paths[:, 0]), 1)
    return counts


def sweeps(
    chain: HiddenMarkovChain, counts: Sequence[np.ndarray], rng: np.random.Generator
) -> Iterator[HiddenMarkovState]:
    """Yield the states after each sweep, without end. The first sweep begins at a draw from the prior."""
    none = [np.full((chain.states, size), chain.label_prior) for size in chain.sizes]
    tables = draw_tables(none, chain.least, rng)
    transitions = _draw_transitions(chain, np.zeros((chain.states + 1, chain.states)), rng)
    while True:
        paths = draw_paths(log_emissions(chain, tables, counts), transitions, rng)
        tables = draw_tables(label_parameters(chain, counts, paths), chain.least, rng)
        transitions = _draw_transitions(chain, moves_made(paths, chain.states), rng)
        yield HiddenMarkovState(transitions, tables, paths)


def _draw_transitions(chain: HiddenMarkovChain, made: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.array([draw_weights(chain.transition_prior + row, rng) for row in made])
