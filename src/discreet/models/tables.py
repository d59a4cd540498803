"""Tables of counts: which labelled columns are crossed, and what one record can change in them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from discreet.domain.columns import MISSING, Labels
from discreet.domain.declarations import Domain, Missing, Neighbors
from discreet.errors import UsageError
from discreet.models.layout import UNIT, Layout
from discreet.rational import sqrt_up

# more cells than a file should hold; it cannot ask for a table of a billion
_MOST_CELLS = 10**6


@dataclass(frozen=True)
class Table:
    """A table of counts: which labelled columns are crossed, and how much noise it bears beside the other tables.

    Cells are in C order: the last column varies fastest. ``width`` is public; the noise of the table's cells is in
    proportion to it.
    """

    columns: tuple[Labels, ...]
    width: Fraction = UNIT

    def shape(self, missing: Missing) -> tuple[int, ...]:
        """Return the number of levels of each column; ``missing="count"`` adds one for missing and undeclared."""
        return tuple(column.n_labels + (missing == "count") for column in self.columns)

    def cells(self, missing: Missing) -> tuple[str, ...]:
        """Return the names of the cells, such as ``smoker=yes|sex=f``."""
        extra = (MISSING,) if missing == "count" else ()
        levels = [[f"{one.name}={label}" for label in (*one.labels, *extra)] for one in self.columns]
        return tuple("|".join(names) for names in product(*levels))

    def grid(self, missing: Missing) -> tuple[Fraction, ...]:
        """Return the grid step of each cell: 1 for counts."""
        return (UNIT,) * prod(self.shape(missing))

    def rounding(self) -> tuple[Fraction, ...]:
        """Return the grid steps of the cells in which a record, or a pair of them, is rounded: none for counts."""
        return ()


def layout_of_tables(
    name: str,
    tables: tuple[Table, ...],
    domain: Domain,
    neighbors: Neighbors,
    maps: tuple[tuple[Fraction, ...] | None, tuple[Fraction, ...] | None] = (None, None),
) -> Layout:
    """Return the released vector: all tables' cells, one table after the other.

    A record is in at most one cell of each table. Replaced, it leaves one and enters another: in L1 the change is at
    most the sum over tables of 2 / width, in squared L2 of 2 / width^2, and both are attained if every table has two
    cells that records can be told to be in. Added or removed, it is half of that. A table that is rounded adds a grid
    step for each rounded cell. ``maps`` are shift and half-width of the numbers that are summed, in order.
    """
    sizes = [prod(table.shape(domain.missing)) for table in tables]
    check_cells(name, sum(sizes))
    touched = 2 if neighbors == "replace" else 1
    widths = [table.width for table in tables]
    rounded = [step / table.width for table in tables for step in table.rounding()]
    # in L2 a step is a little wider, for what float64 may carry a cell past it
    wider = 1 + Fraction(1, 2**20)
    shift, half = maps
    return Layout(
        names=tuple(cell for table in tables for cell in table.cells(domain.missing)),
        rows=(),
        grid=tuple(step for table in tables for step in table.grid(domain.missing)),
        width=tuple(width for width, size in zip(widths, sizes, strict=True) for _ in range(size)),
        shift=shift,
        half=half,
        l1_sensitivity=sum((touched / width for width in widths), Fraction(0)) + sum(rounded),
        l2_sensitivity=sqrt_up(sum((touched / width**2 for width in widths), Fraction(0)))
        + (sqrt_up(sum((step**2 for step in rounded), Fraction(0))) * wider if rounded else 0),
    )


def check_cells(name: str, n_cells: int) -> None:
    """Raise if a model would release more cells than a file should hold."""
    if n_cells > _MOST_CELLS:
        raise UsageError(f"{name} would release {n_cells} cells; at most {_MOST_CELLS} are possible.")
