"""One noisy cell, tilted: its weights, its window, and the tilt that brings a sum of cells to a given total."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.inference.counts.weights import locate, log_rising, rough_log_rising, spread
from discreet.inference.engine import too_wide
from discreet.privacy import Noise

# Counts of one cell that are tabled, at most: noise of an epsilon below 0.00002 needs more.
_WIDEST = 4e6
# Where doubling the tilt gives up; narrow noise far from any possible count needs steep ones.
_STEEPEST = 1e12


@dataclass(frozen=True)
class Cell:
    """A latent count c >= 0 with prior weight g_alpha(c), read as y = c + noise.

    g is taken relative to its value at ``reference``, a count near y.
    """

    alpha: float
    y: int
    noise: Noise
    reference: int

    @property
    def finest(self) -> float:
        """Node spacing that resolves the noise."""
        return max(1.0, self.noise.sd / 4)

    def rough(self, c: np.ndarray) -> np.ndarray:
        """Return the log weight of a count to a few digits."""
        return rough_log_rising(self.alpha, c) + self.noise.log_mass(c - self.y)

    def weights(self, tilt: float, most: int) -> tuple[int, np.ndarray, float]:
        """Return the tilted weights where they matter in [0, most]: first count, weights, log of their sum.

        The tilt is exp(tilt (c - y)); tables of different tilts and windows are on one scale.
        """
        low, high = locate(
            lambda c: self.rough(c) + tilt * (c - self.y), 0, most, [self.y], finest=self.finest
        )
        if high - low > _WIDEST:
            raise too_wide()
        offset = np.arange(low, high + 1) - self.y
        height = log_rising(self.alpha, low, high, self.reference) + self.noise.log_mass(offset)
        height += tilt * offset
        peak = height.max()
        weights = np.exp(height - peak)
        total = weights.sum()
        return low, weights / total, float(peak + np.log(total))


def tilt_for(cells: list[Cell], target: float, most: int, times: np.ndarray | None = None) -> float:
    """Return a tilt that brings the mean of the total within a fraction of its spread of ``target``.

    No cell is taken to exceed ``most``; ``times`` says how often each cell is there, if not once.
    """
    many = np.ones(len(cells)) if times is None else times
    counts, heights = [], []
    # fine nodes at the ends too: a steep tilt puts all mass on the first or last few counts
    ends = spread(0, most, [])
    for cell in cells:
        c = np.union1d(spread(0, most, [cell.y], finest=cell.finest), ends)
        middles = (c[1:] + c[:-1]) / 2
        counts.append(c)
        heights.append(cell.rough(c) + np.log(np.diff(middles, prepend=c[0] - 0.5, append=c[-1] + 0.5)))
    sizes = np.array([c.size for c in counts])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    count, log_weight = np.concatenate(counts), np.concatenate(heights)

    def moments(tilt: float) -> tuple[float, float]:
        height = log_weight + tilt * count
        weight = np.exp(height - np.repeat(np.maximum.reduceat(height, starts), sizes))
        mass = np.add.reduceat(weight, starts)
        mean = np.add.reduceat(weight * count, starts) / mass
        variance = np.add.reduceat(weight * (count - np.repeat(mean, sizes)) ** 2, starts) / mass
        return float((many * mean).sum()), float(np.sqrt((many * variance).sum()))

    mean, sd = moments(0.0)
    if abs(mean - target) <= 0.2 * sd:
        return 0.0
    sign = 1.0 if target > mean else -1.0
    inner, outer = 0.0, 0.1 / max(sd, 1.0)
    while outer < _STEEPEST and sign * (target - moments(sign * outer)[0]) > 0:
        inner, outer = outer, 2 * outer
    middle = outer
    for _ in range(80):
        middle = 0.5 * (inner + outer)
        mean, sd = moments(sign * middle)
        if abs(mean - target) <= 0.2 * sd:
            break
        inner, outer = (middle, outer) if sign * (target - mean) > 0 else (inner, middle)
    return sign * middle
