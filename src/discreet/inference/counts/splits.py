"""Splitting totals into cells, compiled: each draw proposes and rejects on its own, which arrays do clumsily."""

from __future__ import annotations

import numpy as np

from discreet.compiled import short_loop


@short_loop
def split_off(
    cell: np.ndarray,
    cell_low: int,
    rest: np.ndarray,
    rest_low: int,
    totals: np.ndarray,
    rng: np.random.Generator,
    tries: int,
    out: np.ndarray,
) -> None:
    """Draw c with weight cell(c) rest(total - c) for each total, exactly, into ``out``.

    ``cell`` and ``rest`` are weights of consecutive counts from their lows on. A candidate comes from the cell's own
    weights and is accepted by the rest's; a draw that fails as often as ``tries`` gets a table of its own.
    """
    size = cell.size
    cumulative = np.cumsum(cell)
    mass = cumulative[-1]
    # where to begin looking for a level in ``cumulative``, so that a look-up takes a step or two
    guide = np.empty(size, np.int64)
    j = 0
    for b in range(size):
        while cumulative[j] <= mass * (b / size):
            j += 1
        guide[b] = j
    peak = rest.max()
    for i in range(totals.size):
        left = totals[i] - cell_low - rest_low
        found = False
        for _ in range(tries):
            level = rng.random()
            j = guide[int(level * size)]
            level *= mass
            while j < size - 1 and cumulative[j] <= level:
                j += 1
            if 0 <= left - j < rest.size and rng.random() * peak < rest[left - j]:
                found = True
                break
        if not found:
            j = _from_table(cell, rest, left, rng)
        out[i] = cell_low + j


@short_loop
def _from_table(cell: np.ndarray, rest: np.ndarray, left: int, rng: np.random.Generator) -> int:
    """Draw one index j with weight cell[j] rest[left - j]."""
    first, last = max(0, left - rest.size + 1), min(cell.size - 1, left)
    mass = 0.0
    for j in range(first, last + 1):
        mass += cell[j] * rest[left - j]
    level = rng.random() * mass
    for j in range(first, last):
        level -= cell[j] * rest[left - j]
        if level < 0:
            return j
    return last
