r"""One Newton step of a regression's likelihood from public weights, and what is left of the way.

At weights b0 a record counts as its weight w and has the working residual u = (y - m) / w. Over weighted records the
population's coefficients b solve E[x f(x . b0, x . (b - b0))] = E[x u] with f(o, t) = (m(o + t) - m(o)) / w(o) for the
mean m of a link; f is t + ... if w is the derivative of m. To first order it is a weighted regression, whose sums were
released. The rest is taken from made-up features with the weighted moments, whose shape follows from their bounds
(:mod:`~discreet.inference.regression.shaped_points`): it is a correction, part of which may be wrong. What is left is
in other directions too, the more so where w is limited, so that f is not t + ... for all records: parts of the way that
is gone and of its square, in units in which one record has the standard error 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from discreet.inference.regression.shaped_points import Shape

# shares of the correction that are not known: along it, and in each direction
_LOOSE, _AROUND = 0.35, 0.25
# far below any variance of a column on mapped bounds, and above rounding
_TINY = 1e-12
_ROUNDS, _LARGEST_STEP, _LARGEST_CHANGE = 8, 2.0, 8.0

#: f and its derivative in t, of predictors o at the start and changes t of them.
Response = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class Stepped(NamedTuple):
    """Draws of coefficients after a step, and how far predictors have moved, in the middle.

    ``share`` is for each slope the share of its variance that is what a step so long may be off by.
    """

    draws: np.ndarray
    moved: float
    share: np.ndarray


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
    off: tuple[float, float],
    lows: np.ndarray,
) -> Stepped:
    """Return draws of coefficients after a step from ``start``, and how far they have moved.

    ``mean`` and ``covariance`` are weighted moments of the features, ``slopes`` E[x u] of the weighted records, and
    ``variance`` times E[x x'] is the covariance of what those of a table and of its population differ by. ``off`` says
    what the step may be off by in each direction: its sd is these parts of the step's length and of its square.
    Features lie between ``lows`` and 1.
    """
    root = moment_root(mean, covariance)
    deviation = root @ rng.standard_normal((*slopes.shape, 1))
    slopes = slopes[..., None] + deviation * np.sqrt(variance)[:, None, None]
    along = np.linalg.solve(root, slopes)
    first = np.linalg.solve(root.swapaxes(1, 2), along)[..., 0]
    curved = _curved(start, mean, covariance, first, response, lows)
    moved = np.linalg.norm(along[..., 0], axis=1)
    correction = curved - first
    size = np.linalg.norm(root.swapaxes(1, 2) @ correction[..., None], axis=1)
    # a longer step than 1 is warned of
    around = _AROUND * size + (moved * (off[0] + off[1] * np.minimum(moved, 1.0)))[:, None]
    unknown = correction * _LOOSE * rng.standard_normal((len(first), 1)) + wiggled(root, rng) * around
    draws = start + curved + unknown
    share = unknown.var(axis=0)[1:] / np.maximum(draws.var(axis=0)[1:], 1e-300)
    # of the middle, to which noise adds nothing
    return Stepped(draws, float(np.linalg.norm(along[..., 0].mean(axis=0))), share)


def _curved(
    start: np.ndarray,
    mean: np.ndarray,
    covariance: np.ndarray,
    first: np.ndarray,
    response: Response,
    lows: np.ndarray,
) -> np.ndarray:
    """Return the change that solves the equations with made-up features whose first-order solution is ``first``."""
    shape = Shape.of(mean[:, None], np.ones((len(mean), 1)), covariance, lows)

    def block(mean: np.ndarray, covariance: np.ndarray, first: np.ndarray) -> np.ndarray:
        x = shape.points(mean[:, None], covariance)
        predictors, weight = x @ start, 1 / x.shape[1]

        def respond(far: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            moved, slope = response(predictors, far)
            return weight * moved, weight * slope

        aim = weight * x.swapaxes(1, 2) @ (x @ first[..., None])
        return solved(x, aim[..., 0], first, respond)

    return shape.solve(block, mean, covariance, first)


def solved(
    x: np.ndarray,
    aim: np.ndarray,
    guess: np.ndarray,
    respond: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
) -> np.ndarray:
    """Return c for which the sum over points of x f(x . c) is ``aim``; ``respond`` returns f and its derivative."""
    across = np.ascontiguousarray(x.swapaxes(1, 2))
    ridge = 1e-6 * np.eye(x.shape[2])
    found = guess.copy()
    for _ in range(_ROUNDS):
        far = np.clip((x @ found[..., None])[..., 0], -_LARGEST_CHANGE, _LARGEST_CHANGE)
        moved, slope = respond(far)
        left = aim[..., None] - across @ moved[..., None]
        steep = (across * slope[:, None]) @ x + ridge
        step = np.linalg.solve(steep, left)
        largest = np.abs(x @ step).max(axis=1)
        found = found + step[..., 0] * np.minimum(1.0, _LARGEST_STEP / np.maximum(largest, 1e-12))
        if largest.max() < 1e-4:
            break
    return found
