"""Several columns at once, as arrays: label codes and numbers, batch by batch.

One pass over any source, however large. Nothing here depends on the engine: text, integers, booleans and floats are
compared with the declared labels in the same way as :mod:`discreet.data.sources.kinds` compares them, on Arrow batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.data.sources.conceal import run_concealed
from discreet.data.sources.label_lookup import Lookup, lookups
from discreet.data.sources.opening import open_source, resolve
from discreet.data.sources.results import picked_batches
from discreet.data.sources.source import Need, Source
from discreet.data.sources.values import Vocabulary, floats
from discreet.domain.columns import Column, Labels

# the column that marks one record of each person, where a person has several
PERSON = "person"


@dataclass(frozen=True, repr=False)
class CodedBatch:
    """Some of the records, in the order of the source. Private.

    ``codes`` has one column per declared column of labels, ``values`` one per declared column of numbers, both in the
    order of declaration. A code is the position of the label, or the number of labels for a value that is missing or
    undeclared. A missing number is NaN; others are as they are, also outside the bounds. ``n_people`` is how many
    people have their first record here: as many as there are records, unless a person has several.
    """

    codes: np.ndarray
    values: np.ndarray
    n_people: int

    @property
    def n_records(self) -> int:
        """How many records these are."""
        return len(self.codes)


def coded_batches(
    data: Any, columns: Sequence[Column], *, model: str = "the model", marked: bool = False
) -> Iterator[CodedBatch]:
    """Yield every record of ``data`` once, as arrays.

    Parameters
    ----------
    data
        Whatever :func:`~discreet.data.summaries.sums.summarize` takes. Columns are found by name; in arrays and
        lists, which have no names, they are as many as are declared, in that order.
    columns
        The declared columns.
    model
        Who needs them, for messages about declarations.
    marked
        Whether a person has several records, one of which is marked
        (:mod:`~discreet.data.sources.people`).

    Privacy
    -------
    The batches are private. Only declarations raise: an absent column, a column whose type is wrong. A file is never
    held in memory as a whole.
    """
    vocabularies = [
        Vocabulary.of([(x,) for x in c.labels]) if isinstance(c, Labels) else None for c in columns
    ]
    needs = [Need(model, vocabulary) for vocabulary in vocabularies]
    with closing(run_concealed(lambda: open_source(data, needs))) as source:
        walk = run_concealed(lambda: _walk(source, columns, needs, marked=marked))
        while (batch := run_concealed(lambda: next(walk, None))) is not None:
            yield batch


def _walk(
    source: Source, columns: Sequence[Column], needs: Sequence[Need], *, marked: bool
) -> Iterator[CodedBatch]:
    positions, _ = resolve(source, [column.name for column in columns], needs)
    picked = source.pick(positions, needs)
    each = lookups(picked, needs)
    return (_coded(batch, each, marked=marked) for batch in picked_batches(picked) if batch.num_rows)


def _coded(batch: pa.RecordBatch, each: Sequence[Lookup | None], *, marked: bool) -> CodedBatch:
    labelled = [(i, lookup) for i, lookup in enumerate(each) if lookup is not None]
    numeric = [i for i, lookup in enumerate(each) if lookup is None]
    # column after column in memory, because that is how they are filled and counted
    codes = np.empty((batch.num_rows, len(labelled)), dtype=np.int32, order="F")
    values = np.empty((batch.num_rows, len(numeric)), dtype=np.float64, order="F")
    for at, (i, lookup) in enumerate(labelled):
        codes[:, at] = lookup.codes(batch.column(f"c{i}"))
    for at, i in enumerate(numeric):
        values[:, at] = floats(batch.column(f"c{i}"))
    n_people = int(floats(batch.column(PERSON)).sum()) if marked else batch.num_rows
    return CodedBatch(codes, values, n_people)
