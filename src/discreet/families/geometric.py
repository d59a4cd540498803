"""Failures before the first success."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.domain.declarations import Domain
from discreet.families.base import Family, Support, Theta
from discreet.priors.base import three_digits
from discreet.priors.beta import Beta


@dataclass(frozen=True)
class Geometric(Family):
    """A count 0, 1, ... with probability p (1 - p)^x.

    ===========  =========================================================
    statistic    x, with mean (1 - p) / p
    prior        ``Beta(a, b)``
    draws        ``p``
    sensitivity  replace: 2 in z; add_remove: 1 on the cells
    ===========  =========================================================
    """

    name = "geometric"
    support = Support(0.0, np.inf, discrete=True)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    prior_type = Beta
    draw_names = ("p",)
    statistic_range = (0.0, np.inf)

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        return np.where(self.support.contains(x), 0.0, -np.inf)

    def natural(self, theta: Theta) -> np.ndarray:
        return np.log1p(-np.asarray(theta["p"]))[..., None]

    def from_natural(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        return {"p": -np.expm1(eta[..., 0])}

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        return -np.log(-np.expm1(eta[..., 0]))

    def statistic_mean(self, theta: Theta) -> np.ndarray:
        p = np.asarray(theta["p"])
        return ((1 - p) / p)[..., None]

    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        p = np.asarray(theta["p"])
        return ((1 - p) / p**2)[..., None, None]

    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.geometric(theta["p"], size) - 1

    def cdf(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        counts = np.floor(np.maximum(x, -1.0)) + 1
        return -np.expm1(counts * np.log1p(-np.asarray(theta["p"], dtype=float))[..., None])

    def suggested_prior(self, domain: Domain) -> Beta:
        """Center the mean count, (1 - p) / p, on the middle of the bounds."""
        if domain.bounds is None:
            return Beta(1, 1)
        low, high = domain.bounds[0]
        return Beta(1, three_digits((low + high) / 2))

    def update(self, prior: Beta, s: np.ndarray, n: np.ndarray | float) -> Beta:
        return Beta(prior.a + float(n), prior.b + float(np.asarray(s)[..., 0]))
