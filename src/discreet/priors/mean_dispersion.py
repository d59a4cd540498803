"""Independent gamma priors on the mean and the dispersion of counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.priors.base import PositivePrior
from discreet.priors.gamma import Gamma


@dataclass(frozen=True)
class MeanDispersion(PositivePrior):
    """Mean m ~ Gamma(mean_shape, mean_rate) and, on its own, dispersion d ~ Gamma(dispersion_shape, dispersion_rate).

    Values are pairs (m, d). The gammas have means mean_shape / mean_rate and dispersion_shape / dispersion_rate.

    ==========  =========================================================================
    density     product of the two gamma densities
    eta         (mean_shape, mean_rate, dispersion_shape, dispersion_rate), with
                T = (log m, -m, log d, -d)
    C(eta)      sum of those of the two gammas
    ==========  =========================================================================
    """

    name = "mean_dispersion"
    mean_shape: float
    mean_rate: float
    dispersion_shape: float
    dispersion_rate: float

    @property
    def of_mean(self) -> Gamma:
        """The prior on the mean."""
        return Gamma(self.mean_shape, self.mean_rate)

    @property
    def of_dispersion(self) -> Gamma:
        """The prior on the dispersion."""
        return Gamma(self.dispersion_shape, self.dispersion_rate)

    @staticmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        eta = np.asarray(eta, dtype=float)
        return Gamma.log_partition(eta[..., :2]) + Gamma.log_partition(eta[..., 2:])

    def log_density(self, value: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        return self.of_mean.log_density(value[0]) + self.of_dispersion.log_density(value[1])

    def sample(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return self.of_mean.sample(size, rng), self.of_dispersion.sample(size, rng)
