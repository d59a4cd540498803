"""Cells that were held out: how likely their entries are under the draws, and how likely their noisy counts.

Entries of a cell share its hidden state. Of a held-out cell the state follows from the drawn states before and after
it; each draw sums over it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import logsumexp

from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.inference.models.hidden_markov.reading import read_cells, read_noise
from discreet.inference.models.hidden_markov.start import read_totals
from discreet.inference.posterior import Posterior
from discreet.inference.record_prior import RecordPrior
from discreet.models.base import Model
from discreet.models.hidden_markov import HiddenMarkov
from discreet.models.public_rows import code_rows

# a probability that a draw rounds to zero
_TINY = 1e-300


def log_predictive(of: Model, draws: Mapping[str, np.ndarray], rows: object) -> dict[tuple[str, str], float]:
    """Return the log-probability of the entries of each cell that rows are in."""
    model = of.require(HiddenMarkov, "cells are scored by hidden Markov models")
    codes, _ = code_rows(model, rows, absent=model.optional_columns)
    place = codes.shape[1] - len(model.features)
    chain = np.zeros(len(codes), dtype=int) if place == 1 else codes[:, 0]
    time = codes[:, place - 1]
    if not len(codes) or (chain >= model.n_sequences).any() or (time >= model.time.n_labels).any():
        raise UsageError(
            "every row needs a declared sequence and time, and there must be one row.",
            hint="log_likelihood(rows, ahead=1) weighs rows of later times",
        )
    where = chain * model.time.n_labels + time
    cells = np.unique(where)
    counts = [
        np.stack([np.bincount(code[where == cell], minlength=feature.n_labels + 1)[:-1] for cell in cells])
        for feature, code in zip(model.features, codes[:, place:].T, strict=True)
    ]
    log_p = sum(
        np.einsum("cl,dkl->dck", table, np.log(np.maximum(draws[feature.name], _TINY)))
        for feature, table in zip(model.features, counts, strict=True)
    )
    each = logsumexp(log_p + _log_state_weights(model, draws, cells), axis=2)
    found = logsumexp(each, axis=0) - np.log(len(each))
    sequences, times = model.sequence_labels, model.time.labels
    length = len(times)
    return {
        (sequences[cell // length], times[cell % length]): float(score)
        for cell, score in zip(cells, found, strict=True)
    }


def _log_state_weights(model: HiddenMarkov, draws: Mapping[str, np.ndarray], cells: np.ndarray) -> np.ndarray:
    """Return log P(state) of some cells in each draw: draws, cells, states.

    Of held-out cells given the states before and after; of the others the drawn state has probability 1.
    """
    length, n_states = model.time.n_labels, model.states
    states = draws["states"].reshape(len(draws["states"]), -1) - 1
    log_a = np.log(np.maximum(draws["transition"], _TINY))
    each = np.arange(len(states))[:, None]
    at_start, at_end = cells % length == 0, cells % length == length - 1
    before = np.where(at_start, n_states, states[:, np.where(at_start, cells, cells - 1)])
    after = states[:, np.where(at_end, cells, cells + 1)]
    onward = log_a[each[..., None], np.arange(n_states), after[..., None]]
    weights = log_a[each, before] + np.where(at_end[:, None], 0.0, onward)
    weights -= logsumexp(weights, axis=-1, keepdims=True)
    held = np.isin(cells, [sequence * length + time for sequence, time in model.held_out])
    drawn = np.where(states[:, cells, None] == np.arange(n_states), 0.0, -np.inf)
    return np.where(held[:, None], weights, drawn)


def reading_scores(release: Release, posterior: Posterior, cells: np.ndarray) -> np.ndarray:
    """Return a log score of the noisy counts of some cells: how well the draws foretell what was released.

    Of a cell with n entries in state k the noisy counts of a feature have mean n p_k and covariance
    n (diag p_k - p_k p_k') + noise; the score is the log of the normal density of those moments, averaged over draws
    and states. n, about which the model says nothing, is what the cell's own sums say, the same under every model.
    The public noise is part of the prediction, so the scores of two models differ by what the models say.
    """
    model = release.model.require(HiddenMarkov, "cells are scored by hidden Markov models")
    counts = read_cells(release, model.revised(held_out={}))
    noisy = read_noise(release, counts, RecordPrior())
    n = np.maximum(read_totals(counts, noisy)[0], 1.0)[cells]
    weights = _log_state_weights(model, posterior.draws, cells)
    found = np.empty(len(cells))
    for at, cell in enumerate(cells):
        total = weights[:, at]
        for feature, begin in zip(model.features, counts.starts, strict=False):
            labels = slice(begin, begin + feature.n_labels)
            p, variance = posterior.draws[feature.name], noisy.sd[labels] ** 2
            total = total + _normal_score(counts.values[cell, labels], n[at], p, variance)
        found[at] = logsumexp(total) - np.log(len(total))
    return found


def _normal_score(y: np.ndarray, n: float, p: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return log N(y; n p, n (diag p - p p') + diag variance), draws by states; by Sherman and Morrison."""
    spread = n * p + variance
    off = y - n * p
    # the covariance is diag(spread) - n p p'
    lost = (n * p * p / spread).sum(axis=-1)
    cross = (off * p / spread).sum(axis=-1)
    quadratic = (off * off / spread).sum(axis=-1) + n * cross**2 / (1 - lost)
    log_det = np.log(spread).sum(axis=-1) + np.log1p(-lost)
    return -0.5 * (quadratic + log_det + len(y) * np.log(2 * np.pi))
