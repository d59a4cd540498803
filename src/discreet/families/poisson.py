"""Counts of rare events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, pdtr

from discreet.domain.declarations import Domain
from discreet.families.base import Family, Support, Theta
from discreet.priors.base import three_digits
from discreet.priors.gamma import Gamma


@dataclass(frozen=True)
class Poisson(Family):
    """A count 0, 1, ... with mean ``rate``.

    ===========  =========================================================
    statistic    x
    prior        ``Gamma(shape, rate)``
    draws        ``rate``
    sensitivity  replace: 2 in z; add_remove: 1 on the cells
    ===========  =========================================================
    """

    name = "poisson"
    support = Support(0.0, np.inf, discrete=True)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    prior_type = Gamma
    draw_names = ("rate",)
    statistic_range = (0.0, np.inf)

    @property
    def wider(self) -> str:
        return "dc.NegativeBinomial()"

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        inside = self.support.contains(x)
        return np.where(inside, -gammaln(np.where(inside, x, 0.0) + 1.0), -np.inf)

    def natural(self, theta: Theta) -> np.ndarray:
        return np.log(theta["rate"])[..., None]

    def from_natural(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        return {"rate": np.exp(eta[..., 0])}

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        return np.exp(eta[..., 0])

    def statistic_mean(self, theta: Theta) -> np.ndarray:
        return np.asarray(theta["rate"], dtype=float)[..., None]

    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        return np.asarray(theta["rate"], dtype=float)[..., None, None]

    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(theta["rate"], size)

    def cdf(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        rate = np.asarray(theta["rate"], dtype=float)[..., None]
        return np.where(np.asarray(x) < 0, 0.0, pdtr(np.floor(np.maximum(x, 0.0)), rate))

    def suggested_prior(self, domain: Domain) -> Gamma:
        if domain.bounds is None:
            return Gamma(1, 1)
        low, high = domain.bounds[0]
        return Gamma(1, three_digits(2 / (low + high)))

    def update(self, prior: Gamma, s: np.ndarray, n: np.ndarray | float) -> Gamma:
        return Gamma(prior.shape + float(np.asarray(s)[..., 0]), prior.rate + float(n))
