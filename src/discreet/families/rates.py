"""What Exponential, Gamma and Laplace share: one unknown rate, and a gamma prior on it."""

from __future__ import annotations

import numpy as np

from discreet.domain.declarations import Domain
from discreet.families.base import Family, Theta
from discreet.priors.base import three_digits
from discreet.priors.gamma import Gamma


class RateFamily(Family):
    """p(x | rate) = h(x) rate^power exp(-rate t(x)), with t(x) >= 0 and so t(x) ~ Gamma(power, rate).

    Then eta = -rate and A(eta) = -power log(-eta), whatever ``t`` is.
    """

    prior_type = Gamma
    draw_names = ("rate",)
    statistic_range = (0.0, np.inf)

    @property
    def power(self) -> float:
        """The exponent of the rate in the density."""
        return 1.0

    def natural(self, theta: Theta) -> np.ndarray:
        return -np.asarray(theta["rate"], dtype=float)[..., None]

    def from_natural(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        return {"rate": -np.asarray(eta)[..., 0]}

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        return -self.power * np.log(-np.asarray(eta)[..., 0])

    def statistic_mean(self, theta: Theta) -> np.ndarray:
        return self.power / np.asarray(theta["rate"])[..., None]

    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        return self.power / np.asarray(theta["rate"])[..., None, None] ** 2

    def suggested_prior(self, domain: Domain) -> Gamma:
        """Put the mean of the statistic in the middle of its range, with the weight of one observation."""
        if domain.bounds is None:
            return Gamma(1, 1)
        low, high = self.measure_range(*domain.bounds[0])
        return Gamma(1, three_digits((low + high) / 2 / self.power))

    def update(self, prior: Gamma, s: np.ndarray, n: np.ndarray | float) -> Gamma:
        return Gamma(prior.shape + self.power * float(n), prior.rate + float(np.asarray(s)[..., 0]))
