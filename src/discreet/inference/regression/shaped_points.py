"""Points that stand for features of which only means, covariances and bounds are known.

Margins are beta distributions on [-1, 1] with these means and variances, tied by a normal copula: a column of two
labels has its two values, one that crowds at a bound is skewed as such columns are, one far from both is normal. Their
shape is that of the middle of the draws; each draw gets its own means and covariance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

_POINTS = 128
# means no nearer to a bound, as a share of the range; what a + b of a beta distribution is at least and at most
_EDGE, _LEAST, _MOST = 1e-3, 0.02, 1e4
# far below any variance of a column on mapped bounds, and above rounding
_TINY = 1e-12
_BLOCK = 500


@dataclass(frozen=True)
class Shape:
    """Points around 0 of one or more classes, classes × points × features, and their covariance within classes."""

    around: np.ndarray
    own: np.ndarray

    @classmethod
    def of(cls, means: np.ndarray, shares: np.ndarray, covariance: np.ndarray) -> Self:
        """Return the shape of the middle of draws of classes' means and shares, and of the covariance within them.

        ``means`` are draws × classes × features, ``shares`` draws × classes.
        """
        middle, share, within = means.mean(axis=0), shares.mean(axis=0), covariance.mean(axis=0)
        place = np.clip((middle + 1) / 2, _EDGE, 1 - _EDGE)
        # a + b, common to the classes: their mean variance is the one within them
        total = 4 * (share @ (place * (1 - place))) / np.maximum(np.diag(within), _TINY) - 1
        around = np.stack([_margins(one, np.clip(total, _LEAST, _MOST), within) for one in place])
        own = np.einsum("k,kpi,kpj->ij", share, around, around) / _POINTS
        # a column that hardly varies keeps a trace of its own
        return cls(around, own + np.diag(1e-6 * np.diag(own) + _TINY))

    def points(self, means: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """Return (1, features) of points with these means and this covariance, within the bounds.

        Those of each draw are classes × points long, the first class before the second.
        """
        tiny = _TINY * np.eye(len(self.own))
        stretched = np.linalg.cholesky(covariance + tiny) @ np.linalg.inv(np.linalg.cholesky(self.own))
        placed = means[:, :, None] + np.einsum("nij,kpj->nkpi", stretched, self.around)
        rows = np.clip(placed, -1.0, 1.0).reshape(len(means), -1, means.shape[2])
        return np.concatenate([np.ones((*rows.shape[:2], 1)), rows], axis=2)


def point_weights(shares: np.ndarray) -> np.ndarray:
    """Return how much each of a draw's points counts, of draws × classes."""
    return np.repeat(shares / _POINTS, _POINTS, axis=1)


def in_blocks(of: Callable[..., np.ndarray], *draws: np.ndarray) -> np.ndarray:
    """Return what a function makes of some draws after the other: points of all of them would take gigabytes."""
    starts = range(0, len(draws[0]), _BLOCK)
    return np.concatenate([of(*(one[at : at + _BLOCK] for one in draws)) for at in starts])


def _margins(place: np.ndarray, total: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return points around 0 whose margins are beta distributions of a mean, of [0, 1], and a + b, tied by a copula."""
    from scipy.special import betaincinv, ndtr

    sd = np.sqrt(np.diag(covariance))
    root = np.linalg.cholesky(covariance / np.outer(sd, sd) + 1e-9 * np.eye(len(sd)))
    found = 2 * betaincinv(place * total, (1 - place) * total, ndtr(_spread_points(len(sd)) @ root.T))
    return found - found.mean(axis=0)


@lru_cache(maxsize=8)
def _spread_points(d: int) -> np.ndarray:
    """Return points that stand for a standard normal distribution: mean 0, covariance 1, and evenly spread."""
    from scipy.stats import norm, qmc

    # a Sobol sequence begins at 0; every point is moved by half of what they are apart
    found = norm.ppf(qmc.Sobol(d, scramble=False).random(_POINTS) + 0.5 / _POINTS)
    found -= found.mean(axis=0)
    root = np.linalg.cholesky(np.atleast_2d(np.cov(found.T, bias=True)))
    return np.linalg.solve(root, found.T).T
