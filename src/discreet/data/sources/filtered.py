"""Rows that satisfy a public filter; the others stay, without a value.

The filter is evaluated where the rows are, from expressions that are built here: no text of the caller's reaches an
engine as a query. What does not satisfy it becomes missing in every column but those that tell people apart. So the
number of records stays what it is, and a filtered-out row adds to the totals what a row without a value adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import Any

import narwhals as nw

from discreet.data.sources.in_engine import DerivedSource
from discreet.data.sources.kinds import Kind
from discreet.data.sources.source import Need, Picked, Source
from discreet.data.sources.values import Vocabulary
from discreet.domain.where import Comparison, Condition, Joined

_COMPARE = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True, repr=False)
class FilteredRows:
    """Data, and the filter that its rows must satisfy. Private."""

    rows: Any
    where: Condition


class FilteredSource(DerivedSource):
    """A table of whose rows only some have values.

    Privacy
    -------
    Whether a row has a value depends on that row and on the public filter alone. A filtered-out row is one record
    without a value, so a record that is replaced may come into the filter or leave it, and moves the totals by no more
    than a record that gains or loses its value.
    """

    finds = "where compares columns"

    def __init__(self, rows: Source, where: Condition) -> None:
        super().__init__(rows)
        self._where = where

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        places, wanted = list(positions), list(needs)
        at: dict[Comparison, int] = {}
        for one in self._where.comparisons:
            at[one] = len(places)
            absent = f"where names the column {one.column!r:.60}, and there is none of that name."
            place = self.place(one.column, absent)
            places.append(place)
            if isinstance(one.value, str):
                wanted.append(Need(needs[0].family, Vocabulary.of([[one.value]])))
                # a text that is not this one, and none at all, are different
                places.append(place)
                wanted.append(Need(needs[0].family, None, presence=True))
            else:
                wanted.append(Need(needs[0].family, None, dates=one.dates))
        picked, held = self.picked_rows(places, wanted)
        holds = _holds(self._where, at)
        columns = [
            nw.col(f"c{i}")
            if need.key and not need.unlisted
            else nw.when(holds).then(nw.col(f"c{i}")).alias(f"c{i}")
            for i, need in enumerate(needs)
        ]
        kinds = [
            Kind.CODE if coded else kind
            for coded, kind in zip(held.coded[: len(needs)], picked.kinds[: len(needs)], strict=True)
        ]
        frame = held.frame.select(*columns)
        return Picked(tuple(kinds), iter([frame]), latin1=picked.latin1, beside=held.beside)


def _holds(where: Condition, at: dict[Comparison, int]) -> nw.Expr:
    """Return whether a row satisfies the filter: true, or anything else if it does not."""
    if isinstance(where, Joined):
        return reduce(and_ if where.word == "and" else or_, [_holds(part, at) for part in where.parts])
    column = nw.col(f"c{at[where]}")
    if isinstance(where.value, str):
        same = ~column.is_null()
        there = ~nw.col(f"c{at[where] + 1}").is_null()
        return same if where.operator == "=" else there & ~same
    # neither null nor NaN: some engines order NaN above all numbers
    there = (column <= float("inf")) & ~column.is_null()
    return nw.when(there).then(_COMPARE[where.operator](column, float(where.value))).otherwise(nw.lit(False))
