"""Beta prior on a probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, xlog1py, xlogy

from discreet.priors.base import PositivePrior, positive_part


@dataclass(frozen=True)
class Beta(PositivePrior):
    """Beta(a, b) on p in (0, 1).

    ==========  ==========================
    density     p^(a-1) (1-p)^(b-1) / B(a, b)
    eta         (a, b), with T = (log p, log(1-p))
    C(eta)      log B(a, b)
    ==========  ==========================
    """

    name = "beta"
    a: float
    b: float

    @staticmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        inside, safe = positive_part(eta)
        return np.where(inside, betaln(safe[..., 0], safe[..., 1]), np.inf)

    def log_density(self, value: np.ndarray) -> np.ndarray:
        return xlogy(self.a - 1, value) + xlog1py(self.b - 1, -value) - betaln(self.a, self.b)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.beta(self.a, self.b, size)
