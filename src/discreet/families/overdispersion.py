r"""The posterior of a negative binomial's mean and dispersion given records, drawn numerically.

With m the mean, d the dispersion and n records of sum X the log likelihood is, up to a constant,

    X log m - (X + n / d) log(1 + d m) + H(d),     H(d) = sum over records of sum over k < x of log(1 + k d),

so the records enter through X and the function H alone. It is smooth in log d, analytic in a strip of width pi on
either side, and its values on a grid of spacing 1/2 give it by interpolation to 1e-8 of itself: these are the
statistics that :class:`~discreet.families.negative_binomial.NegativeBinomial` sums. Below the grid H is proportional to
d, above it is linear in log d.

Under independent gamma priors, log m given d has a mode in closed form. Draws come from a grid that closes in on
log d, with a grid of log m for each point: 48 points each across whatever is within exp(-14) of the top, some ten
standard deviations, so that variances are off by less than one in a hundred.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaincinv, gammaln

from discreet.priors.mean_dispersion import MeanDispersion

_STEP = 0.5
#: Logarithms of the dispersions at which records are summed.
LOG_DISPERSIONS = np.arange(-28, 20) * _STEP
# points of a fine grid, and how many nats under the top are still looked at: at first, and last
_POINTS = 48
_FAR, _NEAR = 40.0, 14.0
# share of the prior on dispersions that is left out, on either side
_LEFT_OUT = 1e-9
# dispersions below this are none
_LEAST = -300.0


def log_rises(x: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
    """Return the sum over k < x of log(1 + k d), which is log Gamma(x + 1/d) / (Gamma(1/d) d^-x)."""
    x, d = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(dispersion, dtype=float))
    with np.errstate(all="ignore"):
        r = 1 / d
        direct = gammaln(x + r) - gammaln(r) + x * np.log(d)
        # Stirling's difference for large r: nothing large is subtracted
        y = x * d
        series = r * ((1 + y) * np.log1p(y) - y) - 0.5 * np.log1p(y) - d * y / (12 * (1 + y))
    return np.where(x <= 1, 0.0, np.where(d < 1e-4, series, direct))


@dataclass(frozen=True)
class CountsSeen:
    """A prior after ``n`` records of sum ``total``; ``rises`` is H at :data:`LOG_DISPERSIONS`."""

    prior: MeanDispersion
    total: float
    n: float
    rises: np.ndarray

    def sample(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw pairs (mean, dispersion)."""
        if not self.n > 0:
            return self.prior.sample(size, rng)
        from discreet.families.overdispersion_grid import build, pick

        grid = build(
            np.array(self.prior.numbers()),
            self.total,
            self.n,
            np.ascontiguousarray(self.rises, dtype=float),
            float(LOG_DISPERSIONS[0]),
            _STEP,
            _range(self.prior.dispersion_shape, self.prior.dispersion_rate),
            _POINTS,
            _FAR,
            _NEAR,
        )
        log_m, log_d = pick(*grid, rng.random((size, 4)))
        return np.exp(np.clip(log_m, -700, 700)), np.exp(np.clip(log_d, _LEAST, 700))


@lru_cache(maxsize=16)
def _range(shape: float, rate: float) -> np.ndarray:
    """Return logarithms of dispersions, coarse, that hold a gamma prior and with it the posterior."""
    # a small quantile of a gamma is a power law, which may underflow
    low = (math.log(_LEFT_OUT) + float(gammaln(shape + 1))) / shape - math.log(rate)
    if low > -2:
        low = math.log(max(float(gammaincinv(shape, _LEFT_OUT)), 1e-300) / rate)
    high = math.log(max(float(gammaincinv(shape, 1 - _LEFT_OUT)), 1e-300) / rate)
    low, high = min(max(low, _LEAST), 650.0), min(max(high, _LEAST + 1), 690.0)
    return np.linspace(low, high, min(max(int((high - low) / _STEP) + 2, 24), 240))
