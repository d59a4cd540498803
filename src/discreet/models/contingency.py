"""A contingency table: the shares of all combinations of labels, from one or several of its margins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arguments import fill, listed
from discreet.domain.columns import Column, decode_columns, encode_columns, only_labels, read_columns
from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.models.base import Draws
from discreet.models.column_model import ColumnModel
from discreet.models.published_layout import FreeLayout, Place, PublishedLayout
from discreet.models.tables import Table
from discreet.names import closest
from discreet.rational import exact

#: The largest table whose cells are latent counts.
MOST_CELLS = 4096
_EXAMPLE = 'margins=[["sex", "smoker"], ["ward"]]'
_COUNT = "count"
# beyond this a prior outweighs any data there is
_HEAVIEST = 1e12


@dataclass(frozen=True)
class ContingencyTable(ColumnModel):
    """Columns of labels, and nothing assumed of how they depend on each other.

    Parameters
    ----------
    columns
        The labels of each column, by name: ``{"sex": ["f", "m"], "smoker": ["no", "yes"]}``.
    margins
        Which tables are released: lists of column names. By default one, of all columns. Several margins of one table
        agree with each other in every draw, because the whole table is what is latent.

    Notes
    -----
    Parameters: ``p``, the shares of all combinations in the population, with one axis for each column; a Dirichlet
    prior, 1 for every combination by default. Released: the counts of each margin. A record is in one cell of each, so
    with M margins the joint L1 sensitivity is 2M under ``replace`` and M under ``add_remove``. Of numbers that others
    published, a cell is called ``"sex=f|smoker=yes"``; a whole margin may be given as ``{"sex": [120.5, 131]}``.
    """

    name: ClassVar[str] = "contingency_table"
    engines: ClassVar[str] = "contingency_table"
    question: ClassVar[str] = "Shares"
    reads_correlated: ClassVar[bool] = True
    columns: tuple[Column, ...]
    margins: tuple[tuple[str, ...], ...]

    def __init__(self, columns: Mapping[str, Any] | Iterable[Column], margins: Any = None) -> None:
        declared = only_labels(read_columns(columns), "a contingency table")
        size = prod(column.n_labels for column in declared)
        if size > MOST_CELLS:
            raise UsageError(
                f"the columns can be combined in {size} ways, and at most {MOST_CELLS} are read."
            )
        names = [column.name for column in declared]
        read = (tuple(names),) if margins is None else _read_margins(margins, names)
        fill(self, columns=declared, margins=read)

    @property
    def draw_names(self) -> tuple[str, ...]:
        return ("p",)

    def tables(self) -> tuple[Table, ...]:
        return tuple(map(self._table, self.margins))

    def _table(self, margin: Iterable[str]) -> Table:
        by_name = {column.name: column for column in self.label_columns}
        return Table(tuple(by_name[name] for name in margin))

    def axis_labels(self, columns: Sequence[str] = ()) -> dict[str, Any]:
        return {"p": tuple(column.labels for column in self.label_columns)}

    def constants(self) -> dict[str, Any]:
        return {"columns": encode_columns(self.columns), "margins": [list(margin) for margin in self.margins]}

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        if set(constants) != {"columns", "margins"} or not isinstance(constants["margins"], list):
            raise ValueError("a contingency table has columns and margins")
        return cls(decode_columns(constants["columns"]), constants["margins"])

    # -- the analyst's side ---------------------------------------------------------------------------

    @property
    def assumption(self) -> str:
        return ""

    def read_prior(self, prior: Any, domain: Domain | None) -> np.ndarray:
        """Return the Dirichlet parameter of every combination, from one positive number or an array of them."""
        shape = tuple(column.n_labels for column in self.label_columns)
        if isinstance(prior, np.ndarray | list | tuple):
            try:
                alpha = np.asarray(prior, dtype=float)
            except (TypeError, ValueError):
                alpha = np.empty(0)
            if alpha.shape != shape:
                raise UsageError(f"the prior must be one number, or an array of shape {shape}.")
        else:
            alpha = np.full(shape, float(exact(1 if prior is None else prior, "prior")))
        if not ((alpha > 0) & (alpha < _HEAVIEST)).all():
            raise UsageError(f"a prior must be positive and below {_HEAVIEST:g}.")
        return alpha

    def row_log_density(self, draws: Draws, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        sizes = np.array([column.n_labels for column in self.label_columns])
        if (codes == sizes).any():
            raise UsageError("rows must not miss a column of the table.")
        with np.errstate(divide="ignore"):
            return np.log(draws["p"][(slice(None), *codes.T)])

    # -- numbers that others published ----------------------------------------------------------------

    def published_names(self) -> tuple[str, ...]:
        return tuple(cell for table in self.tables() for cell in table.cells("none"))

    def published_by_name(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return numbers by the names of their cells, where whole margins may be given: ``{"sex": [120.5, 131]}``."""
        found: dict[str, Any] = {}
        for name, value in super().published_by_name(values).items():
            found |= {name: value} if name == _COUNT else self._spread(name, value)
        return found

    def _spread(self, name: str, value: Any) -> dict[str, Any]:
        margin = name.split("|")
        if not isinstance(value, list | tuple | np.ndarray) and not set(margin) <= set(self.column_names):
            return {name: value}
        for one in margin:
            if one not in self.column_names:
                raise _not_of_this_table(one, name, self.column_names)
        table = self._table(margin)
        cells = table.cells("none")
        if not isinstance(value, list | tuple | np.ndarray):
            # one law of noise for all cells of a margin
            return dict.fromkeys(cells, value)
        numbers = np.asarray(value, dtype=object)
        if numbers.size != len(cells) or numbers.shape not in ((len(cells),), table.shape("none")):
            raise UsageError(
                f"the margin {name!r:.60} has {len(cells)} cells, got {numbers.size}.",
                hint=f"in the order {', '.join(cells[:4]):.120}",
            )
        return dict(zip(cells, numbers.ravel().tolist(), strict=True))

    def published_layout(
        self, domain: Domain, records: int | None, names: Collection[str]
    ) -> PublishedLayout:
        if not names:
            raise UsageError("there is no published number.", hint='values={"sex": [120.5, 131]}')
        every = [self._cells(margin) for margin in sorted(self._margins_of(names))]
        wholes = [cells for cells in every if set(cells) <= set(names)] + [(_COUNT,)] * (_COUNT in names)
        if records is None and not wholes:
            raise UsageError(
                "no margin is published whole, and the number of records is not known.",
                hint='give records=..., or a noisy "count" among the values',
            )
        if records is not None and _COUNT in names:
            raise UsageError(
                'records is known, so a noisy "count" says nothing.', hint="leave one of them out"
            )
        layout = FreeLayout.of(tuple(names), (), Fraction(1))
        return PublishedLayout(
            layout, {name: Place(at) for at, name in enumerate(names)}, wholes=tuple(wholes)
        )

    def _cells(self, margin: tuple[int, ...]) -> tuple[str, ...]:
        return Table(tuple(self.label_columns[at] for at in margin)).cells("none")

    def _margins_of(self, names: Collection[str]) -> set[tuple[int, ...]]:
        """Return the margins that names of cells are of, as places of their columns in the order of the names."""
        return {tuple(at for at, _ in self._cell_of(name)) for name in names if name != _COUNT}

    def _cell_of(self, name: str) -> tuple[tuple[int, int], ...]:
        """Return which cell of which margin a name such as ``"sex=f|smoker=yes"`` is: pairs of column and label."""
        if name == _COUNT:
            return ()
        found = self._named_cell(name, frozenset())
        if found is not None:
            return found
        for part in name.split("|"):
            column, _, label = part.partition("=")
            if column not in self.column_names:
                raise _not_of_this_table(column, name, self.column_names)
            labels = self.label_columns[self.column_names.index(column)].labels
            if label not in labels:
                near = closest(label, labels)
                raise UsageError(
                    f"{name!r:.60}: column {column!r:.40} has no label {label!r:.40}.",
                    hint=f"did you mean {near!r:.40}?" if near else f"it has {', '.join(labels[:8]):.120}",
                )
        raise UsageError(f"{name!r:.60} names a column twice.")

    def _named_cell(self, name: str, used: frozenset[int]) -> tuple[tuple[int, int], ...] | None:
        """Match a name label by label: names and labels may hold the signs that separate them."""
        for at, column in enumerate(self.label_columns):
            if at in used:
                continue
            for k, label in enumerate(column.labels):
                start = f"{column.name}={label}"
                if name == start:
                    return ((at, k),)
                if name.startswith(f"{start}|"):
                    rest = self._named_cell(name[len(start) + 1 :], used | {at})
                    if rest is not None:
                        return ((at, k), *rest)
        return None


def _not_of_this_table(column: str, name: str, columns: Sequence[str]) -> UsageError:
    near = closest(column, columns)
    return UsageError(
        f"{name!r:.60} is no margin of this table: it has no column {column!r:.40}.",
        hint=f"did you mean {near!r:.40}?" if near else f"its columns are {', '.join(columns[:8]):.120}",
    )


def _read_margins(margins: Any, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    read = []
    for margin in listed(margins, "margins", f"lists of column names, such as {_EXAMPLE}"):
        if isinstance(margin, str) or not isinstance(margin, list | tuple) or not margin:
            raise UsageError("margins must be lists of column names.", hint=f"for example {_EXAMPLE}")
        for name in margin:
            if name not in names:
                raise _not_of_this_table(str(name), "|".join(map(str, margin)), names)
        if len(set(margin)) < len(margin):
            raise UsageError(f"the margin {'|'.join(margin)!r:.60} names a column twice.")
        read.append(tuple(margin))
    if not read or len({frozenset(margin) for margin in read}) < len(read):
        raise UsageError("margins must be different, and at least one.", hint=f"for example {_EXAMPLE}")
    return tuple(read)


def cells_of(model: ContingencyTable, missing: str) -> np.ndarray:
    """Return, for every coordinate of a noisy release and every cell of the joint table, whether it counts there."""
    more = missing == "count"
    levels = tuple(column.n_labels + more for column in model.label_columns)
    grid = np.indices(levels).reshape(len(levels), -1)
    rows = []
    for margin in model.margins:
        places = [model.column_names.index(name) for name in margin]
        at = np.ravel_multi_index([grid[place] for place in places], [levels[place] for place in places])
        rows.append(at == np.arange(prod(levels[place] for place in places))[:, None])
    return np.concatenate(rows)


def cells_named(model: ContingencyTable, names: Iterable[str]) -> np.ndarray:
    """Return the same for cells by name, and ``"count"`` for all of them."""
    grid = np.indices([column.n_labels for column in model.label_columns]).reshape(len(model.columns), -1)
    rows = [
        np.all([grid[at] == label for at, label in model._cell_of(name)], axis=0)
        if name != _COUNT
        else np.ones(grid.shape[1], dtype=bool)
        for name in names
    ]
    return np.stack(rows)
