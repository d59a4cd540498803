"""Tables of weights of consecutive counts, and sums of such counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import next_fast_len

from discreet.inference.engine import spend

#: Rounding in a convolution, relative to its peak.
FLOOR = 1e-16
# Below this length direct convolution is as fast as Fourier's, and has no floor.
_DIRECT = 128
# What a product, and what an entry of a transform, costs; measured.
_DIRECT_SECONDS, _FOURIER_SECONDS = 1e-9, 6e-8


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
        small, large = sorted((self.weights.size, other.weights.size))
        spend(_DIRECT_SECONDS * small * large if small <= _DIRECT else _FOURIER_SECONDS * (small + large))
        if small <= _DIRECT:
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
