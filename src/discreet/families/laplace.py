"""Two-sided waiting times around a known center."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.arguments import fill
from discreet.domain.bounds import distance_range
from discreet.families.base import Theta, absolute, known
from discreet.families.rates import RateFamily
from discreet.families.record_sums import RecordSums
from discreet.rational import exact


@dataclass(frozen=True)
class Laplace(RateFamily):
    """Real, with known ``location`` and density (rate / 2) exp(-rate abs(x - location)).

    ===========  =========================================================
    statistic    abs(x - location), mapped by its exact range over the bounds
    prior        ``priors.Gamma(shape, rate)``, on the rate
    draws        ``rate`` (1 / scale)
    sensitivity  replace: 2 in z; add_remove: 1 on the cells
    ===========  =========================================================

    The location may lie inside or outside the bounds.
    """

    name = "laplace"
    support = RecordSums.support  # pyright: ignore[reportIncompatibleMethodOverride]
    location: float

    def __post_init__(self) -> None:
        fill(self, location=known(self.location, "location"))

    def measure(self, x: Any) -> Any:
        return absolute(x - self.location)

    def measure_range(self, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
        return distance_range(exact(self.location, "location"), low, high)

    @property
    def kinks(self) -> tuple[float, ...]:
        return (self.location,)

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        return np.where(self.support.contains(x), -np.log(2.0), -np.inf)

    def cdf(self, x: np.ndarray, theta: Theta) -> np.ndarray:
        far = (np.asarray(x) - self.location) * np.asarray(theta["rate"], dtype=float)[..., None]
        tail = np.exp(-np.abs(far)) / 2
        return np.where(far < 0, tail, 1 - tail)

    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.laplace(self.location, 1 / theta["rate"], size)
