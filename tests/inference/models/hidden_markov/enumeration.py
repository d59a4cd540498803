"""A hidden Markov model of four steps, small enough to write down every state of everything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from math import lgamma

import numpy as np

from discreet.inference.models.hidden_markov.paths import filter_forward
from discreet.privacy.noise import DiscreteGaussian, DiscreteLaplace, Noise

N_STATES, LENGTH, SIZES, N_ENTRIES = 2, 4, (2, 3), 3
STARTS = np.array([0, 2, 5])
#: Noisy counts that some data set of three entries may have led to.
READINGS = np.array([[2.0, 0, -1, 2, 1], [1, -1, 1, 0, 0], [0, 2, 0, 0, 2], [1, 1, 0, 1, 1]])
DISTRIBUTIONS: dict[str, Noise] = {"laplace": DiscreteLaplace(1.5), "gaussian": DiscreteGaussian(1.2)}
PATHS = tuple(product(range(N_STATES), repeat=LENGTH))


@dataclass(frozen=True)
class Latent:
    """All tables of all cells: numbers of entries, counts, and log of multinomial coefficients and noise."""

    totals: tuple[int, ...]
    counts: np.ndarray
    log_weight: float


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Return all ways to write ``total`` as an ordered sum."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def log_coefficient(table: tuple[int, ...]) -> float:
    return lgamma(sum(table) + 1) - sum(lgamma(count + 1) for count in table)


def cell_tables(total: int) -> list[tuple[np.ndarray, float]]:
    """Return all tables of one cell with so many entries, and the log of their multinomial coefficients."""
    found = []
    for tables in product(*(compositions(total, size) for size in SIZES)):
        found.append((np.concatenate(tables).astype(float), sum(map(log_coefficient, tables))))
    return found


def latents(distribution: Noise) -> list[Latent]:
    """Return everything that the entries may have been, with ``N_ENTRIES`` of them in public."""
    tables = {total: cell_tables(total) for total in range(N_ENTRIES + 1)}
    found = []
    for totals in compositions(N_ENTRIES, LENGTH):
        for cells in product(*(tables[total] for total in totals)):
            counts = np.array([cell[0] for cell in cells])
            weight = sum(cell[1] for cell in cells) + float(distribution.log_mass(READINGS - counts).sum())
            found.append(Latent(totals, counts, weight))
    return found


def log_dirichlet_multinomial(counts: np.ndarray, concentration: float) -> float:
    """Return the log-probability of one sequence of draws with these counts, probabilities integrated out."""
    size, total = len(counts), float(np.sum(counts))
    inside = sum(lgamma(c + concentration) - lgamma(concentration) for c in counts)
    return inside + lgamma(size * concentration) - lgamma(total + size * concentration)


def log_path(path: tuple[int, ...], alpha: float) -> float:
    """Return the log-probability of a path, transition probabilities integrated out."""
    counts = np.zeros((N_STATES + 1, N_STATES))
    before = N_STATES
    for state in path:
        counts[before, state] += 1
        before = state
    return sum(log_dirichlet_multinomial(row, alpha) for row in counts)


def log_path_given(path: tuple[int, ...], transition: np.ndarray) -> float:
    before, total = N_STATES, 0.0
    for state in path:
        total += float(np.log(transition[before, state]))
        before = state
    return total


def log_emissions(path: tuple[int, ...], counts: np.ndarray, beta: float) -> float:
    """Return the log-probability of the entries' labels, emission probabilities integrated out."""
    total = 0.0
    for state in range(N_STATES):
        mine = counts[np.array(path) == state].sum(axis=0)
        for begin, end in pairwise(STARTS):
            total += log_dirichlet_multinomial(mine[begin:end], beta)
    return total


def normalized(log_weights: list[float] | np.ndarray) -> np.ndarray:
    weights = np.exp(np.asarray(log_weights) - np.max(log_weights))
    return weights / weights.sum()


def smooth(transition: np.ndarray, log_emission: np.ndarray, length: int, out: np.ndarray) -> None:
    """Fill ``out`` with P(state | all entries of its sequence), cell by cell."""
    n_states = log_emission.shape[1]
    ratio = np.empty(n_states)
    for first in range(0, out.shape[0], length):
        part = out[first : first + length]
        filter_forward(transition, log_emission[first : first + length], part)
        for t in range(length - 2, -1, -1):
            for after in range(n_states):
                expected = 0.0
                for j in range(n_states):
                    expected += part[t, j] * transition[j, after]
                ratio[after] = part[t + 1, after] / expected if expected > 0.0 else 0.0
            whole = 0.0
            for k in range(n_states):
                rest = 0.0
                for after in range(n_states):
                    rest += transition[k, after] * ratio[after]
                part[t, k] *= rest
                whole += part[t, k]
            for k in range(n_states):
                part[t, k] /= whole
