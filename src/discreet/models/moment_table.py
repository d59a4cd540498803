"""The sums of a bounded number within each class: what a table of counts is for a label."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from discreet.domain.columns import MISSING, Numeric
from discreet.domain.declarations import Domain, Missing, Outside
from discreet.models.layout import UNIT, Layout
from discreet.models.shapes import Quadratic
from discreet.models.tables import Table

#: What one number adds to the cells of its group: the three Bernstein polynomials of degree 2.
SHAPE = Quadratic(1)


@dataclass(frozen=True)
class MomentTable(Table):
    """For each combination of the columns' labels, what a ``Normal()`` of ``number`` releases of its records.

    A value in the bounds is mapped to z in [-1, 1], and adds the three Bernstein polynomials (1 - z)^2 / 4,
    (1 - z^2) / 2 and (1 + z)^2 / 4 to the three cells of its group, rounded to the fine grid. They are not negative and
    add up to 1, so that a record counts for one in all, as it does in a table of labels, and the number of records, the
    sum of z and that of z^2 can be had from them. A value outside the bounds is z = 0 or the nearest bound; a missing
    one is in a fourth cell, a count, if missing values are counted.

    **Sensitivity.** What a record adds is a point of the simplex of these cells: of norm 1 in L1 and at most 1 in L2,
    and two of them are apart by at most 2 and sqrt(2), whether they are of one group or of two. The extremes are at
    z = -1 and z = 1. Rounding to the grid moves each of three cells of one group by a step at most, or each of six of
    two groups by half a step.
    """

    number: Numeric = field(kw_only=True)

    def shape(self, missing: Missing) -> tuple[int, ...]:
        return (*super().shape(missing), 3 + (missing == "count"))

    def cells(self, missing: Missing) -> tuple[str, ...]:
        last = [f"{self.number.name}={name}" for name in (*self.block().names, MISSING)]
        return tuple(
            f"{group}|{name}"
            for group, name in product(super().cells(missing), last[: self.shape(missing)[-1]])
        )

    def grid(self, missing: Missing) -> tuple[Fraction, ...]:
        of_group = (*self.block().grid, *((UNIT,) if missing == "count" else ()))
        return of_group * len(super().cells(missing))

    def rounding(self) -> tuple[Fraction, ...]:
        return self.block().grid

    def domain(self, outside: Outside) -> Domain:
        """Return the declarations of the number, as those of a family's column."""
        return Domain(((self.number.low, self.number.high),), None, outside, "count")

    def block(self) -> Layout:
        """Return how the numbers of one group become its three cells: as if records were added or removed."""
        low, high = self.number.low, self.number.high
        return SHAPE.layout("add_remove", "count", ((low + high) / 2,), ((high - low) / 2,))
