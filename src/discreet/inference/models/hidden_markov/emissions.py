"""Emission probabilities given states and counts: one Dirichlet distribution for every state and feature."""

from __future__ import annotations

import math

import numpy as np

from discreet.compiled import compiled
from discreet.inference.models.hidden_markov.paths import draw_dirichlet


@compiled
def draw_emissions(
    gen: np.random.Generator,
    counts: np.ndarray,
    z: np.ndarray,
    starts: np.ndarray,
    beta: np.ndarray,
    p: np.ndarray,
    log_p: np.ndarray,
) -> None:
    """Draw ``p`` (states by labels of all features) given the states: Dirichlet(counts in the state + beta).

    Feature d has labels ``starts[d]`` to ``starts[d + 1]``. Equation 49 of Foulds et al. (2016), whose sum runs over
    the cells in the state and not, as printed, over all of them.
    """
    p[:] = 0.0
    for c in range(z.size):
        for j in range(counts.shape[1]):
            p[z[c], j] += counts[c, j]
    for k in range(p.shape[0]):
        for d in range(starts.size - 1):
            least = beta[starts[d]]
            for j in range(starts[d], starts[d + 1]):
                least = min(least, beta[j])
            for j in range(starts[d], starts[d + 1]):
                p[k, j] += beta[j] - least
            draw_dirichlet(gen, p[k, starts[d] : starts[d + 1]], float(least))
            for j in range(starts[d], starts[d + 1]):
                log_p[k, j] = math.log(p[k, j])
