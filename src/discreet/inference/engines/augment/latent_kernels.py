"""The loops over records, compiled: each acceptance depends on the one before, so they cannot be vectorised.

A chain's records are rows of two matrices: ``full``, the sufficient statistic of the value itself, which the parameter
needs, and ``steps``, what the record adds to the released vector, in grid steps. Steps are whole numbers, so their
running sums are exact. A missing record is a row of zeros in both.
"""

from __future__ import annotations

import numpy as np

from discreet.compiled import njit


@njit(cache=True)
def log_noise(sums: np.ndarray, readings: np.ndarray, scales: np.ndarray, gaussian: bool) -> float:
    """Return the log mass of the noise that turns ``sums`` into ``readings``, up to a constant."""
    total = 0.0
    for j in range(sums.size):
        r = (readings[j] - sums[j]) / scales[j]
        total -= 0.5 * r * r if gaussian else abs(r)
    return total


@njit(cache=True)
def sweep(
    full: np.ndarray,
    steps: np.ndarray,
    usable: np.ndarray,
    sums: np.ndarray,
    new_full: np.ndarray,
    new_steps: np.ndarray,
    coins: np.ndarray,
    chances: np.ndarray,
    log_levels: np.ndarray,
    readings: np.ndarray,
    scales: np.ndarray,
    gaussian: bool,
) -> tuple[int, float]:
    """Offer every record its replacement, in place.

    ``coins`` decide whether the replacement is usable: given that u of the others are, it is with probability
    ``chances[u]``. Without coins every record is usable.

    Returns how many were accepted, and the least log acceptance probability met.
    """
    n, m = steps.shape
    n_usable = usable.sum()
    height = log_noise(sums, readings, scales, gaussian)
    trial = np.empty(m)
    accepted, least = 0, 0.0
    for i in range(n):
        flag = 1
        if coins.size > 0 and coins[i] >= chances[n_usable - usable[i]]:
            flag = 0
        for j in range(m):
            trial[j] = sums[j] - steps[i, j] + flag * new_steps[i, j]
        reached = log_noise(trial, readings, scales, gaussian)
        change = reached - height
        least = min(least, change)
        if log_levels[i] <= change:
            accepted += 1
            height = reached
            n_usable += flag - usable[i]
            usable[i] = flag
            for j in range(m):
                sums[j] = trial[j]
                steps[i, j] = flag * new_steps[i, j]
            for j in range(full.shape[1]):
                full[i, j] = flag * new_full[i, j]
    return accepted, least


@njit(cache=True)
def kept(full: np.ndarray, usable: np.ndarray, first: int, count: int, out: np.ndarray) -> int:
    """Sum the statistics of all records but the ``count`` from ``first`` on (around the end), into ``out``.

    Returns how many of them are usable.
    """
    n = usable.size
    out[:] = 0.0
    n_usable = 0
    for i in range(first + count, first + n):
        row = i % n
        n_usable += usable[row]
        for j in range(out.size):
            out[j] += full[row, j]
    return n_usable


@njit(cache=True)
def replace_block(
    full: np.ndarray,
    steps: np.ndarray,
    usable: np.ndarray,
    sums: np.ndarray,
    new_full: np.ndarray,
    new_steps: np.ndarray,
    new_usable: np.ndarray,
    first: int,
    log_level: float,
    readings: np.ndarray,
    scales: np.ndarray,
    gaussian: bool,
) -> bool:
    """Offer the records from ``first`` on (around the end) their replacements, all or none, in place."""
    n, m = steps.shape
    trial = sums.copy()
    for i in range(new_usable.size):
        row = (first + i) % n
        for j in range(m):
            trial[j] += new_usable[i] * new_steps[i, j] - steps[row, j]
    before = log_noise(sums, readings, scales, gaussian)
    if not log_level <= log_noise(trial, readings, scales, gaussian) - before:
        return False
    # `sums[:] = trial` takes the compiler seconds, for an error about shapes
    for j in range(m):
        sums[j] = trial[j]
    for i in range(new_usable.size):
        row = (first + i) % n
        usable[row] = new_usable[i]
        for j in range(m):
            steps[row, j] = new_usable[i] * new_steps[i, j]
        for j in range(full.shape[1]):
            full[row, j] = new_usable[i] * new_full[i, j]
    return True
