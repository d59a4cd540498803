"""The privacy loss as a random variable: what every guarantee is a statement about.

For two distributions P and Q of the output, the loss is L = log(P(o) / Q(o)) for an output o drawn from P. Pure privacy
says that L never exceeds epsilon; (epsilon, delta) that E[max(0, 1 - e^(epsilon - L))] <= delta, which is weaker than
P[L > epsilon] <= delta; Rényi privacy bounds E[e^((a - 1) L)]. This view is for pictures and explanations, and the
oracle of tests; guarantees are computed elsewhere.

References
----------
Balle and Wang (2018), Improving the Gaussian mechanism for differential privacy: theorem 5. Geumlek (2020), section
5.2.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import UsageError
from discreet.privacy.noise import Noise

# Outputs that are less likely than e^-_TAIL of the mode are counted as failures, which is the safe side.
_TAIL = 60.0
_MOST_OUTPUTS = 4_000_000


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """The distribution of a discrete privacy loss: increasing ``values``, their ``mass``, and what is ``infinite``."""

    values: np.ndarray
    mass: np.ndarray
    infinite: float = 0.0

    @classmethod
    def between(cls, p: np.ndarray, q: np.ndarray) -> PrivacyLoss:
        """Return the loss of two distributions on the same finitely many outputs, given by their masses."""
        p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
        if p.shape != q.shape or p.ndim != 1 or (p < 0).any() or (q < 0).any():
            raise UsageError("a privacy loss needs two lists of masses of the same length, none negative.")
        if not (np.isclose(p.sum(), 1) and np.isclose(q.sum(), 1)):
            raise UsageError("the masses of each distribution must add up to 1.")
        common = (p > 0) & (q > 0)
        return cls._merged(np.log(p[common]) - np.log(q[common]), p[common], float(p[q == 0].sum()))

    @classmethod
    def of_noise(cls, noise: Noise, shift: int = 1) -> PrivacyLoss:
        """Return the loss of integer noise when the statistic that it hides moves by ``shift``."""
        reach = int(np.ceil(noise.reach(_TAIL))) + abs(shift)
        if reach > _MOST_OUTPUTS:
            raise UsageError("this noise is too wide to list.", hint="rescale the statistic and its noise")
        k = np.arange(-reach, reach + 1)
        log_p, log_q = noise.log_mass(k), noise.log_mass(k - shift)
        mass = np.exp(log_p)
        return cls._merged(log_p - log_q, mass, max(0.0, 1.0 - float(mass.sum())))

    @classmethod
    def of_randomized_response(cls, epsilon: float, delta: float = 0.0) -> PrivacyLoss:
        """Return the loss of the worst (epsilon, delta)-DP mechanism."""
        likely = (1 - delta) / (1 + np.exp(-epsilon))
        return cls(np.array([-epsilon, epsilon]), np.array([1 - delta - likely, likely]), delta)

    @classmethod
    def _merged(cls, values: np.ndarray, mass: np.ndarray, infinite: float) -> PrivacyLoss:
        """Sort the values and put equal ones together; rounding errors apart, they are equal."""
        places, where = np.unique(np.round(values, 12), return_inverse=True)
        return cls(places, np.bincount(where, mass), infinite)

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """Return the loss of two independent mechanisms: the sum."""
        infinite = 1 - (1 - self.infinite) * (1 - other.infinite)
        values = np.add.outer(self.values, other.values).ravel()
        return self._merged(values, np.multiply.outer(self.mass, other.mass).ravel(), infinite)

    def cdf(self, epsilon: float | np.ndarray) -> np.ndarray:
        """Return P[L <= epsilon]."""
        below = np.concatenate([[0.0], np.cumsum(self.mass)])
        return below[np.searchsorted(self.values, epsilon, side="right")]

    def delta(self, epsilon: float | np.ndarray) -> np.ndarray:
        """Return the hockey-stick divergence, E[max(0, 1 - e^(epsilon - L))]: the least delta at each epsilon."""
        e = np.asarray(epsilon, dtype=float)
        excess = np.maximum(0.0, -np.expm1(np.minimum(e[..., None] - self.values, 0.0)))
        return self.infinite + excess @ self.mass

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence, log E[e^((a - 1) L)] / (a - 1)."""
        if self.infinite > 0:
            return np.inf
        exponents = (order - 1) * self.values + np.log(np.maximum(self.mass, 1e-300))
        return float(np.logaddexp.reduce(exponents) / (order - 1))

    @property
    def mean(self) -> float:
        """The Kullback-Leibler divergence."""
        return np.inf if self.infinite > 0 else float(self.values @ self.mass)
