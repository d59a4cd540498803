"""Sums of every declared group, exact: one query with one row for each group that is there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import narwhals as nw
import numpy as np

from discreet.data.sources.in_engine import EngineRows
from discreet.data.sources.opening import look_at
from discreet.data.sources.source import Need, Picked
from discreet.data.sources.stand_in import rows_of
from discreet.data.sources.values import Vocabulary
from discreet.data.summaries.label_counts import LabelCounts, label_sums
from discreet.data.summaries.sums import Summary, check_size, grid_steps, numeric_records
from discreet.domain.declarations import Domain
from discreet.families.record_sums import RecordSums
from discreet.models.grouped import Grouped
from discreet.models.layout import Layout


def sum_groups(
    data: Any, model: Grouped, domain: Domain, layout: Layout, columns: Sequence[str] | None = None
) -> Summary:
    """Return the totals of every declared group, one block after the other, also of groups without a record.

    Privacy
    -------
    The result is private. A record adds to the block of its own group alone, what it adds to the family's totals; one
    whose group is missing or not declared adds nothing. Only declarations raise.
    """
    family = model.model.require(RecordSums, "groups are of a family")
    block = family.layout(domain, "add_remove")
    vocabulary = None if family.vocabulary is None else Vocabulary.of(family.vocabulary)
    needs = [
        *[Need(family.name, vocabulary, dates=domain.dates)] * family.n_columns,
        *group_needs(model, family.name),
    ]

    def look(picked: Picked, names: tuple[str, ...]) -> Summary:
        with closing(EngineRows(picked, needs)) as rows:
            frame = rows.frame.with_columns(group=group_position(model, family.n_columns))
            if model.max_groups is None:
                frame = frame.with_columns(person=nw.lit(1))
            totals = np.zeros((len(model.groups), len(block.names)), dtype=object)
            if vocabulary is None:
                n_records = _add_numbers(totals, frame, family, domain, block)
            else:
                n_records = _add_labels(totals, frame, family, vocabulary, block)
        check_size(n_records, layout)
        return Summary(tuple(int(value) for value in totals.ravel()), n_records, names)

    return look_at(data, columns, needs, look)


def group_needs(model: Grouped, family: str) -> list[Need]:
    """Return what is wanted of the columns that make groups."""
    return [Need(family, Vocabulary.of([[label] for label in column.labels])) for column in model.by]


def group_position(model: Grouped, first: int) -> nw.Expr:
    """Return the position of each record's group, null if it is in none; labels are in columns from ``first`` on."""
    code = nw.col(f"c{first}")
    for at, column in enumerate(model.by[1:], start=first + 1):
        code = code * column.n_labels + nw.col(f"c{at}")
    return code


def _add_numbers(totals: np.ndarray, frame: Any, family: RecordSums, domain: Domain, block: Layout) -> int:
    records = numeric_records(frame, family, domain, block, keep=("group", "person"))
    steps = grid_steps(family, block)
    summed = records.lazy().select("group", "person", **steps).group_by("group")
    n_records = 0
    for group, n, *values in rows_of(
        summed.agg(nw.col("person").sum().alias("n"), *(nw.col(name).sum() for name in steps))
    ):
        n_records += int(n)
        if group is not None:
            totals[group] = [0 if value is None else int(value) for value in values]
    return n_records


def _add_labels(
    totals: np.ndarray, frame: Any, family: RecordSums, vocabulary: Vocabulary, block: Layout
) -> int:
    counted = frame.group_by("group", "c0").agg(nw.len().alias("n"), nw.col("person").sum().alias("people"))
    counts = np.zeros((len(totals), vocabulary.n_labels), dtype=np.int64)
    n_records = 0
    for group, label, n, people in rows_of(counted):
        n_records += int(people)
        if group is not None and label is not None:
            counts[group, label] += n
    for at, known in enumerate(counts.tolist()):
        totals[at] = label_sums(LabelCounts(tuple(known), 0, {}), family, block)
    return n_records
