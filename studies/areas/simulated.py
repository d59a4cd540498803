"""Simulated groups: drawn from the very prior that pooling has, or from populations that it does not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

import discreet as dc
from discreet.inference.pooling.populations import TIMES, Population, RatePopulation, SharePopulation


@dataclass
class Case:
    """A model, how parameters and records of a trial are drawn, and how its groups are read."""

    model: Any
    bounds: Any
    parameter: str
    population: Population
    levels: Callable[[np.random.Generator], tuple[float, float]]
    own: Callable[[np.random.Generator, int], np.ndarray]
    records: Callable[[np.random.Generator, float, int, float], np.ndarray]
    options: dict[str, Any] = field(default_factory=dict)

    def groups(self, rng: np.random.Generator, sizes: np.ndarray) -> tuple[float, np.ndarray]:
        """Draw hyperparameters and groups as the model of pooling has it; return the population's mean too."""
        z = np.log(sizes + 2.0)
        z = (z - z.mean()) / z.std()
        center, spread = (
            f(np.array([level]))
            for f, level in zip(
                (self.population.center, self.population.spread), self.levels(rng), strict=True
            )
        )
        with_size = rng.uniform(-1, 1)
        kind = rng.choice(3, sizes.size, p=self.population.kinds)
        around = np.sqrt(1 - with_size**2) * rng.standard_normal(sizes.size) * np.where(kind == 1, TIMES, 1.0)
        like = self.population.value(self.population.x_of(center + spread * (with_size * z + around)))
        values = np.where(kind == 2, self.own(rng, sizes.size), like)
        return float(self.population.moments(center, spread)[0][0]), values


def beta_records(rng: np.random.Generator, mean: float, n: int, spread: float) -> np.ndarray:
    """Draw records between 0 and 100 of this mean, whose variance is this share of the largest."""
    share = np.clip(mean / 100, 1e-6, 1 - 1e-6)
    weight = 1 / spread - 1
    return 100 * rng.beta(share * weight, (1 - share) * weight, n)


def _share_records(rng: np.random.Generator, share: float, n: int, spread: float) -> np.ndarray:
    return rng.binomial(1, share, n)


def _count_records(rng: np.random.Generator, rate: float, n: int, spread: float) -> np.ndarray:
    return rng.poisson(rate, n)


#: The weak prior of a rate between 0 and 12 has mean 6. Means stay away from the bounds, of which a few records do not
#: say how near they are, and rates do not differ by more than a standard deviation of one in their logarithm.
CASES = {
    "bernoulli": Case(
        dc.Bernoulli(),
        None,
        "p",
        SharePopulation(uniform=True),
        lambda rng: tuple(rng.random(2)),
        lambda rng, n: rng.random(n),
        _share_records,
    ),
    "poisson": Case(
        dc.Poisson(),
        (0, 12),
        "rate",
        RatePopulation(1 / 6, 12.0),
        lambda rng: (rng.random(), rng.uniform(0, 0.5)),
        lambda rng, n: -6 * np.log1p(rng.random(n) * np.expm1(-2.0)),
        _count_records,
        {"engine": "gibbs"},
    ),
    "mean": Case(
        dc.Mean(),
        (0, 100),
        "mean",
        SharePopulation(0.0, 100.0),
        lambda rng: (rng.uniform(0.2, 0.8), rng.uniform(0.02, 0.5)),
        lambda rng, n: 100 * np.sin(rng.uniform(0.15, 0.85, n) * np.pi / 2) ** 2,
        beta_records,
    ),
}


def _of_size(rng: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    """Draw log odds that rise with the size of a group."""
    z = np.log(sizes)
    return -1.0 + 0.8 * (z - z.mean()) / z.std() + 0.3 * rng.standard_normal(sizes.size)


def _with_outlier(rng: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    rest = -1.0 + 0.2 * rng.standard_normal(sizes.size)
    return np.where(np.arange(sizes.size) == 0, 2.5, rest)


def _small_extreme(rng: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    """Draw log odds of which those of the smallest quarter lie elsewhere."""
    center = np.where(sizes <= np.quantile(sizes, 0.25), -2.7, -0.6)
    return center + 0.3 * rng.standard_normal(sizes.size)


def _clustered(rng: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    return rng.choice([-2.0, 0.5], sizes.size) + 0.15 * rng.standard_normal(sizes.size)


#: Populations of shares that pooling does not know, in log odds.
SHAPES: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "normal": lambda rng, sizes: -0.8 + 0.5 * rng.standard_normal(sizes.size),
    "alike": lambda rng, sizes: np.full(sizes.size, -0.8),
    "Student's t, 2 degrees": lambda rng, sizes: -0.8 + 0.4 * rng.standard_t(2, sizes.size),
    "two clusters": _clustered,
    "one outlier": _with_outlier,
    "rising with size": _of_size,
    "smallest are extreme": _small_extreme,
}


def shaped(name: str, rng: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    """Draw shares of groups of a population by its name."""
    return expit(SHAPES[name](rng, sizes))
