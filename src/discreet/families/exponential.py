"""Waiting times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.families.base import Support, Theta
from discreet.families.rates import RateFamily


@dataclass(frozen=True)
class Exponential(RateFamily):
    """Positive, with density rate exp(-rate x) and mean 1 / rate.

    ===========  =========================================================
    statistic    x
    prior        ``Gamma(shape, rate)``
    draws        ``rate``
    sensitivity  replace: 2 in z, half a range each way; add_remove: 1 on the cells
    ===========  =========================================================
    """

    name = "exponential"
    support = Support(0.0, np.inf)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        return np.where(self.support.contains(x), 0.0, -np.inf)

    def cdf(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        return -np.expm1(-np.maximum(x, 0.0) * np.asarray(theta["rate"], dtype=float)[..., None])

    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.exponential(1 / theta["rate"], size)
