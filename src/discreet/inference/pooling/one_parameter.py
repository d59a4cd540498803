"""Complete pooling: several groups, or institutions, that share one parameter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.inference.pooling.group_curves import DEPTH, Curve
from discreet.inference.pooling.populations import Population

_POINTS = 4001
_MOST_ROUNDS = 12


def draw_common(
    curves: Sequence[Curve], population: Population, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw points of the one parameter behind all curves, independently.

    The posterior is the product of what each says for itself with the weak prior, on points that close in on it;
    between points the density is linear.
    """
    ends = np.array([curve.support(population.low, population.high) for curve in curves])
    first, last = float(ends[:, 0].min()), float(ends[:, 1].max())
    x, density = np.zeros(0), np.zeros(0)
    for _ in range(_MOST_ROUNDS):
        x = np.linspace(first, last, _POINTS)
        height = population.log_own_prior(x) + sum(curve(x) for curve in curves)
        density = np.exp(height - height.max())
        kept = np.flatnonzero(height > height.max() - DEPTH)
        closer = x[max(kept[0] - 1, 0)], x[min(kept[-1] + 1, x.size - 1)]
        if closer[1] - closer[0] > 0.5 * (last - first):
            break
        first, last = closer
    mass = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    target = rng.random(size) * mass[-1]
    i = np.clip(np.searchsorted(mass, target, side="right") - 1, 0, x.size - 2)
    left, right = density[i], density[i + 1]
    # solve left u + (right - left) u^2 / 2 = rest for u in [0, 1], in the form without cancellation
    rest = target - mass[i]
    root = np.sqrt(np.maximum(left**2 + 2 * (right - left) * rest, 0.0))
    share = np.minimum(2 * rest / np.maximum(left + root, 1e-300), 1.0)
    return x[i] + share * (x[1] - x[0])
