"""Tables of weights of consecutive counts: adding counts, and splitting a total again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import next_fast_len

from discreet.inference.counting.weights import sample_index

#: Rounding in a convolution, relative to its peak.
FLOOR = 1e-16
# Below this length direct convolution is as fast as Fourier's, and has no floor.
_DIRECT = 128
# Rejection gives way to tables after this many rounds, or when this few draws are left.
_ROUNDS = 64
_FEW = 16
_CANDIDATES = 16


@dataclass(frozen=True)
class Table:
    """Weights of consecutive counts from ``low`` on."""

    low: int
    weights: np.ndarray

    @property
    def high(self) -> int:
        """The last count."""
        return self.low + self.weights.size - 1

    @property
    def spread(self) -> float:
        """An inverse measure of concentration, cheap to compute: the number of counts that seem equally likely."""
        return float(self.weights.sum() ** 2 / (self.weights @ self.weights))

    def at(self, counts: np.ndarray) -> np.ndarray:
        """Return the weights of these counts, 0 outside the table."""
        index = counts - self.low
        inside = (index >= 0) & (index < self.weights.size)
        return np.where(inside, self.weights[np.where(inside, index, 0)], 0.0)

    def convolve(self, other: Table) -> Table:
        """Return the table of the sum of two counts, trimmed where it is rounding noise."""
        if min(self.weights.size, other.weights.size) <= _DIRECT:
            weights = np.convolve(self.weights, other.weights)
        else:
            weights = _fourier_convolve(self.weights, other.weights)
        heavy = np.flatnonzero(weights > FLOOR * weights.max())
        first, last = heavy[0], heavy[-1]
        return Table(self.low + other.low + int(first), np.maximum(weights[first : last + 1], 0.0))


def _fourier_convolve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    size = a.size + b.size - 1
    padded = next_fast_len(size, real=True)
    return np.fft.irfft(np.fft.rfft(a, padded) * np.fft.rfft(b, padded), padded)[:size]


def draw_split(cell: Table, rest: Table, total: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw c with weight cell(c) rest(total - c) for each total, exactly.

    Rejection from the cell's own weights needs no table per draw; the stubborn few get one.
    """
    out = np.empty(total.size, dtype=np.int64)
    padded = np.concatenate([[0.0], rest.weights / rest.weights.max(), [0.0]])
    todo = np.arange(total.size)
    for _ in range(_ROUNDS):
        # several candidates for each draw that is left, so that the last few do not need many rounds
        tries = min(max(total.size // (2 * todo.size), 1), _CANDIDATES)
        c = cell.low + sample_index(cell.weights, tries * todo.size, rng).reshape(tries, todo.size)
        place = total[todo] - (rest.low - 1) - c
        np.clip(place, 0, padded.size - 1, out=place)
        accepted = rng.random(c.shape) < padded[place]
        if tries == 1:
            accepted = accepted[0]
            out[todo[accepted]] = c[0, accepted]
        else:
            first = accepted.argmax(axis=0)
            accepted = accepted.any(axis=0)
            out[todo[accepted]] = c[first[accepted], np.flatnonzero(accepted)]
        todo = todo[~accepted]
        if todo.size <= _FEW:
            break
    support = cell.low + np.arange(cell.weights.size)
    block = max(1, 4_000_000 // support.size)
    for start in range(0, todo.size, block):
        some = todo[start : start + block]
        weights = np.cumsum(cell.weights * rest.at(total[some, None] - support), axis=1)
        targets = rng.random(some.size) * weights[:, -1]
        out[some] = cell.low + (weights <= targets[:, None]).sum(axis=1)
    return out
