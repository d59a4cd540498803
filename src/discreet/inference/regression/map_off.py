"""What coefficients that were read off made-up features are off by, which does not shrink with the number of records.

On random regressions of real tables it is, in units in which one record has the standard error 1, about a sum: a
growing function of the sd s of the predictor times how many sds of the feature its farther bound is away, which tells
of tails; a part of how far the answer is from the one for normal features; and a trace.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.inference.regression.newton import moment_root, wiggled


@dataclass(frozen=True)
class MapOff:
    """Standard deviations of what a map is off by: per sd to the farther bound, per distance of answers, at least."""

    tails: float
    apart: float
    least: float

    def sds(self, reach: np.ndarray, steep: np.ndarray, apart: np.ndarray) -> np.ndarray:
        """Return them for each slope, draws × d, where one record has the standard error 1."""
        return self.tails * steep[:, None] * reach + self.apart * apart + self.least


@dataclass(frozen=True)
class Features:
    """Moments of features, and the variance of what one record says along a slope of an uncorrelated one."""

    mean: np.ndarray
    covariance: np.ndarray
    variance: np.ndarray
    #: The least value of each feature; the largest is 1.
    lows: np.ndarray

    @property
    def reach(self) -> np.ndarray:
        """How many sds of each feature its farther bound is away."""
        farther = np.maximum(1 - self.mean, self.mean - self.lows)
        return farther / np.sqrt(self.covariance.diagonal(axis1=1, axis2=2))

    def apart(self, slopes: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return how far the middles of draws of slopes are apart, in standard errors of one record."""
        inverse = np.linalg.inv(self.covariance).diagonal(axis1=1, axis2=2)
        errors = np.median(np.sqrt(inverse * self.variance[:, None]), axis=0)
        return np.abs(np.median(slopes - others, axis=0)) / errors

    def sampled(self, records: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return draws of what coefficients of a table of so many records differ by from the population's."""
        root = moment_root(self.mean, self.covariance)
        return wiggled(root, rng) * np.sqrt(self.variance / records)[:, None]

    def off(self, sds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return draws of what a map is off by, the intercept first.

        At the features' means predictors are off by as much as slopes are.
        """
        root = moment_root(self.mean, self.covariance)
        one = wiggled(root, rng) * np.sqrt(self.variance)[:, None]
        middle = one[:, 0] + np.einsum("ni,ni->n", self.mean, one[:, 1:])
        slopes = one[:, 1:] * sds
        first = middle * np.sqrt((sds**2).mean(axis=1)) - np.einsum("ni,ni->n", self.mean, slopes)
        return np.column_stack([first, slopes])
