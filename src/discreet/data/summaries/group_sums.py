"""Sums of every declared group, exact.

An engine elsewhere runs one query, with one row for each group that is there. Rows in this process come in Arrow
batches, and NumPy adds up each group.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from discreet.data.sources.conceal import concealed
from discreet.data.sources.in_engine import EngineRows
from discreet.data.sources.label_lookup import Lookup, lookups
from discreet.data.sources.memory import BATCH
from discreet.data.sources.opening import opened
from discreet.data.sources.results import STREAMED, is_here, picked_batches, rows_of, side_by_side
from discreet.data.sources.source import Frame, Need, Picked
from discreet.data.sources.values import Vocabulary
from discreet.data.summaries.engine_sums import grid_steps, numeric_records
from discreet.data.summaries.label_counts import LabelCounts, label_sums
from discreet.data.summaries.sums import BlockSums, Summary, check_size, record_needs
from discreet.domain.declarations import Domain
from discreet.families import RecordSums
from discreet.models.grouped import Grouped
from discreet.models.layout import Layout

# cells that are counted for each batch anew
_MOST_CELLS = 1 << 20


@concealed
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
    needs = [*record_needs(family, domain), *group_needs(model, family.name)]
    vocabulary = needs[0].vocabulary

    with opened(data, columns, needs) as (picked, names):
        totals = np.zeros((len(model.groups), len(block.names)), dtype=object)
        n_cells = (len(model.groups) + 1) * (1 if vocabulary is None else vocabulary.n_labels + 1)
        first, picked = _seen(picked)
        # where a person counts in several groups, how many people there are is counted in the engine
        if all(map(is_here, first)) and n_cells <= _MOST_CELLS and model.max_groups is None:
            n_records = _add_batches(totals, picked, needs, family, domain, block)
        else:
            with closing(EngineRows(picked, needs)) as rows:
                frame = rows.frame.with_columns(group=group_position(model, family.n_columns))
                if model.max_groups is None:
                    frame = frame.with_columns(person=nw.lit(1))
                if vocabulary is None:
                    n_records = _add_numbers(totals, frame, family, domain, block)
                else:
                    n_records = _add_labels(totals, frame, family, vocabulary, block)
        check_size(n_records, layout)
        return Summary(tuple(int(value) for value in totals.ravel()), n_records, names)


def _seen(picked: Picked) -> tuple[list[Frame], Picked]:
    """Return the first of the frames, by which one tells where all of them are, and the columns as they were."""
    frames = iter(picked.frames)
    first = list(islice(frames, 1))
    return first, replace(picked, frames=chain(first, frames))


def _add_batches(
    totals: np.ndarray,
    picked: Picked,
    needs: Sequence[Need],
    family: RecordSums,
    domain: Domain,
    block: Layout,
) -> int:
    """Add rows of this process, in Arrow batches, and return how many there were."""
    each = lookups(picked, needs)
    n_groups, label = len(totals), each[0]
    places = [(f"c{at}", lookup) for at, lookup in enumerate(each) if lookup and at >= family.n_columns]
    sums = None if label is not None else BlockSums(family, domain, block)

    def work(batch: pa.RecordBatch) -> tuple[int, np.ndarray]:
        """Return how many rows there are, and what each group adds.

        That are sums, or counts of its labels and, after the last, of what is in none.
        """
        group = _groups(batch, places, n_groups)
        if sums is not None:
            return batch.num_rows, sums.by_group(batch, group, n_groups)
        assert label is not None
        cells = group * (label.n_labels + 1) + label.codes(batch.column("c0"))
        return batch.num_rows, np.bincount(cells, minlength=(n_groups + 1) * (label.n_labels + 1))

    # so many that adding up the groups takes less time than adding up their records, in whole blocks
    rows = min(BATCH, STREAMED * (1 + 8 * n_groups // STREAMED))
    n_records = 0
    added: np.ndarray | None = None
    for n, more in side_by_side(work, picked_batches(picked, rows)):
        n_records += n
        added = more if added is None else np.add(added, more, out=added)
    if added is None:
        return 0
    if label is None:
        totals[:] = added.T
    else:
        for at, known in enumerate(added.reshape(n_groups + 1, -1)[:-1, :-1].tolist()):
            totals[at] = label_sums(LabelCounts(tuple(known), 0, {}), family, block)
    return n_records


def _groups(batch: pa.RecordBatch, places: Sequence[tuple[str, Lookup]], n_groups: int) -> np.ndarray:
    """Return the position of each record's group, or the number of groups if it is in none."""
    (name, first), *others = places
    group = first.codes(batch.column(name)).astype(np.int64)
    if not others:
        return group
    none = group == first.n_labels
    for name, lookup in others:
        codes = lookup.codes(batch.column(name))
        none |= codes == lookup.n_labels
        group *= lookup.n_labels
        group += codes
    np.copyto(group, n_groups, where=none)
    return group


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
