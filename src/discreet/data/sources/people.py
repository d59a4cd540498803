r"""One record per person: rows of the same unit, put together inside the engine.

A source of people looks to the rest of the private side like any other source, so every summary works on people. On the
way, and in this order:

1. each row becomes an integer: a number, clipped to its row bounds, in steps of a power of two that the row bounds
   decide (k = floor(x / step + 1/2), at most 2^32 in size, so that whole numbers stay what they are); a label, its
   position; missing values stay missing;
2. the integers of a person are added up, counted or compared, which gives the same whatever the order of rows;
3. the result becomes a value again: k * step, for a mean the quotient of two float64 numbers times step.

All of it is one query with one group for each person. DuckDB and Polars run it where the rows are; rows in memory go
through a DuckDB of our own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any

import narwhals as nw

from discreet.data.sources.in_engine import EngineRows
from discreet.data.sources.keys import readable
from discreet.data.sources.kinds import Kind
from discreet.data.sources.queries import engine_of, numbered_rows
from discreet.data.sources.source import Need, Picked, Source, listed_names
from discreet.domain.unit import Rule, Unit
from discreet.errors import UsageError

# bits of one row's integer: 2^31 rows of one person fit 64 bits
_BITS = 32


@dataclass(frozen=True, repr=False)
class PeopleRows:
    """Data, and whose rows they are; stands where the data stood. Private."""

    rows: Any
    unit: Unit


class PeopleSource(Source):
    """The people of a table, each of them one record.

    Privacy
    -------
    A person's record depends on that person's rows and on the declarations, on nothing else: replacing, adding or
    removing all rows of one person replaces, adds or removes one record. The domain of the record is that of the
    model; whatever comes out is clipped to it like any value.
    """

    def __init__(self, rows: Source, unit: Unit) -> None:
        if rows.names is None:
            raise UsageError(
                "a unit is a column by name, and these data have no names.",
                hint="give a table with named columns, such as a dictionary of lists",
            )
        self._rows, self._unit = rows, unit
        self.names, self.header_of, self.once = rows.names, rows.header_of, rows.once
        self._engine: EngineRows | None = None

    def width(self, wanted: int) -> int:
        return self._rows.width(wanted)

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        unit = self._unit
        places = [*positions, self._place(unit.column)]
        family = needs[0].family
        if places[-1] in positions and "count" not in unit.rules:
            raise UsageError(
                f"column {unit.column!r} says whose a row is, and cannot be what is learned too."
            )
        wanted = [self.need(need, rule) for need, rule in zip(needs, unit.rules, strict=True)]
        wanted.append(Need(family, None, key=True))
        if unit.last_by is not None:
            places.append(self._place(unit.last_by))
            wanted.append(Need(family, None))
        self._engine = held = EngineRows(self._rows.pick(places, wanted), wanted)
        steps = [step_of(pair, rule) for pair, rule in zip(unit.row_bounds, unit.rules, strict=True)]
        renamed = _renamed(len(unit.rules), has_order=unit.last_by is not None)
        rows = numbered(readable(held.frame.select(**renamed)), own=unit.null == "own")
        rows = rows.select(
            "unit",
            "own",
            "order",
            *(as_integer(at, unit, steps[at], ("unit", "own")) for at in range(len(unit.rules))),
        )
        people = rows.group_by("unit", "own").agg(*chain(*map(collected, range(len(unit.rules)), unit.rules)))
        people = people.select(*(person_value(at, rule, steps[at]) for at, rule in enumerate(unit.rules)))
        kinds = tuple(Kind.CODE if coded else Kind.NUMBER for coded in held.coded[: len(needs)])
        return Picked(kinds, iter([people]), beside=held.beside)

    @staticmethod
    def need(need: Need, rule: Rule) -> Need:
        """Return what is wanted of a column's rows: where they are counted, only whether a value is there."""
        return Need(need.family, None, presence=True) if rule == "count" else need

    def close(self) -> None:
        self._rows.close()
        if self._engine is not None:
            self._engine.close()

    def _place(self, column: str) -> int:
        names = self.names or []
        if names.count(column) != 1:
            if column in names:
                raise UsageError(f"column {column!r} appears twice.")
            # of a file the first row may stand for names, and no message repeats it
            known = None if self._rows.header_of is not None else f"the columns are {listed_names(names)}"
            raise UsageError(f"there is no column {column!r}.", hint=known)
        return names.index(column)


def _renamed(n_values: int, *, has_order: bool) -> dict[str, nw.Expr]:
    """Give the columns that were picked the names that they have here."""
    order = nw.col(f"c{n_values + 1}") if has_order else nw.lit(0.0)
    values = {f"x{at}": nw.col(f"c{at}") for at in range(n_values)}
    # null for NaN, which some engines take for the largest number
    return {**values, "unit": nw.col(f"c{n_values}"), "order": nw.when(order <= math.inf).then(order)}


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
