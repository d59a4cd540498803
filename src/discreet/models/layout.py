"""The released vector of one release: coordinates, grid, widths, map and joint sensitivity.

Everything here follows from declarations (model, bounds, policies, neighbor relation), never from rows, so the
curator's side and the analyst's side build the same object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import groupby
from operator import add
from typing import Any

import numpy as np

from discreet.domain.declarations import Missing, Neighbors
from discreet.models.shapes import UNIT, RecordShape, Row, UnitRows, terms
from discreet.rational import sqrt_up


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

    def coordinate_matrix(self, usable: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Evaluate the coordinates of many records, as :meth:`coordinates` does, records × coordinates."""
        if isinstance(self.rows, UnitRows):
            return np.concatenate([usable[:, None], features], axis=1)[:, self.rows.picked]
        return np.stack(self.coordinates(usable, list(features.T)), axis=-1)

    def is_count(self, j: int) -> bool:
        """Tell whether coordinate ``j`` is the usable count, which no feature enters."""
        return all(at == 0 for at, _ in terms(self.rows[j]))

    def inverted(self, y: np.ndarray) -> tuple[float | None, np.ndarray]:
        """Return the usable count, or None if it is no coordinate, and the features that give coordinates ``y``."""
        n_inputs = len(self.rows[0])
        square = len(self.rows) == n_inputs
        if isinstance(self.rows, UnitRows):
            inputs = np.zeros(n_inputs)
            inputs[list(self.rows.picked)] = y
        elif square:
            inputs = np.linalg.solve(self._matrix(), y)
        else:
            inputs = np.concatenate([[0.0], np.linalg.solve(self._matrix()[:, 1:], y)])
        return float(inputs[0]) if square else None, inputs[1:]

    def usable_weights(self) -> np.ndarray:
        """Return the weights with which coordinates add up to the usable count: one of them, or all cells."""
        if len(self.rows) != len(self.rows[0]):
            return np.ones(len(self.rows))
        if isinstance(self.rows, UnitRows):
            return (np.array(self.rows.picked) == 0).astype(float)
        return np.linalg.inv(self._matrix())[0]

    def _matrix(self) -> np.ndarray:
        return np.array([[float(v) for v in row] for row in self.rows])


def layout_of_shape(
    shape: RecordShape,
    missing: Missing,
    neighbors: Neighbors,
    shift: tuple[Fraction, ...] | None,
    half: tuple[Fraction, ...] | None,
) -> Layout:
    """Return the released vector of records of this shape, under a map with this shift and half-width."""
    basis = shape.basis(neighbors, missing)
    # neighbors in the list are mostly alike
    runs = [
        (g / w, len(list(run)))
        for (g, w), run in groupby(zip(basis.grid, basis.width, strict=True))
        if g != UNIT
    ]
    l1 = shape.l1_sensitivity(neighbors, missing) + sum(r * times for r, times in runs)
    # float64 can carry a coordinate 2^-28 of a step past the half step that rounding may move it. In L1 that
    # vanishes, because sums of integer steps cannot exceed the bound by so little; in L2 the step is widened.
    step = sqrt_up(sum((r * r * times for r, times in runs), Fraction(0))) * (1 + Fraction(1, 2**20))
    l2 = sqrt_up(shape.l2_sensitivity_squared(neighbors, missing)) + step
    return Layout(basis.names, basis.rows, basis.grid, basis.width, shift, half, l1, l2)
