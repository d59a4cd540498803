"""The two hyperparameters of a population of groups on a grid, and draws of them and of every group.

Groups are independent given the hyperparameters h, so their posterior is

    p(h | y)  ~  product over groups of  integral of f(x; h) l_g(x) dx,

with l_g what group g says for itself. All integrals are sums over the same cells of x, so that they are one product of
matrices for all groups and all points of the grid. The grid starts with the whole unit square, on which the prior is
uniform, and closes in on where the posterior is. Draws are independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.inference.pooling.group_curves import Curve
from discreet.inference.pooling.populations import Population

_COARSE, _FINE = 12, 30
_MOST_ROUNDS = 16
#: Log of the smallest relative posterior that is kept.
_DEPTH = 14.0
_MOST_CELLS = 700
_TINY = 1e-300
_GAUSS = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True)
class Cells:
    """Cells of the line, and the mean likelihood of each group in each cell, relative to its largest."""

    edges: np.ndarray
    likelihood: np.ndarray

    @classmethod
    def of(cls, curves: Sequence[Curve], population: Population) -> Cells:
        """Lay cells densely where the groups are."""
        points = []
        for curve in curves:
            first, last = curve.support(population.low, population.high)
            x = np.linspace(first, last, 257)
            mass = np.cumsum(np.exp(0.5 * (curve(x) - curve.log_l.max())))
            points += [np.linspace(first, last, 24), np.interp(np.linspace(0, 1, 65), mass / mass[-1], x)]
        edges = np.unique(np.concatenate(points))
        if edges.size > _MOST_CELLS:
            edges = np.unique(np.quantile(edges, np.linspace(0, 1, _MOST_CELLS)))
        near, weight = _GAUSS
        x = (edges[:-1] + edges[1:])[:, None] / 2 + np.diff(edges)[:, None] / 2 * near
        likelihood = np.empty((len(curves), edges.size - 1))
        for g, curve in enumerate(curves):
            log_l = curve(x)
            likelihood[g] = (np.exp(log_l - log_l.max()) * weight).sum(axis=1) / 2
        return cls(edges, likelihood)


@dataclass(frozen=True)
class HyperGrid:
    """Points of the unit square, half their distance, and their log posterior; and the masses of cells at them."""

    h: np.ndarray
    half: np.ndarray
    log_posterior: np.ndarray
    masses: np.ndarray

    @classmethod
    def of(cls, cells: Cells, population: Population) -> HyperGrid:
        """Close in on the posterior of the hyperparameters."""
        low, high = np.zeros(2), np.ones(2)
        for _ in range(_MOST_ROUNDS):
            grid = cls._on(low, high, _COARSE, cells, population)
            kept = grid.h[grid.log_posterior > grid.log_posterior.max() - _DEPTH]
            closer = (
                np.maximum(kept.min(axis=0) - 3 * grid.half, 0.0),
                np.minimum(kept.max(axis=0) + 3 * grid.half, 1.0),
            )
            settled = np.prod(closer[1] - closer[0]) > 0.5 * np.prod(high - low)
            low, high = closer
            if settled:
                break
        return cls._on(low, high, _FINE, cells, population)

    @classmethod
    def _on(
        cls, low: np.ndarray, high: np.ndarray, n: int, cells: Cells, population: Population
    ) -> HyperGrid:
        share = (np.arange(n) + 0.5) / n
        first, second = (low + (high - low) * share[:, None]).T
        h = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2)
        masses = population.masses(cells.edges, h)
        log_posterior = np.log(np.maximum(masses @ cells.likelihood.T, _TINY)).sum(axis=1)
        return cls(h, (high - low) / (2 * n), log_posterior, masses)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the points of the grid that are drawn, and hyperparameters scattered within their cells."""
        weights = np.exp(self.log_posterior - self.log_posterior.max())
        cumulative = np.cumsum(weights)
        at = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
        at = np.minimum(at, len(self.h) - 1)
        return at, self.h[at] + self.half * rng.uniform(-1, 1, (size, 2))


def draw_cells(
    masses: np.ndarray, likelihood: np.ndarray, at: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return the cell of one group in each draw, given the point of the grid that was drawn."""
    visited, which = np.unique(at, return_inverse=True)
    cumulative = np.cumsum(masses[visited] * likelihood, axis=1)
    total = cumulative[:, -1:]
    # a group that contradicts all others so far that nothing is left is where it says it is
    lost = total[:, 0] <= 0
    if lost.any():
        cumulative[lost], total[lost] = np.cumsum(likelihood), likelihood.sum()
    cumulative /= total
    n_cells = cumulative.shape[1]
    # row i takes up [i, i + 1) of one increasing sequence, searched once for all draws
    cumulative += np.arange(visited.size)[:, None]
    place = np.searchsorted(cumulative.ravel(), which + rng.random(at.size), side="right")
    return np.clip(place - which * n_cells, 0, n_cells - 1)
