"""The weak prior of a regression's population, on bounds mapped to [-1, 1]: its density and draws from it.

Means are N(0, MEAN_SD^2), sds lognormal(LOG_SD, SPREAD), correlations of the features LKJ(ETA), R^2 of the target is
Beta(A, B) with A = min(1, d / 2) and its direction uniform; SOFT keeps the density finite at R^2 = 0. No number leaves
[-1, 1], so that no mean square is above 1; those that are lose density like a normal tail of sd EDGE. Columns that sit
on their bounds have a mean square of 1, and a barrier that keeps away from it would move them.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

MEAN_SD, LOG_SD, SPREAD, ETA, B, EDGE = 0.5, log(0.3), 0.8, 2.0, 2.0, 0.05
SOFT = 0.02
#: Kurtosis of the records is 3 times one plus a lognormal number with this median and log sd.
EXCESS, EXCESS_SPREAD = 0.3, 0.8


def log_prior(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return the log prior density of means and covariance matrices."""
    from discreet.inference.regression.moment_kernels import EDGE, ETA, LOG_SD, MEAN_SD, SOFT, SPREAD, B

    p = mean.shape[1]
    d = p - 1
    log_root = np.log(np.diagonal(np.linalg.cholesky(covariance), axis1=1, axis2=2))
    log_w = np.log(np.diagonal(covariance, axis1=1, axis2=2))
    sd = 0.5 * log_w
    total = (-0.5 * p * log_w - sd - 0.5 * ((sd - LOG_SD) / SPREAD) ** 2).sum(axis=1)
    alone = 2 * log_root - log_w
    share = -np.expm1(alone[:, d])
    total += (ETA - 1.5) * alone[:, :d].sum(axis=1) + (B - 1.0) * alone[:, d]
    total += (min(1.0, 0.5 * d) - 0.5 * d) * np.log(np.maximum(share, 0.0) + SOFT)
    beyond = np.maximum(np.exp(log_w) + mean**2 - 1, 0.0) / EDGE
    total -= 0.5 * (beyond**2).sum(axis=1)
    return total - 0.5 * ((mean / MEAN_SD) ** 2).sum(axis=1)


def draw_prior(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw the mean and a root of the covariance of d features and a target, by rejection."""
    a = min(1.0, 0.5 * d)
    while True:
        root = np.zeros((d + 1, d + 1))
        root[0, 0] = 1.0
        for k in range(1, d):
            root[k, : k + 1] = _row(rng.beta(k / 2, ETA + (d - 1 - k) / 2), k, rng)
        share = rng.beta(a, B)
        root[d] = _row(share, d, rng)
        sd = np.exp(rng.normal(LOG_SD, SPREAD, d + 1))
        mean = rng.normal(0, MEAN_SD, d + 1)
        beyond = np.maximum(sd**2 + mean**2 - 1, 0) / EDGE
        accept = (share / (share + SOFT)) ** (0.5 * d - a) * np.exp(-0.5 * (beyond**2).sum())
        if rng.random() < accept:
            return mean, root * sd[:, None]


def _row(share: float, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return the first k + 1 entries of a row of a correlation matrix's root, in a uniform direction."""
    direction = rng.standard_normal(k)
    return np.append(direction / np.linalg.norm(direction) * sqrt(share), sqrt(1 - share))
