"""Models of several columns: each declares its labels or bounds, and the tables that are released about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.domain.columns import Column, Labels, Numeric
from discreet.domain.declarations import Domain, Missing, Neighbors, Outside
from discreet.domain.unit import FOR_LABELS, FOR_NUMBERS, Rule
from discreet.errors import UsageError
from discreet.models.base import Draws, Model
from discreet.models.layout import Layout
from discreet.models.tables import Table, layout_of_tables
from discreet.rational import exact, plain

# numbers held at a time while rows are weighed
_MOST_NUMBERS = 1 << 24
# steps of a forecast; long before, the states have forgotten where they were
_MOST_STEPS = 1_000_000


class ColumnModel(Model):
    """Several declared columns and a likelihood over them.

    A model that releases counts says which in :meth:`tables`; one that is only sampled from, by a mechanism that reads
    every record, has none.
    """

    summary: ClassVar[str] = "tables"
    engines: ClassVar[str] = "none"
    #: The declared columns, in the order in which they are read.
    columns: tuple[Column, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of counts that a noisy release holds, in order."""
        raise UsageError(
            f"{self.name} releases no tables of counts, so it takes no noise.",
            hint="give a mechanism that reads records",
        )

    def layout(self, domain: Domain, neighbors: Neighbors) -> Layout:
        return layout_of_tables(self.name, self.tables(), domain, neighbors, self.affine_maps())

    def coordinate_ranges(self, domain: Domain, neighbors: Neighbors) -> Sequence[tuple[Fraction, Fraction]]:
        # cells of tables: counts, and sums of polynomials between 0 and 1
        return ((Fraction(0), Fraction(1)),) * len(self.layout(domain, neighbors).names)

    def affine_maps(self) -> tuple[tuple[Fraction, ...] | None, tuple[Fraction, ...] | None]:
        """Return (shift, half) of the numbers that are summed, in order: z = (x - shift) / half; None if none are."""
        return None, None

    # -- columns --------------------------------------------------------------------------------------

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, in the order in which they are read."""
        return tuple(column.name for column in self.columns)

    @property
    def optional_columns(self) -> tuple[str, ...]:
        """Columns that rows to be predicted or weighed may lack, such as a target."""
        return ()

    @cached_property
    def label_columns(self) -> tuple[Labels, ...]:
        """The columns of labels, in order: those of the codes on the private side."""
        return tuple(column for column in self.columns if isinstance(column, Labels))

    @cached_property
    def numeric_columns(self) -> tuple[Numeric, ...]:
        """The columns of numbers, in order."""
        return tuple(column for column in self.columns if isinstance(column, Numeric))

    @cached_property
    def has_numbers(self) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        return bool(self.numeric_columns)

    # -- declarations ---------------------------------------------------------------------------------

    def read_columns(self, columns: tuple[str, ...] | None) -> tuple[str, ...]:
        if columns is not None:
            raise UsageError(
                f"{self.name} declares its own columns and bounds: leave out column and columns."
            )
        return self.column_names

    @property
    def unit_rules(self) -> tuple[tuple[Rule, ...], ...]:
        return tuple(FOR_LABELS if isinstance(column, Labels) else FOR_NUMBERS for column in self.columns)

    def record_bounds(self, domain: Domain) -> tuple[tuple[Fraction, Fraction] | None, ...]:
        return tuple(
            (column.low, column.high) if isinstance(column, Numeric) else None for column in self.columns
        )

    def record_columns(self, columns: Sequence[str], domain: Domain) -> tuple[Column, ...]:
        return self.columns

    def read_domain(self, bounds: Any, outside: Outside, missing: Missing, impute: Any = None) -> Domain:
        if bounds is not None:
            raise UsageError(f"{self.name} declares its own columns and bounds: leave out bounds.")
        return Domain(None, None, outside, missing, None if impute is None else self._read_impute(impute))

    def check_domain(self, domain: Domain, columns: Sequence[str]) -> None:
        if domain.bounds is not None or domain.labels is not None:
            raise ValueError("its model's columns have labels and bounds of their own")
        if tuple(columns) != self.column_names:
            raise ValueError("its columns are not its model's")
        if (domain.impute is None) != (domain.missing != "impute"):
            raise ValueError("a value is imputed exactly if missing is impute")
        if domain.impute is not None:
            self._check_impute(domain.impute)

    def decode_impute(self, values: Sequence[str]) -> tuple[Fraction | str, ...]:
        if len(values) != len(self.columns):
            raise ValueError("there is not one value to impute for each column")
        return tuple(
            one if isinstance(column, Labels) else exact(one, "a value to impute")
            for column, one in zip(self.columns, values, strict=True)
        )

    def stand_ins(self, domain: Domain) -> tuple[Fraction | str, ...]:
        return tuple(c.labels[0] if isinstance(c, Labels) else c.low for c in self.columns)

    def assumptions(self, domain: Domain) -> list[str]:
        parts = [column.in_words() for column in self.columns]
        if self.numeric_columns:
            moved = (
                "moved to the nearest bound"
                if domain.outside == "clip"
                else "counted as the middle of the range"
            )
            parts.append(f"values outside bounds were {moved}")
        return parts

    def missing_in_words(self, neighbors: Neighbors) -> str:
        return "missing and undeclared values were counted as a label of their own"

    def _read_impute(self, impute: Any) -> tuple[Fraction | str, ...]:
        """Read what stands for missing values: by column name, or one value per column in order."""
        names = self.column_names
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
            shown = ", ".join(
                f"{column.name!r}: {value!s}"
                for column, value in zip(
                    self.columns, self.stand_ins(Domain(None, None, "clip", "none")), strict=True
                )
            )
            raise UsageError(
                "impute must be a dictionary by column name.", hint=f"for example impute={{{shown:.80}}}"
            )
        if len(values) != len(names):
            raise UsageError(f"{self.name} takes {len(names)} value(s) to impute, got {len(values)}.")
        read = tuple(
            column.labels[column.position(value)] if isinstance(column, Labels) else exact(value, "impute")
            for column, value in zip(self.columns, values, strict=True)
        )
        self._check_impute(read)
        return read

    def _check_impute(self, impute: Sequence[Fraction | str]) -> None:
        """Raise unless there is one value per column, and it is a label of it or within its bounds."""
        if len(impute) != len(self.columns):
            raise UsageError(f"{self.name} takes {len(self.columns)} value(s) to impute, got {len(impute)}.")
        for column, value in zip(self.columns, impute, strict=True):
            if isinstance(column, Labels):
                if value not in column.labels:
                    raise UsageError(
                        f"the value to impute for column {column.name!r:.60} is none of its labels."
                    )
            elif isinstance(value, str) or not column.low <= value <= column.high:
                shown = value if isinstance(value, str) else plain(value)
                raise UsageError(
                    f"impute must lie within the bounds {column} of column {column.name!r:.60}, got {shown:.40}."
                )

    # -- rows that need no protection -----------------------------------------------------------------

    def row_log_density(self, draws: Draws, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return log p(row | draw), draws × rows, of rows coded by :func:`discreet.models.public_rows.code_rows`."""
        raise UsageError(f"{self.name} does not say how likely a row is.")

    def log_likelihood(self, draws: Draws, rows: Any, *, ahead: int | None = None) -> np.ndarray:
        from discreet.models.public_rows import code_rows, distinct_rows

        codes, values = code_rows(self, rows, absent=self.optional_columns)
        if ahead is not None:
            whole = isinstance(ahead, int | np.integer) and not isinstance(ahead, bool)
            if not whole or not 1 <= ahead <= _MOST_STEPS:
                raise UsageError(
                    f"ahead must be a whole number from 1 to {_MOST_STEPS}, got ahead={ahead!r:.40}.",
                    hint="ahead=1 is the step after the last declared time",
                )
            codes = self.later(codes, int(ahead))
        distinct, where = distinct_rows(codes) if not values.shape[1] else (codes, slice(None))
        n_draws = len(next(iter(draws.values())))
        out = np.empty(len(distinct))
        step = max(_MOST_NUMBERS // (8 * n_draws), 1)
        for start in range(0, len(distinct), step):
            part = slice(start, start + step)
            log_p = self.row_log_density(draws, distinct[part], values[part])
            out[part] = np.logaddexp.reduce(log_p, axis=0) - np.log(n_draws)
        return out[where]
