r"""From moments to the coefficients of a logistic regression.

**Discriminant.** If features are normal within the classes, with one covariance, log-odds are linear, and their
coefficients follow from the regression of the indicator of the second label: slopes / residual variance. Where features
are not normal it is off: on the real tables of ``studies/logistic.py`` by up to 0.08 s, with s the sd of the log-odds,
in units in which one record has the standard error 1. That does not shrink with the number of records, so every draw is
moved by normal deviations of sd ``CLOSURE`` s.

**Step.** In a Newton step (:mod:`~discreet.inference.regression.newton`) a record counts as its weight m (1 - m).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from discreet.inference.regression.newton import moment_root, wiggled

#: Standard deviation of what the discriminant map is off by, per sd of the log-odds.
CLOSURE = 0.045
#: How much wider sampling errors are than those of a logistic model that holds, as a variance.
ROBUST = 1.15
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


def population_discriminant(
    mean: np.ndarray, covariance: np.ndarray, records: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return draws of coefficients, and the share of their variance that is what the map may be off by."""
    d = mean.shape[1] - 1
    found, residual, r_squared = discriminant(mean, covariance)
    root = moment_root(mean[:, :d], covariance[:, :d, :d])
    odds_sd = np.sqrt(r_squared / (residual * (1 - r_squared)))
    sampled = wiggled(root, rng) * np.sqrt(ROBUST / (records * residual))[:, None]
    off = wiggled(root, rng) * (CLOSURE * odds_sd / np.sqrt(residual))[:, None]
    draws = found + sampled + off
    share = off.var(axis=0)[1:] / np.maximum(draws.var(axis=0)[1:], 1e-300)
    return draws, float(np.median(share))


def response(predictors: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how far chances move with log-odds, over m (1 - m) at the start, and the derivative."""
    grown = np.expm1(change)
    below = 1 + expit(predictors) * grown
    return grown / below, np.exp(change) / below**2
