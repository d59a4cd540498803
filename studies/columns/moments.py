"""Columns whose moments come from the working prior of `Mean`: scaled beta distributions, where its model holds."""

from __future__ import annotations

import numpy as np

import discreet as dc
from discreet.curator.publish import release_with
from discreet.inference.bounded_mean.table import SPREAD_PRIOR, weight_at_a_bound, weight_of_alike
from discreet.inference.models.mean import noisy_totals


def sharpness(n: int, epsilon: float) -> float:
    """Return the largest kappa of the prior: it depends on the noise, so on a release, but on no value of it."""
    release = release_with(
        lambda _: 0, np.full(n, 0.5), dc.Mean(), dc.mechanisms.Laplace(str(epsilon)), bounds=(0, 1)
    )
    return n * noisy_totals(release).sharpness


def draw_column(n: int, largest: float, rng: np.random.Generator) -> tuple[float, float, np.ndarray]:
    """Return mean and sd of a population in [0, 1], drawn from the prior, and n records of it.

    ``largest`` is the prior's largest kappa, see :func:`sharpness`.
    """
    at_a_bound = float(weight_at_a_bound(np.array(largest)))
    while True:
        parts = np.array([at_a_bound, at_a_bound, 1.0])
        m = rng.choice([0.0, 1.0, rng.beta(0.5, 0.5)], p=parts / parts.sum())
        kappa = largest * 4 * m * (1 - m)
        alike = float(weight_of_alike(np.array(kappa)))
        # at most 1.04 is the weight of all spreads together
        if rng.random() * 1.04 * (1 + largest) < (1 + alike) * (1 + kappa):
            break
    step = rng.choice(SPREAD_PRIOR.mass.size, p=SPREAD_PRIOR.mass / SPREAD_PRIOR.mass.sum())
    spread = 1 - rng.uniform(*SPREAD_PRIOR.edges[step : step + 2])
    spread = 0.0 if rng.random() * (1 + alike) < alike else spread
    if m * (1 - m) * spread < 1e-12:
        return float(m), 0.0, np.full(n, m)
    if spread > 1 - 1e-3:
        # hardly any record is between the bounds
        return float(m), float(np.sqrt(m * (1 - m))), (rng.random(n) < m).astype(float)
    size = 1 / spread - 1
    return float(m), float(np.sqrt(m * (1 - m) * spread)), rng.beta(m * size, (1 - m) * size, n)
