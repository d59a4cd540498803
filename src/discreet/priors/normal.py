"""Normal prior on a mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.priors.base import Prior, finite, positive


@dataclass(frozen=True)
class Normal(Prior):
    """Normal(mean, sd) on a real number x.

    ==========  =====================================================
    density     exp(-(x - mean)^2 / (2 sd^2)) / (sd sqrt(2 pi))
    eta         (mean / sd^2, 1 / sd^2), with T = (x, -x^2 / 2) and base measure 1 / sqrt(2 pi)
    C(eta)      eta_1^2 / (2 eta_2) - log(eta_2) / 2
    ==========  =====================================================
    """

    name = "normal"
    mean: float
    sd: float

    def __post_init__(self) -> None:
        finite(mean=self.mean)
        positive(sd=self.sd)

    def natural(self) -> np.ndarray:
        precision = 1 / float(self.sd) ** 2
        return np.array([self.mean * precision, precision])

    @classmethod
    def from_natural(cls, eta: np.ndarray) -> Normal:
        return cls(float(eta[0] / eta[1]), float(1 / np.sqrt(eta[1])))

    @staticmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        eta = np.asarray(eta, dtype=float)
        inside = eta[..., 1] > 0
        precision = np.where(inside, eta[..., 1], 1.0)
        return np.where(inside, eta[..., 0] ** 2 / (2 * precision) - np.log(precision) / 2, np.inf)

    def log_density(self, value: np.ndarray) -> np.ndarray:
        z = (np.asarray(value) - self.mean) / self.sd
        return -z * z / 2 - np.log(self.sd) - np.log(2 * np.pi) / 2

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(self.mean, self.sd, size)
