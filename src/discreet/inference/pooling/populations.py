r"""How a parameter varies over groups: its distribution, with a center and a spread that have honest weak priors.

=========  ==========================================  ==========================================================
parameter  distribution over groups                    prior
=========  ==========================================  ==========================================================
share,     Beta(m k, (1 - m) k) between the bounds     m uniform; t = 1 / sqrt(1 + k) uniform on (0, 1), the
mean                                                   standard deviation over groups as a share of the largest
rate       Gamma(k, k / m)                             m as the family's weak prior; 1 / sqrt(k), the coefficient
                                                       of variation, with density 1 / (1 + x)^2
normal     Normal(m, s^2)                              m ~ Normal(middle, width of the bounds);
mean                                                   s uniform on (0, half the width)
=========  ==========================================  ==========================================================

A uniform prior on a standard deviation over groups leaves room for groups that are nearly alike without insisting on it
(Gelman 2006). Both hyperparameters have coordinates in which their prior is uniform on the unit square.

References
----------
Gelman (2006), "Prior distributions for variance parameters in hierarchical models", Bayesian Analysis 1(3).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import (
    betainc,
    betaincinv,
    betaln,
    digamma,
    gammainc,
    gammaincinv,
    gammaln,
    ndtr,
    ndtri,
    polygamma,
)

from discreet.priors import NormalInverseGamma

# Groups more alike than this are the same for every purpose, and series for their distribution are slow.
_ALIKE = 1e-4
_TINY = 1e-300


class Population(ABC):
    """The distribution of a group's parameter. Points x are on a line where likelihoods are nearly normal."""

    #: The range of x.
    low: float
    high: float

    @abstractmethod
    def x(self, value: np.ndarray) -> np.ndarray:
        """Return the points of values of the parameter."""

    @abstractmethod
    def value(self, x: np.ndarray) -> np.ndarray:
        """Return the values at points."""

    @abstractmethod
    def parameters(self, h: np.ndarray) -> np.ndarray:
        """Return the two parameters of the distribution at points ``h`` of the unit square, last axis two."""

    @abstractmethod
    def moments(self, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the standard deviation over groups."""

    @abstractmethod
    def cdf(self, x: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Return the distribution function, h × x; points may be given for each h."""

    @abstractmethod
    def quantile(self, level: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Return the point at each level, given the hyperparameters that go with it."""

    @abstractmethod
    def log_density(self, x: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Return the log density in x, h × x."""

    @abstractmethod
    def spread(self, h: np.ndarray) -> np.ndarray:
        """Return about how wide the density in x is; 0 where it has a pole."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What is assumed of groups, for a line below a table."""

    def log_own_prior(self, x: np.ndarray) -> np.ndarray:
        """Return the log density in x of the prior under which each group was read for itself."""
        return np.zeros(np.shape(x))

    def draw_between(
        self, low: np.ndarray, high: np.ndarray, h: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw a point between two ends, given the hyperparameters that go with them."""
        below, above = self.cdf(np.stack([low, high], axis=1), h).T
        return np.clip(self.quantile(below + rng.random(low.size) * (above - below), h), low, high)

    def masses(self, edges: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Return the probability of each cell between ``edges``, h × cells."""
        width = np.diff(edges)
        wide = self.spread(h) > 4 * np.median(width)
        out = np.empty((len(h), width.size))
        if wide.any():
            middle = edges[:-1] + 0.5 * width
            out[wide] = np.exp(self.log_density(middle, h[wide])) * width
        if not wide.all():
            out[~wide] = np.maximum(np.diff(self.cdf(edges, h[~wide]), axis=1), 0.0)
        return out


@dataclass(frozen=True)
class BetaPopulation(Population):
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

    def parameters(self, h: np.ndarray) -> np.ndarray:
        center = np.clip(h[..., 0], 1e-9, 1 - 1e-9)
        weight = np.maximum(h[..., 1], _ALIKE) ** -2.0 - 1
        return np.stack([center * weight, (1 - center) * weight], axis=-1)

    def moments(self, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        center = h[..., 0]
        return (
            self.start + self.width * center,
            self.width * np.sqrt(center * (1 - center)) * h[..., 1],
        )

    def cdf(self, x: np.ndarray, h: np.ndarray) -> np.ndarray:
        a, b = np.moveaxis(self.parameters(h), -1, 0)[..., None]
        return betainc(a, b, np.sin(x) ** 2)

    def quantile(self, level: np.ndarray, h: np.ndarray) -> np.ndarray:
        a, b = np.moveaxis(self.parameters(h), -1, 0)
        return np.arcsin(np.sqrt(np.clip(betaincinv(a, b, level), 0.0, 1.0)))

    def log_density(self, x: np.ndarray, h: np.ndarray) -> np.ndarray:
        a, b = np.moveaxis(self.parameters(h), -1, 0)[..., None]
        sine, cosine = (np.log(np.maximum(v, _TINY)) for v in (np.sin(x), np.cos(x)))
        return (2 * a - 1) * sine + (2 * b - 1) * cosine + np.log(2) - betaln(a, b)

    def spread(self, h: np.ndarray) -> np.ndarray:
        # below one half the density has a pole at the end
        return np.where(self.parameters(h).min(axis=-1) > 0.6, 0.5 * h[..., 1], 0.0)

    def log_own_prior(self, x: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(np.sin(2 * x), _TINY)) if self.uniform else np.zeros(np.shape(x))

    @property
    def in_words(self) -> str:
        return "groups follow a beta distribution; its mean is uniform, and so is its relative standard deviation"


@dataclass(frozen=True)
class GammaPopulation(Population):
    """Rates; x is the rate. The center has the family's weak prior, Gamma(1, ``prior_rate``)."""

    prior_rate: float
    low: float = 0.0
    high: float = np.inf

    def x(self, value: np.ndarray) -> np.ndarray:
        return np.asarray(value)

    def value(self, x: np.ndarray) -> np.ndarray:
        return x

    def _center(self, h: np.ndarray) -> np.ndarray:
        return np.maximum(gammaincinv(1.0, np.clip(h[..., 0], 1e-12, 1 - 1e-12)) / self.prior_rate, _TINY)

    def parameters(self, h: np.ndarray) -> np.ndarray:
        variation = np.clip(h[..., 1] / np.maximum(1 - h[..., 1], 1e-9), _ALIKE, 1e4)
        shape = variation**-2.0
        return np.stack([shape, shape / self._center(h)], axis=-1)

    def moments(self, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        center = self._center(h)
        return center, center * h[..., 1] / np.maximum(1 - h[..., 1], 1e-9)

    def cdf(self, x: np.ndarray, h: np.ndarray) -> np.ndarray:
        shape, rate = np.moveaxis(self.parameters(h), -1, 0)[..., None]
        return gammainc(shape, rate * x)

    def quantile(self, level: np.ndarray, h: np.ndarray) -> np.ndarray:
        shape, rate = np.moveaxis(self.parameters(h), -1, 0)
        return gammaincinv(shape, level) / rate

    def log_density(self, x: np.ndarray, h: np.ndarray) -> np.ndarray:
        shape, rate = np.moveaxis(self.parameters(h), -1, 0)[..., None]
        return shape * np.log(rate) + (shape - 1) * np.log(np.maximum(x, _TINY)) - rate * x - gammaln(shape)

    def spread(self, h: np.ndarray) -> np.ndarray:
        shape = self.parameters(h)[..., 0]
        return np.where(shape > 1.5, self.moments(h)[1], 0.0)

    def log_own_prior(self, x: np.ndarray) -> np.ndarray:
        return -self.prior_rate * x

    @property
    def in_words(self) -> str:
        return (
            "groups follow a gamma distribution; its mean has the weak prior of a rate, its coefficient of variation c "
            "density 1 / (1 + c)^2"
        )


@dataclass(frozen=True)
class NormalPopulation(Population):
    """Means of normal columns; x is the mean. For itself a group had the prior of ``own``, Student's t."""

    middle: float
    width: float
    own: NormalInverseGamma | None = None
    low: float = -np.inf
    high: float = np.inf

    def x(self, value: np.ndarray) -> np.ndarray:
        return np.asarray(value)

    def value(self, x: np.ndarray) -> np.ndarray:
        return x

    def parameters(self, h: np.ndarray) -> np.ndarray:
        center = self.middle + self.width * ndtri(np.clip(h[..., 0], 1e-12, 1 - 1e-12))
        return np.stack([center, self.width / 2 * np.maximum(h[..., 1], _ALIKE**2)], axis=-1)

    def moments(self, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.parameters(h)[..., 0], self.parameters(h)[..., 1]

    def cdf(self, x: np.ndarray, h: np.ndarray) -> np.ndarray:
        center, sd = np.moveaxis(self.parameters(h), -1, 0)[..., None]
        return ndtr((x - center) / sd)

    def quantile(self, level: np.ndarray, h: np.ndarray) -> np.ndarray:
        center, sd = np.moveaxis(self.parameters(h), -1, 0)
        return center + sd * ndtri(level)

    def log_density(self, x: np.ndarray, h: np.ndarray) -> np.ndarray:
        center, sd = np.moveaxis(self.parameters(h), -1, 0)[..., None]
        return -0.5 * ((x - center) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)

    def spread(self, h: np.ndarray) -> np.ndarray:
        return np.zeros(h.shape[:-1])

    def log_own_prior(self, x: np.ndarray) -> np.ndarray:
        if self.own is None:
            return np.zeros(np.shape(x))
        freedom, scale2 = 2 * self.own.alpha, self.own.beta / (self.own.alpha * self.own.kappa)
        return -(freedom + 1) / 2 * np.log1p((x - self.own.mean) ** 2 / (freedom * scale2))

    @property
    def in_words(self) -> str:
        return (
            "groups follow a normal distribution; its mean has a weak prior, its standard deviation is uniform up to "
            "half the width of the bounds"
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
        assert self.own is not None
        return -self.own.alpha * x - self.own.beta * np.exp(-x)

    @staticmethod
    def prior(own: NormalInverseGamma, mean: float, sd: float) -> NormalInverseGamma:
        """Return a prior whose variance has this mean and standard deviation of its logarithm; its mean stays weak."""
        alpha = max(sd, 0.05) ** -2.0
        for _ in range(20):  # Newton's method for trigamma(alpha) = sd^2, from above
            alpha += (polygamma(1, alpha) - max(sd, 0.05) ** 2) / -polygamma(2, alpha)
        beta = float(np.exp(mean + digamma(alpha)))
        kappa = own.kappa * (beta / alpha) / (own.beta / own.alpha)
        return NormalInverseGamma(own.mean, kappa, float(alpha), beta)
