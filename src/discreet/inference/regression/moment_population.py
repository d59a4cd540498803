r"""From the moments of a table to those of the population that it is a sample of, and to a regression.

If records are normal with mean mu and covariance S, then given a table's mean m and covariance W

    S ~ inverse Wishart(n, n W),   mu ~ N(m, S / n)

up to the prior, by which the draws are weighted and resampled. Real columns are not normal. What that changes to
first order is how precise slopes and residual variances are for their n: heteroscedastic and heavy-tailed residuals
need E[x^2 e^2] and E[e^4], which were not released. So records are taken to be a scale mixture of normals, whose
kurtosis 3 c is unknown: the variance of slopes is c times, that of the residual variance (3 c - 1) / 2 times what
normal records have, and a table of n records says as much as n / c of them. What the sandwich estimator reads off
residuals, a lognormal prior on c - 1 stands for. It expects more where a feature and the target have their tails at a
common end and go together, because residuals grow along with such columns. Residuals of a target that sits near a bound
may have heavier tails of their own, apart from the features: that is for the residual variance alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.inference.regression.moment_draws import MomentDraws, resampled
from discreet.inference.regression.moment_prior import (
    EXCESS_SPREAD,
    expected_excess,
    expected_tail,
    log_prior,
    log_prior_given_features,
    towards,
)

_LEAST_EFFECTIVE = 0.02


@dataclass(frozen=True)
class PopulationDraws:
    """The regression of the last term on the others: draws of intercept, slopes, residual sd and R^2, mapped.

    ``log_own_prior`` is the log density of intercept, slopes and residual variance under the weak prior, given the
    mean and the covariance matrix of the features.
    """

    intercept: np.ndarray
    slopes: np.ndarray
    residual_sd: np.ndarray
    r_squared: np.ndarray
    effective: float
    log_own_prior: np.ndarray

    @classmethod
    def of(cls, mean: np.ndarray, root: np.ndarray, slopes: np.ndarray, effective: float) -> PopulationDraws:
        """Return the regression of populations with these means, lower roots of covariance matrices, and slopes."""
        d = mean.shape[1] - 1
        explained, variance = (root[:, d, :d] ** 2).sum(axis=1), root[:, d, d] ** 2
        return cls(
            mean[:, d] - np.einsum("nj,nj->n", mean[:, :d], slopes),
            slopes,
            np.sqrt(variance),
            explained / (explained + variance),
            effective,
            log_prior_given_features(mean, root),
        )


def draw_population(table: MomentDraws, rng: np.random.Generator, *, naive: bool = False) -> PopulationDraws:
    """Draw a population for each draw of the table's moments; ``naive``: of normal records, without a prior."""
    size, p = table.mean.shape
    d = p - 1
    n = np.maximum(table.records, p + 2.0)
    ratio, residual_ratio = np.ones(size), np.ones(size)
    if not naive:
        median, spread = expected_excess(towards(table.mean, table.covariance))
        ratio = 1 + median * np.exp(spread * rng.standard_normal(size))
        tail = expected_tail(table.mean[:, d], (table.root[:, d] ** 2).sum(axis=1))
        tail = tail * np.exp(EXCESS_SPREAD * rng.standard_normal(size))
        # a variance is half as precise as its kurtosis less one
        residual_ratio = (3 * ratio * (1 + tail) - 1) / 2
    fewer = np.maximum(n / ratio, p + 2.0)
    inner = table.root[:, :d, :d]
    features = _inverse_wishart_root(inner, fewer, _freedom(fewer, p) - 1, rng)
    few = np.maximum(n / residual_ratio, p + 2.0)
    variance = table.root[:, d, d] ** 2 * few / rng.chisquare(_freedom(few, p))
    # slopes of the table, and how far those of the population are from them
    wiggle = rng.standard_normal((size, d)) * np.sqrt(variance / fewer)[:, None]
    slopes = np.linalg.solve(inner.swapaxes(1, 2), (table.root[:, d, :d] + wiggle)[..., None])[..., 0]
    root = np.zeros((size, p, p))
    root[:, :d, :d] = features
    root[:, d, :d] = np.einsum("njk,nj->nk", features, slopes)
    root[:, d, d] = np.sqrt(variance)
    deviation = np.einsum("njk,nk->nj", root, rng.standard_normal((size, p)))
    mean = table.mean + deviation / np.sqrt(n)[:, None]
    log_weights = np.zeros(size)
    if not naive:
        log_weights = log_prior(mean, root) - log_prior(table.mean, table.root)
        log_weights += 0.5 * (p + 1) * (_log_det(root) - _log_det(table.root))
    weights, effective = _flattened(log_weights)
    chosen = resampled(weights, size, rng)
    return PopulationDraws.of(mean[chosen], root[chosen], slopes[chosen], effective)


def _flattened(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Return weights that add up to 1, and the share of draws they are worth; to a smaller power where few would count.

    That is so for a handful of records, about which the prior says nearly everything.
    """
    while True:
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        effective = float(1 / (weights**2).sum() / len(weights))
        if effective >= _LEAST_EFFECTIVE:
            return weights, effective
        log_weights = log_weights / 2


def _log_det(root: np.ndarray) -> np.ndarray:
    return np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)


def _freedom(n: np.ndarray, p: int) -> np.ndarray:
    """Return the degrees of freedom of the inverse Wishart distribution that is proposed: less than of Jeffreys' prior.

    So that the weights, which make up for it, depend on determinants half as much.
    """
    return np.maximum(n - 1 - 0.5 * (p + 1), p + 1.0)


def _inverse_wishart_root(
    root: np.ndarray, n: np.ndarray, freedom: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw lower roots of covariance matrices of populations of which n records have those with these roots.

    With A upper triangular, squares of its diagonal chi-square with freedom - (d - 1), ..., freedom degrees of freedom
    and the rest standard normal, A A' is Wishart (Bartlett's decomposition, rows in reverse). If R R' is the sum of
    squares, then R^-T A A' R^-1 is the precision matrix, and R A^-T, lower triangular, a root of its inverse.
    """
    size, d, _ = root.shape
    bartlett = np.zeros((size, d, d))
    rows, columns = np.tril_indices(d, -1)
    bartlett[:, rows, columns] = rng.standard_normal((size, len(rows)))
    at = np.arange(d)
    bartlett[:, at, at] = np.sqrt(rng.chisquare(freedom[:, None] - at[::-1]))
    return np.sqrt(n)[:, None, None] * (root @ np.linalg.inv(bartlett))
