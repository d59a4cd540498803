r"""Weights of latent counts, and the window that carries them.

A conjugate prior turns counts into products of one function,

    g_alpha(c) = Gamma(alpha + c) / (c! Gamma(alpha)),

so that the beta-binomial is g_a(c) g_b(u - c) / g_{a+b}(u) and the Dirichlet-multinomial the like. Its logarithm is
summed from ratios, g(c) / g(c - 1) = 1 + (alpha - 1) / c, outwards from a reference count: at counts of 10^9 the
difference of two log-gammas keeps seven digits, the sum of ``log1p`` all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

import numpy as np
from scipy.special import gammaln

from discreet.inference.engine import too_wide

#: Log of the smallest relative weight kept. Windows lose less than 1e-12 of the mass with room to spare.
DEPTH = 36.0
# Gamma variables of a larger shape never underflow: at 0.1, to 0 with probability 1e-31.
_SMALL = 0.1
# Counts in one table, from the reference on, at most.
_LONGEST = 2e7


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
