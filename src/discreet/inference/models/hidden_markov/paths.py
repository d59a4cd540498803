"""Paths of hidden states, drawn whole by forward filtering.

States are 0, ..., K - 1. Row K of a table of transitions belongs to the dummy state before the first step, which every
sequence starts in. ``log_emission`` holds, for every cell (sequence and time step) and state, the log-probability of
the cell's entries; a cell without entries has zeros. Sequences follow one another, all of the same length.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.compiled import compiled


@compiled
def count_transitions(z: np.ndarray, length: int, n_states: int, out: np.ndarray) -> None:
    """Fill ``out`` (K + 1 by K) with how often each state follows each, the dummy state last."""
    out[:] = 0.0
    for c in range(z.size):
        before = n_states if c % length == 0 else z[c - 1]
        out[before, z[c]] += 1.0


@compiled
def pick(weights: np.ndarray, level: float) -> int:
    """Return the first index at which the running sum of ``weights`` exceeds ``level`` times their sum."""
    total = 0.0
    for k in range(weights.size):
        total += weights[k]
    rest = level * total
    last = 0
    for k in range(weights.size):
        if weights[k] > 0.0:
            last = k
            rest -= weights[k]
            if rest < 0.0:
                return k
    return last


# A gamma variable whose shape is less than this can round to zero with a probability above 1e-16.
_SMALL_SHAPE = 0.05
# No probability is less than this: one that is zero could not be taken the logarithm of.
LEAST = 1e-300


@compiled
def draw_dirichlet(gen: np.random.Generator, out: np.ndarray, alpha: float) -> None:
    """Replace ``out``, which holds counts, by a draw from Dirichlet(counts + alpha).

    Where a count is zero and ``alpha`` small, gamma variables are drawn as logarithms, G(a) = G(a + 1) U^(1/a): all of
    them could be too small for a number, and their shares would be lost.
    """
    if alpha < _SMALL_SHAPE:
        top = -np.inf
        for k in range(out.size):
            shape = out[k] + alpha
            out[k] = math.log(gen.standard_gamma(shape + 1.0)) + math.log(1.0 - gen.random()) / shape
            top = max(top, out[k])
        for k in range(out.size):
            out[k] = math.exp(out[k] - top)
    else:
        for k in range(out.size):
            out[k] = gen.standard_gamma(out[k] + alpha)
    total = 0.0
    for k in range(out.size):
        total += out[k]
    for k in range(out.size):
        out[k] = max(out[k] / total, LEAST)


@compiled
def draw_transitions(
    gen: np.random.Generator, z: np.ndarray, length: int, alpha: float, out: np.ndarray
) -> None:
    """Draw every row of the transition probabilities given the path: Dirichlet(counts + alpha)."""
    n_states = out.shape[1]
    count_transitions(z, length, n_states, out)
    for j in range(n_states + 1):
        draw_dirichlet(gen, out[j], alpha)


@compiled
def filter_forward(transition: np.ndarray, log_emission: np.ndarray, out: np.ndarray) -> float:
    """Fill ``out`` with P(state | entries so far) along one sequence; return the log-probability of all entries."""
    length, n_states = log_emission.shape
    log_total = 0.0
    for t in range(length):
        top = -np.inf
        for k in range(n_states):
            top = max(top, log_emission[t, k])
        whole = 0.0
        for k in range(n_states):
            mass = 0.0
            if t == 0:
                mass = transition[n_states, k]
            else:
                for j in range(n_states):
                    mass += out[t - 1, j] * transition[j, k]
            out[t, k] = mass * math.exp(log_emission[t, k] - top)
            whole += out[t, k]
        if not whole > 0.0:
            # the states that the past allows are all far less likely than another one: start from logs
            whole, top = _filter_logs(transition, log_emission, out, t)
        log_total += math.log(whole) + top
        for k in range(n_states):
            out[t, k] /= whole
    return log_total


@compiled
def _filter_logs(
    transition: np.ndarray, log_emission: np.ndarray, out: np.ndarray, t: int
) -> tuple[float, float]:
    """Fill one step of the filter from logarithms, where the plain products all underflow."""
    n_states = log_emission.shape[1]
    top = -np.inf
    for k in range(n_states):
        mass = transition[n_states, k]
        if t > 0:
            mass = 0.0
            for j in range(n_states):
                mass += out[t - 1, j] * transition[j, k]
        out[t, k] = math.log(max(mass, 1e-300)) + log_emission[t, k]
        top = max(top, out[t, k])
    whole = 0.0
    for k in range(n_states):
        out[t, k] = math.exp(out[t, k] - top)
        whole += out[t, k]
    return whole, top


@compiled
def sample_paths(
    gen: np.random.Generator, transition: np.ndarray, log_emission: np.ndarray, length: int, z: np.ndarray
) -> None:
    """Draw all sequences' states given transition probabilities: filter forward, sample backward, in place."""
    n_states = log_emission.shape[1]
    filtered = np.empty((length, n_states))
    weights = np.empty(n_states)
    for first in range(0, z.size, length):
        filter_forward(transition, log_emission[first : first + length], filtered)
        z[first + length - 1] = pick(filtered[length - 1], gen.random())
        for t in range(length - 2, -1, -1):
            after = z[first + t + 1]
            for k in range(n_states):
                weights[k] = filtered[t, k] * transition[k, after]
            z[first + t] = pick(weights, gen.random())
