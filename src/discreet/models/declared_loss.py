"""Any loss of which the curator knows the constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arguments import fill, listed
from discreet.domain.columns import Column, Labels, decode_columns, encode_columns, read_columns
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
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
        release file, and must take the same time whatever the record. Where it fails, the gradient counts as 0.
    gradient_bound, smoothness, strong_convexity
        Of the loss in the weights, on the ball, for every record: the length of the gradient is at most the first, it
        changes at most ``smoothness`` times and at least ``strong_convexity`` times as much as the weights. All three
        are the curator's word. Longer gradients are shortened, which keeps the step of a record what it is said to be;
        but shortened gradients are not those of a convex loss, and steps on them can push apart what they should draw
        together. So ``gradient_bound`` is no clipping threshold to be chosen: it must be true.
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
        names = tuple(listed(weights, "weights", "a list of names"))
        if not 0 < len(names) <= _MOST_WEIGHTS or not all(isinstance(one, str) for one in names):
            raise UsageError(f"weights must be a list of 1 to {_MOST_WEIGHTS} names.")
        bounds = LossConstants(**{name: read_constant(value, name) for name, value in given.items()})
        fill(
            self,
            columns=read_columns(columns),
            weights=names,
            gradient=gradient,
            bounds=bounds,
            radius=read_size(radius, "radius"),
        )

    @property
    def weight_names(self) -> tuple[str, ...]:
        return self.weights

    @property
    def loss_constants(self) -> LossConstants:
        return self.bounds

    def gradient_at(self, weights: np.ndarray, record: np.ndarray) -> np.ndarray:
        """Return the gradient of one record's loss, or 0 where the function fails or returns no such vector.

        Privacy
        -------
        A function that raises for some record would show that there is one. It gets copies: if it wrote to the weights
        themselves, no bound on gradients would hold the record back.
        """
        assert self.gradient is not None
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(self.gradient(weights.copy(), record.copy()), dtype=float)
        except Exception:  # whatever it is, it must not be seen
            return np.zeros(self.dimension)
        return found if found.shape == (self.dimension,) else np.zeros(self.dimension)

    def check_gradient(self) -> None:
        """Raise unless the function returns a vector of the weights' size for some record that everybody can make up.

        It is tried on the ends and the middles of the columns, at weights of 0; no row is read.
        """
        if self.gradient is None:
            raise UsageError(
                "this declared loss has no gradient.", hint="a loss that was read from a file has none"
            )
        shapes = []
        for share in (Fraction(0), Fraction(1, 2), Fraction(1)):
            record = np.array([_at(column, share) for column in self.columns])
            try:
                with np.errstate(all="ignore"):
                    found = np.asarray(self.gradient(np.zeros(self.dimension), record), dtype=float)
            except Exception as problem:
                shapes.append(type(problem).__name__)
            else:
                shapes.append(f"an array of shape {found.shape}")
                if found.shape == (self.dimension,):
                    return
        raise UsageError(
            f"gradient must return {self.dimension} number(s), one for each weight, got {shapes[0]:.60} for a "
            "record at the lower ends of its columns."
        )

    def assumptions(self, domain: Domain) -> list[str]:
        unchecked = "the loss has the constants that the curator declared, which nobody can check here"
        return [*super().assumptions(domain), unchecked]

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


def _at(column: Column, share: Fraction) -> float:
    """Return a value of a column: this far from its first label or lower bound to its last."""
    if isinstance(column, Labels):
        return float(int(share * (column.n_labels - 1)))
    return float(column.low + share * (column.high - column.low))
