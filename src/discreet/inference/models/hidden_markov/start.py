"""Where chains start: any function of the public readings will do, and a good one saves burn-in."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from discreet.inference.models.hidden_markov.noisy_cells import Noisy, SequenceCells


def first_paths(n_states: int, cells: SequenceCells, n_chains: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random state for every cell and chain; cells without a place are in a state of their own."""
    z = rng.integers(n_states, size=(n_chains, len(cells.values)))
    z[:, cells.n_placed :] = n_states
    return z


def read_totals(cells: SequenceCells, noisy: Noisy) -> tuple[np.ndarray, float]:
    """Return what the features' sums say of each cell's entries, weighted by their noise, and its standard error."""
    starts = cells.starts[:-1]
    sums = np.add.reduceat(cells.values, starts, axis=1)
    weight = 1.0 / np.add.reduceat(noisy.sd**2, starts)
    return sums @ weight / weight.sum(), float(weight.sum() ** -0.5)


def first_totals(cells: SequenceCells, noisy: Noisy) -> np.ndarray:
    """Return whole numbers of entries by cell, near what is read and possible."""
    read = np.maximum(read_totals(cells, noisy)[0], 0.0)
    read[~cells.observed] = 0.0
    wanted = noisy.n_entries
    if wanted is None:
        possible = noisy.low + np.flatnonzero(np.isfinite(noisy.log_prior))
        wanted = int(possible[np.argmin(np.abs(possible - read.sum()))])
    if read.sum() == 0:
        read = cells.observed.astype(float)
    return _rounded((read * (wanted / read.sum()))[None], np.array([wanted]))[0]


def first_tables(cells: SequenceCells, noisy: Noisy, totals: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return tables with these totals: readings drawn toward the shares of their state, as far as noise blurs them."""
    out = np.zeros_like(cells.values)
    starts = cells.starts
    states = np.eye(z.max() + 1)[z] * cells.observed[:, None]
    size = np.maximum(states.sum(axis=0), 1.0)
    for begin, end in pairwise(starts):
        mine = cells.values[:, begin:end]
        noise = noisy.sd[begin:end] ** 2
        shares = np.maximum(states.T @ mine, 0.0) + 1.0
        shares /= shares.sum(axis=1, keepdims=True)
        expected = totals[:, None] * shares[z]
        spread = (states.T @ (mine - expected) ** 2) / size[:, None] - noise
        signal = np.maximum(spread, 0.0)[z] + expected + 1e-9
        likely = np.maximum(expected + (mine - expected) * signal / (signal + noise), 1e-9)
        likely *= (totals / likely.sum(axis=1))[:, None]
        out[:, begin:end] = _rounded(likely, totals)
    return out


def _rounded(rows: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Round each row to whole numbers with a given sum: the largest remainders go up."""
    floor = np.floor(rows + 1e-9)
    short = np.round(totals - floor.sum(axis=1)).astype(int)
    rank = np.argsort(np.argsort(floor - rows, axis=1, kind="stable"), axis=1)
    return floor + (rank < short[:, None])
