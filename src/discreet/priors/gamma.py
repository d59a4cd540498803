"""Gamma prior on a rate or a precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlogy

from discreet.priors.base import PositivePrior, positive_part


@dataclass(frozen=True)
class Gamma(PositivePrior):
    """Gamma(shape, rate) on a positive number x, with mean shape / rate.

    ==========  ==================================================
    density     rate^shape x^(shape-1) exp(-rate x) / Gamma(shape)
    eta         (shape, rate), with T = (log x, -x)
    C(eta)      log Gamma(shape) - shape log rate
    ==========  ==================================================
    """

    name = "gamma"
    shape: float
    rate: float

    @staticmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        inside, safe = positive_part(eta)
        shape, rate = safe[..., 0], safe[..., 1]
        return np.where(inside, gammaln(shape) - shape * np.log(rate), np.inf)

    def log_density(self, value: np.ndarray) -> np.ndarray:
        return (
            xlogy(self.shape - 1, value) - self.rate * np.asarray(value) - self.log_partition(self.natural())
        )

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.gamma(self.shape, 1 / self.rate, size)
