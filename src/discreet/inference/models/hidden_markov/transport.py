"""Moves of states and of probabilities that carry the latent counts along.

Where noise is much wider than a table's own spread, a table drawn under one state looks so unlike another state's that
the state never changes given the table, and probabilities follow counts that follow probabilities: the plain sampler
stands still. Here tables are carried from p to q instead: an entry keeps its label with probability min(1, q/p) of that
label, and the others are handed to the labels where q exceeds p, in proportion to the excess. If the table was
Multinomial(N, p) it becomes Multinomial(N, q), and going back is the same recipe with p and q exchanged: the joint
distribution of the two tables is that of entries coupled as closely as possible. So the multinomial distributions
cancel, and what is left of the acceptance is the prior and the noise, which is wide.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.compiled import compiled
from discreet.inference.models.hidden_markov.count_tables import Latent, Read, loss
from discreet.inference.models.hidden_markov.paths import pick


@compiled
def binomial(gen: np.random.Generator, n: Any, share: Any) -> float:
    """Draw Binomial(n, share), quickly where few are expected."""
    if n <= 0.0 or share <= 0.0:
        return 0.0
    if share >= 1.0:
        return n
    if n * share < 10.0 and share < 0.5:
        # walk up from 0: the chance of 0 is not below exp(-14)
        odds = share / (1.0 - share)
        mass = math.exp(n * math.log1p(-share))
        level = gen.random()
        x = 0.0
        while level > mass and x < n:
            level -= mass
            mass *= odds * (n - x) / (x + 1.0)
            x += 1.0
        return x
    return float(gen.binomial(int(n), share))


@compiled
def carry(
    gen: np.random.Generator,
    counts: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    starts: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill ``out`` with the tables of one cell, carried from p to q."""
    for d in range(starts.size - 1):
        moved, excess = 0.0, 0.0
        for j in range(starts[d], starts[d + 1]):
            gain = q[j] - p[j]
            out[j] = counts[j]
            if gain < 0.0:
                left = binomial(gen, counts[j], -gain / p[j])
                out[j] -= left
                moved += left
            else:
                excess += gain
        for j in range(starts[d], starts[d + 1]):
            gain = q[j] - p[j]
            if gain > 0.0 and moved > 0.0:
                # the last label that gains takes the rest, whatever rounding says
                share = 1.0 if gain >= excess * (1.0 - 1e-12) else gain / excess
                come = binomial(gen, moved, share)
                out[j] += come
                moved -= come
                excess -= gain
        if moved > 0.0:
            # all gains were rounding error: nobody should have moved
            out[starts[d]] += moved


@compiled
def cell_loss(counts: np.ndarray, readings: np.ndarray, rates: np.ndarray, gaussian: bool) -> float:
    """Return minus the log mass of the noise between all tables of a cell and their readings."""
    total = 0.0
    for j in range(counts.size):
        total += loss(readings[j] - counts[j], rates[j], gaussian)
    return total


@compiled
def matching(gen: np.random.Generator, n_states: int) -> np.ndarray:
    """Pair up states at random; with an odd number one is paired with itself."""
    order = np.arange(n_states)
    for i in range(n_states - 1, 0, -1):
        j = int(gen.random() * (i + 1))
        order[i], order[j] = order[j], order[i]
    partner = np.arange(n_states)
    for i in range(0, n_states - 1, 2):
        partner[order[i]], partner[order[i + 1]] = order[i + 1], order[i]
    return partner


@compiled
def switch_paths(
    gen: np.random.Generator,
    first: int,
    length: int,
    latent: Latent,
    transition: np.ndarray,
    read: Read,
) -> int:
    """Draw the path of one sequence anew, every state or its partner, tables carried along; return the changes.

    States are paired at random. Each cell's tables are carried to the partner's probabilities, which makes two
    candidates for (state, tables); given all candidates the path is drawn exactly, by filtering over pairs.
    """
    counts, z, p = latent.counts, latent.z, latent.p
    n_states = transition.shape[1]
    partner = matching(gen, n_states)
    n_labels = counts.shape[1]
    other = np.empty((length, n_labels))
    log_weight = np.zeros((length, 2))
    filtered = np.empty((length, 2))
    for t in range(length):
        c = first + t
        k, other_k = z[c], partner[z[c]]
        if read.observed[c] and k != other_k:
            carry(gen, counts[c], p[k], p[other_k], read.starts, other[t])
            log_weight[t, 0] = -cell_loss(counts[c], read.values[c], read.rates, read.gaussian)
            log_weight[t, 1] = -cell_loss(other[t], read.values[c], read.rates, read.gaussian)
    for t in range(length):
        c = first + t
        top = max(log_weight[t, 0], log_weight[t, 1])
        whole = 0.0
        for s in range(2):
            k = z[c] if s == 0 else partner[z[c]]
            if t == 0:
                mass = transition[n_states, k]
            else:
                mass = filtered[t - 1, 0] * transition[z[c - 1], k]
                mass += filtered[t - 1, 1] * transition[partner[z[c - 1]], k]
            # a state that is its own partner is one candidate, not two
            if s == 1 and k == z[c]:
                mass = 0.0
            filtered[t, s] = mass * math.exp(log_weight[t, s] - top)
            whole += filtered[t, s]
        if not whole > 0.0:
            return 0
        filtered[t, 0] /= whole
        filtered[t, 1] /= whole
    changes = 0
    after = -1
    for t in range(length - 1, -1, -1):
        c = first + t
        if after >= 0:
            filtered[t, 0] *= transition[z[c], after]
            filtered[t, 1] *= transition[partner[z[c]], after]
        if pick(filtered[t], gen.random()) == 1:
            changes += 1
            if read.observed[c]:
                for j in range(n_labels):
                    counts[c, j] = other[t, j]
            z[c] = partner[z[c]]
        after = z[c]
    return changes


@compiled
def tilt_sweep(gen: np.random.Generator, d: int, latent: Latent, read: Read, beta: np.ndarray) -> int:
    """Offer every state, for pairs of labels of feature d, a shift of probability that takes entries along.

    How far a shift reaches follows from the noise and the totals of the state's cells, which it does not change.
    """
    counts, totals, z, p, log_p = latent
    readings, rates, starts, observed, gaussian = read
    accepted = 0
    begin, size = starts[d], starts[d + 1] - starts[d]
    if size < 2:
        return 0
    moved = np.empty(z.size)
    mine = np.empty(z.size, dtype=np.int64)
    for k in range(p.shape[0]):
        n_mine, entries, squares = 0, 0.0, 0.0
        for c in range(z.size):
            if z[c] == k and observed[c]:
                mine[n_mine] = c
                n_mine += 1
                entries += totals[c]
                squares += totals[c] * totals[c]
        shift = 1 + int(gen.random() * (size - 1))
        turn = int(gen.random() * size)
        for s in range((size + 1) // 2):
            i = begin + (turn + 2 * s) % size
            j = begin + (turn + 2 * s + shift) % size
            both = rates[i] * rates[i] + rates[j] * rates[j]
            reach = p[k, i] + p[k, j]
            if entries > 0.0:
                reach = min(reach, 3.0 / math.sqrt(squares * both), 3.0 / (entries * both))
            step = gen.random() * reach
            if gen.random() < 0.5:
                i, j = j, i
            if step >= p[k, i]:
                continue
            share = step / p[k, i]
            ratio = (beta[i] - 1.0) * math.log1p(-share) + (beta[j] - 1.0) * math.log1p(step / p[k, j])
            for m in range(n_mine):
                c = mine[m]
                moved[m] = binomial(gen, counts[c, i], share)
                if moved[m] > 0.0:
                    a, b = readings[c, i] - counts[c, i], readings[c, j] - counts[c, j]
                    ratio += loss(a, rates[i], gaussian) - loss(a + moved[m], rates[i], gaussian)
                    ratio += loss(b, rates[j], gaussian) - loss(b - moved[m], rates[j], gaussian)
            if ratio >= 0.0 or gen.random() < math.exp(ratio):
                accepted += 1
                p[k, i] -= step
                p[k, j] += step
                log_p[k, i], log_p[k, j] = math.log(p[k, i]), math.log(p[k, j])
                for m in range(n_mine):
                    counts[mine[m], i] -= moved[m]
                    counts[mine[m], j] += moved[m]
    return accepted
