"""The unit of protection: whose rows belong together, and how they become one record.

A table often holds several rows of a person: visits, purchases, readings. Protecting a row does not protect the person.
So a curator names the column that tells people apart, and a rule by which each person's rows become **one** record; the
person is then the record, for the sensitivity and for the analyst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from discreet.arguments import one_of, shown
from discreet.domain.bounds import Bounds, check_pair, read_pairs
from discreet.errors import UsageError

#: How the rows of one person become one value of a column.
Rule = Literal["any", "all", "mean", "sum", "max", "min", "count", "last"]
#: What becomes of rows that do not say whose they are: left out, or each a person of its own.
NullUnit = Literal["leave_out", "own"]

#: Rules for numbers; a mean of whole numbers is no whole number, so models of counts do without it.
FOR_NUMBERS: tuple[Rule, ...] = ("mean", "sum", "max", "min", "count", "last")
FOR_COUNTS: tuple[Rule, ...] = ("sum", "max", "min", "count", "last")
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
        How rows become one value, for each column of the model.
    row_bounds
        For each column, the bounds that every row is clipped to before the rule is applied; None for labels.
    order
        The column by which ``last`` is decided; of rows that tie, the largest value counts.
    null
        What becomes of rows in which ``column`` is missing.
    """

    column: str
    rules: tuple[Rule, ...]
    row_bounds: Bounds | None = None
    order: str | None = None
    null: NullUnit = "leave_out"

    def in_words(self, columns: Sequence[str]) -> list[str]:
        """Say what a person's record is, for the privacy statement."""
        said = []
        for at, (column, rule) in enumerate(zip(columns, self.rules, strict=True)):
            words = f"each person's record has, of {column!r}, {_IN_WORDS[rule]}"
            if rule == "last":
                words += f" by {self.order!r}"
            if self.row_bounds is not None and rule != "count":
                low, high = (f"{float(bound):g}" for bound in self.row_bounds[at])
                words += f", each row clipped to [{low}, {high}] first"
            said.append(words)
        rows = f"rows without a value of {self.column!r}"
        said.append(
            f"{rows} were left out" if self.null == "leave_out" else f"{rows} count as a person of their own each"
        )
        return said


def read_unit(
    column: str,
    per_unit: Any,
    *,
    allowed: Sequence[Sequence[Rule]],
    names: Sequence[str] | None,
    bounds: Bounds | None,
    row_bounds: Any = None,
    order: str | None = None,
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
        The bounds of a person's record; rows are clipped to the same bounds unless ``row_bounds`` says otherwise, but
        rows to be summed to bounds that include 0.
    """
    if not allowed:
        raise UsageError(
            f"{model} reads rows in their order, or several of a person together, and takes no unit.",
            hint="leave out unit, and protect each row",
        )
    if per_unit is None:
        raise UsageError(
            "unit needs per_unit, by which a person's rows become one record.",
            hint=f"for example per_unit={allowed[0][0]!r}; {_listed(allowed[0])} are there",
        )
    rules = tuple(_rule(per_unit, at, names, allowed[at], model) for at in range(len(allowed)))
    if names is not None and column in names and "count" not in rules:
        raise UsageError(f"column {column!r} says whose a row is, and cannot be what is learned too.")
    if ("last" in rules) != (order is not None):
        raise UsageError(
            "per_unit='last' needs order, a column of numbers or dates that says which row is last."
            if order is None
            else "order is for per_unit='last'."
        )
    one_of(null, "null_unit", NullUnit)
    if bounds is None:
        if row_bounds is not None:
            raise UsageError("row_bounds are for numbers, and these are labels.")
        return Unit(column, rules, None, order, null)
    if row_bounds is None:
        rows = tuple(
            (min(low, 0 * low), max(high, 0 * high)) if rule == "sum" else (low, high)
            for (low, high), rule in zip(bounds, rules, strict=True)
        )
    else:
        rows = read_pairs(row_bounds, "row_bounds")
        if len(rows) != len(bounds):
            raise UsageError(f"row_bounds are one pair for each column, of which there are {len(bounds)}.")
        for pair in rows:
            check_pair(pair, model, float("-inf"), float("inf"), discrete=False, name="row_bounds")
    return Unit(column, rules, rows, order, null)


def _rule(per_unit: Any, at: int, names: Sequence[str] | None, allowed: Sequence[Rule], model: str) -> Rule:
    rule = per_unit
    if isinstance(per_unit, Mapping):
        if names is None or set(per_unit) != set(names):
            raise UsageError("per_unit has one rule for all columns, or one for each by its name.")
        rule = per_unit[names[at]]
    if not isinstance(rule, str) or rule not in get_args(Rule):
        raise UsageError(f"per_unit must be one of {_listed(get_args(Rule))}, got per_unit={shown(rule)}.")
    if rule not in allowed:
        raise UsageError(
            f"per_unit={rule!r} is not for this column of {model}.", hint=f"use {_listed(allowed)}"
        )
    return rule  # pyright: ignore[reportReturnType]


def _listed(rules: Sequence[str]) -> str:
    return ", ".join(map(repr, rules))
