r"""Weights of latent counts: the window that carries them, one noisy cell with its tilt, tables and their sums.

A conjugate prior turns counts into products of one function,

    g_alpha(c) = Gamma(alpha + c) / (c! Gamma(alpha)),

so that the beta-binomial is g_a(c) g_b(u - c) / g_{a+b}(u) and the Dirichlet-multinomial the like. Its logarithm is
summed from ratios, g(c) / g(c - 1) = 1 + (alpha - 1) / c, outwards from a reference count: at counts of 10^9 the
difference of two log-gammas keeps seven digits, the sum of ``log1p`` all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import Protocol

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import gammaln

from discreet.inference.engine import hold, spend, too_wide
from discreet.privacy import Noise

#: Log of the smallest relative weight kept. Windows lose less than 1e-12 of the mass with room to spare.
DEPTH = 36.0
# Gamma variables of a larger shape never underflow: at 0.1, to 0 with probability 1e-31.
_SMALL = 0.1
# Counts in one table, from the reference on, at most.
_LONGEST = 2e7
# Counts of one cell that are tabled, at most: noise of an epsilon below 0.00002 needs more.
_WIDEST = 4e6
# Counts from which on a table that only splits sums is kept in half the memory.
_LONG_TABLE = 1 << 15
# Where doubling the tilt gives up; narrow noise far from any possible count needs steep ones.
_STEEPEST = 1e12
#: Rounding in a convolution, relative to its peak.
FLOOR = 1e-16
# Below this length direct convolution is as fast as Fourier's, and has no floor.
_DIRECT = 128
# What a product, and what an entry of a transform, costs; measured.
_DIRECT_SECONDS, _FOURIER_SECONDS = 1e-9, 6e-8


def log_rising(alpha: float, low: int, high: int, reference: int | None = None) -> np.ndarray:
    """Return log g_alpha(c) - log g_alpha(reference) for c = low, ..., high, from ratios; from ``low`` by default."""
    if alpha == 1:
        return np.zeros(high - low + 1)  # g_1 is 1 everywhere
    reference = low if reference is None else reference
    start, stop = min(low, reference), max(high, reference)
    if stop - start > _LONGEST:
        raise too_wide()
    out = np.arange(start, stop + 1, dtype=float)
    first = 2 if start == 0 else 1
    ratios = out[first:]
    np.log1p(np.divide(alpha - 1.0, ratios, out=ratios), out=ratios)
    out[1:first] = log(alpha)  # g(1) / g(0) is alpha itself, which 1 + (alpha - 1) would round
    out[0] = 0.0
    np.cumsum(out, out=out)
    return out[low - start : high - start + 1] - out[reference - start]


def rough_log_rising(alpha: float | np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return log g_alpha(c) to a few digits, anywhere: good enough to find windows, not to weigh counts."""
    return gammaln(alpha + c) - gammaln(c + 1.0)


def spread(
    low: float, high: float, anchors: Sequence[float], finest: float = 1.0, per_fold: int = 6
) -> np.ndarray:
    """Return increasing integer-valued nodes in [low, high], geometrically dense around the anchors.

    The distance from an anchor grows e-fold in ``per_fold`` nodes.
    """
    reach = max(high - low, finest)
    folds = log(reach / finest)
    steps = finest * np.exp(folds * np.linspace(0.0, 1.0, 8 + int(per_fold * folds)))
    centers = np.array([low, high, *(min(max(anchor, low), high) for anchor in anchors)])[:, None]
    nodes = np.rint(np.concatenate([centers, centers + steps, centers - steps], axis=1)).ravel()
    nodes.sort()
    inside = (nodes >= low) & (nodes <= high)
    inside[1:] &= nodes[1:] > nodes[:-1]
    return nodes[inside]


def locate(
    log_weight: Callable[[np.ndarray], np.ndarray],
    low: int,
    high: int,
    anchors: Sequence[float],
    *,
    finest: float = 1.0,
) -> tuple[int, int]:
    """Return a window of [low, high] outside which the log weight is DEPTH below its peak.

    ``log_weight`` is evaluated on nodes only, first dense around the anchors (where the prior or the noise peaks), then
    evenly inside the hull of the heavy ones, until the hull settles. Neighbors of heavy nodes stay in, so a peak
    between nodes is never cut.
    """
    nodes = spread(low, high, anchors, finest)
    size = np.inf
    while True:
        height = log_weight(nodes)
        heavy = np.flatnonzero(height >= height.max() - DEPTH)
        first, last = nodes[max(heavy[0] - 1, 0)], nodes[min(heavy[-1] + 1, nodes.size - 1)]
        if last - first > 0.7 * size or last - first < 256:
            return int(first), int(last)
        size = last - first
        nodes = np.unique(np.round(np.linspace(first, last, 257)))


def sample_index(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw indices independently, with probability proportional to ``weights``.

    A level in [0, 1) falls between two cumulative weights. For tables shorter than the sample most levels are looked
    up in a guide: of equal cells of [0, 1) it knows the index, unless a cumulative weight falls into the cell.
    """
    cumulative = weights.cumsum()
    cumulative /= cumulative[-1]
    levels = rng.random(size)
    if weights.size > 2 * size:
        return cumulative.searchsorted(levels, side="right")
    n_cells = 1 << (2 * weights.size).bit_length()  # a power of two, so that scaling by it rounds nothing
    cumulative *= n_cells
    levels *= n_cells
    falls = np.bincount(np.ceil(cumulative).astype(np.intp), minlength=n_cells + 1)
    guide = falls.cumsum()
    guide[:-1][falls[1:] > 0] = -1
    found = guide.take(levels.astype(np.intp))
    (unknown,) = (found < 0).nonzero()
    found[unknown] = cumulative.searchsorted(levels[unknown], side="right")
    return found


def dirichlet_columns(alpha: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one Dirichlet vector for each column of ``alpha``, as ratios of gammas."""
    if alpha.min() > _SMALL:
        gammas = rng.standard_gamma(alpha)
    else:
        # Gamma(a) = Gamma(a + 1) U^(1/a), in logs because U^(1/a) underflows for small a
        log_gammas = np.log(rng.standard_gamma(alpha + 1)) + np.log1p(-rng.random(alpha.shape)) / alpha
        gammas = np.exp(log_gammas - log_gammas.max(axis=0))
    gammas /= gammas.sum(axis=0)
    return gammas


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
        return rough_log_rising(self.alpha, c) + self.noise.log_mass(self.y - c)

    def weights(self, tilt: float, most: int) -> tuple[int, np.ndarray, float]:
        """Return the tilted weights where they matter in [0, most]: first count, weights, log of their sum.

        The tilt is exp(tilt (c - y)); tables of different tilts and windows are on one scale.
        """
        low, high = locate(
            lambda c: self.rough(c) + tilt * (c - self.y), 0, most, [self.y], finest=self.finest
        )
        if high - low > _WIDEST:
            raise too_wide()
        hold(int(high - low) + 1)
        offset = np.arange(low, high + 1) - self.y
        height = log_rising(self.alpha, low, high, self.reference) + self.noise.log_mass(-offset)
        height += tilt * offset
        peak = height.max()
        weights = np.exp(height - peak)
        total = weights.sum()
        return low, weights / total, float(peak + np.log(total))


class Weighed(Protocol):
    """A latent count whose log weight is known to a few digits anywhere."""

    @property
    def y(self) -> float:
        """About where it is."""
        ...

    @property
    def finest(self) -> float:
        """Node spacing that resolves its weight."""
        ...

    def rough(self, c: np.ndarray) -> np.ndarray:
        """Return the log weight of counts."""
        ...


def tilt_for(cells: Sequence[Weighed], target: float, most: int, times: np.ndarray | None = None) -> float:
    """Return a tilt that brings the mean of the total within a fraction of its spread of ``target``.

    No cell is taken to exceed ``most``; ``times`` says how often each cell is there, if not once.
    """
    many = np.ones(len(cells)) if times is None else times
    counts, heights = [], []
    # fine nodes at the ends too: a steep tilt puts all mass on the first or last few counts
    ends = spread(0, most, [])
    for cell in cells:
        c = np.concatenate([spread(0, most, [cell.y], finest=cell.finest), ends])
        c.sort()
        c = c[np.append(c[1:] > c[:-1], True)]
        # each node stands for the counts up to the middle of its neighbors
        edges = np.concatenate([[c[0] - 0.5], (c[1:] + c[:-1]) / 2, [c[-1] + 0.5]])
        counts.append(c)
        heights.append(cell.rough(c) + np.log(edges[1:] - edges[:-1]))
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

    def kept(self) -> Table:
        """Return the table as it is kept to split sums by: a long one with seven digits, in half the memory."""
        if self.weights.size <= _LONG_TABLE or self.weights.dtype == np.float32:
            return self
        hold(-(self.weights.size // 2))
        return Table(self.low, self.weights.astype(np.float32))

    def convolve(self, other: Table, most: int | None = None) -> Table:
        """Return the table of the sum of two counts, trimmed where it is rounding noise or above ``most``."""
        small, large = sorted((self.weights.size, other.weights.size))
        spend(_DIRECT_SECONDS * small * large if small <= _DIRECT else _FOURIER_SECONDS * (small + large))
        if small <= _DIRECT:
            weights = np.convolve(self.weights, other.weights)
        else:
            weights = _fourier_convolve(self.weights, other.weights)
        heavy = np.flatnonzero(weights > FLOOR * weights.max())
        first, last = heavy[0], heavy[-1]
        if most is not None:
            last = max(min(last, most - self.low - other.low), first)
        hold(int(last - first) + 1)
        return Table(self.low + other.low + int(first), np.maximum(weights[first : last + 1], 0.0))


def convolved(
    tables: Sequence[Table], most: float = np.inf
) -> tuple[tuple[int, ...], tuple[Table, ...], tuple[Table, ...]]:
    """Return the order of the tables, widest first; the tables in it; and the sums of the first one, two, ... of them.

    Sums of more than ``most`` numbers in all are too wide.
    """
    order = tuple(sorted(range(len(tables)), key=lambda k: -tables[k].spread))
    ordered = tuple(tables[k] for k in order)
    sums = [ordered[0]]
    for table in ordered[1:]:
        sums.append(sums[-1].convolve(table))
        most -= sums[-1].weights.size
        if most < 0:
            raise too_wide()
    return order, ordered, tuple(sums)


def _fourier_convolve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    size = a.size + b.size - 1
    padded = next_fast_len(size, real=True)
    return np.fft.irfft(np.fft.rfft(a, padded) * np.fft.rfft(b, padded), padded)[:size]
