"""Any loss of which the curator knows the constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.errors import UsageError
from discreet.models.columns import Column, decode_columns, encode_columns, read_columns
from discreet.models.loss_model import LossModel, read_constant, read_size
from discreet.models.losses import LossConstants
from discreet.rational import Number, text

_MOST_WEIGHTS = 10**5


@dataclass(frozen=True)
class DeclaredLoss(LossModel):
    """A loss of the curator's own: its gradient, and the constants that the guarantee rests on.

    Parameters
    ----------
    columns
        The declared columns of a record, ``{"age": (18, 100), "sex": ["f", "m"]}``.
    weights
        Names of the weights.
    gradient
        A function of the weights and of one record, both arrays: the gradient of the record's loss. Numbers of the
        record are inside their bounds, and labels are positions, in the order of ``columns``. It is not part of a
        release file, and must take the same time whatever the record.
    gradient_bound, smoothness, strong_convexity
        Of the loss in the weights, on the ball, for every record: the length of the gradient is at most the first, it
        changes at most ``smoothness`` times and at least ``strong_convexity`` times as much as the weights. Longer
        gradients are shortened, so that the first holds in any case; the others are the curator's word.
    radius
        The weights lie in the ball of this radius.
    """

    name: ClassVar[str] = "declared_loss"
    columns: tuple[Column, ...]
    weights: tuple[str, ...]
    gradient: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = field(compare=False, repr=False)
    bounds: LossConstants
    radius: Fraction

    def __init__(
        self,
        columns: Mapping[str, Any] | Sequence[Column],
        weights: Sequence[str],
        gradient: Callable[[np.ndarray, np.ndarray], np.ndarray] | None,
        *,
        gradient_bound: Number | None = None,
        smoothness: Number | None = None,
        strong_convexity: Number | None = None,
        radius: Number = 1,
    ) -> None:
        if gradient is not None and not callable(gradient):
            raise UsageError("gradient must be a function of weights and one record.")
        given = {
            "gradient_bound": gradient_bound,
            "smoothness": smoothness,
            "strong_convexity": strong_convexity,
        }
        for name, value in given.items():
            if value is None:
                raise UsageError(
                    f"a declared loss needs {name}, one of the constants that its guarantee rests on.",
                    hint="strong_convexity=0 is always true of a convex loss",
                )
        names = tuple(weights)
        if not 0 < len(names) <= _MOST_WEIGHTS or not all(isinstance(one, str) for one in names):
            raise UsageError(f"weights must be a list of 1 to {_MOST_WEIGHTS} names.")
        bounds = LossConstants(**{name: read_constant(value, name) for name, value in given.items()})
        for name, value in {
            "columns": read_columns(columns),
            "weights": names,
            "gradient": gradient,
            "bounds": bounds,
            "radius": read_size(radius, "radius"),
        }.items():
            object.__setattr__(self, name, value)

    @property
    def weight_names(self) -> tuple[str, ...]:
        return self.weights

    @property
    def loss_constants(self) -> LossConstants:
        return self.bounds

    def constants(self) -> dict[str, Any]:
        return {
            "columns": encode_columns(self.columns),
            "weights": list(self.weights),
            "gradient_bound": text(Fraction(self.bounds.gradient_bound)),
            "smoothness": text(Fraction(self.bounds.smoothness)),
            "strong_convexity": text(Fraction(self.bounds.strong_convexity)),
            "radius": text(self.radius),
        }

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        numbers = ("gradient_bound", "smoothness", "strong_convexity", "radius")
        if set(constants) != {"columns", "weights", *numbers} or not isinstance(constants["weights"], list):
            raise ValueError("a declared loss has columns, weights and constants")
        if any(not isinstance(constants[name], str) for name in numbers):
            raise ValueError("a constant of the loss is not written as text")
        columns = decode_columns(constants["columns"])
        return cls(columns, constants["weights"], None, **{name: constants[name] for name in numbers})
