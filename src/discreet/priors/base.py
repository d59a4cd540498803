"""The protocol of a conjugate prior: an exponential family in its own right.

A prior's density is exp(eta . T(theta) - C(eta)) up to a base measure that does not depend on eta. Having eta and
``C`` explicit is what makes updates additions and Rényi divergences one-liners.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arguments import Constructed, real, shown
from discreet.errors import UsageError


class Prior(metaclass=Constructed):
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
        """Draw parameter values, draws first; a tuple of arrays if the prior is on several parameters."""

    def numbers(self) -> list[float]:
        """Return the hyperparameters as one list, in the order of the text form."""
        return [float(getattr(self, field.name)) for field in fields(self)] if is_dataclass(self) else []

    @classmethod
    def from_numbers(cls, numbers: Sequence[float]) -> Self:
        """Return the prior with these hyperparameters, as :meth:`numbers` lists them."""
        names = [field.name for field in fields(cls)] if is_dataclass(cls) else []
        if len(numbers) != len(names):
            raise UsageError(
                f"{cls.name} takes {len(names)} numbers, got {len(numbers)}.",
                hint=f"write {cls.name}:{','.join(names)}",
            )
        return cls(*numbers)

    def __str__(self) -> str:
        return f"{self.name}:{','.join(repr(number).removesuffix('.0') for number in self.numbers())}"


class PositivePrior(Prior):
    """A prior whose hyperparameters are positive numbers, and its natural ones as they are."""

    def __post_init__(self) -> None:
        positive(**vars(self))

    def natural(self) -> np.ndarray:
        return np.array([*vars(self).values()], dtype=float)

    @classmethod
    def from_natural(cls, eta: np.ndarray) -> Self:
        return cls(*(float(value) for value in eta))


# Hyperparameters beyond these only make sums and products overflow.
_LEAST = 1e-100


def positive(**values: float) -> None:
    """Raise unless each named hyperparameter is positive and finite."""
    for name, value in values.items():
        if not (number := _number(value, name)) > 0 or not np.isfinite(number):
            raise UsageError(f"{name} must be positive and finite, got {name}={shown(value)}.")
        if not _LEAST <= number <= 1 / _LEAST:
            raise UsageError(f"{name} must be between 1e-100 and 1e100, got {name}={shown(value)}.")


def finite(**values: float) -> None:
    """Raise unless each named hyperparameter is finite."""
    for name, value in values.items():
        if not np.isfinite(_number(value, name)):
            raise UsageError(f"{name} must be finite, got {name}={shown(value)}.")


def positive_part(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where all components, on the last axis, are positive, and the same vectors with ones elsewhere."""
    eta = np.asarray(eta, dtype=float)
    inside = np.asarray((eta > 0).all(axis=-1))
    return inside, np.where(inside[..., None], eta, 1.0)


def three_digits(value: Fraction | float) -> float:
    """Round to three significant digits: a suggestion should be easy to read."""
    return float(f"{float(value):.3g}")


def _number(value: Any, name: str) -> float:
    # most are floats, made by updates in inner loops
    return value if type(value) is float else real(value, name, finite=False)
