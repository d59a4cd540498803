"""The bell curve: both parameters unknown, or one of them known."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import ndtr

from discreet.arguments import fill
from discreet.domain.bounds import distance_range
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.families.base import Family, Theta, known
from discreet.families.record_sums import RecordSums
from discreet.models.shapes import Interval, Quadratic
from discreet.priors.base import Prior, three_digits
from discreet.priors.gamma import Gamma
from discreet.priors.normal import Normal as NormalPrior
from discreet.priors.normal_inverse_gamma import NormalInverseGamma
from discreet.rational import exact

_LOG_ROOT_2PI = np.log(2 * np.pi) / 2


@dataclass(frozen=True, init=False, repr=False)
class Normal(Family):
    """Real, normal with ``mean`` and ``variance``; name one of them to say that it is known.

    =====================  ============  ==============================  ======================
    call                   statistic     prior                           draws
    =====================  ============  ==============================  ======================
    ``Normal()``           x, x^2        ``NormalInverseGamma``          ``mean``, ``variance``
    ``Normal(variance=)``  x             ``Normal``                      ``mean``
    ``Normal(mean=)``      (x - mean)^2  ``Gamma``, on the precision     ``variance``
    =====================  ============  ==============================  ======================

    Sensitivity in mapped coordinates: ``Normal()`` 9/4 under replace (5/2 when missing values are counted) and 1 under
    add_remove; the others 2 and 1.
    """

    name = "normal"
    prior_type = NormalInverseGamma
    draw_names = ("mean", "variance")
    geometry = Quadratic(1)
    support = RecordSums.support  # pyright: ignore[reportIncompatibleMethodOverride]

    def __new__(cls, *, mean: float | None = None, variance: float | None = None) -> Normal:
        if mean is not None and variance is not None:
            raise UsageError("normal with a known mean and a known variance leaves nothing to learn.")
        kind = cls
        if cls is Normal and variance is not None:
            kind = NormalKnownVariance
        elif cls is Normal and mean is not None:
            kind = NormalKnownMean
        return object.__new__(kind)

    def __repr__(self) -> str:
        return f"Normal({', '.join(f'{name}={value!r}' for name, value in self.constants().items())})"

    def _both(self, theta: Theta) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance, drawn or known."""
        return np.asarray(theta["mean"], dtype=float), np.asarray(theta["variance"], dtype=float)

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        return np.where(self.support.contains(x), -_LOG_ROOT_2PI, -np.inf)

    def natural(self, theta: Theta) -> np.ndarray:
        mean, variance = self._both(theta)
        return np.stack([mean / variance, -0.5 / variance], axis=-1)

    def from_natural(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        variance = -0.5 / eta[..., 1]
        return {"mean": eta[..., 0] * variance, "variance": variance}

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        return -(eta[..., 0] ** 2) / (4 * eta[..., 1]) - np.log(-2 * eta[..., 1]) / 2

    def statistic_mean(self, theta: Theta) -> np.ndarray:
        mean, variance = self._both(theta)
        return np.stack([mean, mean**2 + variance], axis=-1)

    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        mean, variance = self._both(theta)
        cross = 2 * mean * variance
        rows = [[variance, cross], [cross, 2 * variance * (variance + 2 * mean**2)]]
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def cdf(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        mean, variance = self._both(theta)
        return ndtr((np.asarray(x) - mean[..., None]) / np.sqrt(variance)[..., None])

    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        mean, variance = self._both(theta)
        return rng.normal(mean, np.sqrt(variance), size)

    def suggested_prior(self, domain: Domain) -> Prior:
        """Take the bounds for two standard deviations either side, with the weight of a quarter of a record."""
        middle, sd = _spread(domain)
        return NormalInverseGamma.weak(middle - 2 * sd, middle + 2 * sd)

    def update(self, prior: Any, s: np.ndarray, n: np.ndarray | float) -> Prior:
        # moments about the prior mean: no division by n, and less cancellation far from zero
        s, n = np.asarray(s, dtype=float), float(n)
        first = float(s[..., 0] - n * prior.mean)
        second = float(s[..., 1] - 2 * prior.mean * s[..., 0] + n * prior.mean**2)
        kappa = prior.kappa + n
        return NormalInverseGamma(
            prior.mean + first / kappa,
            kappa,
            prior.alpha + n / 2,
            # not negative but for rounding, which can exceed a small beta where the sums are large
            prior.beta + max(second - first**2 / kappa, 0.0) / 2,
        )

    def project(self, s: np.ndarray, n: float) -> np.ndarray:
        """Keep the first moment and raise the second to the least that it allows, s_1^2 / n (Jensen)."""
        s = np.asarray(s, dtype=float)
        if not n > 0:
            return np.zeros_like(s)
        return np.stack([s[..., 0], np.maximum(s[..., 1], s[..., 0] ** 2 / n)], axis=-1)


@dataclass(frozen=True, init=False, repr=False)
class NormalKnownVariance(Normal):
    """What ``Normal(variance=)`` makes."""

    prior_type = NormalPrior
    draw_names = ("mean",)
    geometry = Interval()
    variance: float

    def __init__(self, *, mean: float | None = None, variance: float) -> None:
        fill(self, variance=known(variance, "variance", positive=True))

    def _both(self, theta: Theta) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(theta["mean"], dtype=float), np.asarray(self.variance)

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        inside = self.support.contains(x)
        log_h = (
            -(np.where(inside, x, 0.0) ** 2) / (2 * self.variance) - np.log(self.variance) / 2 - _LOG_ROOT_2PI
        )
        return np.where(inside, log_h, -np.inf)

    def natural(self, theta: Theta) -> np.ndarray:
        return np.asarray(theta["mean"])[..., None] / self.variance

    def from_natural(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        return {"mean": eta[..., 0] * self.variance}

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        return self.variance * eta[..., 0] ** 2 / 2

    def statistic_mean(self, theta: Theta) -> np.ndarray:
        return np.asarray(theta["mean"], dtype=float)[..., None]

    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        return np.full((*np.shape(theta["mean"]), 1, 1), self.variance)

    def suggested_prior(self, domain: Domain) -> NormalPrior:
        middle, sd = _spread(domain)
        return NormalPrior(three_digits(middle), three_digits(2 * sd))

    def update(self, prior: NormalPrior, s: np.ndarray, n: np.ndarray | float) -> NormalPrior:
        precision = 1 / prior.sd**2 + float(n) / self.variance
        pull = float(np.asarray(s)[..., 0] - n * prior.mean) / self.variance
        return NormalPrior(prior.mean + pull / precision, float(precision**-0.5))

    project = Family.project


@dataclass(frozen=True, init=False, repr=False)
class NormalKnownMean(Normal):
    """What ``Normal(mean=)`` makes."""

    prior_type = Gamma
    draw_names = ("variance",)
    geometry = Interval()
    statistic_range = (0.0, np.inf)
    mean: float

    def __init__(self, *, mean: float, variance: float | None = None) -> None:
        fill(self, mean=known(mean, "mean"))

    def _both(self, theta: Theta) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(self.mean), np.asarray(theta["variance"], dtype=float)

    def measure(self, x: Any) -> Any:
        return (x - self.mean) * (x - self.mean)

    def measure_range(self, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
        nearest, farthest = distance_range(exact(self.mean, "mean"), low, high)
        return nearest**2, farthest**2

    def natural(self, theta: Theta) -> np.ndarray:
        return -0.5 / np.asarray(theta["variance"])[..., None]

    def from_natural(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        return {"variance": -0.5 / eta[..., 0]}

    def log_partition(self, eta: np.ndarray) -> np.ndarray:
        return -np.log(-2 * eta[..., 0]) / 2

    def statistic_mean(self, theta: Theta) -> np.ndarray:
        return np.asarray(theta["variance"], dtype=float)[..., None]

    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        return 2 * np.asarray(theta["variance"])[..., None, None] ** 2

    def suggested_prior(self, domain: Domain) -> Gamma:
        return Gamma(1, three_digits(_spread(domain)[1] ** 2))

    def update(self, prior: Gamma, s: np.ndarray, n: np.ndarray | float) -> Gamma:
        return Gamma(prior.shape + float(n) / 2, prior.rate + float(np.asarray(s)[..., 0]) / 2)

    def named(self, values: np.ndarray) -> dict[str, np.ndarray]:
        return {"variance": 1 / values}

    project = Family.project


def _spread(domain: Domain) -> tuple[Fraction, Fraction]:
    """Return the middle of the bounds and a quarter of their width."""
    low, high = domain.bounds[0] if domain.bounds else (Fraction(-2), Fraction(2))
    return (low + high) / 2, (high - low) / 4
