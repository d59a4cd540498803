r"""From moments to the coefficients of a logistic regression.

**Discriminant.** If features are normal within the classes, with one covariance, log-odds are linear, and their
coefficients follow from the regression of the indicator of the second label: slopes / residual variance.

**Made-up table.** Features are rarely normal within the classes. What else is known of them is their bounds, and with
them which shape goes with a mean and a variance (:mod:`~discreet.inference.regression.shaped_points`): the coefficients
are those of the logistic regression of a table of such points. They are exact for one feature of two labels, but for
rounding to so many points, and those of the discriminant for features far from their bounds.

What they are off by (:mod:`~discreet.inference.regression.map_off`) was found on the real regressions of
``studies/map_errors.py``: with the sd s of the log-odds it grows as s^2 / sqrt(1 + s^2 / 4). Every draw is moved by
normal deviations of this sd.

**Step.** In a Newton step (:mod:`~discreet.inference.regression.newton`) a record counts as its weight m (1 - m).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from discreet.inference.regression.map_off import Features, MapOff
from discreet.inference.regression.newton import solved
from discreet.inference.regression.shaped_points import Shape

#: What the map is off by.
OFF = MapOff(tails=0.011, apart=0.45, least=0.0015)
#: Standard deviation of what a step is off by in each direction: parts of its length, and of its square.
STEP_OFF = (0.02, 0.03)
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


def made_up(mean: np.ndarray, covariance: np.ndarray, lows: np.ndarray) -> np.ndarray:
    """Return the coefficients of a logistic regression of made-up features with these moments, intercept first.

    Features lie between ``lows`` and 1.
    """
    d = mean.shape[1] - 1
    found, _, r_squared = discriminant(mean, covariance)
    share = np.clip(mean[:, d], _LEAST_SHARE, 1 - _LEAST_SHARE)
    spread = share * (1 - share)
    along = covariance[:, :d, d]
    # what classes far apart explain is what is left of it within them, as in the discriminant
    explained = np.einsum("ni,nij,nj->n", along, np.linalg.inv(covariance[:, :d, :d]), along) / spread
    apart = along / spread[:, None]
    kept = np.minimum(1.0, r_squared / np.maximum(explained, 1e-12))
    within = covariance[:, :d, :d] - (kept * spread)[:, None, None] * apart[:, :, None] * apart[:, None]
    means = np.stack(
        [mean[:, :d] - share[:, None] * apart, mean[:, :d] + (1 - share)[:, None] * apart], axis=1
    )
    shares = np.stack([1 - share, share], axis=1)
    shape = Shape.of(means, shares, within, lows)

    def block(shares: np.ndarray, means: np.ndarray, within: np.ndarray, near: np.ndarray) -> np.ndarray:
        x, weights = shape.points(means, within), shape.weights(shares)

        def respond(odds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            chance = expit(odds)
            return weights * chance, weights * chance * (1 - chance)

        second = x.shape[1] // 2
        aim = np.einsum("nk,nki->ni", weights[:, second:], x[:, second:])
        return solved(x, aim, near, respond)

    return shape.solve(block, shares, means, within, found)


def population_coefficients(
    mean: np.ndarray,
    covariance: np.ndarray,
    records: np.ndarray,
    lows: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return draws of coefficients, and for each slope the share of its variance that is what the map is off by."""
    d = mean.shape[1] - 1
    near, residual, r_squared = discriminant(mean, covariance)
    found = made_up(mean, covariance, lows)
    features = Features(mean[:, :d], covariance[:, :d, :d], 1 / residual, lows)
    steep = steepness(np.sqrt(r_squared / (residual * (1 - r_squared))))
    off = features.off(OFF.sds(features.reach, steep, features.apart(found[:, 1:], near[:, 1:])), rng)
    draws = found + features.sampled(records / ROBUST, rng) + off
    return draws, off.var(axis=0)[1:] / np.maximum(draws.var(axis=0)[1:], 1e-300)


def steepness(odds_sd: np.ndarray) -> np.ndarray:
    """Return how what the map is off by grows with the sd of the log-odds."""
    return odds_sd**2 / np.sqrt(1 + odds_sd**2 / 4)


def response(predictors: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how far chances move with log-odds, over m (1 - m) at the start, and the derivative."""
    grown = np.expm1(change)
    below = 1 + expit(predictors) * grown
    return grown / below, np.exp(change) / below**2
