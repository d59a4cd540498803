r"""How a parameter varies over groups: normal on a line u, with a center and a spread that have honest weak priors.

=========  ======================  ==========================================================================
parameter  u                       prior
=========  ======================  ==========================================================================
share,     log odds, between the   center: the share is uniform; spread s with density 1 / (1 + s)^2
mean       bounds
rate       log odds, between 0     center: the rate as the family's weak prior; spread with density 1 / (1 + s)^2
           and the upper bound
normal     itself                  center: Normal(middle, width of the bounds); spread uniform up to half the width
mean
=========  ======================  ==========================================================================

A prior that is flat near a spread of zero leaves room for groups that are nearly alike without insisting on it (Gelman
2006). Hyperparameters are given by levels in (0, 1) in which their prior is uniform.

References
----------
Gelman (2006), "Prior distributions for variance parameters in hierarchical models", Bayesian Analysis 1(3).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, expit, gammaincc, logit, ndtri, polygamma, stdtr

from discreet.priors import NormalInverseGamma

#: How much farther from the others groups of the second kind are.
TIMES = 8.0
# Groups more alike than this are the same for every purpose.
_ALIKE = 1e-4
_TINY = 1e-300
_NEAR_ZERO = 1e-150
_Z, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


class Population(ABC):
    """How groups differ. Points x are on a line where likelihoods are nearly normal, u where groups are."""

    #: The range of x.
    low: float
    high: float

    @property
    def own_high(self) -> float:
        """How far the prior reaches under which each group was read for itself."""
        return self.high

    @property
    def kinds(self) -> tuple[float, float, float]:
        """How probable it is that a group is like the others, farther from them, or unlike them."""
        return 0.4, 0.4, 0.2

    def x(self, value: np.ndarray) -> np.ndarray:
        """Return the points of values of the parameter: themselves, as places are, unless overridden."""
        return np.asarray(value)

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return the values at points."""
        return x

    def u(self, x: np.ndarray) -> np.ndarray:
        """Return the places of points on the line on which groups are normal."""
        return x

    def x_of(self, u: np.ndarray) -> np.ndarray:
        """Return the points of places."""
        return u

    @abstractmethod
    def center(self, level: np.ndarray) -> np.ndarray:
        """Return the center, in u, at a level of its prior."""

    def spread(self, level: np.ndarray) -> np.ndarray:
        """Return the standard deviation in u, at a level of its prior: s with density 1 / (1 + s)^2."""
        return np.maximum(level / (1 - level), _ALIKE)

    @abstractmethod
    def log_own_prior(self, x: np.ndarray) -> np.ndarray:
        """Return the log density in x of the prior under which each group was read for itself, up to a constant."""

    @abstractmethod
    def own_cdf(self, x: np.ndarray) -> np.ndarray:
        """Return the distribution function of that prior."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What is assumed of groups, for a line below a table."""

    def moments(self, center: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the standard deviation of values, given the center and the spread in u."""
        values = self.value(self.x_of(center[:, None] + spread[:, None] * _Z))
        weights = _WEIGHTS / _WEIGHTS.sum()
        mean = values @ weights
        return mean, np.sqrt(np.maximum((values - mean[:, None]) ** 2 @ weights, 0.0))


@dataclass(frozen=True)
class SharePopulation(Population):
    """Shares, or means between bounds; x = arcsin of the root of the share.

    For itself a share had a uniform prior, a mean (not ``uniform``) one that is uniform in x.
    """

    start: float = 0.0
    width: float = 1.0
    uniform: bool = False
    low: float = 0.0
    high: float = np.pi / 2

    def x(self, value: np.ndarray) -> np.ndarray:
        return np.arcsin(np.sqrt(np.clip((np.asarray(value) - self.start) / self.width, 0.0, 1.0)))

    def value(self, x: np.ndarray) -> np.ndarray:
        return self.start + self.width * np.sin(x) ** 2

    def u(self, x: np.ndarray) -> np.ndarray:
        sine, cosine = (np.log(np.maximum(part, _NEAR_ZERO)) for part in (np.sin(x), np.cos(x)))
        return 2 * (sine - cosine)

    def x_of(self, u: np.ndarray) -> np.ndarray:
        return np.arctan(np.exp(np.clip(u, -600.0, 600.0) / 2))

    @property
    def kinds(self) -> tuple[float, float, float]:
        return (0.5, 0.0, 0.5) if self.uniform else super().kinds

    def center(self, level: np.ndarray) -> np.ndarray:
        return logit(level)

    def log_own_prior(self, x: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(np.sin(2 * x), _TINY)) if self.uniform else np.zeros(np.shape(x))

    def own_cdf(self, x: np.ndarray) -> np.ndarray:
        return np.sin(x) ** 2 if self.uniform else x / self.high

    @property
    def in_words(self) -> str:
        what = "groups" if self.uniform else "positions of groups between the bounds"
        return (
            f"log odds of {what} are normal; the center is uniform, the standard deviation s has density "
            "1 / (1 + s)^2"
        )


@dataclass(frozen=True)
class RatePopulation(Population):
    """Rates up to ``high``; x is the rate. For itself a rate had the family's weak prior, Gamma(1, ``prior_rate``).

    Of rates far below the bound the logarithms are normal. Without an upper end the records, which are clipped, could
    not say that a rate is not many times the bound, and the mean of draws would follow that tail.
    """

    prior_rate: float
    high: float
    low: float = 0.0

    @property
    def own_high(self) -> float:
        return np.inf

    def u(self, x: np.ndarray) -> np.ndarray:
        share = x / self.high
        return np.log(np.maximum(share, _NEAR_ZERO)) - np.log(np.maximum(1 - share, _NEAR_ZERO))

    def x_of(self, u: np.ndarray) -> np.ndarray:
        return self.high * expit(u)

    def center(self, level: np.ndarray) -> np.ndarray:
        rate = -np.log1p(level * np.expm1(-self.prior_rate * self.high)) / self.prior_rate
        return self.u(rate)

    def log_own_prior(self, x: np.ndarray) -> np.ndarray:
        return -self.prior_rate * x

    def own_cdf(self, x: np.ndarray) -> np.ndarray:
        return np.expm1(-self.prior_rate * x) / np.expm1(-self.prior_rate * self.high)

    @property
    def in_words(self) -> str:
        return (
            f"log odds of groups' rates between 0 and {self.high:g} are normal; the center has the weak prior of a "
            "rate, the standard deviation s density 1 / (1 + s)^2"
        )


@dataclass(frozen=True)
class NormalPopulation(Population):
    """Means of normal columns; x is the mean. For itself a group had the prior of ``own``, Student's t."""

    middle: float
    width: float
    own: NormalInverseGamma
    low: float = -np.inf
    high: float = np.inf

    def center(self, level: np.ndarray) -> np.ndarray:
        return self.middle + self.width * ndtri(level)

    def spread(self, level: np.ndarray) -> np.ndarray:
        return self.width / 2 * np.maximum(level, _ALIKE**2)

    def _own_freedom(self) -> tuple[float, float]:
        own = self.own
        return 2 * own.alpha, float(np.sqrt(own.beta / (own.alpha * own.kappa)))

    def log_own_prior(self, x: np.ndarray) -> np.ndarray:
        freedom, scale = self._own_freedom()
        return -(freedom + 1) / 2 * np.log1p(((x - self.own.mean) / scale) ** 2 / freedom)

    def own_cdf(self, x: np.ndarray) -> np.ndarray:
        freedom, scale = self._own_freedom()
        return stdtr(freedom, (x - self.own.mean) / scale)

    @property
    def in_words(self) -> str:
        return (
            "groups are normal; the center has a weak prior, the standard deviation is uniform up to half the width of "
            "the bounds"
        )


@dataclass(frozen=True)
class LogVariancePopulation(NormalPopulation):
    """Logarithms of variances, of which each group had an inverse gamma prior for itself.

    They vary around a common value by a standard deviation of up to 2: a factor of seven.
    """

    @classmethod
    def of(cls, own: NormalInverseGamma) -> LogVariancePopulation:
        """Return the population of variances that had this prior."""
        return cls(float(np.log(own.beta / own.alpha)), 4.0, own)

    def log_own_prior(self, x: np.ndarray) -> np.ndarray:
        return -self.own.alpha * x - self.own.beta * np.exp(-x)

    def own_cdf(self, x: np.ndarray) -> np.ndarray:
        return gammaincc(self.own.alpha, self.own.beta * np.exp(-x))

    @staticmethod
    def prior(own: NormalInverseGamma, mean: float, sd: float) -> NormalInverseGamma:
        """Return a prior whose variance has this mean and standard deviation of its logarithm; its mean stays weak.

        It is never vaguer than the weak prior.
        """
        square = np.clip(sd**2, 0.05**2, polygamma(1, own.alpha))
        alpha = 1 / square
        for _ in range(20):  # Newton's method for trigamma(alpha) = sd^2, from above
            alpha += (polygamma(1, alpha) - square) / -polygamma(2, alpha)
        beta = float(np.exp(mean + digamma(alpha)))
        kappa = own.kappa * (beta / alpha) / (own.beta / own.alpha)
        return NormalInverseGamma(own.mean, kappa, float(alpha), beta)
