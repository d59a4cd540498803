r"""One Newton step of a regression's likelihood from public weights, and what is left of the way.

At weights b0 a record counts as its weight w and has the working residual u = (y - m) / w. The population's
coefficients b solve E[x f(x . b0, x . (b - b0))] = E[x u] over weighted records, with f(o, t) = (m(o + t) - m(o)) / w(o)
for the mean m of a link; f is t + ... if w is the derivative of m. To first order it is a weighted regression, whose
sums were released. The rest is taken from normal features with the weighted moments: it is a correction, part of which
may be wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

# share of the correction that is not known
_LOOSE = 0.35
_POINTS, _ROUNDS, _LARGEST_STEP, _LARGEST_CHANGE = 128, 8, 2.0, 8.0

#: f and its derivative in t, of predictors o at the start and changes t of them.
Response = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def second_moments(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return E[x x'] of x = (1, features), draws × (d + 1) × (d + 1)."""
    size, d = mean.shape
    whole = np.ones((size, d + 1, d + 1))
    whole[:, 0, 1:] = whole[:, 1:, 0] = mean
    whole[:, 1:, 1:] = covariance + mean[:, :, None] * mean[:, None, :]
    return whole


def wiggled(moments: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return normal deviations with the inverses of these matrices as covariances."""
    root = np.linalg.cholesky(moments)
    return np.linalg.solve(root.swapaxes(1, 2), rng.standard_normal((*moments.shape[:2], 1)))[..., 0]


def newton_step(
    start: np.ndarray,
    mean: np.ndarray,
    covariance: np.ndarray,
    slopes: np.ndarray,
    variance: np.ndarray,
    response: Response,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """Return draws of coefficients after a step from ``start``, and how far predictors have moved, in the middle.

    ``mean`` and ``covariance`` are weighted moments of the features, ``slopes`` E[x u] of the weighted records, and
    ``variance`` times E[x x'] is the covariance of what those of a table and of its population differ by.
    """
    moments = second_moments(mean, covariance)
    root = np.linalg.cholesky(moments)
    deviation = np.einsum("nij,nj->ni", root, rng.standard_normal(slopes.shape))
    slopes = slopes + deviation * np.sqrt(variance)[:, None]
    first = np.linalg.solve(moments, slopes[..., None])[..., 0]
    curved = _curved(start, mean, covariance, first, response)
    loose = 1 + _LOOSE * rng.standard_normal((len(first), 1))
    moved = np.sqrt(np.einsum("ni,nij,nj->n", first, moments, first))
    return start + first + (curved - first) * loose, float(np.median(moved))


def _curved(
    start: np.ndarray, mean: np.ndarray, covariance: np.ndarray, first: np.ndarray, response: Response
) -> np.ndarray:
    """Return the change that solves the equations with normal features whose first-order solution is ``first``."""
    size, d = mean.shape
    normal = _spread_points(d)
    root = np.linalg.cholesky(covariance)
    x = np.ones((size, _POINTS, d + 1))
    x[:, :, 1:] = np.clip(mean[:, None] + np.einsum("nij,kj->nki", root, normal), -1.0, 1.0)
    predictors = x @ start
    aim = np.einsum("nki,nk->ni", x, np.einsum("nki,ni->nk", x, first)) / _POINTS
    ridge = 1e-6 * np.eye(d + 1)
    change = first.copy()
    for _ in range(_ROUNDS):
        far = np.clip(np.einsum("nki,ni->nk", x, change), -_LARGEST_CHANGE, _LARGEST_CHANGE)
        moved, slope = response(predictors, far)
        left = aim - np.einsum("nki,nk->ni", x, moved) / _POINTS
        steep = np.einsum("nk,nki,nkj->nij", slope, x, x) / _POINTS + ridge
        step = np.linalg.solve(steep, left[..., None])[..., 0]
        largest = np.abs(step).max(axis=1, keepdims=True)
        change = change + step * np.minimum(1.0, _LARGEST_STEP / np.maximum(largest, 1e-12))
        if largest.max() < 1e-4:
            break
    return change


@lru_cache(maxsize=8)
def _spread_points(d: int) -> np.ndarray:
    """Return points that stand for a standard normal distribution: mean 0, covariance 1, and evenly spread."""
    from scipy.stats import norm, qmc

    # a Sobol sequence begins at 0; every point is moved by half of what they are apart
    points = norm.ppf(qmc.Sobol(d, scramble=False).random(_POINTS) + 0.5 / _POINTS)
    points -= points.mean(axis=0)
    root = np.linalg.cholesky(np.atleast_2d(np.cov(points.T, bias=True)))
    return np.linalg.solve(root, points.T).T
