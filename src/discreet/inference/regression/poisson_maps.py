r"""From moments to the coefficients of a Poisson regression.

**Stein's identity.** If features are normal with covariance S and the log of the target's mean is linear in them, then
E[x y] - E[x] E[y] = S b E[y] (Stein 1981), so that the slopes b are those of the linear regression over E[y], and the
intercept is log E[y] - b . E[x] - b' S b / 2.

**Made-up table.** Where features are not normal that is off, to first order by their third moments times b^2. Bounds
tell which shape goes with a mean and a variance (:mod:`~discreet.inference.regression.shaped_points`): the coefficients
solve E[x m] = E[x y] over points of such shapes, with the mean m = e^(x . b), at most the target's bound. What they are
off by (:mod:`~discreet.inference.regression.map_off`) was found on the real regressions of ``studies/map_errors.py``:
with the sd s of the predictor it grows as s^2. Every draw is moved by normal deviations of this sd.

**Dispersion.** Real counts vary more than a Poisson distribution says. The residual variance around the linear fit,
over E[y], is by how much, and errors are as much larger; ``ROBUST`` stands for residuals that are uneven otherwise.

**Step.** In a Newton step (:mod:`~discreet.inference.regression.newton`) a record counts as its mean, up to a limit
that keeps noise small. What the records beyond it would have added to the curvature is taken from made-up features. On
the real tables of ``studies/poisson.py`` what is left of a step of length s, in each direction, is up to 0.02 s + 0.15
s^2 with a limit of four times the mean count, and twice that with half the limit: every draw is moved by as much.
"""

from __future__ import annotations

import numpy as np

from discreet.inference.regression.map_off import Features, MapOff
from discreet.inference.regression.newton import solved
from discreet.inference.regression.shaped_points import Shape
from discreet.models.poisson_regression import HEAVIEST

#: What the map is off by.
OFF = MapOff(tails=0.03, apart=0.6, least=0.002)
#: How much wider sampling errors are than those of counts whose variance is in proportion to their mean, squared.
ROBUST = 1.3
#: Standard deviation of what a step is off by in each direction: parts of its length, and of its square.
STEP_OFF = (0.02, 0.15)
# sd of the log of the dispersion that is carried from an earlier release
_DISPERSION_SPREAD = 0.2
# the least mean, as a share of the target's bound, the least dispersion, and the largest variance of the predictor
_LEAST_MEAN, _LEAST_DISPERSION, _MOST_SQUARE = 1e-3, 0.2, 4.0


def stein(mean: np.ndarray, covariance: np.ndarray, most: float) -> tuple[np.ndarray, ...]:
    """Return coefficients, intercept first, E[y], the dispersion and the sd of the predictor.

    Moments are of (features, target), with the target mapped from [0, most] to [-1, 1].
    """
    d = mean.shape[1] - 1
    half = most / 2
    average = np.maximum(half * (1 + mean[:, d]), _LEAST_MEAN * most)
    along = half * covariance[:, :d, d]
    linear = np.linalg.solve(covariance[:, :d, :d], along[..., None])[..., 0]
    explained = np.einsum("ni,ni->n", linear, along)
    slopes = linear / average[:, None]
    square = np.minimum(explained / average**2, _MOST_SQUARE)
    intercept = np.log(average) - np.einsum("ni,ni->n", mean[:, :d], slopes) - 0.5 * square
    residual = half**2 * covariance[:, d, d] - explained
    dispersion = np.maximum(residual / average, _LEAST_DISPERSION)
    return np.column_stack([intercept, slopes]), average, dispersion, np.sqrt(square)


def made_up(mean: np.ndarray, covariance: np.ndarray, lows: np.ndarray, most: float) -> np.ndarray:
    """Return the coefficients of a Poisson regression of made-up features with these moments, intercept first.

    Features lie between ``lows`` and 1.
    """
    d = mean.shape[1] - 1
    found, average, _, _ = stein(mean, covariance, most)
    features = mean[:, None, :d], covariance[:, :d, :d]
    along = most / 2 * covariance[:, :d, d, None]
    linear = (np.linalg.solve(features[1], along) / average[:, None, None])[..., 0]
    # of the target over its mean, the intercept first
    line = np.column_stack([1 - np.einsum("ni,ni->n", linear, mean[:, :d]), linear])
    near = found - np.eye(1, d + 1) * np.log(average)[:, None]
    shape = Shape.of(features[0], np.ones((len(mean), 1)), features[1], lows)

    def block(
        means: np.ndarray, within: np.ndarray, line: np.ndarray, near: np.ndarray, average: np.ndarray
    ) -> np.ndarray:
        x = shape.points(means, within)
        weight, bound = 1 / x.shape[1], most / average[:, None]

        def respond(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            counts = weight * np.minimum(np.exp(logs), bound)
            return counts, counts

        aim = weight * x.swapaxes(1, 2) @ (x @ line[..., None])
        return solved(x, aim[..., 0], near, respond)

    found = shape.solve(block, *features, line, near, average)
    found[:, 0] += np.log(average)
    return found


def population_coefficients(
    mean: np.ndarray,
    covariance: np.ndarray,
    records: np.ndarray,
    lows: np.ndarray,
    most: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Return draws of coefficients, of mean and dispersion, and for each slope the share of variance that is the map's.

    Those of a table are moved to those of a population that it is a sample of.
    """
    d = mean.shape[1] - 1
    near, average, dispersion, spread = stein(mean, covariance, most)
    found = made_up(mean, covariance, lows, most)
    features = Features(mean[:, :d], covariance[:, :d, :d], dispersion / average, lows)
    apart = features.apart(found[:, 1:], near[:, 1:])
    off = features.off(OFF.sds(features.reach, spread**2, apart), rng)
    draws = found + features.sampled(records / ROBUST, rng) + off
    share = off.var(axis=0)[1:] / np.maximum(draws.var(axis=0)[1:], 1e-300)
    return draws, {"mean": average, "dispersion": dispersion}, share


def spread_dispersion(dispersion: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return draws of the dispersion around what an earlier release said of it."""
    return dispersion * np.exp(_DISPERSION_SPREAD * rng.standard_normal(size))


def step_off(times: float) -> tuple[float, float]:
    """Return what a step may be off by whose limit is so many times the mean count."""
    wider = max(1.0, float(HEAVIEST) / times)
    return wider * STEP_OFF[0], wider * STEP_OFF[1]


def response(
    predictors: np.ndarray, change: np.ndarray, *, most: float, heaviest: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return how far means move with their logs, over the weight at the start, and the derivative."""
    means = np.exp(np.clip(predictors, -30.0, np.log(most)))
    weights = np.minimum(means, heaviest)
    # at the bound the derivative is kept, which says which way back is
    moved = np.exp(np.clip(predictors + change, -30.0, np.log(most)))
    return (moved - means) / weights, moved / weights
