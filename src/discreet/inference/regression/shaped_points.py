"""Points that stand for features of which only means, covariances and bounds are known.

Margins are beta distributions on [-1, 1] with these means and variances, tied by a normal copula: a column of two
labels has its two values, one that crowds at a bound is skewed as such columns are, one far from both is normal. Their
shape is that of the middle of the draws; each draw gets its own mean and covariance.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_POINTS = 128
# means no nearer to a bound, as a share of the range; what a + b of a beta distribution is at least and at most
_EDGE, _LEAST, _MOST = 1e-3, 0.02, 1e4
# far below any variance of a column on mapped bounds, and above rounding
_TINY = 1e-12


def shaped_points(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return points with these means and covariances, draws × points × features."""
    middle, within = mean.mean(axis=0), covariance.mean(axis=0)
    total = concentration(middle[None], np.ones(1), np.diag(within))
    around = shape(middle, total, within)
    return placed(around, stretches(_variance(around), covariance), mean)


def classes_of_points(
    share: np.ndarray, means: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return points of two classes and their weights: draws × points × features, and draws × points.

    ``share`` is that of the second class, ``means`` are those of the classes, draws × 2 × features, ``covariance`` is
    the one within them; the first half of the points is of the first class.
    """
    shares = np.array([1 - share.mean(), share.mean()])
    middle, within = means.mean(axis=0), covariance.mean(axis=0)
    total = concentration(middle, shares, np.diag(within))
    around = [shape(one, total, within) for one in middle]
    stretched = stretches(shares[0] * _variance(around[0]) + shares[1] * _variance(around[1]), covariance)
    points = [placed(one, stretched, means[:, at]) for at, one in enumerate(around)]
    weights = np.stack([1 - share, share], axis=1) / _POINTS
    return np.concatenate(points, axis=1), np.repeat(weights, _POINTS, axis=1)


def concentration(means: np.ndarray, shares: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return a + b of beta distributions, common to classes with these means and shares, by their mean variance."""
    place = np.clip((means + 1) / 2, _EDGE, 1 - _EDGE)
    spread = shares @ (place * (1 - place))
    return np.clip(4 * spread / np.maximum(variance, _TINY) - 1, _LEAST, _MOST)


def shape(mean: np.ndarray, total: np.ndarray, covariance: np.ndarray, points: int = _POINTS) -> np.ndarray:
    """Return points around 0, points × features: margins have this mean and a + b, ties are the covariance's."""
    from scipy.special import betaincinv, ndtr

    sd = np.sqrt(np.diag(covariance))
    root = np.linalg.cholesky(covariance / np.outer(sd, sd) + 1e-9 * np.eye(len(sd)))
    place = np.clip((mean + 1) / 2, _EDGE, 1 - _EDGE)
    found = 2 * betaincinv(place * total, (1 - place) * total, ndtr(spread_points(len(sd), points) @ root.T))
    return found - found.mean(axis=0)


def stretches(own: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return what gives points with the covariance ``own`` those of the draws, draws × features × features."""
    tiny = _TINY * np.eye(len(own))
    return np.linalg.cholesky(covariance + tiny) @ np.linalg.inv(np.linalg.cholesky(own + tiny))


def placed(around: np.ndarray, stretched: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return points around 0 stretched and moved to each draw's mean, within the bounds."""
    return np.clip(mean[:, None] + np.einsum("nij,kj->nki", stretched, around), -1.0, 1.0)


def _variance(around: np.ndarray) -> np.ndarray:
    """Return the covariance of points; a column that has next to none keeps a trace of its own."""
    found = np.atleast_2d(np.cov(around.T, bias=True))
    return found + np.diag(1e-6 * np.diag(found) + _TINY)


@lru_cache(maxsize=8)
def spread_points(d: int, points: int = _POINTS) -> np.ndarray:
    """Return points that stand for a standard normal distribution: mean 0, covariance 1, and evenly spread."""
    from scipy.stats import norm, qmc

    # a Sobol sequence begins at 0; every point is moved by half of what they are apart
    found = norm.ppf(qmc.Sobol(d, scramble=False).random(points) + 0.5 / points)
    found -= found.mean(axis=0)
    root = np.linalg.cholesky(np.atleast_2d(np.cov(found.T, bias=True)))
    return np.linalg.solve(root, found.T).T
