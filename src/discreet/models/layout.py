"""The released vector of one release: coordinates, grid, widths, map and joint sensitivity.

Everything here follows from declarations (model, bounds, policies, neighbor relation), never from rows, so the
curator's side and the analyst's side build the same object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.domain.declarations import Missing, Neighbors
from discreet.models.shapes import UNIT, RecordShape, Row
from discreet.rational import sqrt_up


@dataclass(frozen=True)
class Layout:
    """How rows become one integer vector.

    ``l1_sensitivity`` and ``l2_sensitivity`` are joint, in units of the widths, and include one grid step for each
    rounded coordinate. ``rows`` gives each coordinate as a linear form in (usable, features); tables of counts have
    none.
    """

    names: tuple[str, ...]
    rows: tuple[Row, ...]
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
            terms = [
                value if coefficient == 1 else value * float(coefficient)
                for coefficient, value in zip(row, inputs, strict=True)
                if coefficient != 0
            ]
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            out.append(total)
        return out


def layout_of_shape(
    shape: RecordShape,
    missing: Missing,
    neighbors: Neighbors,
    shift: tuple[Fraction, ...] | None,
    half: tuple[Fraction, ...] | None,
) -> Layout:
    """Return the released vector of records of this shape, under a map with this shift and half-width."""
    basis = shape.basis(neighbors, missing)
    rounded = [g / w for g, w in zip(basis.grid, basis.width, strict=True) if g != UNIT]
    l1 = shape.l1_sensitivity(neighbors, missing) + sum(rounded)
    # float64 can carry a coordinate 2^-28 of a step past the half step that rounding may move it. In L1 that
    # vanishes, because sums of integer steps cannot exceed the bound by so little; in L2 the step is widened.
    step = sqrt_up(sum((r * r for r in rounded), Fraction(0))) * (1 + Fraction(1, 2**20))
    l2 = sqrt_up(shape.l2_sensitivity_squared(neighbors, missing)) + step
    return Layout(basis.names, basis.rows, basis.grid, basis.width, shift, half, l1, l2)
