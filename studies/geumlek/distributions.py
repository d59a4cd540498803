"""Distributions on [-1, 1], propagated through noisy steps by quadrature: what bounds are held against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from discreet.privacy.amplification import renyi_divergence

# The distributions are smooth inside the interval: 120 nodes give them to about ten digits for noise of 0.2 and more.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(120)
POINTS = np.concatenate([[-1.0], _NODES, [1.0]])
Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Distribution:
    """Mass at the nodes and at the two ends, where projection puts what falls outside."""

    mass: np.ndarray

    @classmethod
    def around(cls, center: float, sigma: float) -> Distribution:
        """Return the projection of a normal distribution."""
        return cls(_transition(np.array([center]), sigma)[0])

    def step(self, psi: Map, sigma: float) -> Distribution:
        """Return the distribution of the projection of psi(x) plus normal noise."""
        return Distribution(self.mass @ _transition(psi(POINTS), sigma))

    def divergence(self, other: Distribution, order: float) -> float:
        """Return the Rényi divergence."""
        return float(renyi_divergence(self.mass / self.mass.sum(), other.mass / other.mass.sum(), order))


def _transition(center: np.ndarray, sigma: float) -> np.ndarray:
    z = (_NODES - center[:, None]) / sigma
    inside = _WEIGHTS * np.exp(-0.5 * z**2) / (sigma * np.sqrt(2 * np.pi))
    low, high = ndtr((-1 - center) / sigma), ndtr((center - 1) / sigma)
    return np.concatenate([low[:, None], inside, high[:, None]], axis=1)
