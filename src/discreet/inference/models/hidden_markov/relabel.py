"""Names for states that mean the same in every draw.

The model does not know its states apart: any renumbering is as likely, and draws and chains number them as they please.
The rule here: a draw's states are renumbered so that its path overlaps most with the shares of the draws so far in
which each cell was in each state; this is repeated until nothing changes. At last states are numbered by how many
cells they hold on average, the most frequent first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from discreet.inference.models.hidden_markov.sampler import Draws

_MOST_ROUNDS = 20


def relabel(draws: Draws) -> Draws:
    """Return the same draws with states numbered alike in all of them."""
    _, n_draws, n_cells = draws.states.shape
    n_states = draws.transition.shape[-1]
    flat = draws.states.reshape(-1, n_cells)
    one_hot = np.eye(n_states)
    order = np.tile(np.arange(n_states), (len(flat), 1))
    # the last draw of the first chain is as good a start as any
    shares = one_hot[flat[n_draws - 1]]
    for _ in range(_MOST_ROUNDS):
        # the new number of each state that makes the overlap largest
        best = (linear_sum_assignment(one_hot[path].T @ shares, maximize=True) for path in flat)
        found = np.array([states for _, states in best])
        if np.array_equal(found, order):
            break
        order = found
        shares = assignment_shares(np.take_along_axis(order, flat, axis=1), n_states)
    held = assignment_shares(np.take_along_axis(order, flat, axis=1), n_states).sum(axis=0)
    rank = np.argsort(np.argsort(-held, kind="stable"))
    return _renumbered(draws, rank[order])


def assignment_shares(states: np.ndarray, n_states: int) -> np.ndarray:
    """Return the share of draws in which each cell is in each state; draws first, cells last."""
    flat = states.reshape(-1, states.shape[-1])
    return np.stack([(flat == k).mean(axis=0) for k in range(n_states)], axis=1)


def _renumbered(draws: Draws, order: np.ndarray) -> Draws:
    """Give state k of draw i the number ``order[i, k]``."""
    shape = draws.states.shape[:2]
    rows = np.arange(len(order))[:, None]
    n_states = order.shape[1]
    back = np.argsort(order, axis=1)
    # the dummy state before the first step keeps its place
    with_dummy = np.concatenate([back, np.full((len(back), 1), n_states)], axis=1)
    states = order[rows, draws.states.reshape(len(order), -1)].astype(draws.states.dtype)
    emission = draws.emission.reshape(len(order), n_states, -1)[rows, back]
    transition = draws.transition.reshape(len(order), n_states + 1, n_states)
    transition = transition[rows[..., None], with_dummy[:, :, None], back[:, None, :]]
    return replace(
        draws,
        states=states.reshape(*shape, -1),
        emission=emission.reshape(*shape, n_states, -1),
        transition=transition.reshape(*shape, n_states + 1, n_states),
    )
