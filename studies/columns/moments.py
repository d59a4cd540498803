"""Columns whose moments come from the working prior of `Mean`: scaled beta distributions, where its model holds."""

from __future__ import annotations

import numpy as np

from discreet.inference.bounded_mean.table import SPREAD_PRIOR


def draw_column(n: int, rng: np.random.Generator) -> tuple[float, float, np.ndarray]:
    """Return mean and sd of a population in [0, 1], drawn from the prior, and n records of it."""
    m = np.clip(rng.beta(0.5, 0.5), 1e-9, 1 - 1e-9)
    step = rng.choice(SPREAD_PRIOR.mass.size, p=SPREAD_PRIOR.mass / SPREAD_PRIOR.mass.sum())
    spread = np.clip(1 - rng.uniform(*SPREAD_PRIOR.edges[step : step + 2]), 1e-6, 1 - 1e-6)
    size = 1 / spread - 1
    return float(m), float(np.sqrt(m * (1 - m) * spread)), rng.beta(m * size, (1 - m) * size, n)
