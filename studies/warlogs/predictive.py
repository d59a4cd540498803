"""How likely unseen entries are, cell by cell, under the draws."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from discreet.inference.models.hidden_markov.sampler import Draws


def log_predictive(draws: Draws, counts: np.ndarray, cells: np.ndarray, length: int) -> np.ndarray:
    """Return the log-likelihood of each cell's entries, averaged over all draws of all chains.

    Parameters
    ----------
    draws
        Draws of states and parameters.
    counts
        Unseen entries: cells by labels.
    cells
        The place of each row of ``counts``: sequence times ``length`` plus time step.
    length
        Time steps in a sequence.

    Returns
    -------
    For each cell the logarithm of the mean over draws of sum_k P(state k | the drawn states before and after it) times
    the probability of its entries in state k.
    """
    weights = log_state_weights(draws, cells, length)
    log_p = np.log(draws.emission).reshape(-1, *draws.emission.shape[2:])
    each = np.empty((len(log_p), len(cells)))
    for i, one in enumerate(log_p):
        each[i] = logsumexp(counts @ one.T + weights[i], axis=1)
    return logsumexp(each, axis=0) - np.log(len(each))


def log_state_weights(draws: Draws, cells: np.ndarray, length: int) -> np.ndarray:
    """Return log P(state | the states before and after) of some cells: draws of all chains, cells, states."""
    n_states = draws.transition.shape[-1]
    states = draws.states.reshape(-1, draws.states.shape[-1])
    log_a = np.log(np.maximum(draws.transition, 1e-300)).reshape(-1, n_states + 1, n_states)
    rows = np.arange(len(states))[:, None]
    at_start, at_end = cells % length == 0, cells % length == length - 1
    before = np.where(at_start, n_states, states[:, np.where(at_start, cells, cells - 1)])
    after = states[:, np.where(at_end, cells, cells + 1)]
    weights = log_a[rows, before]
    onward = log_a[rows[..., None], np.arange(n_states), after[..., None]]
    weights = weights + np.where(at_end[:, None], 0.0, onward)
    return weights - logsumexp(weights, axis=-1, keepdims=True)
