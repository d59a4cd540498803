"""The released vector of one release: coordinates, grid, widths, map and joint sensitivity.

Everything here follows from declarations (model, bounds, policies, neighbor relation), never from rows, so the
curator's side and the analyst's side build the same object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from math import inf, isfinite
from operator import add
from typing import Any, overload

import numpy as np

from discreet.domain.bounds import Bounds
from discreet.errors import UsageError

#: Step of the fixed-point grid on which real coordinates are summed.
FINE = Fraction(1, 2**24)
UNIT = Fraction(1)

# A row of the basis: coefficients of (usable, feature_1, ..., feature_m).
Row = Sequence[Fraction]


@dataclass(frozen=True)
class UnitRow(Sequence[Fraction]):
    """A row with one coefficient of 1 and ``size`` - 1 of 0, which it does not hold."""

    at: int
    size: int

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, place: int) -> Fraction: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Fraction, ...]: ...
    def __getitem__(self, place: int | slice) -> Fraction | tuple[Fraction, ...]:
        inside = range(self.size)[place]
        if isinstance(inside, range):
            return tuple(Fraction(int(j == self.at)) for j in inside)
        return Fraction(int(inside == self.at))


@dataclass(frozen=True)
class UnitRows(Sequence[Row]):
    """Rows that pick one input each. There may be a million, so a row is only made when it is asked for."""

    picked: tuple[int, ...]
    size: int

    def __len__(self) -> int:
        return len(self.picked)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> UnitRows: ...
    def __getitem__(self, place: int | slice) -> Row | UnitRows:
        if isinstance(place, slice):
            return UnitRows(self.picked[place], self.size)
        return UnitRow(self.picked[place], self.size)


def terms(row: Row) -> list[tuple[int, Fraction]]:
    """Return the places of the coefficients that are not 0, and the coefficients."""
    if isinstance(row, UnitRow):
        return [(row.at, UNIT)]
    return [(at, coefficient) for at, coefficient in enumerate(row) if coefficient != 0]


@dataclass(frozen=True)
class Basis:
    """The released coordinates as linear forms in (usable, features), with their public widths."""

    names: tuple[str, ...]
    rows: Sequence[Row]
    grid: tuple[Fraction, ...]
    width: tuple[Fraction, ...]


@dataclass(frozen=True)
class Map:
    """The public affine map of one column onto [-1, 1], in float64: z = (x - shift) * slope for x in [low, high].

    ``clamp`` says whether z could leave [-1, 1] (or be NaN) without being clamped. For the identity measure it cannot,
    if it does not at the two bounds: subtraction and multiplication round monotonically.
    """

    low: float
    high: float
    shift: float
    slope: float
    clamp: bool


@dataclass(frozen=True)
class Layout:
    """How rows become one integer vector.

    ``l1_sensitivity`` and ``l2_sensitivity`` are joint, in units of the widths, and include one grid step for each
    rounded coordinate. ``rows`` gives each coordinate as a linear form in (usable, features); tables of counts have
    none.
    """

    names: tuple[str, ...]
    rows: Sequence[Row]
    grid: tuple[Fraction, ...]
    width: tuple[Fraction, ...]
    shift: tuple[Fraction, ...] | None
    half: tuple[Fraction, ...] | None
    l1_sensitivity: Fraction
    l2_sensitivity: Fraction

    def coordinates(self, usable: Any, features: Sequence[Any]) -> list[Any]:
        """Evaluate the coordinates of each record in float64, in one fixed order of operations.

        Works on arrays and on narwhals expressions. The coefficients are dyadic, so products are exact and every
        engine that follows IEEE 754 gives the same bits.
        """
        inputs = [usable, *features]
        out = []
        for row in self.rows:
            if len(row) != len(inputs):
                raise ValueError("a row of the basis does not fit the features")
            scaled = [
                inputs[at] if coefficient == 1 else inputs[at] * float(coefficient)
                for at, coefficient in terms(row)
            ]
            # one after the other: Python's own sum corrects for rounding, and no engine does
            out.append(reduce(add, scaled))
        return out

    def is_count(self, j: int) -> bool:
        """Tell whether coordinate ``j`` is the usable count, which no feature enters."""
        return all(at == 0 for at, _ in terms(self.rows[j]))

    def forms(self) -> list[list[tuple[int, float]]]:
        """Return each coordinate's linear form as places in (usable, features) and coefficients other than 0."""
        return [[(at, float(coefficient)) for at, coefficient in terms(row)] for row in self.rows]

    def maps(self, bounds: Bounds | None, *, identity: bool = True) -> list[Map]:
        """Return the map of each column as declared; ``identity`` says that values are summed as they are."""
        if bounds is None or self.shift is None or self.half is None:
            raise UsageError("numbers need bounds, chosen without looking at the data.")
        out = []
        for (low, high), shift, half in zip(bounds, self.shift, self.half, strict=True):
            try:
                numbers = [float(low), float(high), float(shift), float(1 / half)]
            except (OverflowError, ZeroDivisionError):
                numbers = [inf]
            if not all(map(isfinite, numbers)):
                raise UsageError("the bounds are too wide or too narrow for floating-point numbers.")
            edges = [abs((x - numbers[2]) * numbers[3]) for x in numbers[:2]]
            out.append(Map(*numbers, clamp=not (identity and max(edges) <= 1)))
        return out

    def inverted(self, y: np.ndarray) -> tuple[float | None, np.ndarray]:
        """Return the usable count, or None if it is no coordinate, and the features that give coordinates ``y``."""
        n_inputs = len(self.rows[0])
        square = len(self.rows) == n_inputs
        if isinstance(self.rows, UnitRows):
            inputs = np.zeros(n_inputs)
            inputs[list(self.rows.picked)] = y
        elif square:
            inputs = np.linalg.solve(self.matrix, y)
        else:
            inputs = np.concatenate([[0.0], np.linalg.solve(self.matrix[:, 1:], y)])
        return float(inputs[0]) if square else None, inputs[1:]

    def usable_weights(self) -> np.ndarray:
        """Return the weights with which coordinates add up to the usable count: one of them, or all cells."""
        if len(self.rows) != len(self.rows[0]):
            return np.ones(len(self.rows))
        if isinstance(self.rows, UnitRows):
            return (np.array(self.rows.picked) == 0).astype(float)
        return np.linalg.inv(self.matrix)[0]

    @cached_property
    def matrix(self) -> np.ndarray:
        """The rows as numbers, coordinates × inputs."""
        return np.array([[float(v) for v in row] for row in self.rows])
