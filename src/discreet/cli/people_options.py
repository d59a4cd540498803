"""Options about people with several rows, groups and weights, and how their texts are read."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from discreet.cli.options import option
from discreet.errors import UsageError

people_option = partial(option, rich_help_panel="People with several rows, groups and weights")

Unit = Annotated[
    str | None,
    people_option("NAME", "Column that tells people apart: each person, with all rows, is then one record."),
]
PerUnit = Annotated[
    str | None,
    people_option(
        "RULE", "How a person's rows become one record: any, all, mean, sum, max, min, count or last."
    ),
]
MaxRows = Annotated[
    int | None,
    people_option(
        "K", "Instead of --per-unit: at most so many rows of each person count, for a mean of rows."
    ),
]
Weights = Annotated[
    str | None, people_option("NAME", "Column of survey weights, clipped to --weight-bounds; for means.")
]
WeightBounds = Annotated[
    str | None, people_option("LOW,HIGH", "Public bounds of the weights, decided without looking.")
]
RowBounds = Annotated[
    list[str] | None,
    people_option(
        "LOW,HIGH", "What each row is clipped to before the rule; the bounds of the record unless given."
    ),
]
LastBy = Annotated[
    str | None, people_option("NAME", "Column by which a row is the last, for --per-unit last.")
]
NullUnit = Annotated[
    Literal["leave_out", "own"],
    people_option(None, "Rows without a unit are left out, or each a person of its own."),
]
By = Annotated[
    list[str] | None,
    people_option(
        "NAME=LABEL|LABEL…",
        'Column that makes groups, with its labels: "region=north|south"; repeat it for more columns.',
    ),
]
Groups = Annotated[
    Literal["private"] | None,
    people_option(
        None,
        "Of the column of --by that has no labels: publish those that enough people have; takes --delta.",
    ),
]

MaxGroups = Annotated[
    int | None,
    people_option("G", "In at most how many groups of --by a person counts, with one record in each."),
]


Where = Annotated[
    str | None,
    option(
        "CONDITION",
        "Public filter of rows, such as \"age >= 18 and region = 'north'\"; others count as missing.",
    ),
]


def read_by(texts: list[str] | None, groups: str | None = None) -> dict[str, list[str] | str] | None:
    """Read each ``--by NAME=LABEL|LABEL`` as a column and its labels; without labels, they are what ``groups`` says."""
    found: dict[str, list[str] | str] = {}
    for text in texts or ():
        name, sign, labels = text.partition("=")
        if not name or not (labels or (groups and not sign)) or name in found:
            raise UsageError(
                f"cannot read --by {text!r:.60}.",
                hint='for example --by "region=north|south", or --by region --groups private',
            )
        found[name] = labels.split("|") if labels or groups is None else groups
    if groups is not None and groups not in found.values():
        raise UsageError(f"--groups {groups} is for a column without labels, such as --by region.")
    return found or None
