r"""One Newton step of a regression's likelihood from public weights, and what is left of the way.

At weights b0 a record counts as its weight w and has the working residual u = (y - m) / w. Over weighted records the
population's coefficients b solve E[x f(x . b0, x . (b - b0))] = E[x u] with f(o, t) = (m(o + t) - m(o)) / w(o) for the
mean m of a link; f is t + ... if w is the derivative of m. To first order it is a weighted regression, whose sums were
released. The rest is taken from normal features with the weighted moments: it is a correction, part of which may be
wrong. Where w is limited, so that f is not t + ... for all records, the error is in other directions too: parts of the
way that is gone and of its square, in units in which one record has the standard error 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

# share of the correction that is not known
_LOOSE = 0.35
# far below any variance of a column on mapped bounds, and above rounding
_TINY = 1e-12
_POINTS, _ROUNDS, _LARGEST_STEP, _LARGEST_CHANGE = 128, 8, 2.0, 8.0

#: f and its derivative in t, of predictors o at the start and changes t of them.
Response = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class Stepped(NamedTuple):
    """Draws of coefficients after a step, and how far predictors have moved, in the middle.

    ``share`` is the share of the slopes' variance that is what a step so long may be off by.
    """

    draws: np.ndarray
    moved: float
    share: float


def moment_root(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return lower roots of E[x x'] of x = (1, features), draws × (d + 1) × (d + 1)."""
    size, d = mean.shape
    whole = np.zeros((size, d + 1, d + 1))
    whole[:, 0, 0] = 1.0
    whole[:, 1:, 0] = mean
    whole[:, 1:, 1:] = np.linalg.cholesky(covariance + _TINY * np.eye(d))
    return whole


def wiggled(root: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return normal deviations whose covariances are the inverses of the matrices with these lower roots."""
    return np.linalg.solve(root.swapaxes(1, 2), rng.standard_normal((*root.shape[:2], 1)))[..., 0]


def newton_step(
    start: np.ndarray,
    mean: np.ndarray,
    covariance: np.ndarray,
    slopes: np.ndarray,
    variance: np.ndarray,
    response: Response,
    rng: np.random.Generator,
    off: tuple[float, float] = (0.0, 0.0),
) -> Stepped:
    """Return draws of coefficients after a step from ``start``, and how far they have moved.

    ``mean`` and ``covariance`` are weighted moments of the features, ``slopes`` E[x u] of the weighted records, and
    ``variance`` times E[x x'] is the covariance of what those of a table and of its population differ by. ``off`` says
    what the step may be off by in each direction: its sd is these parts of the step's length and of its square.
    """
    root = moment_root(mean, covariance)
    deviation = root @ rng.standard_normal((*slopes.shape, 1))
    slopes = slopes[..., None] + deviation * np.sqrt(variance)[:, None, None]
    along = np.linalg.solve(root, slopes)
    first = np.linalg.solve(root.swapaxes(1, 2), along)[..., 0]
    curved = _curved(start, mean, covariance, first, response)
    moved = np.linalg.norm(along[..., 0], axis=1)
    unknown = (curved - first) * _LOOSE * rng.standard_normal((len(first), 1))
    if any(off):
        # a longer step than 1 is warned of
        unknown += wiggled(root, rng) * (moved * (off[0] + off[1] * np.minimum(moved, 1.0)))[:, None]
    draws = start + curved + unknown
    share = unknown.var(axis=0)[1:] / np.maximum(draws.var(axis=0)[1:], 1e-300)
    return Stepped(draws, float(np.median(moved)), float(np.median(share)))


def _curved(
    start: np.ndarray, mean: np.ndarray, covariance: np.ndarray, first: np.ndarray, response: Response
) -> np.ndarray:
    """Return the change that solves the equations with normal features whose first-order solution is ``first``."""
    size, d = mean.shape
    normal = _spread_points(d)
    root = np.linalg.cholesky(covariance + _TINY * np.eye(d))
    x = np.ones((size, _POINTS, d + 1))
    x[:, :, 1:] = np.clip(mean[:, None] + np.einsum("nij,kj->nki", root, normal), -1.0, 1.0)
    predictors, across = x @ start, np.ascontiguousarray(x.swapaxes(1, 2))
    aim = across @ (x @ first[..., None]) / _POINTS
    ridge = 1e-6 * np.eye(d + 1)
    change = first.copy()
    for _ in range(_ROUNDS):
        far = np.clip((x @ change[..., None])[..., 0], -_LARGEST_CHANGE, _LARGEST_CHANGE)
        moved, slope = response(predictors, far)
        left = aim - across @ moved[..., None] / _POINTS
        steep = (across * slope[:, None]) @ x / _POINTS + ridge
        step = np.linalg.solve(steep, left)[..., 0]
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
