"""Sums of waiting times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc, gammaln, xlogy

from discreet.families.base import Support, Theta, known
from discreet.families.rates import RateFamily


@dataclass(frozen=True)
class Gamma(RateFamily):
    """Positive, with known ``shape`` and density proportional to x^(shape-1) exp(-rate x).

    ===========  =========================================================
    statistic    x
    prior        ``priors.Gamma(shape, rate)``, on the rate
    draws        ``rate`` (1 / scale)
    sensitivity  replace: 2 in z; add_remove: 1 on the cells
    ===========  =========================================================
    """

    name = "gamma"
    support = Support(0.0, np.inf)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    shape: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", known(self.shape, "shape", positive=True))

    @property
    def power(self) -> float:
        return self.shape

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        inside = self.support.contains(x)
        log_h = xlogy(self.shape - 1, np.where(inside, x, 1.0)) - gammaln(self.shape)
        return np.where(inside, log_h, -np.inf)

    def cdf(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        return gammainc(self.shape, np.maximum(x, 0.0) * np.asarray(theta["rate"], dtype=float)[..., None])

    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.gamma(self.shape, 1 / theta["rate"], size)
