"""Sums of waiting times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, xlogy

from discreet.families.base import Support, Theta, known
from discreet.families.rates import RateFamily


@dataclass(frozen=True, init=False, repr=False)
class Gamma(RateFamily):
    """Positive, with known ``shape`` and density proportional to x^(shape-1) exp(-rate x).

    ===========  =========================================================
    statistic    x
    prior        ``priors.Gamma(shape, rate)``, on the rate
    draws        ``rate`` (1 / scale)
    sensitivity  replace: 2 in z; add_remove: 1 on the cells
    ===========  =========================================================
    """

    name: ClassVar[str] = "gamma"
    # the attribute ``shape`` of every family is the geometry of its records, so the constant is stored by this name
    known_shape: float

    def __init__(self, shape: float) -> None:
        object.__setattr__(self, "known_shape", known(shape, "shape", positive=True))

    def __repr__(self) -> str:
        return f"Gamma(shape={self.known_shape!r})"

    @property
    def power(self) -> float:
        return self.known_shape

    @property
    def support(self) -> Support:
        return Support(0.0, np.inf)

    def log_base_measure(self, x: np.ndarray) -> np.ndarray:
        inside = self.support.contains(x)
        log_h = xlogy(self.known_shape - 1, np.where(inside, x, 1.0)) - gammaln(self.known_shape)
        return np.where(inside, log_h, -np.inf)

    def sample(self, theta: Theta, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.gamma(self.known_shape, 1 / theta["rate"], size)

    def constants(self) -> dict[str, Any]:
        return {"shape": self.known_shape}
