"""Models that are fitted by gradients: a vector of weights in a ball, and a loss for each record."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from math import isfinite
from typing import Any

from discreet.errors import UsageError
from discreet.models.base import Model
from discreet.models.losses import LossConstants
from discreet.rational import Number, exact

# Far beyond any use, and where products in float64 are still safe.
_LARGEST = 10**6


class LossModel(Model):
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

    def axis_labels(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """Return the labels along each axis of each draw, for tables and plots."""
        return {"weights": (self.weight_names,)}

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
