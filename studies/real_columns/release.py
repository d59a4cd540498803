"""One simulated release of a real column: a resample, its exact totals, and noise at the scales that a release has."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from discreet.domain.declarations import Domain, Missing, Neighbors
from discreet.families.normal import Normal
from discreet.inference.bounded_mean import NoisyTotals
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.models.layout import Layout
from discreet.privacy.noise import Noise

DELTA = Fraction(1, 10**6)


@dataclass(frozen=True)
class Setting:
    """How a column is released: noise, relation, policy for missing values, and the share that is missing."""

    n: int
    epsilon: float
    noise: str = "laplace"
    neighbors: Neighbors = "replace"
    missing: Missing = "count"
    share: float = 0.0

    def __str__(self) -> str:
        return f"n={self.n} eps={self.epsilon} {self.noise} {self.neighbors} {self.missing} {self.share:.0%} missing"


def mechanism(noise: str, epsilon: float) -> Laplace | Gaussian:
    """Return the mechanism that a release would use."""
    budget = Fraction(str(epsilon))
    return Laplace(budget) if noise == "laplace" else Gaussian(epsilon=budget, delta=DELTA)


@cache
def plan(
    noise: str, epsilon: float, neighbors: Neighbors, missing: Missing
) -> tuple[Layout, tuple[Noise, ...], np.ndarray, np.ndarray]:
    """Return the layout of the sums of z and z^2, the noise in grid steps, the layout's rows and its grid."""
    domain = Domain(((Fraction(0), Fraction(1)),), None, "clip", missing)
    layout = Normal().layout(domain, neighbors)
    mech = mechanism(noise, epsilon)
    steps = [float(scale / grid) for scale, grid in zip(mech.scales(layout), layout.grid, strict=True)]
    rows = np.array([[float(c) for c in row] for row in layout.rows])
    return layout, tuple(mech.law(step) for step in steps), rows, np.array([float(g) for g in layout.grid])


def release_totals(
    population: np.ndarray, setting: Setting, rng: np.random.Generator
) -> tuple[NoisyTotals, np.ndarray]:
    """Resample a population in [0, 1] and return its noisy totals with the usable records."""
    _, noise, rows, grid = plan(setting.noise, setting.epsilon, setting.neighbors, setting.missing)
    records = rng.choice(population, setting.n)
    if setting.share:
        records = records[rng.random(setting.n) >= setting.share]
    z = 2 * records - 1
    exact = rows @ np.array([z.size, z.sum(), (z * z).sum()])
    values = [
        round(total / step) + int(law.sample(1, rng)[0])
        for total, step, law in zip(exact, grid, noise, strict=True)
    ]
    return NoisyTotals(values, rows, grid, noise), records
