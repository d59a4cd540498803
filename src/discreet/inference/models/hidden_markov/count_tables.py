"""Latent tables of counts behind noisy ones, and moves between them that leave their posterior distribution as it is.

A cell c has N entries, and each of its tables (one a feature) is Multinomial(N, p of the cell's state), so the tables
of a cell share their total. All that links a table to the release is the noise: reading minus count, label by label.

Every move is built so that the multinomial distributions cancel in its acceptance, or are a ratio of factorials:

* *pair*: some entries of a table change from one label to another;
* *exchange*: entries leave a cell, drawn without replacement, and as many enter another cell, drawn from its state's
  probabilities, in all features at once. Taking entries out of a multinomial table at random leaves a multinomial
  table of what remains, so the acceptance is the ratio of noise masses;
* *grow*: the same with one cell only, where the number of all entries is private.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from discreet.compiled import compiled, njit


class Latent(NamedTuple):
    """What moves of one chain, or of all of them along the first axis: tables, totals and states, probabilities."""

    counts: np.ndarray
    totals: np.ndarray
    z: np.ndarray
    p: np.ndarray
    log_p: np.ndarray


class Read(NamedTuple):
    """What was read: noisy tables, one over the width of each label's noise, where features begin, and which cells."""

    values: np.ndarray
    rates: np.ndarray
    starts: np.ndarray
    observed: np.ndarray
    gaussian: bool


@njit(cache=True, error_model="numpy", inline="always")
def loss(rest: Any, rate: Any, gaussian: bool) -> float:
    """Return minus the log mass of noise ``rest`` up to a constant; ``rate`` is 1/scale, or 1/sigma."""
    scaled = rest * rate
    return 0.5 * scaled * scaled if gaussian else abs(scaled)


@njit(cache=True, error_model="numpy", inline="always")
def log_factorial(x: float, table: np.ndarray) -> float:
    """Return log x!, from a table if it is long enough."""
    return table[int(x)] if x < table.size else math.lgamma(x + 1.0)


@compiled
def pair_ratio(
    counts: np.ndarray,
    readings: np.ndarray,
    rates: np.ndarray,
    log_p: np.ndarray,
    i: int,
    j: int,
    step: float,
    gaussian: bool,
    factorials: np.ndarray,
) -> float:
    """Return the log-ratio of the posterior after ``step`` entries of label i become j to that before."""
    a, b = counts[i], counts[j]
    if a < step or b < -step:
        return -np.inf
    ratio = step * (log_p[j] - log_p[i])
    ratio += log_factorial(a, factorials) - log_factorial(a - step, factorials)
    ratio += log_factorial(b, factorials) - log_factorial(b + step, factorials)
    ratio += loss(readings[i] - a, rates[i], gaussian) - loss(readings[i] - a + step, rates[i], gaussian)
    ratio += loss(readings[j] - b, rates[j], gaussian) - loss(readings[j] - b - step, rates[j], gaussian)
    return ratio


@compiled
def pair_sweep(
    gen: np.random.Generator,
    first_cell: int,
    stride: int,
    latent: Latent,
    read: Read,
    factorials: np.ndarray,
) -> int:
    """Offer the tables of every ``stride``-th cell moves between half as many pairs of labels as they have, in place.

    How far a move reaches follows from the spread that the state and the noise leave, which the move does not change.
    """
    accepted, rates, starts = 0, read.rates, read.starts
    inverse_p = 1.0 / latent.p
    inverse_noise = 0.5 * rates * rates
    for c in range(first_cell, latent.z.size, stride):
        k = latent.z[c]
        n = latent.totals[c]
        if n == 0.0:
            continue
        one_cell, one_reading, one_log_p = latent.counts[c], read.values[c], latent.log_p[k]
        one_inverse = inverse_p[k]
        for d in range(starts.size - 1):
            begin, size = starts[d], starts[d + 1] - starts[d]
            if size < 2:
                continue
            shift = 1 + int(gen.random() * (size - 1))
            i = int(gen.random() * size)
            for _ in range((size + 1) // 2):
                j = i + shift
                if j >= size:
                    j -= size
                a, b = begin + i, begin + j
                spread = (one_inverse[a] + one_inverse[b]) / n + inverse_noise[a] + inverse_noise[b]
                reach = 1.0 + int(2.0 / math.sqrt(spread))
                level = gen.random() * 2.0 * reach
                step = float(1 + int(level)) if level < reach else -float(1 + int(level - reach))
                if one_cell[a] >= step and one_cell[b] >= -step:
                    ratio = pair_ratio(
                        one_cell, one_reading, rates, one_log_p, a, b, step, read.gaussian, factorials
                    )
                    if ratio >= 0.0 or gen.random() < math.exp(ratio):
                        one_cell[a] -= step
                        one_cell[b] += step
                        accepted += 1
                i += 2
                if i >= size:
                    i -= size
    return accepted


@compiled
def take_out(
    gen: np.random.Generator, counts: np.ndarray, starts: np.ndarray, total: Any, size: int, out: np.ndarray
) -> None:
    """Fill ``out`` with ``size`` of a cell's entries, drawn without replacement, feature by feature."""
    out[:] = 0.0
    for d in range(starts.size - 1):
        for taken in range(size):
            level = gen.random() * (total - taken)
            j = starts[d]
            while j < starts[d + 1] - 1:
                level -= counts[j] - out[j]
                if level < 0.0:
                    break
                j += 1
            while out[j] >= counts[j]:  # rounding at the last label only
                j -= 1
            out[j] += 1.0


@compiled
def put_in(gen: np.random.Generator, p: np.ndarray, starts: np.ndarray, size: int, out: np.ndarray) -> None:
    """Fill ``out`` with ``size`` entries drawn from a state's probabilities, feature by feature."""
    out[:] = 0.0
    for d in range(starts.size - 1):
        for _ in range(size):
            level = gen.random()
            j = starts[d]
            while j < starts[d + 1] - 1:
                level -= p[j]
                if level < 0.0:
                    break
                j += 1
            out[j] += 1.0


@compiled
def shift_ratio(
    counts: np.ndarray,
    readings: np.ndarray,
    rates: np.ndarray,
    change: np.ndarray,
    sign: float,
    gaussian: bool,
) -> float:
    """Return the log-ratio of noise masses when ``sign * change`` is added to a cell's tables."""
    ratio = 0.0
    for j in range(counts.size):
        if change[j] != 0.0:
            rest = readings[j] - counts[j]
            ratio += loss(rest, rates[j], gaussian) - loss(rest - sign * change[j], rates[j], gaussian)
    return ratio


@compiled
def exchange_sweep(
    gen: np.random.Generator, moves: int, most: int, active: np.ndarray, latent: Latent, read: Read
) -> int:
    """Offer ``moves`` exchanges of 1 to ``most`` entries between two active cells, in place; return the accepted.

    All ways to share out the entries over the cells are equally likely beforehand.
    """
    accepted, counts, totals = 0, latent.counts, latent.totals
    gone, come = np.empty(counts.shape[1]), np.empty(counts.shape[1])
    for _ in range(moves):
        one = int(gen.random() * active.size)
        a = active[one]
        b = active[(one + 1 + int(gen.random() * (active.size - 1))) % active.size]
        size = 1 + int(gen.random() * most)
        if totals[a] < size:
            continue
        take_out(gen, counts[a], read.starts, totals[a], size, gone)
        put_in(gen, latent.p[latent.z[b]], read.starts, size, come)
        ratio = shift_ratio(counts[a], read.values[a], read.rates, gone, -1.0, read.gaussian)
        ratio += shift_ratio(counts[b], read.values[b], read.rates, come, 1.0, read.gaussian)
        if ratio >= 0.0 or gen.random() < math.exp(ratio):
            accepted += 1
            totals[a] -= size
            totals[b] += size
            for j in range(gone.size):
                counts[a, j] -= gone[j]
                counts[b, j] += come[j]
    return accepted


@compiled
def grow_sweep(
    gen: np.random.Generator,
    moves: int,
    most: int,
    active: np.ndarray,
    latent: Latent,
    read: Read,
    log_prior: np.ndarray,
    low: int,
) -> int:
    """Offer ``moves`` times an active cell 1 to ``most`` entries more or fewer, in place; return the accepted.

    ``log_prior[n - low]`` is the log-probability of n entries in all *and* of one way to share them out over the cells,
    minus infinity where n is impossible.
    """
    accepted, counts, totals = 0, latent.counts, latent.totals
    change = np.empty(counts.shape[1])
    whole = 0
    for c in range(latent.z.size):
        whole += int(totals[c])
    for _ in range(moves):
        c = active[int(gen.random() * active.size)]
        size = 1 + int(gen.random() * most)
        sign = 1 if gen.random() < 0.5 else -1
        place = whole + sign * size - low
        if place < 0 or place >= log_prior.size or (sign < 0 and totals[c] < size):
            continue
        if sign > 0:
            put_in(gen, latent.p[latent.z[c]], read.starts, size, change)
        else:
            take_out(gen, counts[c], read.starts, totals[c], size, change)
        ratio = log_prior[place] - log_prior[whole - low]
        ratio += shift_ratio(counts[c], read.values[c], read.rates, change, float(sign), read.gaussian)
        if ratio >= 0.0 or gen.random() < math.exp(ratio):
            accepted += 1
            whole += sign * size
            totals[c] += sign * size
            for j in range(change.size):
                counts[c, j] += sign * change[j]
    return accepted
