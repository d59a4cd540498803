r"""One record per person, or per person and group: rows of the same unit, put together inside the engine.

A source of people looks to the rest of the private side like any other source, so every summary works on people. On the
way, and in this order:

1. each row becomes an integer: a number, clipped to its row bounds, in steps of a power of two that the row bounds
   decide (k = floor(x / step + 1/2), at most 2^32 in size, so that whole numbers stay what they are); a label, its
   position; missing values stay missing;
2. the integers of a person are added up, counted or compared, which gives the same whatever the order of rows;
3. the result becomes a value again: k * step, for a mean the quotient of two float64 numbers times step.

All of it is one query with one group for each person (and for each of a person's groups). DuckDB and Polars run it
where the rows are; rows in memory go through a DuckDB of our own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any

import narwhals as nw

from discreet.data.sources.chosen_rows import InDuckDB, placed
from discreet.data.sources.in_engine import DerivedSource
from discreet.data.sources.keys import readable
from discreet.data.sources.kinds import Kind
from discreet.data.sources.queries import engine_of, numbered_rows
from discreet.data.sources.source import Need, Picked, Source
from discreet.domain.unit import Rule, Unit
from discreet.errors import UsageError

# bits of one row's integer: 2^31 rows of one person fit 64 bits
_BITS = 32


@dataclass(frozen=True, repr=False)
class PeopleRows:
    """Data, and whose rows they are; stands where the data stood. Private."""

    rows: Any
    unit: Unit


@dataclass(frozen=True, repr=False)
class MemberRows:
    """Data, whose rows they are, in how many groups a person counts, and the key that chooses them. Private."""

    rows: Any
    unit: Unit
    max_groups: int
    key: bytes


class PeopleSource(DerivedSource):
    """The people of a table, each of them one record.

    Privacy
    -------
    A person's record depends on that person's rows and on the declarations, on nothing else: replacing, adding or
    removing all rows of one person replaces, adds or removes one record. The domain of the record is that of the
    model; whatever comes out is clipped to it like any value.
    """

    finds = "a unit is a column"

    def __init__(self, rows: Source, unit: Unit) -> None:
        super().__init__(rows)
        self._unit = unit

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        column = self._unit.column
        if self._place(column) in positions and "count" not in self._unit.rules:
            raise UsageError(f"column {column!r} says whose a row is, and cannot be what is learned too.")
        return self.together(positions, needs)[1]

    def together(self, positions: Sequence[int], needs: Sequence[Need]) -> tuple[Picked, Picked]:
        """Return the rows as they were picked, and put together: those of a person, or of a person in a group.

        The columns after the unit's own are groups. With them, what tells the records apart (``unit``, ``own`` and the
        groups) stays in the frame.
        """
        unit, n_values = self._unit, len(self._unit.rules)
        places = [*positions, self._place(unit.column)]
        wanted = [
            # where rows are counted, only whether a value is there
            Need(need.family, None, presence=True) if rule == "count" else need
            for need, rule in zip(needs, unit.rules, strict=False)
        ]
        wanted += [*needs[n_values:], Need(needs[0].family, None, key=True)]
        order = nw.lit(0.0)
        if unit.last_by is not None:
            order = nw.col(f"c{len(places)}")
            places.append(self._place(unit.last_by))
            wanted.append(Need("last_by", None))
        picked, held = self.picked_rows(places, wanted)
        groups = {f"g{at}": nw.col(f"c{n_values + at}") for at in range(len(positions) - n_values)}
        keys = ["unit", "own", *groups]
        steps = [step_of(pair, rule) for pair, rule in zip(unit.row_bounds, unit.rules, strict=True)]
        rows = held.frame.select(
            **{f"x{at}": nw.col(f"c{at}") for at in range(n_values)},
            **{group: label.cast(nw.Int64) for group, label in groups.items()},
            unit=nw.col(f"c{len(positions)}"),
            # null for NaN, which some engines take for the largest number
            order=nw.when(order <= math.inf).then(order),
        )
        rows = numbered(readable(rows), own=unit.null == "own")
        rows = rows.select(*keys, "order", *(as_integer(at, unit, steps[at], keys) for at in range(n_values)))
        people = rows.group_by(*keys).agg(*chain(*map(collected, range(n_values), unit.rules)))
        values = [person_value(at, rule, steps[at]) for at, rule in enumerate(unit.rules)]
        kinds = tuple(Kind.CODE if coded else Kind.NUMBER for coded in held.coded[: len(positions)])
        frame = people.select(*(keys if groups else ()), *values)
        return picked, Picked(kinds, iter([frame]), beside=held.beside)

    def _place(self, column: str) -> int:
        return self.place(column, f"there is no column {column!r}.")


class MemberSource(PeopleSource):
    """The people of a table, with one record for each of at most ``max_groups`` groups of theirs.

    Of the declared groups that a person is in, those count whose hash comes first
    (:mod:`discreet.data.sources.chosen_rows`). A column ``person`` is 1 in one record of each person and 0 in the
    others, so that people can be counted.

    Privacy
    -------
    A person's records depend on that person's rows, on the declarations and on the key, on nothing else, and there are
    at most ``max_groups`` of them in declared groups, all in different ones.
    """

    def __init__(self, rows: Source, members: MemberRows) -> None:
        super().__init__(rows, members.unit)
        self._members = members
        self._inside: InDuckDB | None = None

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        picked, people = self.together(positions, needs)
        n_values = len(self._unit.rules)
        groups = [f"g{at}" for at in range(len(positions) - n_values)]
        (frame,) = people.frames
        self._inside = inside = InDuckDB(frame)
        outside = " OR ".join(f"{group} IS NULL" for group in groups)
        ordered = placed(
            inside.relation, self._members.key, groups, last=f"({outside})", latin1=picked.latin1
        )
        chosen = ordered.filter(f"place <= {self._members.max_groups}")
        kept = [
            *(f"c{at}" for at in range(n_values)),
            *(f"{group} AS c{n_values + at}" for at, group in enumerate(groups)),
            "CAST(place = 1 AS INTEGER) AS person",
        ]
        assert people.beside is not None
        frames = iter([nw.from_native(chosen.project(", ".join(kept)))])
        return replace(people, frames=frames, beside=partial(inside.beside, people.beside))

    def close(self) -> None:
        super().close()
        if self._inside is not None:
            self._inside.close()


def numbered(rows: Any, *, own: bool) -> Any:
    """Leave out rows without a unit; or number them, so that each is a person of its own."""
    if not own:
        return rows.filter(~nw.col("unit").is_null()).with_columns(own=nw.lit(0))
    native = rows.to_native()
    if nw.dependencies.is_duckdb_relation(native):
        return nw.from_native(
            native.project("*, CASE WHEN unit IS NULL THEN row_number() OVER () ELSE 0 END AS own")
        )
    engine = engine_of(native)
    numbered = nw.from_native(
        native.with_row_index("own") if engine is None else numbered_rows(native, engine)
    )
    return numbered.with_columns(
        own=nw.when(nw.col("unit").is_null()).then(nw.col("own")).otherwise(nw.lit(0))
    )


def step_of(pair: tuple[Fraction, Fraction] | None, rule: Rule) -> float | None:
    """Return the step in which rows of a column are counted; None for labels, and where rows are only counted."""
    return None if pair is None or rule == "count" else _step(pair)


def _step(bounds: tuple[Fraction, Fraction]) -> float:
    """Return the power of two in steps of which rows within these bounds are integers of at most 32 bits."""
    largest = max(abs(bounds[0]), abs(bounds[1]))
    exponent = largest.numerator.bit_length() - largest.denominator.bit_length() + 1
    return math.ldexp(1.0, exponent - _BITS)


def as_integer(at: int, unit: Unit, step: float | None, together: Sequence[str]) -> nw.Expr:
    """Return the integer of each row, null where the value is missing; rows go ``together`` by these columns."""
    x, pair = nw.col(f"x{at}"), unit.row_bounds[at]
    if unit.rules[at] == "count":
        whole = nw.when(~x.is_null()).then(nw.lit(1))
    elif step is None or pair is None:
        whole = x
    else:
        low, high = map(float, pair)
        usable = x <= math.inf
        whole = nw.when(usable).then((x.clip(low, high) * (1 / step) + 0.5).floor())
    if unit.rules[at] == "last":
        top = nw.col("order").max().over(*together)
        whole = nw.when(nw.col("order") == top).then(whole)
    return whole.cast(nw.Int64).alias(f"x{at}")


def collected(at: int, rule: Rule) -> list[nw.Expr]:
    """Return what is kept of a person's integers."""
    x = nw.col(f"x{at}")
    if rule in ("any", "max", "last"):
        return [x.max().alias(f"t{at}")]
    if rule in ("all", "min"):
        return [x.min().alias(f"t{at}")]
    return [x.sum().alias(f"t{at}"), x.count().alias(f"m{at}")]


def person_value(at: int, rule: Rule, step: float | None) -> nw.Expr:
    """Return a person's value of one column."""
    total = nw.col(f"t{at}").cast(nw.Int64)
    if step is None:
        # a label's position, or a number of rows, which is never missing
        return (total if rule != "count" else nw.col(f"m{at}").cast(nw.Float64)).alias(f"c{at}")
    value = total.cast(nw.Float64)
    if rule == "mean":
        value = value / nw.col(f"m{at}").cast(nw.Float64)
    value = value * step
    if rule in ("mean", "sum"):
        value = nw.when(nw.col(f"m{at}") > 0).then(value)
    return value.alias(f"c{at}")
