"""How many people have each label of a column, whatever its labels are: what undeclared groups are chosen from."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from discreet.data.sources.chosen_rows import InDuckDB, placed
from discreet.data.sources.conceal import concealed
from discreet.data.sources.filtered import FilteredRows
from discreet.data.sources.in_engine import EngineRows
from discreet.data.sources.keys import readable, unreadable_in
from discreet.data.sources.opening import column_names, opened
from discreet.data.sources.people import numbered
from discreet.data.sources.results import batches
from discreet.data.sources.source import Need, check_named
from discreet.domain.unit import Unit
from discreet.names import LONGEST_NAME


@dataclass(frozen=True, repr=False)
class LabelMembers:
    """People (records, without a unit) per label, and the number of all of them. Private.

    ``labels`` are as the engine has them; :meth:`spelled` tells what a release calls them.
    """

    labels: tuple[pa.Array, ...]
    counts: np.ndarray
    n_records: int
    latin1: bool = False

    def spelled(self, which: np.ndarray) -> list[str | None]:
        """Return some of the labels as text, None for one that no release takes: longer than a name, no UTF-8."""
        if not len(which):
            return []
        taken = pa.chunked_array(list(self.labels)).take(pa.array(which)).to_pylist()
        return [_spelled(label, latin1=self.latin1) for label in taken]


@concealed
def count_members(
    data: Any, column: str, unit: Unit | None = None, max_labels: int = 1, key: bytes = b""
) -> LabelMembers:
    """Count the people who have each label of a column, inside the engine; each in at most ``max_labels`` labels.

    Labels are whole numbers, or text, trimmed. Of a person's labels those count whose hash comes first
    (:mod:`discreet.data.sources.chosen_rows`; of engines that hold text in different forms, labels beyond ASCII may
    hash differently).

    Privacy
    -------
    The result is private, its labels too. A person adds 1 to at most ``max_labels`` counts, by that person's rows and
    the key alone; a record without a unit adds 1 to one. Only declarations raise.
    """
    wanted = [column] if unit is None else [column, unit.column]
    needs = [Need("groups", None, key=True, unlisted=True), Need("groups", None, key=True)][: len(wanted)]
    names = column_names(data.rows if isinstance(data, FilteredRows) else data)
    check_named(names, "groups are made by a column")

    with (
        opened(data, wanted, needs, twice="groups='private'") as (picked, _names),
        closing(EngineRows(picked, needs)) as held,
    ):
        rows = held.frame.with_columns(word=_label(held.frame))
        if unit is None:
            return _fetched(rows.select("word", person=nw.lit(1)), picked.latin1)
        rows = numbered(readable(rows.select("word", unit=nw.col("c1"))), own=unit.null == "own")
        # once for each label of a person
        people = rows.group_by("unit", "own", "word").agg(nw.len().alias("n"))
        with closing(InDuckDB(people.select("unit", "own", "word"))) as inside:
            ordered = placed(inside.relation, key, ["word"], last="word IS NULL", latin1=picked.latin1)
            chosen = ordered.filter(f"place <= {max_labels}")
            kept = chosen.project("word, CAST(place = 1 AS INTEGER) AS person")
            return _fetched(nw.from_native(kept), picked.latin1)


def _label(frame: Any) -> nw.Expr:
    """Return the label of each row, null where there is none that can be read."""
    label, unreadable = nw.col("c0"), unreadable_in(frame, "c0")
    return label if unreadable is None else nw.when(label != nw.lit(unreadable)).then(label)


def _fetched(rows: Any, latin1: bool) -> LabelMembers:
    """Run the query, and bring back a row for each label."""
    query = (
        rows.lazy()
        .group_by("word")
        .agg(nw.len().cast(nw.Int64).alias("n"), nw.col("person").sum().cast(nw.Int64).alias("people"))
    )
    labels, counts, n_records = [], [], 0
    for batch in batches(query):
        word, n, people = (batch.column(name) for name in ("word", "n", "people"))
        n_records += sum(people.to_pylist())
        there = word.is_valid()
        labels.append(word.filter(there))
        counts.append(n.filter(there).to_numpy(zero_copy_only=False).astype(np.int64))
    return LabelMembers(
        tuple(labels), np.concatenate([np.zeros(0, dtype=np.int64), *counts]), n_records, latin1
    )


def _spelled(label: Any, *, latin1: bool) -> str | None:
    if isinstance(label, bytes):
        try:
            label = label.decode("utf-8")
        except UnicodeDecodeError:
            return None
    elif isinstance(label, str) and latin1:
        try:
            label = label.encode("latin-1").decode("utf-8")
        except (UnicodeEncodeError, UnicodeDecodeError):
            return None
    spelled = str(label)
    return spelled if 0 < len(spelled) <= LONGEST_NAME else None
