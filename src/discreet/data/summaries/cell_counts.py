"""Tables of counts and sums, exact: what noise is added to in a release of a model of several columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.sources.conceal import concealed
from discreet.data.summaries.coded import CodedBatch, coded_batches
from discreet.data.summaries.moment_sums import MomentSums
from discreet.data.summaries.sums import Summary, check_size
from discreet.domain.declarations import Domain
from discreet.models import ColumnModel, Table
from discreet.models.layout import Layout
from discreet.models.moment_table import MomentTable


@concealed
def count_tables(
    data: Any,
    model: ColumnModel,
    domain: Domain,
    layout: Layout | None = None,
    names: Sequence[str] | None = None,
) -> Summary:
    """Count the records in every cell of the model's tables.

    With ``missing="count"`` a missing or undeclared value is a level of its own. With ``"none"`` a record that has one
    after all is in no cell of the tables that cross its column. With ``"impute"`` the public value stands for it. Where
    a table holds sums, see :class:`~discreet.data.summaries.moment_sums.MomentSums`.

    Privacy
    -------
    The result is private. Only declarations raise. A record is in at most one cell of each table, or counts for one in
    the sums of one group, whatever it holds.
    """
    columns, tables = model.label_columns, model.tables()
    places = [[columns.index(column) for column in table.columns] for table in tables]
    # with the level for missing values, which is cut off at the end if it is not wanted
    shapes = [table.shape("count") for table in tables]
    counts = [np.zeros(int(np.prod(shape)), dtype=np.int64) for shape in shapes]
    stand_ins = None if domain.impute is None else imputed_codes(model, domain)
    numbers = [column.name for column in model.numeric_columns]
    summed = [
        (MomentSums.of(table, domain.outside), numbers.index(table.number.name))
        if isinstance(table, MomentTable)
        else None
        for table in tables
    ]

    n_records = 0
    for batch in coded_batches(data, model.columns, model=model.name):
        n_records += batch.n_records
        codes = batch.codes if stand_ins is None else filled_codes(batch, model, stand_ins)
        for total, shape, at, sums in zip(counts, shapes, places, summed, strict=True):
            cell = codes[:, at[0]].astype(np.int64)
            for column, size in zip(at[1:], shape[1:], strict=False):
                cell *= size
                cell += codes[:, column]
            if sums is None:
                total += np.bincount(cell, minlength=len(total))
            else:
                total += sums[0].add(batch.values[:, sums[1]], cell, len(total) // shape[-1])
    if numbers:
        check_size(n_records, layout or model.layout(domain, "replace"))
    kept = [_kept(c.reshape(s), t, domain) for c, s, t in zip(counts, shapes, tables, strict=True)]
    return Summary(tuple(v for cells in kept for v in cells.tolist()), n_records, model.column_names)


def imputed_codes(model: ColumnModel, domain: Domain) -> list[int]:
    """Return the code that stands for a missing value in each column of labels."""
    named = dict(zip(model.column_names, domain.impute or (), strict=True))
    return [column.position(named[column.name]) for column in model.label_columns]


def filled_codes(batch: CodedBatch, model: ColumnModel, stand_ins: list[int]) -> np.ndarray:
    """Put public labels in the place of missing ones."""
    codes = batch.codes.copy(order="F")
    for at, (column, code) in enumerate(zip(model.label_columns, stand_ins, strict=True)):
        codes[codes[:, at] == column.n_labels, at] = code
    return codes


def _kept(counts: np.ndarray, table: Table, domain: Domain) -> np.ndarray:
    return counts[tuple(slice(size) for size in table.shape(domain.missing))].ravel()
