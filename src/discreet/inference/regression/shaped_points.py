"""Points that stand for features of which only means, covariances and bounds are known.

Margins are beta distributions between the bounds with these means and variances, tied by a normal copula: a column of
two labels has its two values, one that crowds at a bound is skewed as such columns are, one far from both is normal. So
is, for want of points, a label that few records have. Shapes are those of the middle of the draws; each draw gets its
own means and covariance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

# points of a class for few features and for more, and for each feature, without which a hundred hang on each other
_POINTS, _FEW, _EACH = (256, 128), 3, 4
# means no nearer to a bound, as a share of the range; what a + b of a beta distribution is at least and at most
_EDGE, _LEAST, _MOST = 1e-3, 0.02, 1e4
# a + b up to which there are hardly more than two values, and the points that the rarer one takes
_TWO_VALUES, _RARE = 0.5, 2
# far below any variance of a column on mapped bounds, and above rounding
_TINY = 1e-12
# numbers of points of some draws at once that memory should hold
_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Shape:
    """Points around 0 of one or more classes, classes × points × features, and their covariance within classes.

    ``low`` and ``high`` are the features' bounds, infinite where they are not kept to.
    """

    around: np.ndarray
    own: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, means: np.ndarray, shares: np.ndarray, covariance: np.ndarray, lows: np.ndarray) -> Self:
        """Return the shape of the middle of draws of classes' means and shares, and of the covariance within them.

        ``means`` are draws × classes × features, ``shares`` draws × classes. Features lie between ``lows`` and 1.
        """
        middle, share, within = means.mean(axis=0), shares.mean(axis=0), covariance.mean(axis=0)
        place = np.clip((middle - lows) / (1 - lows), _EDGE, 1 - _EDGE)
        variance = np.maximum(np.diag(within), _TINY) / (1 - lows) ** 2
        # a + b, common to the classes: their mean variance is the one within them
        total = np.clip(share @ (place * (1 - place)) / variance - 1, _LEAST, _MOST)
        d = len(within)
        points = max(_POINTS[d > _FEW], 1 << (_EACH * d - 1).bit_length())
        rare = (total < _TWO_VALUES) & (points * np.minimum(place, 1 - place).min(axis=0) < _RARE)
        scores = _scores(within, points)
        around = np.stack([(1 - lows) * _margins(one, total, scores) for one in place])
        around[:, :, rare] = scores[:, rare] * np.sqrt(np.diag(within))[rare]
        own = np.einsum("k,kpi,kpj->ij", share, around, around) / points
        # a column that hardly varies keeps a trace of its own
        own += np.diag(1e-6 * np.diag(own) + _TINY)
        return cls(around, own, np.where(rare, -np.inf, lows), np.where(rare, np.inf, 1.0))

    def points(self, means: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """Return (1, features) of points with these means and this covariance, within the bounds.

        Those of each draw are classes × points long, the first class before the second.
        """
        tiny = _TINY * np.eye(len(self.own))
        stretched = np.linalg.cholesky(covariance + tiny) @ np.linalg.inv(np.linalg.cholesky(self.own))
        placed = means[:, :, None] + np.einsum("nij,kpj->nkpi", stretched, self.around)
        rows = np.clip(placed, self.low, self.high).reshape(len(means), -1, means.shape[2])
        return np.concatenate([np.ones((*rows.shape[:2], 1)), rows], axis=2)

    def weights(self, shares: np.ndarray) -> np.ndarray:
        """Return how much each of a draw's points counts, of draws × classes."""
        points = self.around.shape[1]
        return np.repeat(shares / points, points, axis=1)

    def solve(self, one_block: Callable[..., np.ndarray], *draws: np.ndarray) -> np.ndarray:
        """Return what a function makes of some draws after the other: points of all of them would take gigabytes."""
        block = max(1, _AT_ONCE // self.around.size)
        starts = range(0, len(draws[0]), block)
        return np.concatenate([one_block(*(one[at : at + block] for one in draws)) for at in starts])


def _scores(covariance: np.ndarray, points: int) -> np.ndarray:
    """Return points of a standard normal distribution with the correlations of this covariance."""
    sd = np.sqrt(np.maximum(np.diag(covariance), _TINY))
    root = np.linalg.cholesky(covariance / np.outer(sd, sd) + 1e-9 * np.eye(len(sd)))
    return _spread_points(len(sd), points) @ root.T


def _margins(place: np.ndarray, total: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return points around 0 whose margins are beta distributions on [0, 1] with these means and a + b."""
    from scipy.special import betaincinv, ndtr

    found = betaincinv(place * total, (1 - place) * total, ndtr(scores))
    return found - found.mean(axis=0)


@lru_cache(maxsize=8)
def _spread_points(d: int, points: int) -> np.ndarray:
    """Return points that stand for a standard normal distribution: mean 0, covariance 1, and evenly spread."""
    from scipy.stats import norm, qmc

    # a Sobol sequence begins at 0; every point is moved by half of what they are apart
    found = norm.ppf(qmc.Sobol(d, scramble=False).random(points) + 0.5 / points)
    found -= found.mean(axis=0)
    root = np.linalg.cholesky(np.atleast_2d(np.cov(found.T, bias=True)))
    return np.linalg.solve(root, found.T).T
