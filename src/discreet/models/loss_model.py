"""Models that are fitted by gradients: a vector of weights in a ball, and a loss for each record."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.models.base import AxisLabels
from discreet.models.column_model import ColumnModel
from discreet.models.losses import LinearLoss, LossConstants
from discreet.rational import Number, exact

# Far beyond any use, and where products in float64 are still safe.
_LARGEST = 10**6


@dataclass(frozen=True)
class LinearForm:
    """Records of a loss that depends on weights . features and an aim, with a ridge penalty."""

    loss: type[LinearLoss]
    features: np.ndarray
    aims: np.ndarray
    ridge: float


class LossModel(ColumnModel):
    """A loss of a vector of weights for each record, and the ball in which the weights lie.

    ``radius`` is that of the ball, around 0. It is public, and part of the loss's constants.
    """

    radius: Fraction

    @property
    def draw_names(self) -> tuple[str, ...]:
        return ("weights",)

    @property
    @abstractmethod
    def weight_names(self) -> tuple[str, ...]:
        """What each weight is for."""

    @property
    @abstractmethod
    def loss_constants(self) -> LossConstants:
        """The constants of the loss on the ball, for every record."""

    def axis_labels(self, columns: Sequence[str] = ()) -> AxisLabels:
        """Return the labels along each axis of each draw, for tables and plots."""
        return {"weights": (self.weight_names,)}

    def check_gradient(self) -> None:
        """Raise :class:`UsageError` if the gradient cannot be evaluated; no row is read."""

    def gradient_at(self, weights: np.ndarray, record: np.ndarray) -> np.ndarray:
        """Return the gradient of one record's loss at one vector of weights."""
        raise UsageError(f"{self.name} has no gradient of a single record.")

    def linear_form(self, codes: np.ndarray, values: np.ndarray) -> LinearForm | None:
        """Return the records as features and aims, if the loss depends on a record through weights . features."""
        return None

    @property
    def dimension(self) -> int:
        """How many weights there are."""
        return len(self.weight_names)


def read_size(value: Number, name: str, *, zero: bool = False) -> Fraction:
    """Read a public number that is positive, or not negative, and not absurd."""
    number = exact(value, name)
    if number < 0 or (number == 0 and not zero) or number > _LARGEST:
        limit = "from 0" if zero else "above 0"
        raise UsageError(f"{name} must be {limit} and at most {_LARGEST}, got {name}={value!s:.40}.")
    return number


def read_constant(value: Any, name: str) -> float:
    """Read a constant of a loss as a float."""
    number = float(exact(value, name))
    if not isfinite(number):
        raise UsageError(f"{name} must be a finite number, got {name}={value!s:.40}.")
    return number
