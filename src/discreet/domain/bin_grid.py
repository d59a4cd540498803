"""The public grid from which private bounds are chosen.

A range is cut into cells. A lower bound is the low end of a cell, an upper bound the high end of one, so what can come
out is a finite list that everybody knows beforehand. Ends are exact rationals; for families of counts, integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import UsageError

#: The most cells a range may be cut into.
MOST_CELLS = 1 << 16

# the width of a cell, relative to its ends, under which neighboring ends could be one floating-point number
_NARROWEST = Fraction(1, 2**48)


@dataclass(frozen=True)
class Grid:
    """The range [low, high] in ``n_cells`` cells of width ``step``; the last one of a grid of counts may be shorter.

    A cell of counts holds the integers from its low end to its high end, both included.
    """

    low: Fraction
    high: Fraction
    n_cells: int
    step: Fraction
    discrete: bool

    @classmethod
    def over(cls, low: Fraction, high: Fraction, cells: int, *, discrete: bool) -> Grid:
        """Cut [low, high] into ``cells`` cells, or for counts into at most as many.

        The step of a grid of counts is the least power of two that makes do with ``cells``: dividing by it is exact in
        floating point, so an integer never falls into its neighbor's cell.
        """
        if not discrete:
            grid = cls(low, high, cells, (high - low) / cells, discrete)
        else:
            n_values, step = int(high - low) + 1, 1
            while -(-n_values // step) > cells:
                step *= 2
            grid = cls(low, high, -(-n_values // step), Fraction(step), discrete)
        if grid.step < _NARROWEST * max(abs(low), abs(high)):
            raise UsageError(
                f"within is too narrow to be cut into {cells} cells in floating point.",
                hint="use fewer cells",
            )
        return grid

    def lower(self, cell: int) -> Fraction:
        """Return the lower bound that a cell stands for: its low end."""
        return self.low + cell * self.step

    def upper(self, cell: int) -> Fraction:
        """Return the upper bound that a cell stands for: its high end."""
        return min(self.lower(cell + 1) - int(self.discrete), self.high)

    def pair(self, low_cell: int, high_cell: int) -> tuple[Fraction, Fraction]:
        """Return the bounds that two cells stand for: sorted if they cross, widened by one cell if they are equal."""
        low, high = sorted((self.lower(low_cell), self.upper(high_cell)))
        if low < high:
            return low, high
        if high < self.high:
            return low, min(high + self.step, self.high)
        return max(low - self.step, self.low), high

    def holds(self, low: Fraction, high: Fraction) -> bool:
        """Tell whether :meth:`pair` can return these bounds."""
        # sorting lets either kind of end stand on either side; so does widening
        return low < high and self._is_end(low) and self._is_end(high)

    def _is_end(self, x: Fraction) -> bool:
        if not self.low <= x <= self.high:
            return False
        offsets = [x - self.low, x - self.low + int(self.discrete)]
        return x == self.high or any((offset / self.step).denominator == 1 for offset in offsets)
