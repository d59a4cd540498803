"""Whether populations of walkers agree, and how far apart their draws must be taken.

References
----------
Margossian et al. (2024), "Nested R-hat: assessing the convergence of Markov chain Monte Carlo when running many short
chains".
"""

from __future__ import annotations

import numpy as np

#: Populations that exchange nothing once they have arrived, so that their agreement means something.
POPULATIONS = 4
#: Nested R-hat above which populations are said to disagree.
R_HAT_LIMIT = 1.01


def nested_r_hat(draws: np.ndarray) -> np.ndarray:
    """Return nested R-hat of each coordinate; draws are (steps, walkers, dimension), populations one after another."""
    steps, n, d = draws.shape
    grouped = draws.reshape(steps, POPULATIONS, n // POPULATIONS, d)
    means = grouped.mean(axis=(0, 2))
    within = grouped.var(axis=(0, 2), ddof=1).mean(axis=0)
    between = means.var(axis=0, ddof=1)
    return np.sqrt(1 + between / np.where(within > 0, within, 1.0))


def lag_correlation(draws: np.ndarray, lag: int) -> float:
    """Return the largest correlation, over coordinates, between walkers and themselves ``lag`` steps later."""
    early, late = draws[:-lag], draws[lag:]
    center, variance = draws.mean(axis=(0, 1)), draws.var(axis=(0, 1))
    covariance = ((early - center) * (late - center)).mean(axis=(0, 1))
    return float((covariance / np.where(variance > 0, variance, 1.0)).max())
