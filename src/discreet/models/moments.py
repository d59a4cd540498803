"""The sums of a bounded number within each class: what a table of counts is for a label."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from discreet.families.layout import Domain, Layout, Outside, layout_for
from discreet.families.normal import Normal
from discreet.families.shapes import UNIT, Missing
from discreet.models.base import Table
from discreet.models.columns import MISSING, Numeric

#: What the numbers are within each class.
FAMILY = Normal()


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
        last = [f"{self.number.name}={name}" for name in (*self.block("redact").names, MISSING)]
        return tuple(
            f"{group}|{name}"
            for group, name in product(super().cells(missing), last[: self.shape(missing)[-1]])
        )

    def grid(self, missing: Missing) -> tuple[Fraction, ...]:
        of_group = (*self.block("redact").grid, *((UNIT,) if missing == "count" else ()))
        return of_group * len(super().cells(missing))

    def rounding(self) -> tuple[Fraction, ...]:
        return self.block("redact").grid

    def domain(self, outside: Outside) -> Domain:
        """Return the declarations of the number, as those of a family's column."""
        return Domain(((self.number.low, self.number.high),), None, outside, "count")

    def block(self, outside: Outside) -> Layout:
        """Return how the numbers of one group become its three cells: as if records were added or removed."""
        return layout_for(FAMILY, self.domain(outside), "add_remove")
