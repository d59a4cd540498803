"""The two noise distributions, on integers, with the exact mass functions that inference uses.

Scales here are in integer steps of the grid. Nothing in this file draws release noise: that is OpenDP's work, on
the private side. ``sample`` is for simulation and takes ``rng``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

#: The shape of a log mass: linear on both sides of 0, a parabola around 0, or neither.
Kind = Literal["laplace", "gaussian", "other"]


class Spread(ABC):
    """How wide a distribution of noise is, and draws from it."""

    #: The shape of its log mass or density, for engines that have a closed form.
    kind: Kind

    @abstractmethod
    def reach(self, log_tail: float) -> float:
        """Return a distance beyond which the mass or density falls under ``exp(-log_tail)`` of its peak."""

    @abstractmethod
    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw noise, for simulation."""

    @property
    @abstractmethod
    def width(self) -> float:
        """The parameter that sets how wide it is: the Laplace scale, or sigma."""

    @property
    @abstractmethod
    def sd(self) -> float:
        """Standard deviation."""


class LaplaceShape(Spread):
    """A log mass or density that falls linearly on both sides of 0."""

    scale: float
    kind = "laplace"

    @property
    def width(self) -> float:
        return self.scale

    def reach(self, log_tail: float) -> float:
        return self.scale * log_tail


class GaussianShape(Spread):
    """A log mass or density that is a parabola around 0."""

    sigma: float
    kind = "gaussian"

    @property
    def width(self) -> float:
        return self.sigma

    def reach(self, log_tail: float) -> float:
        return self.sigma * float(np.sqrt(2 * log_tail))


class Noise(Spread):
    """A distribution on the integers: of a reading minus the total behind it."""

    #: The least and the most that it can be.
    ends: tuple[float, float] = (-np.inf, np.inf)

    @abstractmethod
    def log_mass(self, k: np.ndarray) -> np.ndarray:
        """Return log P[K = k], k = reading - total, also at non-integer ``k`` (the same formula between the integers).

        Discreet's own noise is symmetric; what others published (:mod:`discreet.privacy.published`) need not be.
        """


@dataclass(frozen=True)
class DiscreteLaplace(LaplaceShape, Noise):
    """P[k] = tanh(1 / 2b) exp(-|k| / b), k an integer."""

    scale: float

    @cached_property
    def _log_peak(self) -> float:
        return float(np.log(np.tanh(0.5 / self.scale)))

    def log_mass(self, k: np.ndarray) -> np.ndarray:
        return self._log_peak - np.abs(k) / self.scale

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        # the difference of two geometric variables with ratio exp(-1/b)
        p = -np.expm1(-1.0 / self.scale)
        return rng.geometric(p, size) - rng.geometric(p, size)

    @cached_property
    def sd(self) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        # 1 / (sqrt(2) sinh(1 / 2b)), written so that a tiny b gives a tiny number and not an overflow
        return float(np.sqrt(2.0) * np.exp(-0.5 / self.scale) / -np.expm1(-1.0 / self.scale))


@dataclass(frozen=True)
class DiscreteGaussian(GaussianShape, Noise):
    """P[k] = exp(-k^2 / 2 sigma^2) / Z, k an integer; sigma^2 is the parameter, just above the variance."""

    sigma: float

    @cached_property
    def _log_normalizer(self) -> float:
        if self.sigma > 3:
            # Poisson summation: the next term of the theta series is below 2 exp(-2 pi^2 9) = 1e-77
            return float(np.log(self.sigma) + 0.5 * np.log(2 * np.pi))
        k = np.arange(-60, 61)
        return float(np.log(np.exp(-0.5 * (k / self.sigma) ** 2).sum()))

    def log_mass(self, k: np.ndarray) -> np.ndarray:
        return -0.5 * (np.asarray(k, dtype=float) / self.sigma) ** 2 - self._log_normalizer

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        # rejection from a discrete Laplace (Canonne, Kamath and Steinke 2020, algorithm 3)
        t = np.floor(self.sigma) + 1
        proposal = DiscreteLaplace(float(t))
        kept: list[np.ndarray] = []
        missing = size
        while missing > 0:
            k = proposal.sample(2 * missing + 16, rng)
            log_accept = -((np.abs(k) - self.sigma**2 / t) ** 2) / (2 * self.sigma**2)
            accepted = k[np.log1p(-rng.random(k.size)) < log_accept]
            kept.append(accepted[:missing])
            missing -= kept[-1].size
        return np.concatenate(kept)

    @cached_property
    def sd(self) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.sigma > 3:
            return self.sigma
        k = np.arange(-60, 61)
        return float(np.sqrt((k**2 * np.exp(self.log_mass(k))).sum()))
