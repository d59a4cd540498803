"""Neighboring tables that a mechanism may tell apart: invented from the declarations, and searched for the worst.

Rows hold what is most likely to matter: both bounds, the middle, values far outside, no value, labels at both ends and
one that nobody declared. Tables are full of one such row (statistics at their boundary) or mixed, and neighbors differ
in the last person. From the best of these pairs a hill is climbed, one change at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, product
from typing import Any

import numpy as np

from discreet.domain.columns import Column, Labels
from discreet.domain.dates import shown_day
from discreet.domain.declarations import Neighbors
from discreet.validation.outputs import tabulated

Row = tuple[Any, ...]
#: All rows of one person; a single one where nobody says whose rows are whose.
Person = tuple[Row, ...]
Draw = Callable[[Any, int], Sequence[Any]]

_MOST_ROWS_TRIED, _MOST_PEOPLE = 8, 11
_BASES = 2
# labels tried of a column
_LABELS = 4
# how far outside the bounds a value lies, in widths
_FAR = 50
#: Stands for a label that nobody declared.
UNDECLARED = "undeclared label"
# a difference without any noise
_CERTAIN = 1e6


@dataclass(frozen=True)
class Pair:
    """Two neighboring tables: the people of both, and the last one of each, None where there is none."""

    others: tuple[Person, ...]
    first: Person | None
    second: Person | None

    def people(self) -> tuple[tuple[Person, ...], tuple[Person, ...]]:
        """Return everybody in each of the two tables."""
        one, other = ((last,) if last is not None else () for last in (self.first, self.second))
        return self.others + one, self.others + other

    def in_words(self) -> str:
        """Say how the tables differ."""
        one, other = (_shown(last) for last in (self.first, self.second))
        filled = sorted({_shown(person) for person in self.others}) or ["nobody"]
        rest = ", ".join(filled[:2]) + (" and others" if len(filled) > 2 else "")
        return f"{len(self.others)} of {rest}; then {one}, or {other} instead"


def _shown(person: Person | None) -> str:
    if person is None:
        return "nobody"
    said = [
        ", ".join("missing" if v is None else f"{v:.4g}" if isinstance(v, float) else str(v) for v in row)
        for row in person
    ]
    if len(set(said)) == 1:
        return f"({said[0]})" if len(said) == 1 else f"{len(said)} rows ({said[0]})"
    return f"{len(said)} rows, ({said[0]}) and others"


@dataclass(frozen=True)
class TableSpace:
    """Tables that declarations allow: ``n`` people with up to ``rows`` rows each, told apart by the column ``unit``."""

    columns: tuple[Column, ...]
    neighbors: Neighbors
    n: int
    unit: str | None = None
    rows: int = 1
    dates: bool = False
    #: Whether values may be missing or undeclared.
    gaps: bool = True

    def values(self, column: Column) -> list[Any]:
        """Return what is tried for one column, the most telling first."""
        if isinstance(column, Labels):
            ends = dict.fromkeys((column.labels[0], column.labels[-1], *column.labels[1:_LABELS]))
            return [*ends, *([None, UNDECLARED] if self.gaps else [])]
        low, high = float(column.low), float(column.high)
        far = [low - _FAR * (high - low), high + _FAR * (high - low)]
        tried = [low, high, *far, (low + high) / 2]
        if self.dates:
            tried = [shown_day(column.low), shown_day(column.high)]
        return [*tried, *([None] if self.gaps else [])]

    def people(self) -> list[Person]:
        """Return the people that are tried: one row or all, alike or not."""
        each = [self.values(column) for column in self.columns]
        # every column at the same place of its list, then all combinations
        together = [tuple(one[min(at, len(one) - 1)] for one in each) for at in range(max(map(len, each)))]
        rows = list(dict.fromkeys(islice([*together, *islice(product(*each), 64)], 100)))[:_MOST_ROWS_TRIED]
        full: list[Person] = [(row,) * self.rows for row in rows]
        if self.rows > 1:
            mixed = [(rows[0], *(rows[1],) * (self.rows - 1)), (rows[0],), (rows[1],)]
            full = [*full[:2], *(self._spread(row) for row in rows[:2]), *mixed, *full[2:]]
        return list(dict.fromkeys(full))[:_MOST_PEOPLE]

    def _spread(self, row: Row) -> Person:
        """Return a person whose rows are like this one, but have every label in turn."""
        labels = {at: one.labels for at, one in enumerate(self.columns) if isinstance(one, Labels)}
        return tuple(
            tuple(labels[at][k % len(labels[at])] if at in labels else value for at, value in enumerate(row))
            for k in range(self.rows)
        )

    def pairs(self, rng: np.random.Generator) -> Iterator[list[Pair]]:
        """Return pairs to begin with, those with the same other people together."""
        tried = self.people()
        size = self.n - 1
        anybody = tuple(tried[int(at)] for at in rng.integers(len(tried), size=size))
        for others in dict.fromkeys([*((person,) * size for person in tried[:_BASES]), anybody]):
            if self.neighbors == "add_remove":
                yield [Pair(others, person, None) for person in tried]
            else:
                yield [Pair(others, one, other) for at, one in enumerate(tried) for other in tried[at + 1 :]]

    def varied(self, pair: Pair, rng: np.random.Generator) -> Pair:
        """Return a pair that differs from this one in one respect: another person, or one other value."""
        tried = self.people()
        which = int(rng.integers(3))
        if which == 0 and pair.others:
            at = int(rng.integers(len(pair.others)))
            others = list(pair.others)
            others[at] = self._nearby(others[at], tried, rng)
            return replace(pair, others=tuple(others))
        if which == 1 and pair.second is not None:
            return replace(pair, second=self._nearby(pair.second, tried, rng))
        return replace(pair, first=self._nearby(pair.first or tried[0], tried, rng))

    def _nearby(self, person: Person, tried: list[Person], rng: np.random.Generator) -> Person:
        if rng.random() < 0.3:
            return tried[int(rng.integers(len(tried)))]
        row, column = int(rng.integers(len(person))), int(rng.integers(len(self.columns)))
        values = self.values(self.columns[column])
        declared = self.columns[column]
        if not isinstance(declared, Labels) and not self.dates and rng.random() < 0.3:
            values = [float(rng.uniform(float(declared.low), float(declared.high)))]
        changed = list(person[row])
        changed[column] = values[int(rng.integers(len(values)))]
        return (*person[:row], tuple(changed), *person[row + 1 :])

    def varied_row(self, rng: np.random.Generator) -> Row:
        """Return a row of any values: within bounds, outside, missing."""
        row = tuple(values[int(rng.integers(len(values)))] for values in map(self.values, self.columns))
        drawn = rng.uniform(size=len(row))
        inside = rng.random(len(row)) < 0.7
        return tuple(
            value
            if isinstance(column, Labels) or self.dates or not use
            else float(column.low) + float(u) * (float(column.high) - float(column.low))
            for value, column, u, use in zip(row, self.columns, drawn, inside, strict=True)
        )

    def records(self, people: Sequence[Person]) -> dict[str, list[Any]]:
        """Return a table by column, with a column that tells people apart if there is a unit."""
        rows = [(f"p{who}", *row) for who, person in enumerate(people) for row in person]
        found = {column.name: [row[1 + at] for row in rows] for at, column in enumerate(self.columns)}
        return found if self.unit is None else {self.unit: [row[0] for row in rows], **found}


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """Return how far apart a few outputs of two tables lie, in widths of their own spread, over all numbers."""
    total = 0.0
    for first, second in zip(one.T, other.T, strict=True):
        gone = np.isnan(first).mean(), np.isnan(second).mean()
        total += 4 * abs(gone[0] - gone[1])
        first, second = first[np.isfinite(first)], second[np.isfinite(second)]
        if not len(first) or not len(second):
            continue
        widths = [float(np.mean(np.abs(side - np.median(side)))) for side in (first, second)]
        shift = abs(float(np.median(first) - np.median(second)))
        if min(widths) == 0:
            total += _CERTAIN if shift > 0 or max(widths) > 0 else 0.0
        else:
            total += min(shift / max(widths), _CERTAIN) + abs(float(np.log(widths[0] / widths[1])))
    return total


def search(
    space: TableSpace,
    draw: Draw,
    rng: np.random.Generator,
    *,
    times: int,
    steps: int,
) -> list[Pair]:
    """Return the pairs whose outputs lie furthest apart in a few runs each, the furthest first."""
    outputs = cache(lambda people: draw(people, times))

    def distance(pair: Pair) -> float:
        return apart(*tabulated(*map(outputs, pair.people())).sides)

    scored = [
        (distance(pair), at, pair) for at, pair in enumerate(p for some in space.pairs(rng) for p in some)
    ]
    scored.sort(key=lambda one: (-one[0], one[1]))
    best, pair = scored[0][0], scored[0][2]
    for step in range(steps):
        other = space.varied(pair, rng)
        found = distance(other)
        if found > best and np.isfinite(found):
            best, pair = found, other
            scored.insert(0, (best, -step, pair))
    return list(dict.fromkeys(one for _, _, one in scored[:4]))
