r"""Exact draws of the yes and no counts of many groups at once.

Of each group two cells were released, y_no and y_yes, with noise of one distribution. With c_no + c_yes = u,

    P(c_no, c_yes | y)  ~  g_b(c_no) noise(y_no - c_no)  g_a(c_yes) noise(y_yes - c_yes) / g_{a+b}(u),

as in :mod:`discreet.inference.counts.latent_cells`, with a flat prior on u. What is one convolution of two tables there
is a sum over both counts here, because noise is narrow and groups are many. The count of the larger reading is drawn
from its marginal distribution, the other given it: a candidate from its own weights, accepted by 1 / g_{a+b}(u), which
hardly changes over the candidates because the larger count is most of u.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.compiled import njit
from discreet.inference.counts.weights import log_rising
from discreet.privacy import Noise

#: Log of the smallest relative weight kept: less than 1e-12 of the mass is lost.
DEPTH = 30.0
#: Counts in a window; wider noise is left to the engine that convolves.
WIDEST = 2000
#: The largest count whose prior is tabled.
LARGEST = 4_000_000
# Log of a weight at the edge of a window that would be no tail.
_LIGHT = -24.0
# Numbers of all windows that are held at a time.
_BLOCK = 4_000_000
_TRIES = 64


@dataclass(frozen=True)
class BinaryGroups:
    """Readings of many groups, groups × (no, yes), one prior Beta(a, b) and one noise distribution for all."""

    a: float
    b: float
    y: np.ndarray
    noise: Noise

    @property
    def reach(self) -> int:
        """How far from its reading a count may be."""
        return int(np.ceil(self.noise.reach(DEPTH))) + 1

    def applies(self) -> bool:
        """Tell whether windows are narrow enough, and counts small enough, to be worth it."""
        most = int(self.y.max(initial=0)) + 2 * self.reach
        return 2 * self.reach <= WIDEST and most <= LARGEST

    def draw(
        self, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return counts of no and of yes and the probability of yes, groups × draws; and which groups were left out.

        Left out are groups whose prior outweighs the noise so far that a window around the readings does not hold the
        posterior: their draws mean nothing.
        """
        n_groups, reach = len(self.y), self.reach
        low = np.maximum(self.y - reach, 0)
        width = reach + np.minimum(np.maximum(self.y, 0), reach) + 1
        span = int(width.max(initial=1))
        most = int(low.sum(axis=1).max(initial=0)) + 2 * span
        log_g = {alpha: log_rising(alpha, 0, most) for alpha in {self.a, self.b, self.a + self.b}}
        order = np.argsort(self.y, axis=1, kind="stable")  # the smaller reading first
        counts = np.zeros((2, n_groups, size), dtype=np.int32)
        p = np.zeros((n_groups, size))
        left_out = np.zeros(n_groups, dtype=bool)
        step = max(1, _BLOCK // span)
        offset = np.arange(span)
        for start in range(0, n_groups, step):
            block = np.arange(start, min(start + step, n_groups))
            tables = []
            for cell, alpha in enumerate((self.b, self.a)):
                count = low[block, cell][:, None] + offset
                height = log_g[alpha][count] + self.noise.log_mass(self.y[block, cell][:, None] - count)
                height[offset >= width[block, cell][:, None]] = -np.inf
                height -= height.max(axis=1, keepdims=True)
                ends = np.where(low[block, cell] > 0, height[:, 0], -np.inf)
                last = height[np.arange(block.size), width[block, cell] - 1]
                left_out[block] |= np.maximum(ends, last) > _LIGHT
                tables.append(np.exp(height))
            total = low[block].sum(axis=1)[:, None] + np.arange(2 * span - 1)
            log_q = -log_g[self.a + self.b][total]
            q = np.exp(log_q - log_q.max(axis=1, keepdims=True))
            left_out[block] |= q[:, : width[block].sum(axis=1).max() - 1].min(axis=1) < 1e-12
            _draw_block(
                np.stack(tables),
                low[block],
                width[block],
                q,
                order[block],
                left_out[block],
                rng,
                counts[:, start : start + block.size],
                (self.a, self.b),
                p[start : start + block.size],
            )
        return counts[0], counts[1], p, left_out


@njit(cache=True)
def _guide(cumulative: np.ndarray, guide: np.ndarray, size: int) -> None:
    """Fill ``guide`` with where to begin looking for a level in ``cumulative``."""
    j = 0
    for k in range(size):
        while cumulative[j] <= cumulative[size - 1] * (k / size):
            j += 1
        guide[k] = j


@njit(cache=True)
def _look_up(cumulative: np.ndarray, guide: np.ndarray, size: int, level: float) -> int:
    """Return the index of a level in [0, 1)."""
    j = guide[int(level * size)]
    level *= cumulative[size - 1]
    while j < size - 1 and cumulative[j] <= level:
        j += 1
    return j


@njit(cache=True)
def _draw_block(
    tables: np.ndarray,
    low: np.ndarray,
    width: np.ndarray,
    q: np.ndarray,
    order: np.ndarray,
    left_out: np.ndarray,
    rng: np.random.Generator,
    counts: np.ndarray,
    prior: tuple[float, float],
    p: np.ndarray,
) -> None:
    """Draw counts and probabilities of a block of groups; ``q`` is 1 / g_{a+b} from the smallest total on."""
    span = tables.shape[2]
    first, second = np.empty(span), np.empty(span)
    guide_first, guide_second = np.empty(span, np.int64), np.empty(span, np.int64)
    for g in range(low.shape[0]):
        if left_out[g]:
            continue
        small, large = order[g, 0], order[g, 1]
        n_small, n_large = width[g, small], width[g, large]
        mass = 0.0
        for j in range(n_small):
            mass += tables[small, g, j]
            second[j] = mass
        mass = 0.0
        for i in range(n_large):
            inner = 0.0
            for j in range(n_small):
                inner += tables[small, g, j] * q[g, i + j]
            mass += tables[large, g, i] * inner
            first[i] = mass
        _guide(first, guide_first, n_large)
        _guide(second, guide_second, n_small)
        for s in range(counts.shape[2]):
            i = _look_up(first, guide_first, n_large, rng.random())
            # q is monotone, so its largest value is at an end
            top = max(q[g, i], q[g, i + n_small - 1])
            found = -1
            for _ in range(_TRIES):
                j = _look_up(second, guide_second, n_small, rng.random())
                if rng.random() * top < q[g, i + j]:
                    found = j
                    break
            if found < 0:
                mass = 0.0
                for j in range(n_small):
                    mass += tables[small, g, j] * q[g, i + j]
                level = rng.random() * mass
                found = n_small - 1
                for j in range(n_small - 1):
                    level -= tables[small, g, j] * q[g, i + j]
                    if level < 0:
                        found = j
                        break
            counts[large, g, s] = low[g, large] + i
            counts[small, g, s] = low[g, small] + found
            p[g, s] = rng.beta(prior[0] + counts[1, g, s], prior[1] + counts[0, g, s])
