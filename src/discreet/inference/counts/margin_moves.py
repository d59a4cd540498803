"""Moves of a latent table of counts that is read through noisy sums of its cells, compiled.

A move adds m to some cells and takes m from others. m is drawn by slice sampling, so that its size suits itself to the
noise where readings hold the table, and to the square root of n where they do not.
"""

from __future__ import annotations

from math import floor, lgamma, log
from typing import NamedTuple

import numpy as np

from discreet.compiled import njit

#: How many intervals a slice may step out before it settles for what it has.
MOST_STEPS = 40
# exchanges for each other move
_EXCHANGES = 4
#: More records than there can be.
ANY = 1 << 60


class MarginTarget(NamedTuple):
    """The numbers of :class:`~discreet.inference.counts.margin_readings.MarginReadings`, for compiled code.

    ``reads`` from ``start[i]`` on are the readings that cell i counts in. The log mass of reading j at
    k = ``value[j]`` - total stands in ``mass`` from ``first[j]`` on, ``size[j]`` numbers for k from ``low[j]`` on.
    ``precision`` and ``pull`` are Q and b of a quadratic form b'c - c'Qc / 2, for Gaussian noise that hangs together.
    ``least``, ``most`` and ``log_records`` are the prior on the number of records where it is private.
    """

    start: np.ndarray
    reads: np.ndarray
    alpha: np.ndarray
    value: np.ndarray
    first: np.ndarray
    size: np.ndarray
    low: np.ndarray
    mass: np.ndarray
    precision: np.ndarray
    pull: np.ndarray
    least: int
    most: int
    log_records: np.ndarray


class MarginState(NamedTuple):
    """A table, the sums of it that are read, and the slope of the quadratic form; kept up to date together."""

    cells: np.ndarray
    sums: np.ndarray
    slope: np.ndarray


class MarginLine(NamedTuple):
    """What a move by m changes: the sum of all records, cells, and readings; each by m times so much."""

    added: int
    cell_at: np.ndarray
    cell_by: np.ndarray
    read_at: np.ndarray
    read_by: np.ndarray


@njit(cache=True)
def gather(where: np.ndarray, signs: np.ndarray, at: np.ndarray, by: np.ndarray) -> int:
    """Collect what ``where`` names, with the sum of its signs, leaving out what cancels; return how many."""
    found = 0
    for i in range(where.size):
        known = False
        for j in range(found):
            if at[j] == where[i]:
                by[j] += signs[i]
                known = True
        if not known:
            at[found] = where[i]
            by[found] = signs[i]
            found += 1
    kept = 0
    for j in range(found):
        if by[j] != 0:
            at[kept] = at[j]
            by[kept] = by[j]
            kept += 1
    return kept


@njit(cache=True)
def _line(points: np.ndarray, signs: np.ndarray, target: MarginTarget) -> MarginLine:
    """Return the line along which ``signs`` times m is added at the cells ``points``; what cancels is left out."""
    many = 0
    for point in points:
        many += target.start[point + 1] - target.start[point]
    cell_at, cell_by = np.empty(points.size, np.int64), np.empty(points.size, np.int64)
    read_at, read_by = np.empty(many, np.int64), np.empty(many, np.int64)
    where, by = np.empty(many, np.int64), np.empty(many, np.int64)
    many = 0
    for i in range(points.size):
        for j in range(target.start[points[i]], target.start[points[i] + 1]):
            where[many], by[many] = target.reads[j], signs[i]
            many += 1
    n_cells, n_reads = gather(points, signs, cell_at, cell_by), gather(where, by, read_at, read_by)
    return MarginLine(signs.sum(), cell_at[:n_cells], cell_by[:n_cells], read_at[:n_reads], read_by[:n_reads])


@njit(cache=True)
def log_reading(j: int, total: int, target: MarginTarget) -> float:
    """Return the log mass of a reading given the total behind it; beyond its table in a straight line."""
    k = target.value[j] - total - target.low[j]
    first, last = target.first[j], target.first[j] + target.size[j] - 1
    if k < 0:
        return float(target.mass[first] + k * (target.mass[first + 1] - target.mass[first]))
    beyond = first + k - last
    if beyond > 0:
        return float(target.mass[last] + beyond * (target.mass[last] - target.mass[last - 1]))
    return float(target.mass[first + k])


@njit(cache=True)
def _log_along(m: int, total: int, state: MarginState, line: MarginLine, target: MarginTarget) -> float:
    """Return the log posterior weight after a move by m, up to a constant along the line."""
    out = 0.0
    if line.added != 0:
        n = total + m * line.added
        out += lgamma(n + 1.0) - lgamma(n + target.alpha.sum())
        if target.log_records.size > 0:
            out += target.log_records[n - target.least]
    for at, by in zip(line.cell_at, line.cell_by):  # noqa: B905 -- compiled code knows no strict
        count = state.cells[at] + m * by
        out += lgamma(target.alpha[at] + count) - lgamma(count + 1.0)
    for at, by in zip(line.read_at, line.read_by):  # noqa: B905
        out += log_reading(at, state.sums[at] + m * by, target)
    if target.pull.size > 0:
        for at, by in zip(line.cell_at, line.cell_by):  # noqa: B905
            out += m * by * state.slope[at]
            for other, its in zip(line.cell_at, line.cell_by):  # noqa: B905
                out -= 0.5 * m * m * by * its * target.precision[at, other]
    return out


@njit(cache=True)
def _move(
    state: MarginState, line: MarginLine, target: MarginTarget, width: float, rng: np.random.Generator
) -> None:
    """Move along one line, in place, by slice sampling (Neal 2003, figures 3 and 5).

    The integer m stands for the points of [m, m + 1), over which the weight is constant.
    """
    if line.cell_at.size == 0:
        return
    low, high = -ANY, ANY
    for at, by in zip(line.cell_at, line.cell_by):  # noqa: B905
        if by > 0:
            low = max(low, -(state.cells[at] // by))
        else:
            high = min(high, state.cells[at] // -by)
    total = state.cells.sum() if line.added != 0 else 0
    if line.added != 0:
        # of the lines there are, only those of a single cell add records: one with each step
        low, high = max(low, target.least - total), min(high, target.most - total)
    if low >= high:
        return
    level = _log_along(0, total, state, line, target) + log(1.0 - rng.random())
    left = rng.random() - width * rng.random()
    right = left + width
    steps_left = floor(MOST_STEPS * rng.random())
    steps_right = MOST_STEPS - 1 - steps_left
    while steps_left > 0 and left >= low and _log_along(floor(left), total, state, line, target) >= level:
        left -= width
        steps_left -= 1
    while (
        steps_right > 0 and right < high + 1 and _log_along(floor(right), total, state, line, target) >= level
    ):
        right += width
        steps_right -= 1
    left, right = max(left, float(low)), min(right, high + 1.0)
    while True:
        m = min(floor(left + (right - left) * rng.random()), high)
        # rounding could leave the first interval empty of every point but the present one
        if m == 0 or _log_along(m, total, state, line, target) >= level:
            break
        if m < 0:
            left = m + 1.0
        else:
            right = float(m)
    if m == 0:
        return
    for at, by in zip(line.cell_at, line.cell_by):  # noqa: B905
        state.cells[at] += m * by
        if target.pull.size > 0:
            state.slope[:] -= m * by * target.precision[at]
    for at, by in zip(line.read_at, line.read_by):  # noqa: B905
        state.sums[at] += m * by


class MarginMoves(NamedTuple):
    """Which lines there are: over cells with these strides and levels, and whether records may come and go.

    ``chance`` is the sum up to each cell of how often lines begin in it, ``width`` the first step of a slice.
    """

    strides: np.ndarray
    levels: np.ndarray
    chance: np.ndarray
    width: float
    free_total: bool


@njit(cache=True)
def _sweep(state: MarginState, target: MarginTarget, moves: MarginMoves, rng: np.random.Generator) -> None:
    """Move along random lines of four kinds, chosen without a look at the state.

    A record changes one of its columns, or all; two records exchange some of their columns, which margins may not see;
    and, if the number of records is not public, records come or go.
    """
    strides, levels, width = moves.strides, moves.levels, moves.width
    size, columns = state.cells.size, levels.size
    two, four, one = np.empty(2, np.int64), np.empty(4, np.int64), np.empty(1, np.int64)
    two_signs, four_signs, single = np.array([-1, 1]), np.array([-1, -1, 1, 1]), np.array([1])
    for _ in range(size):
        x, column = _cell(moves.chance, rng), int(rng.random() * columns)
        value = (x // strides[column]) % levels[column]
        other = (value + 1 + int(rng.random() * (levels[column] - 1))) % levels[column]
        two[0], two[1] = x, x + (other - value) * strides[column]
        _move(state, _line(two, two_signs, target), target, width, rng)
        two[0], two[1] = _cell(moves.chance, rng), _cell(moves.chance, rng)
        _move(state, _line(two, two_signs, target), target, width, rng)
        # two records that may be alike in some columns exchange some of the others; margins leave these lines free
        for _ in range(_EXCHANGES if columns > 1 else 0):
            a, b = _cell(moves.chance, rng), _cell(moves.chance, rng)
            c, d = a, b
            for i in range(columns):
                change = ((b // strides[i]) % levels[i] - (a // strides[i]) % levels[i]) * strides[i]
                chosen = rng.random()
                if chosen < 0.4:
                    b -= change
                    d -= change
                elif chosen < 0.7:
                    c += change
                    d -= change
            four[0], four[1], four[2], four[3] = a, b, c, d
            _move(state, _line(four, four_signs, target), target, width, rng)
        if moves.free_total:
            one[0] = _cell(moves.chance, rng)
            _move(state, _line(one, single, target), target, width, rng)


@njit(cache=True)
def _cell(chance: np.ndarray, rng: np.random.Generator) -> int:
    return min(int(np.searchsorted(chance, rng.random() * chance[-1], side="right")), chance.size - 1)


@njit(cache=True)
def walk(
    state: MarginState,
    target: MarginTarget,
    moves: MarginMoves,
    burn_in: int,
    kept: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Sweep ``burn_in`` times, then once for each row of ``kept``, which gets the cells."""
    for _ in range(burn_in):
        _sweep(state, target, moves, rng)
    for i in range(len(kept)):
        _sweep(state, target, moves, rng)
        # `kept[i] = state.cells` takes the compiler seconds, for an error about shapes
        for j in range(state.cells.size):
            kept[i, j] = state.cells[j]
