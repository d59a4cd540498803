r"""From the table's moments to the population's: the mean and sd of the column that the table is a sample of.

Given the table's mean m, relative variance s = v / (m (1 - m)) and U usable records,

* the population's relative variance s' has the sampling error of a variance: odds(s') = odds(s) / x with x a scaled
  chi-square variable whose degrees of freedom are what a beta distribution with these moments implies (delta method on
  log s: kurtosis, and the covariance with m), divided by a factor F, lognormal around 2.5, because real columns have
  heavier tails than a beta distribution;
* the population's mean is Beta(m N + s'/2, (1 - m) N + s'/2) with N = U / s' - 1, whose variance is that of a mean of U
  records. For records of 0 and 1 (s' = 1) this is nearly the Beta(1/2, 1/2) posterior of a proportion; near a bound it
  is skewed, as means of columns near a bound are.
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
    size = table.mean.shape
    m = np.clip(table.mean, _EDGE, 1 - _EDGE)
    s = np.clip(table.spread, 1e-10, 1 - 1e-9)
    heavier = np.exp(np.log(2.5) + 0.7 * rng.standard_normal(size))
    freedom = np.maximum(_degrees_of_freedom(m, s, table.usable) / heavier * (1 - s) ** 2, 0.5)
    odds = s / (1 - s) * freedom / np.maximum(rng.chisquare(freedom), 1e-9)
    spread = np.where(table.usable > 0, odds / (1 + odds), s)
    n_effective = np.maximum(table.usable / np.maximum(spread, 1e-300) - 1, 0.0)
    weak = np.where(table.usable > 0, 0.5 * spread, 0.5)
    mean = np.clip(rng.beta(m * n_effective + weak, (1 - m) * n_effective + weak), _EDGE, 1 - _EDGE)
    return PopulationDraws(mean, np.sqrt(mean * (1 - mean) * spread))


def _degrees_of_freedom(m: np.ndarray, s: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """Return 2 / Var(log s) for a sample of a beta distribution with mean m and relative variance s."""
    f = np.maximum(1 / s - 1, 1e-9)  # sum of the beta distribution's two parameters
    ab = m * (1 - m) * f * f
    excess = 6 * (((1 - 2 * m) * f) ** 2 * (f + 1) - ab * (f + 2)) / (ab * (f + 2) * (f + 3))
    skewness = 2 * (1 - 2 * m) * f * np.sqrt(f + 1) / ((f + 2) * np.sqrt(ab))
    variance_of_variance = 2 + excess
    g = (1 - 2 * m) * np.sqrt(s / (m * (1 - m)))
    v = variance_of_variance + g * g - 2 * g * skewness
    return 2 * np.maximum(usable, 1.0) / np.maximum(v, 0.1 * variance_of_variance)
