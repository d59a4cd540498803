"""The unit of protection: whose rows belong together, and how they become one record.

A table often holds several rows of a person: visits, purchases, readings. Protecting a row does not protect the person.
So a curator names the column that tells people apart, and a rule by which each person's rows become **one** record; the
person is then the record, for the sensitivity and for the analyst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet.arguments import one_of, shown
from discreet.domain.bounds import check_pair, read_pairs
from discreet.domain.dates import shown_day
from discreet.errors import UsageError

#: How the rows of one person become one value of a column.
Rule = Literal["any", "all", "mean", "sum", "max", "min", "count", "last"]
#: What becomes of rows that do not say whose they are: left out, or each a person of its own.
NullUnit = Literal["leave_out", "own"]

Pair = tuple[Fraction, Fraction]

_ZERO = Fraction(0)
_NEAREST = Fraction(1, 10**200)

#: Rules for numbers; a mean of whole numbers is no whole number, so models of counts do without it.
FOR_NUMBERS: tuple[Rule, ...] = ("mean", "sum", "max", "min", "count", "last")
FOR_COUNTS: tuple[Rule, ...] = ("sum", "max", "min", "count", "last")
#: Rules for dates, which have no sum.
FOR_DATES: tuple[Rule, ...] = ("mean", "max", "min", "last")
#: Rules for yes and no.
FOR_FLAGS: tuple[Rule, ...] = ("any", "all", "last")
#: Rules for labels, whose order is the declared one.
FOR_LABELS: tuple[Rule, ...] = ("last", "max", "min")

_IN_WORDS: dict[Rule, str] = {
    "any": "whether any of their rows says yes",
    "all": "whether all of their rows say yes",
    "mean": "the mean of their rows",
    "sum": "the sum of their rows",
    "max": "the largest of their rows",
    "min": "the smallest of their rows",
    "count": "the number of their rows",
    "last": "the last of their rows",
}


@dataclass(frozen=True)
class Unit:
    """Who is protected, and what one person's record is.

    Attributes
    ----------
    column
        The column that tells people apart: rows with the same value belong to one person.
    rules
        How rows become one value, for each column of the model; none where up to ``max_rows`` rows of a person count.
    row_bounds
        For each column of numbers, the bounds that every row is clipped to before the rule is applied.
    last_by
        The column by which ``last`` is decided; of rows that tie, the largest value counts.
    null
        What becomes of rows in which ``column`` is missing.
    """

    column: str
    rules: tuple[Rule, ...]
    row_bounds: tuple[Pair | None, ...]
    last_by: str | None = None
    null: NullUnit = "leave_out"

    def cut(self, n_columns: int) -> Unit:
        """Return what is said about the first so many columns."""
        rules = self.rules[:n_columns]
        last_by = self.last_by if "last" in rules else None
        return Unit(self.column, rules, self.row_bounds[:n_columns], last_by, self.null)

    def in_words(self, columns: Sequence[str], *, dates: bool = False) -> list[str]:
        """Say what a person's record is, for the privacy statement; ``dates`` says that numbers are days."""
        said = []
        for at, (column, rule) in enumerate(zip(columns[: len(self.rules)], self.rules, strict=True)):
            words = f"each person's record has, of {column!r}, {_IN_WORDS[rule]}"
            if rule == "last":
                words += f" by {self.last_by!r}"
            pair = self.row_bounds[at]
            if pair is not None and rule != "count":
                low, high = (shown_day(bound) if dates else f"{float(bound):g}" for bound in pair)
                words += f", each row clipped to [{low}, {high}] first"
            said.append(words)
        rows = f"rows without a value of {self.column!r}"
        said.append(
            f"{rows} were left out"
            if self.null == "leave_out"
            else f"{rows} count as a person of their own each"
        )
        return said


def read_unit(
    column: str,
    per_unit: Any,
    *,
    allowed: Sequence[Sequence[Rule]],
    names: Sequence[str] | None,
    bounds: Sequence[Pair | None],
    row_bounds: Any = None,
    last_by: str | None = None,
    null: Any = "leave_out",
    model: str,
) -> Unit:
    """Check what the curator declares about people, and return it.

    Parameters
    ----------
    per_unit
        A rule for all columns, or rules by column.
    allowed
        The rules that the model takes, column by column; empty where it takes none.
    names
        The columns of the model, if they are known.
    bounds
        The bounds of a person's record, None for labels. Rows are clipped to the same bounds unless ``row_bounds`` says
        otherwise, but rows to be summed to bounds that include 0.
    """
    if per_unit is None:
        raise UsageError(
            "unit needs per_unit, by which a person's rows become one record, or max_rows.",
            hint=f"for example per_unit={allowed[0][0]!r}; {_listed(allowed[0])} are there",
        )
    rules: tuple[Rule, ...] = tuple(
        _rule(per_unit, at, names, allowed[at], model) for at in range(len(allowed))
    )
    if names is not None and column in names and "count" not in rules:
        raise UsageError(f"column {column!r} says whose a row is, and cannot be what is learned too.")
    if ("last" in rules) != (last_by is not None):
        raise UsageError(
            "per_unit='last' needs last_by, a column of numbers that says which row is last."
            if last_by is None
            else "last_by is for per_unit='last'."
        )
    one_of(null, "null_unit", NullUnit)
    return Unit(column, rules, _row_bounds(row_bounds, bounds, rules), last_by, null)


def check_unit(
    unit: Unit, columns: Sequence[str], allowed: Sequence[Sequence[Rule]], bounds: Sequence[Pair | None]
) -> None:
    """Raise ValueError unless what a file says of people is what its model takes."""
    if len(unit.rules) != len(allowed) or any(
        rule not in some for rule, some in zip(unit.rules, allowed, strict=True)
    ):
        raise ValueError("its model does not take its rules for people")
    if unit.column in columns and "count" not in unit.rules:
        raise ValueError("the column of its unit is one that is learned about")
    if [pair is None for pair in unit.row_bounds] != [pair is None for pair in bounds]:
        raise ValueError("its bounds of rows do not fit its columns")
    for pair in unit.row_bounds:
        if pair is not None:
            check_pair(pair, "row_bounds")
            _check_reach(pair)
    if ("last" in unit.rules) != (unit.last_by is not None):
        raise ValueError("it does not say by what a row is the last")


def _check_reach(pair: Pair) -> None:
    """Raise unless rows within these bounds can be counted in steps that floating point knows."""
    if max(map(abs, pair)) < _NEAREST:
        raise UsageError("row_bounds must reach further than 1e-200 from 0.")


def _row_bounds(
    declared: Any, bounds: Sequence[Pair | None], rules: Sequence[Rule]
) -> tuple[Pair | None, ...]:
    """Return the bounds of rows: those declared, or those of the record, with 0 in them where rows are summed."""
    numbers = [at for at, pair in enumerate(bounds) if pair is not None]
    if declared is None:
        found = tuple(
            pair if pair is None or rule != "sum" else (min(pair[0], _ZERO), max(pair[1], _ZERO))
            for pair, rule in zip(bounds, rules, strict=True)
        )
        for pair in found:
            if pair is not None:
                _check_reach(pair)
        return found
    if not numbers:
        raise UsageError("row_bounds are for numbers, and these are labels.")
    pairs = read_pairs(declared, "row_bounds")
    if len(pairs) != len(numbers):
        raise UsageError(
            f"row_bounds are one pair for each column of numbers: {len(numbers)}, got {len(pairs)}."
        )
    for pair in pairs:
        check_pair(pair, "row_bounds")
        _check_reach(pair)
    each = dict(zip(numbers, pairs, strict=True))
    return tuple(each.get(at) for at in range(len(bounds)))


def _rule(per_unit: Any, at: int, names: Sequence[str] | None, allowed: Sequence[Rule], model: str) -> Rule:
    rule = per_unit
    if isinstance(per_unit, Mapping):
        if names is None or set(per_unit) != set(names):
            raise _other_columns(per_unit, names)
        rule = per_unit[names[at]]
    rule: Rule = one_of(rule, "per_unit", Rule)
    if rule not in allowed:
        column = f"this column of {model}" if names is None else f"column {shown(names[at])}"
        several = len(names or ()) > 1 and not isinstance(per_unit, Mapping)
        each = (
            f"; rules by column are per_unit={{{shown(names[at])}: {allowed[0]!r}, …}}"
            if names and several
            else ""
        )
        raise UsageError(f"per_unit={rule!r} is not for {column}.", hint=f"use {_listed(allowed)}{each}")
    return rule


def _other_columns(per_unit: Mapping[Any, Any], names: Sequence[str] | None) -> UsageError:
    """Return the error for rules by column of which one is too many, or missing."""
    said = "per_unit has one rule for all columns, or one for each by its name"
    lacking = [name for name in names or () if name not in per_unit]
    if lacking:
        return UsageError(f"{said}, and there is none for {shown(lacking[0])}.")
    other = next((name for name in per_unit if names and name not in names), None)
    return UsageError(
        f"{said}." if other is None else f"{said}, and {shown(other)} is no column of the model."
    )


def _listed(rules: Sequence[str]) -> str:
    return ", ".join(map(repr, rules))
