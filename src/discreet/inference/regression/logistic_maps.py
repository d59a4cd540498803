r"""From moments to the coefficients of a logistic regression.

**Discriminant.** If features are normal within the classes, with one covariance, log-odds are linear, and their
coefficients follow from the regression of the indicator of the second label: slopes / residual variance. Where features
are not normal it is off: on the real tables of ``studies/logistic.py`` by up to 0.08 s, with s the sd of the log-odds,
in units in which one record has the standard error 1. That does not shrink with the number of records, so every draw is
moved by normal deviations of sd ``CLOSURE`` s.

**Step.** At public weights b0 let u = (y - m) / (m (1 - m)) and let every record count as its weight m (1 - m). The
population's coefficients b solve E[x f(x . b0, x . (b - b0))] = E[x u] with f(o, t) = (m(o + t) - m(o)) / (m(o)(1 -
m(o))), which is t + (1/2 - m(o)) t^2 + .... To first order it is a weighted regression, whose sums were released. The
rest is taken from normal features with the weighted moments: it is a correction, half of which may be wrong.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import expit

#: Standard deviation of what the discriminant map is off by, per sd of the log-odds.
CLOSURE = 0.045
#: How much wider sampling errors are than those of a logistic model that holds, as a variance.
_ROBUST = 1.15
# share of the correction that is not known
_LOOSE = 0.35
_POINTS, _ROUNDS, _LARGEST_STEP, _LARGEST_CHANGE = 128, 8, 2.0, 8.0
_LEAST_SHARE = 1e-3


def discriminant(mean: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coefficients, intercept first, from moments of (features, indicator); residual variance; R^2."""
    d = mean.shape[1] - 1
    share = np.clip(mean[:, d], _LEAST_SHARE, 1 - _LEAST_SHARE)
    spread = share * (1 - share)
    slopes = np.linalg.solve(covariance[:, :d, :d], covariance[:, :d, d, None])[..., 0]
    r_squared = np.clip(np.einsum("ni,ni->n", slopes, covariance[:, :d, d]) / spread, 0.0, 0.97)
    residual = spread * (1 - r_squared)
    slopes = slopes / residual[:, None]
    intercept = np.log(share / (1 - share)) - np.einsum("ni,ni->n", mean[:, :d], slopes)
    intercept -= 0.5 * (1 - 2 * share) * r_squared / residual
    return np.column_stack([intercept, slopes]), residual, r_squared


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


def population_discriminant(
    mean: np.ndarray, covariance: np.ndarray, records: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return draws of coefficients, and the share of their variance that is what the map may be off by."""
    d = mean.shape[1] - 1
    found, residual, r_squared = discriminant(mean, covariance)
    moments = second_moments(mean[:, :d], covariance[:, :d, :d])
    odds_sd = np.sqrt(r_squared / (residual * (1 - r_squared)))
    sampled = wiggled(moments, rng) * np.sqrt(_ROBUST / (records * residual))[:, None]
    off = wiggled(moments, rng) * (CLOSURE * odds_sd / np.sqrt(residual))[:, None]
    draws = found + sampled + off
    share = off.var(axis=0)[1:] / np.maximum(draws.var(axis=0)[1:], 1e-300)
    return draws, float(np.median(share))


def newton_step(
    start: np.ndarray,
    mean: np.ndarray,
    covariance: np.ndarray,
    slopes: np.ndarray,
    weights: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """Return draws of coefficients after a step from ``start``, and how far log-odds have moved, in the middle.

    ``mean`` and ``covariance`` are weighted moments of the features, ``slopes`` E[x u] of the weighted records, and
    ``weights`` the sum of 4 m (1 - m): a score of four times the weights' sum is as precise as that many records.
    """
    moments = second_moments(mean, covariance)
    root = np.linalg.cholesky(moments)
    deviation = np.einsum("nij,nj->ni", root, rng.standard_normal(slopes.shape))
    slopes = slopes + 2 * deviation * np.sqrt(_ROBUST / weights)[:, None]
    first = np.linalg.solve(moments, slopes[..., None])[..., 0]
    curved = _curved(start, mean, covariance, first)
    loose = 1 + _LOOSE * rng.standard_normal((len(first), 1))
    moved = np.sqrt(np.einsum("ni,nij,nj->n", first, moments, first))
    return start + first + (curved - first) * loose, float(np.median(moved))


def _curved(start: np.ndarray, mean: np.ndarray, covariance: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the change that solves the equations with normal features whose first-order solution is ``first``."""
    size, d = mean.shape
    normal = _spread_points(d)
    root = np.linalg.cholesky(covariance)
    x = np.ones((size, _POINTS, d + 1))
    x[:, :, 1:] = np.clip(mean[:, None] + np.einsum("nij,kj->nki", root, normal), -1.0, 1.0)
    chance = expit(x @ start)
    aim = np.einsum("nki,nk->ni", x, np.einsum("nki,ni->nk", x, first)) / _POINTS
    ridge = 1e-6 * np.eye(d + 1)
    change = first.copy()
    for _ in range(_ROUNDS):
        odds = np.clip(np.einsum("nki,ni->nk", x, change), -_LARGEST_CHANGE, _LARGEST_CHANGE)
        grown = np.expm1(odds)
        below = 1 + chance * grown
        left = aim - np.einsum("nki,nk->ni", x, grown / below) / _POINTS
        steep = np.einsum("nk,nki,nkj->nij", np.exp(odds) / below**2, x, x) / _POINTS + ridge
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
