r"""From the table's moments to the population's: the mean and sd of the column that the table is a sample of.

Given the table's mean m, relative variance s = v / (m (1 - m)) and U usable records,

* the population's relative variance s' has the sampling error of a variance: odds(s') = odds(s) / x with x a scaled
  chi-square variable whose degrees of freedom are what a beta distribution with these moments implies (delta method
  on log s: kurtosis, and the covariance with m), divided by a factor F because real columns have heavier tails than a
  beta distribution. How much heavier depends on the room that the bounds leave: with R the distance of the mean to the
  farther bound in standard deviations, F has median 1 where R < 4, 1.7 at 6 to 9, and 3 beyond, with a tenth above 20
  (954 columns of R's data sets, bounds rounded up from their range). So log F ~ Normal(0.3 + x, 0.36 (1 + x)^2),
  x = log(R / 3) with R between 3 and 11, on the side of caution: a column of that tenth has its sd in seven of eight
  95% intervals;
* the population's mean is Beta(c N + s'/2, (1 - c) N + s'/2) with N = U / s' - 1, whose variance is that of a mean
  of U records. For records of 0 and 1 (s' = 1) this is nearly the Beta(1/2, 1/2) posterior of a proportion. Its
  center c is m moved together with the variance: where a tail is long to the right, a table whose variance is too
  small has a mean that is too small as well. The error of the mean (in standard errors) and that of the variance
  have correlation g = skewness / sqrt(kurtosis - 1) there, again of a beta distribution. To first order a
  confidence distribution of a mean has skewness 2 skewness / sqrt(U) (Hall 1992); the Beta has about half of it,
  and a shift by 0.7 (1 - s) g W, with W the standardized error of the variance, gives the rest.

References
----------
Hall, P. (1992). On the removal of skewness by transformation. J. R. Stat. Soc. B 54, 221-228.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.inference.bounded_mean.table import TableDraws

_EDGE = 1e-12


@dataclass(frozen=True)
class PopulationDraws:
    """Draws of the population's mean and standard deviation in t = (z + 1) / 2."""

    mean: np.ndarray
    sd: np.ndarray


def draw_population(table: TableDraws, rng: np.random.Generator) -> PopulationDraws:
    """Return one draw of the population's moments for each draw of the table's."""
    # of U values that are all alike, the population's are so too with the odds of U to 1; at a bound with even odds,
    # since a rare value at the other one may have been missed
    at_a_bound = (table.mean <= 0) | (table.mean >= 1)
    odds = np.where(at_a_bound, 1.0, table.usable)
    alike = (at_a_bound | (table.spread <= 0)) & (rng.random(odds.shape) * (odds + 1) < odds)
    m = np.clip(table.mean, _EDGE, 1 - _EDGE)
    s = np.clip(table.spread, 1e-10, 1 - 1e-9)
    heavier = _heavier_tails(m, s, rng)
    freedom, together = _working_beta(m, s, table.usable)
    freedom = np.maximum(freedom / heavier * (1 - s) ** 2, 0.5)
    x = np.maximum(rng.chisquare(freedom) / freedom, 1e-9)
    odds = s / (1 - s) / x
    spread = np.where(table.usable > 0, odds / (1 + odds), s)
    n_effective = np.maximum(table.usable / np.maximum(spread, 1e-300) - 1, 0.0)
    # the standardized error of the variance (Wilson and Hilferty 1931), and the share of it that the mean has
    error = np.clip((1 - 2 / (9 * freedom) - np.cbrt(x)) / np.sqrt(2 / (9 * freedom)), -3.0, 3.0)
    common = 0.7 * (1 - s) * together
    standard_error = np.sqrt(m * (1 - m) * spread / np.maximum(table.usable, 1.0))
    center = np.clip(m + common * error * standard_error, 0.5 * m, 1 - 0.5 * (1 - m))
    n_effective = n_effective / (1 - common**2)
    weak = np.where(table.usable > 0, 0.5 * spread, 0.5)
    mean = rng.beta(center * n_effective + weak, (1 - center) * n_effective + weak)
    mean = np.where(alike, table.mean, mean)
    return PopulationDraws(mean, np.where(alike, 0.0, np.sqrt(mean * (1 - mean) * spread)))


def _heavier_tails(m: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the factor F by which the variance of a column's variance exceeds that of a beta distribution."""
    room = np.maximum(m, 1 - m) / np.sqrt(m * (1 - m) * s)
    x = np.log(np.clip(room, 3.0, 11.0) / 3.0)
    return np.exp(0.3 + x + 0.6 * (1 + x) * rng.standard_normal(m.shape))


def _working_beta(m: np.ndarray, s: np.ndarray, usable: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return 2 / Var(log s) and the correlation of mean and variance, in samples of a beta distribution (m, s)."""
    f = np.maximum(1 / s - 1, 1e-9)  # sum of the beta distribution's two parameters
    ab = m * (1 - m) * f * f
    excess = 6 * (((1 - 2 * m) * f) ** 2 * (f + 1) - ab * (f + 2)) / (ab * (f + 2) * (f + 3))
    skewness = 2 * (1 - 2 * m) * f * np.sqrt(f + 1) / ((f + 2) * np.sqrt(ab))
    variance_of_variance = 2 + excess
    g = (1 - 2 * m) * np.sqrt(s / (m * (1 - m)))
    v = np.maximum(variance_of_variance + g * g - 2 * g * skewness, 0.1 * variance_of_variance)
    together = np.clip(skewness / np.sqrt(variance_of_variance), -0.95, 0.95)
    return 2 * np.maximum(usable, 1.0) / v, together
