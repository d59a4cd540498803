"""Dirichlet prior on the probabilities of several labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlogy

from discreet.arguments import fill, listed, real
from discreet.errors import UsageError
from discreet.priors.base import Prior, positive, positive_part


@dataclass(frozen=True)
class Dirichlet(Prior):
    """Dirichlet(alpha) on p in the simplex, components last.

    ==========  ==============================================
    density     prod p_k^(alpha_k - 1) / B(alpha), in p_1 ... p_(K-1)
    eta         alpha, with T = log p
    C(eta)      log B(alpha) = sum log Gamma(alpha_k) - log Gamma(sum alpha)
    ==========  ==============================================
    """

    name = "dirichlet"
    alpha: tuple[float, ...]

    def __init__(self, alpha: Iterable[float]) -> None:
        values = tuple(real(a, "alpha") for a in listed(alpha, "alpha", "a list of numbers"))
        if len(values) < 2:
            raise UsageError(f"alpha must have at least two entries, got {len(values)}.")
        for value in values:
            positive(alpha=value)
        fill(self, alpha=values)

    def natural(self) -> np.ndarray:
        return np.array(self.alpha)

    @classmethod
    def from_natural(cls, eta: np.ndarray) -> Dirichlet:
        return cls(eta)

    @staticmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        inside, safe = positive_part(eta)
        return np.where(inside, gammaln(safe).sum(axis=-1) - gammaln(safe.sum(axis=-1)), np.inf)

    def log_density(self, value: np.ndarray) -> np.ndarray:
        alpha = self.natural()
        return xlogy(alpha - 1, value).sum(axis=-1) - self.log_partition(alpha)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.dirichlet(self.alpha, size)

    def numbers(self) -> list[float]:
        return list(self.alpha)

    @classmethod
    def from_numbers(cls, numbers: Sequence[float]) -> Dirichlet:
        return cls(numbers)
