"""The protocol of a structured model: declared columns, and what is released about them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arguments import Constructed
from discreet.errors import UsageError
from discreet.families.layout import Domain, Layout
from discreet.families.shapes import UNIT, Missing, Neighbors
from discreet.models.columns import MISSING, Column, Labels, Numeric
from discreet.rational import exact, plain, sqrt_up

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


class Model(metaclass=Constructed):
    """Several declared columns and a likelihood over them.

    Subclasses are frozen dataclasses. A model that releases counts says which in :meth:`tables`; one that is only
    sampled from, by a mechanism that reads every record, has none.
    """

    #: Name in release files.
    name: ClassVar[str]
    #: The declared columns, in the order in which they are read.
    columns: tuple[Column, ...]
    #: Families of labels have these; a model's are in its columns.
    labels: ClassVar[None] = None
    #: What becomes of missing values that are counted, for the privacy statement.
    missing_in_words: ClassVar[str] = "missing and undeclared values were counted as a label of their own"

    @property
    @abstractmethod
    def draw_names(self) -> tuple[str, ...]:
        """Names of the draws."""

    def draw_categories(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the values 1, 2, ... of draws that are labels, not numbers."""
        return {}

    @abstractmethod
    def constants(self) -> dict[str, Any]:
        """Return what rebuilds this model, as plain JSON: texts, numbers, lists and dictionaries."""

    @classmethod
    @abstractmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        """Build the model from a file's constants, which may be anything that JSON can say; check everything.

        Raises ValueError or :class:`~discreet.errors.UsageError`.
        """

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of counts that a noisy release holds, in order."""
        raise UsageError(
            f"{self.name} releases no tables of counts, so it takes no noise.",
            hint="give a mechanism that reads records",
        )

    def layout(self, domain: Domain, neighbors: Neighbors) -> Layout:
        """Return the released vector: all tables' cells, one table after the other.

        A record is in at most one cell of each table. Replaced, it leaves one and enters another: in L1 the change is
        at most the sum over tables of 2 / width, in squared L2 of 2 / width^2, and both are attained if every table has
        two cells that records can be told to be in. Added or removed, it is half of that. A table that is rounded adds
        a grid step for each rounded cell.
        """
        tables = self.tables()
        sizes = [prod(table.shape(domain.missing)) for table in tables]
        check_cells(self.name, sum(sizes))
        touched = 2 if neighbors == "replace" else 1
        widths = [table.width for table in tables]
        rounded = [step / table.width for table in tables for step in table.rounding()]
        # in L2 a step is a little wider, for what float64 may carry a cell past it
        wider = 1 + Fraction(1, 2**20)
        shift, half = self.affine_maps()
        return Layout(
            names=tuple(name for table in tables for name in table.cells(domain.missing)),
            rows=(),
            grid=tuple(step for table in tables for step in table.grid(domain.missing)),
            width=tuple(width for width, size in zip(widths, sizes, strict=True) for _ in range(size)),
            shift=shift,
            half=half,
            l1_sensitivity=sum((touched / width for width in widths), Fraction(0)) + sum(rounded),
            l2_sensitivity=sqrt_up(sum((touched / width**2 for width in widths), Fraction(0)))
            + (sqrt_up(sum((step**2 for step in rounded), Fraction(0))) * wider if rounded else 0),
        )

    def affine_maps(self) -> tuple[tuple[Fraction, ...] | None, tuple[Fraction, ...] | None]:
        """Return (shift, half) of the numbers that are summed, in order: z = (x - shift) / half; None if none are."""
        return None, None

    def log_density(
        self, draws: Mapping[str, np.ndarray], codes: np.ndarray, values: np.ndarray
    ) -> np.ndarray:
        """Return log p(row | draw), draws × rows, of rows coded by :func:`discreet.models.rows.code_rows`."""
        raise UsageError(f"{self.name} does not say how likely a row is.")

    def later(self, codes: np.ndarray, ahead: int) -> np.ndarray:
        """Return codes of rows that lie so many time steps after the last declared one."""
        raise UsageError(f"{self.name} has no time, so no row lies ahead of it.")

    def check_prior(self, prior: Any) -> None:
        """Raise unless ``prior`` is one that this model takes."""
        raise UsageError(f"{self.name} takes no prior.")

    # -- columns --------------------------------------------------------------------------------------

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, in the order in which they are read."""
        return tuple(column.name for column in self.columns)

    @property
    def optional_columns(self) -> tuple[str, ...]:
        """Columns that rows to be predicted or weighed may lack, such as a target."""
        return ()

    @property
    def label_columns(self) -> tuple[Labels, ...]:
        """The columns of labels, in order: those of the codes on the private side."""
        return tuple(column for column in self.columns if isinstance(column, Labels))

    @property
    def numeric_columns(self) -> tuple[Numeric, ...]:
        """The columns of numbers, in order."""
        return tuple(column for column in self.columns if isinstance(column, Numeric))


def check_cells(name: str, n_cells: int) -> None:
    """Raise if a model would release more cells than a file should hold."""
    if n_cells > _MOST_CELLS:
        raise UsageError(f"{name} would release {n_cells} cells; at most {_MOST_CELLS} are possible.")


def read_imputed(model: Model, impute: Any) -> tuple[Fraction | str, ...]:
    """Read what stands for missing values: by column name, or one value per column in order."""
    names = model.column_names
    if isinstance(impute, Mapping):
        unknown = [name for name in impute if name not in names]
        if unknown:
            raise UsageError(f"impute names {unknown[0]!r:.60}, and the model has no such column.")
        absent = [name for name in names if name not in impute]
        if absent:
            raise UsageError(f"impute says nothing for column {absent[0]!r:.60}.")
        values = [impute[name] for name in names]
    elif isinstance(impute, Sequence) and not isinstance(impute, str):
        values = list(impute)
    else:
        raise UsageError("impute must be a dictionary by column name.", hint=f"for example {_example(model)}")
    if len(values) != len(names):
        raise UsageError(f"{model.name} takes {len(names)} value(s) to impute, got {len(values)}.")
    read = tuple(
        column.labels[column.position(value)] if isinstance(column, Labels) else exact(value, "impute")
        for column, value in zip(model.columns, values, strict=True)
    )
    check_imputed(model, read)
    return read


def check_imputed(model: Model, impute: Sequence[Fraction | str]) -> None:
    """Raise unless there is one value per column, and it is a label of it or within its bounds."""
    if len(impute) != len(model.columns):
        raise UsageError(f"{model.name} takes {len(model.columns)} value(s) to impute, got {len(impute)}.")
    for column, value in zip(model.columns, impute, strict=True):
        if isinstance(column, Labels):
            if value not in column.labels:
                raise UsageError(f"the value to impute for column {column.name!r:.60} is none of its labels.")
        elif isinstance(value, str) or not column.low <= value <= column.high:
            shown = value if isinstance(value, str) else plain(value)
            raise UsageError(
                f"impute must lie within the bounds {column} of column {column.name!r:.60}, got {shown:.40}."
            )


def fallback(model: Model) -> tuple[Fraction | str, ...]:
    """Return what stands for a missing value although the curator declared that there is none."""
    return tuple(c.labels[0] if isinstance(c, Labels) else c.low for c in model.columns)


def _example(model: Model) -> str:
    shown = ", ".join(
        f"{c.name!r}: {value!s}" for c, value in zip(model.columns, fallback(model), strict=True)
    )
    return f"impute={{{shown:.80}}}"
