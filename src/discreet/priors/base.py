"""The protocol of a conjugate prior: an exponential family in its own right.

A prior's density is exp(eta . T(theta) - C(eta)) up to a base measure that does not depend on eta. Having eta and
``C`` explicit is what makes updates additions and Rényi divergences one-liners.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from discreet.errors import UsageError


class Prior(ABC):
    """A conjugate prior with named, validated hyperparameters."""

    #: Name on the command line, as in ``--prior beta:1,1``.
    name: ClassVar[str]

    @abstractmethod
    def natural(self) -> np.ndarray:
        """Return the natural hyperparameters eta as a vector."""

    @classmethod
    @abstractmethod
    def from_natural(cls, eta: np.ndarray) -> Self:
        """Return the prior with these natural hyperparameters."""

    @staticmethod
    @abstractmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        """Return C(eta), ``inf`` where eta is outside the natural parameter set; vectorised, components last."""

    @abstractmethod
    def log_density(self, value: Any) -> np.ndarray:
        """Return the normalised log density at parameter values."""

    @abstractmethod
    def sample(self, size: int, rng: np.random.Generator) -> Any:
        """Draw parameter values, draws first."""


def positive(**values: float) -> None:
    """Raise unless each named hyperparameter is positive and finite."""
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise UsageError(f"{name} must be positive and finite, got {name}={value}.")


def finite(**values: float) -> None:
    """Raise unless each named hyperparameter is finite."""
    for name, value in values.items():
        if not np.isfinite(value):
            raise UsageError(f"{name} must be finite, got {name}={value}.")
