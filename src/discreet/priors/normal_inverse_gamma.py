"""Normal-inverse-gamma prior on a mean and a variance."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import gammaln

from discreet.priors.base import Prior, finite, positive, three_digits


@dataclass(frozen=True)
class NormalInverseGamma(Prior):
    """Variance v ~ InverseGamma(alpha, beta) and, given it, mean x ~ Normal(mean, v / kappa).

    Values are pairs (x, v).

    ==========  =================================================================
    density     sqrt(kappa / (2 pi v)) beta^alpha / Gamma(alpha) v^(-alpha - 1)
                exp(-(beta + kappa (x - mean)^2 / 2) / v)
    eta         (kappa mean, kappa mean^2 + 2 beta, kappa, 2 alpha), with
                T = (x / v, -1 / (2v), -x^2 / (2v), -log(v) / 2) and base measure v^(-3/2) / sqrt(2 pi)
    C(eta)      log Gamma(alpha) - alpha log beta - log(kappa) / 2
    ==========  =================================================================

    In these coordinates n records with sums (s_1, s_2) of (x, x^2) add (s_1, s_2, n, n).
    """

    name = "normal_inverse_gamma"
    mean: float
    kappa: float
    alpha: float
    beta: float

    @classmethod
    def weak(cls, low: Fraction | float, high: Fraction | float) -> NormalInverseGamma:
        """Take bounds for two standard deviations either side, with the weight of a quarter of a record."""
        middle, sd = (low + high) / 2, (high - low) / 4
        return cls(three_digits(middle), 0.25, 2, three_digits(sd**2))

    def __post_init__(self) -> None:
        finite(mean=self.mean)
        positive(kappa=self.kappa, alpha=self.alpha, beta=self.beta)

    def natural(self) -> np.ndarray:
        first = self.kappa * self.mean
        return np.array([first, first * self.mean + 2 * self.beta, self.kappa, 2 * self.alpha], dtype=float)

    @classmethod
    def from_natural(cls, eta: np.ndarray) -> NormalInverseGamma:
        first, second, kappa, nu = (float(e) for e in eta)
        return cls(first / kappa, kappa, nu / 2, (second - first**2 / kappa) / 2)

    @staticmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        eta = np.asarray(eta, dtype=float)
        first, second, kappa, nu = (eta[..., i] for i in range(4))
        beta = (second - first**2 / np.where(kappa > 0, kappa, 1.0)) / 2
        inside = (kappa > 0) & (nu > 0) & (beta > 0)
        kappa, alpha, beta = (np.where(inside, v, 1.0) for v in (kappa, nu / 2, beta))
        return np.where(inside, gammaln(alpha) - alpha * np.log(beta) - np.log(kappa) / 2, np.inf)

    def log_density(self, value: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        x, v = np.asarray(value[0]), np.asarray(value[1])
        gaussian = np.log(self.kappa / (2 * np.pi * v)) / 2 - self.kappa * (x - self.mean) ** 2 / (2 * v)
        inverse_gamma = (
            self.alpha * np.log(self.beta)
            - gammaln(self.alpha)
            - (self.alpha + 1) * np.log(v)
            - self.beta / v
        )
        return gaussian + inverse_gamma

    def sample(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        v = self.beta / rng.gamma(self.alpha, size=size)
        return rng.normal(self.mean, np.sqrt(v / self.kappa)), v
