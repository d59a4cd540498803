"""Moves along lines of the lattice of joint tables, compiled.

A move adds m to some joint cells and takes m from others; m is drawn by slice sampling, so its size suits itself to the
noise where the readings hold the table, and to the square root of n where they do not.
"""

from __future__ import annotations

from math import floor, lgamma, log
from typing import NamedTuple

import numpy as np

from discreet.compiled import njit
from discreet.inference.counts.margin_moves import ANY, MOST_STEPS, gather


class TableTarget(NamedTuple):
    """The numbers of a :class:`~discreet.inference.models.network.joint_table.NetworkDistribution`, for compiled code.

    ``least``, ``most`` and ``log_records`` are the prior on the number of records where it is private: its range, and
    its logarithms from ``least`` on, or nothing if it is flat.
    """

    cells: np.ndarray
    row_of: np.ndarray
    alpha: np.ndarray
    row_alpha: np.ndarray
    readings: np.ndarray
    slope: np.ndarray
    curve: np.ndarray
    least: int = 0
    most: int = ANY
    log_records: np.ndarray = np.empty(0)


class TableState(NamedTuple):
    """A joint table and its margins, kept up to date together."""

    joint: np.ndarray
    tables: np.ndarray
    rows: np.ndarray


class Moves(NamedTuple):
    """Which lines there are: over joint cells with these strides and levels, and whether records may come and go.

    ``width`` is the first step of a slice.
    """

    strides: np.ndarray
    levels: np.ndarray
    width: float
    free_total: bool


class Line(NamedTuple):
    """What a move by m changes: the sum of all records, joint cells, cells of the tables, and rows; each by m times."""

    added: int
    joint_at: np.ndarray
    joint_by: np.ndarray
    cell_at: np.ndarray
    cell_by: np.ndarray
    row_at: np.ndarray
    row_by: np.ndarray


@njit(cache=True)
def line_through(points: np.ndarray, signs: np.ndarray, target: TableTarget) -> Line:
    """Return the line along which ``signs`` times m is added at the joint cells ``points``."""
    nodes, size = target.cells.shape[0], points.size
    joint_at, joint_by = np.empty(size, np.int64), np.empty(size, np.int64)
    cell_at, cell_by = np.empty(nodes * size, np.int64), np.empty(nodes * size, np.int64)
    row_at, row_by = np.empty(nodes * size, np.int64), np.empty(nodes * size, np.int64)
    where = np.empty(size, np.int64)
    n_joint = gather(points, signs, joint_at, joint_by)
    n_cells, n_rows = 0, 0
    for node in range(nodes):
        for i in range(size):
            where[i] = target.cells[node, points[i]]
        n_cells += gather(where, signs, cell_at[n_cells:], cell_by[n_cells:])
        for i in range(size):
            where[i] = target.row_of[where[i]]
        n_rows += gather(where, signs, row_at[n_rows:], row_by[n_rows:])
    return Line(
        signs.sum(),
        joint_at[:n_joint],
        joint_by[:n_joint],
        cell_at[:n_cells],
        cell_by[:n_cells],
        row_at[:n_rows],
        row_by[:n_rows],
    )


@njit(cache=True)
def log_along(m: int, total: int, state: TableState, line: Line, target: TableTarget) -> float:
    """Return the log posterior weight after a move by m, up to a constant along the line."""
    out: float = lgamma(total + m * line.added + 1.0)
    if line.added != 0 and target.log_records.size > 0:
        out += target.log_records[total + m * line.added - target.least]
    for at, by in zip(line.joint_at, line.joint_by):  # noqa: B905 -- compiled code knows no strict
        out -= lgamma(state.joint[at] + m * by + 1.0)
    for at, by in zip(line.cell_at, line.cell_by):  # noqa: B905
        count = state.tables[at] + m * by
        away = float(abs(target.readings[at] - count))
        out += lgamma(target.alpha[at] + count)
        out -= float(target.slope[at]) * away + float(target.curve[at]) * away * away
    for at, by in zip(line.row_at, line.row_by):  # noqa: B905
        out -= lgamma(target.row_alpha[at] + state.rows[at] + m * by)
    return out


@njit(cache=True)
def move(state: TableState, line: Line, target: TableTarget, width: float, rng: np.random.Generator) -> int:
    """Move along one line, in place, and return by how much.

    Slice sampling with stepping out and shrinkage (Neal 2003, figures 3 and 5). The integer m stands for the points of
    [m, m + 1), over which the weight is constant.
    """
    if line.joint_at.size == 0:
        return 0
    low, high = -ANY, ANY
    for at, by in zip(line.joint_at, line.joint_by):  # noqa: B905
        if by > 0:
            low = max(low, -(state.joint[at] // by))
        else:
            high = min(high, state.joint[at] // -by)
    total = state.joint.sum() if line.added != 0 else 0
    if line.added != 0:
        # of the lines there are, only those of a single joint cell add records: one with each step
        low, high = max(low, target.least - total), min(high, target.most - total)
    if low >= high:
        return 0
    level = log_along(0, total, state, line, target) + log(1.0 - rng.random())
    left = rng.random() - width * rng.random()
    right = left + width
    steps_left = floor(MOST_STEPS * rng.random())
    steps_right = MOST_STEPS - 1 - steps_left
    while steps_left > 0 and left >= low and log_along(floor(left), total, state, line, target) >= level:
        left -= width
        steps_left -= 1
    while (
        steps_right > 0 and right < high + 1 and log_along(floor(right), total, state, line, target) >= level
    ):
        right += width
        steps_right -= 1
    left, right = max(left, float(low)), min(right, high + 1.0)
    while True:
        m = min(floor(left + (right - left) * rng.random()), high)
        # rounding could leave the first interval empty of every point but the present one
        if m == 0 or log_along(m, total, state, line, target) >= level:
            break
        if m < 0:
            left = m + 1.0
        else:
            right = float(m)
    if m != 0:
        for at, by in zip(line.joint_at, line.joint_by):  # noqa: B905
            state.joint[at] += m * by
        for at, by in zip(line.cell_at, line.cell_by):  # noqa: B905
            state.tables[at] += m * by
        for at, by in zip(line.row_at, line.row_by):  # noqa: B905
            state.rows[at] += m * by
    return m


@njit(cache=True)
def sweep(state: TableState, target: TableTarget, moves: Moves, rng: np.random.Generator) -> None:
    """Move along as many random lines as there are joint cells times nodes, of three kinds.

    A record changes one of its columns; two records exchange some of their columns, which the tables may not see; and,
    if the number of records is not public, records come or go. Lines are chosen without a look at the state.
    """
    strides, levels, width = moves.strides, moves.levels, moves.width
    n_joint, nodes = state.joint.size, levels.size
    two, four, one = np.empty(2, np.int64), np.empty(4, np.int64), np.empty(1, np.int64)
    two_signs, four_signs = np.array([-1, 1]), np.array([-1, -1, 1, 1])
    single = np.array([1])
    for _ in range(n_joint * nodes):
        x = int(rng.random() * n_joint)
        node = int(rng.random() * nodes)
        value = (x // strides[node]) % levels[node]
        other = (value + 1 + int(rng.random() * (levels[node] - 1))) % levels[node]
        two[0], two[1] = x, x + (other - value) * strides[node]
        move(state, line_through(two, two_signs, target), target, width, rng)
        a, b = int(rng.random() * n_joint), int(rng.random() * n_joint)
        c, d = a, b
        for i in range(nodes):
            if rng.random() < 0.5:
                change = ((b // strides[i]) % levels[i] - (a // strides[i]) % levels[i]) * strides[i]
                c += change
                d -= change
        four[0], four[1], four[2], four[3] = a, b, c, d
        move(state, line_through(four, four_signs, target), target, width, rng)
        if moves.free_total:
            one[0] = int(rng.random() * n_joint)
            move(state, line_through(one, single, target), target, width, rng)


@njit(cache=True)
def walk(
    state: TableState,
    target: TableTarget,
    moves: Moves,
    burn_in: int,
    kept: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Sweep ``burn_in`` times, then once for each row of ``kept``, which gets the tables."""
    for _ in range(burn_in):
        sweep(state, target, moves, rng)
    for i in range(len(kept)):
        sweep(state, target, moves, rng)
        # `kept[i] = state.tables` takes the compiler seconds, for an error about shapes
        for j in range(state.tables.size):
            kept[i, j] = state.tables[j]
