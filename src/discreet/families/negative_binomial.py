"""Overdispersed counts: more zeros and more large values than a Poisson distribution has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import gammaln

from discreet.domain.declarations import Domain
from discreet.families.likelihood import Likelihood, Theta
from discreet.families.overdispersion import LOG_DISPERSIONS, CountsSeen, log_rises
from discreet.families.record_sums import Support
from discreet.models.shapes import Quadratic
from discreet.priors.base import three_digits
from discreet.priors.mean_dispersion import MeanDispersion

# Counts whose statistics are looked up, not computed.
_TABLED = 1024
# A dispersion below this changes no digit: the distribution is Poisson's.
_POISSON = 1e-9


@dataclass(frozen=True)
class NegativeBinomial(Likelihood):
    r"""A count 0, 1, ... with mean ``mean`` and variance ``mean + dispersion * mean**2``.

    ===========  =================================================================================
    density      Gamma(x + r) / (Gamma(r) x!) (r / (r + m))^r (m / (r + m))^x, r = 1 / dispersion
    statistic    x, x^2, as ``Mean()`` and ``Normal()`` release them
    prior        ``MeanDispersion(mean_shape, mean_rate, dispersion_shape, dispersion_rate)``
    draws        ``mean``, ``dispersion``: of the counts themselves, whatever the bounds cut off
    sensitivity  in mapped coordinates, replace: 9/4 (5/2 when missing values are counted);
                 add_remove: 1
    ===========  =================================================================================

    Both are unknown. A Poisson distribution has dispersion 0; a gamma distribution of personal rates with shape r gives
    dispersion 1 / r, and 1 is the geometric distribution. It is no exponential family, so the posterior given records
    is drawn numerically (:mod:`discreet.families.overdispersion`), and what is released, two moments, says less
    than the records would. Values above the upper bound are clipped, and both engines know.

    Privacy
    -------
    What is released, its joint sensitivity under both neighbor relations and the proof are those of
    :class:`~discreet.models.shapes.Quadratic` for one column.
    """

    name = "negative_binomial"
    support = Support(0.0, np.inf, discrete=True)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    prior_type = MeanDispersion
    draw_names = ("mean", "dispersion")
    only_outside = "clip"
    seconds_to_draw = 2e-4
    geometry = Quadratic(1)

    # -- the distribution of a record -----------------------------------------------------------------

    def log_density(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        one = {name: np.asarray(value, dtype=float).reshape(1) for name, value in theta.items()}
        return self.log_densities(np.asarray(x, dtype=float)[None], one)[0]

    def log_densities(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        mean = np.asarray(theta["mean"], dtype=float)[:, None]
        size = 1 / np.maximum(np.asarray(theta["dispersion"], dtype=float), _POISSON)[:, None]
        x = np.asarray(x, dtype=float)
        inside = self.support.contains(x)
        x = np.where(inside, x, 0.0)
        with np.errstate(all="ignore"):
            # of x log m alone nothing is left where both are zero
            log_p = np.where(x > 0, x * (np.log(mean) - np.log1p(mean / size)), 0.0)
            log_p = log_p - size * np.log1p(mean / size) - gammaln(x + 1)
            log_p = log_p + log_rises(x, 1 / size)
        return np.where(inside & ~np.isnan(log_p), log_p, -np.inf)

    def statistic_mean(self, theta: Theta) -> np.ndarray:
        """Return the mean of x alone: sums of the other components are of no use but to :meth:`update`."""
        return np.asarray(theta["mean"], dtype=float)[..., None]

    def statistic_covariance(self, theta: Theta) -> np.ndarray:
        """Return the variance of x alone."""
        mean, dispersion = (np.asarray(theta[name], dtype=float) for name in self.draw_names)
        return (mean + dispersion * mean**2)[..., None, None]

    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        mean, dispersion = float(theta["mean"]), float(theta["dispersion"])
        rates = rng.gamma(1 / dispersion, dispersion * mean, size) if dispersion > _POISSON else mean
        return rng.poisson(rates, size)

    # -- the prior ------------------------------------------------------------------------------------

    def suggested_prior(self, domain: Domain) -> MeanDispersion:
        """Put the mean in the middle of the bounds and the dispersion at 1, each with the weight of one observation."""
        if domain.bounds is None:
            return MeanDispersion(1, 1, 1, 1)
        low, high = domain.bounds[0]
        return MeanDispersion(1, three_digits(2 / (low + high)), 1, 1)

    def sufficient(self, x: np.ndarray) -> np.ndarray:
        """Return x, and log Gamma(x + r) / (Gamma(r) r^x) at the dispersions 1 / r of a fixed grid."""
        x = np.asarray(x, dtype=float)
        out = _tabled()[np.minimum(x, _TABLED - 1).astype(int)]
        far = x >= _TABLED
        if far.any():
            out[far] = _statistics(x[far])
        return out

    def update(self, prior: Any, s: np.ndarray, n: np.ndarray | float) -> CountsSeen:
        s = np.asarray(s, dtype=float)
        return CountsSeen(prior, float(s[0]), float(n), s[1:])

    def project(self, s: np.ndarray, n: float) -> np.ndarray:
        """Return the sums expected of ``n`` records with the mean and the variance that the noisy sums have."""
        s = np.asarray(s, dtype=float)
        size = 1 + LOG_DISPERSIONS.size
        if not n > 0:
            return np.zeros(size)
        if s.size == size:
            return s
        mean = max(s[0] / n, 1e-6)
        dispersion = np.clip((s[1] / n - mean**2 - mean) / mean**2, 1e-4, 1e3)
        # a large sample, the same at every call, stands for the records
        rng = np.random.default_rng(0)
        x = self.sample({"mean": np.array(mean), "dispersion": np.array(dispersion)}, 20_000, rng)
        out = n * self.sufficient(x).mean(axis=0)
        return np.concatenate([[n * mean], out[1:] * (n * mean / max(out[0], 1e-300))])


def _statistics(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x[:, None], log_rises(x[:, None], np.exp(LOG_DISPERSIONS))], axis=1)


@cache
def _tabled() -> np.ndarray:
    """Return the statistics of small counts."""
    return _statistics(np.arange(_TABLED, dtype=float))
