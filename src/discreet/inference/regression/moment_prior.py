"""The weak prior of a regression's population, on bounds mapped to [-1, 1]: its density and draws from it.

Means are N(0, MEAN_SD^2), sds lognormal(LOG_SD, SPREAD), correlations of the features LKJ(ETA), R^2 of the target is
Beta(a, b) of :func:`explained` and its direction uniform; SOFT keeps the density finite at R^2 = 0.

No number leaves [-1, 1], so that no mean square is above 1; those that are lose density like a normal tail of sd EDGE.
Columns that sit on their bounds have a mean square of 1, and a barrier that keeps away from it would move them.
"""

from __future__ import annotations

from math import log

import numpy as np

MEAN_SD, LOG_SD, SPREAD, ETA, EDGE = 0.5, log(0.3), 0.8, 2.0, 0.05
SOFT = 0.02
#: Kurtosis of the records is 3 times one plus a lognormal number with this median and log sd, or a larger one.
EXCESS, EXCESS_SPREAD = 0.3, 0.8
# how far towards a common end is far, and what median and log sd are then, beside these
_FAR, _FAR_MEDIAN, _FAR_SPREAD = 0.3, 3.0, 2.5
# tails of the target: at least, at most, and where half of what is between them is reached
_LEAST_TAIL, _MOST_TAIL, _HALF_TAIL = 0.3, 5.0, 0.4


def explained(d: int) -> tuple[float, float]:
    """Return a and b of the beta distribution of R^2.

    Few features are expected to explain hardly anything, or in some tables nearly all: with less density near R^2 = 1
    residual sds of those are missed where noise dominates. From five features on there is less of it, and from ten on
    half: noise hides more of what many features explain, and the residual sds of all other tables would be missed.
    """
    more = min(max((d - 5.0) / 5.0, 0.0), 1.0)
    return 0.5 + 0.5 * more, 1.0 + more


def towards(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return how much the target and a feature have their tails in one direction, and go together there: at most 1.

    It is the correlation times both distances of a mean from the middle of the bounds, of the feature that has most of
    it. Such columns grow together, and residuals with them: expenditure on income, price on size.
    """
    d = mean.shape[-1] - 1
    sd = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    together = covariance[..., d, :d] / (sd[..., :d] * sd[..., d, None])
    return (together * mean[..., :d] * mean[..., d, None]).max(axis=-1)


def expected_excess(toward: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Return the median and the log sd of what the kurtosis' ratio is above 1, for :func:`towards`.

    The variance of slopes is multiplied by that ratio. What the sandwich estimator has of it in 1,500 slopes of random
    regressions of real tables (``studies/uneven_residuals.py``) is 1.0 in the middle and 2.4 from the largest twentieth
    on, but 1.2 and 17 in the tenth of them whose tails are furthest towards a common end.
    """
    far = np.minimum(np.maximum(toward, 0.0) / _FAR, 1.0)
    return EXCESS * _FAR_MEDIAN**far, EXCESS_SPREAD * (1.0 + (_FAR_SPREAD - 1.0) * far)


def expected_tail(mean: np.ndarray | float, variance: np.ndarray | float) -> np.ndarray:
    """Return how much heavier the tails of a target's residuals are to be expected than the records' own.

    It multiplies the kurtosis by one plus a lognormal number with this median and log sd ``EXCESS_SPREAD``. A target
    whose sd is small beside the distance from its mean to the nearer bound has few: weights and wages, with a kurtosis
    of 5 or 6. Counts, money and durations sit near a bound with a tail towards the other one: of 27 real tables those
    with an sd of more than 0.6 of the distance had kurtoses of 3 to 68, the others of 2.5 to 6.
    """
    reach = (variance / np.maximum(1 - np.abs(mean), 0.05) ** 2) ** 2
    return _LEAST_TAIL + (_MOST_TAIL - _LEAST_TAIL) * reach / (reach + _HALF_TAIL)


def log_prior(mean: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Return the log prior density of means and covariance matrices, the latter given by their lower roots."""
    p = mean.shape[1]
    d = p - 1
    log_root = np.log(np.diagonal(root, axis1=1, axis2=2))
    log_w = np.log(np.einsum("njk,njk->nj", root, root))
    sd = 0.5 * log_w
    a, b = explained(d)
    total = (-0.5 * p * log_w - sd - 0.5 * ((sd - LOG_SD) / SPREAD) ** 2).sum(axis=1)
    alone = 2 * log_root - log_w
    share = -np.expm1(alone[:, d])
    total += (ETA - 1.5) * alone[:, :d].sum(axis=1) + (b - 1.0) * alone[:, d]
    total += (a - 0.5 * d) * np.log(np.maximum(share, 0.0) + SOFT)
    beyond = np.maximum(np.exp(log_w) + mean**2 - 1, 0.0) / EDGE
    total -= 0.5 * (beyond**2).sum(axis=1)
    return total - 0.5 * ((mean / MEAN_SD) ** 2).sum(axis=1)


def log_prior_given_features(mean: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Return the log density of intercept, slopes and residual variance, given the moments of the features.

    With sd the target's and L the root of the features' covariance, L' slopes / sd has the length of the root of R^2
    and a uniform direction; intercept and residual variance differ from the target's mean and variance by a shift.
    """
    d = mean.shape[1] - 1
    log_root = np.log(np.diagonal(root, axis1=1, axis2=2))
    square = np.einsum("nk,nk->n", root[:, d], root[:, d])
    log_w = np.log(square)
    alone = 2 * log_root[:, d] - log_w
    a, b = explained(d)
    total = (b - 1.0) * alone + (a - 0.5 * d) * np.log(np.maximum(-np.expm1(alone), 0.0) + SOFT)
    total += log_root[:, :d].sum(axis=1) - (0.5 * d + 1) * log_w
    total -= 0.5 * ((0.5 * log_w - LOG_SD) / SPREAD) ** 2 + 0.5 * (mean[:, d] / MEAN_SD) ** 2
    beyond = np.maximum(square + mean[:, d] ** 2 - 1, 0.0) / EDGE
    return total - 0.5 * beyond**2


def draw_prior(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw the mean and a root of the covariance of d features and a target."""
    means, roots = draw_priors(d, 1, rng)
    return means[0], roots[0]


def draw_priors(d: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw means, draws × (d + 1), and roots of covariance matrices, by rejection."""
    means, roots, found = [], [], 0
    while found < size:
        mean, root = _proposed(d, size - found + 8, rng)
        means.append(mean)
        roots.append(root)
        found += len(mean)
    return np.concatenate(means)[:size], np.concatenate(roots)[:size]


def _proposed(d: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Propose so many, and return those that are accepted."""
    root = np.zeros((size, d + 1, d + 1))
    root[:, 0, 0] = 1.0
    for k in range(1, d):
        root[:, k, : k + 1] = _rows(rng.beta(k / 2, ETA + (d - 1 - k) / 2, size), k, rng)
    a, b = explained(d)
    share = rng.beta(a, b, size)
    root[:, d] = _rows(share, d, rng)
    sd = np.exp(rng.normal(LOG_SD, SPREAD, (size, d + 1)))
    mean = rng.normal(0, MEAN_SD, (size, d + 1))
    beyond = np.maximum(sd**2 + mean**2 - 1, 0) / EDGE
    accept = (share / (share + SOFT)) ** (0.5 * d - a) * np.exp(-0.5 * (beyond**2).sum(axis=1))
    kept = rng.random(size) < accept
    return mean[kept], (root * sd[:, :, None])[kept]


def _rows(share: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return the first k + 1 entries of rows of correlation matrices' roots, in uniform directions."""
    direction = rng.standard_normal((len(share), k))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return np.column_stack([direction * np.sqrt(share)[:, None], np.sqrt(1 - share)])
