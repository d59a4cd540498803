"""The public value that stands for a missing one, where every record must count."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.domain.declarations import Domain
from discreet.errors import UsageError
from discreet.names import shown_label
from discreet.rational import exact, plain

if TYPE_CHECKING:
    from discreet.families.record_sums import RecordSums


def read_impute(family: RecordSums, impute: Any) -> tuple[Fraction | str, ...]:
    """Read the curator's ``impute``: one label, or one number for each column."""
    if family.vocabulary is not None:
        return (_label(family, impute),)
    several = isinstance(impute, list | tuple | np.ndarray)
    values = tuple(impute) if several else (impute,) * family.n_columns
    if len(values) != family.n_columns:
        raise UsageError(f"{family.name} takes {family.n_columns} value(s) to impute, got {len(values)}.")
    return tuple(exact(value, "impute") for value in values)


def check_impute(family: RecordSums, domain: Domain) -> None:
    """Raise unless what is imputed lies in the domain, and is there exactly if it is needed."""
    if (domain.impute is None) != (domain.missing != "impute"):
        raise UsageError("a value is imputed exactly if missing='impute'.")
    if domain.impute is None:
        return
    if family.vocabulary is not None:
        # two answers go by their places; labels by themselves
        known = family.labels if family.labels is not None else (Fraction(0), Fraction(1))
        if len(domain.impute) != 1 or domain.impute[0] not in known:
            raise UsageError("the value to impute must be one label.")
        return
    pairs = domain.bounds or ()
    if len(domain.impute) != len(pairs):
        raise UsageError(f"{family.name} takes {len(pairs)} value(s) to impute, got {len(domain.impute)}.")
    for value, (low, high) in zip(domain.impute, pairs, strict=True):
        if isinstance(value, str) or not low <= value <= high:
            raise UsageError(
                f"impute must lie within the bounds [{plain(low)}, {plain(high)}], got impute={_shown(value)}."
            )
        if family.support.discrete and value.denominator != 1:
            raise UsageError(
                f"{family.name} counts, so impute must be an integer, got impute={_shown(value)}."
            )


def _label(family: RecordSums, value: Any) -> Fraction | str:
    """Return the label that a value spells: itself if there are labels, else its position."""
    assert family.vocabulary is not None
    if isinstance(value, bool | np.bool_):
        value = int(value)
    spelled = str(value)
    for position, spellings in enumerate(family.vocabulary):
        if spelled in spellings:
            return Fraction(position) if family.labels is None else family.labels[position]
    if family.labels is None:
        words = " or ".join(shown_label(spellings[0]) for spellings in family.vocabulary)
        raise UsageError(f"impute must be {words} for this {family.name}, got impute={value!r:.60}.")
    raise UsageError(f"impute must be one of the labels, got impute={value!r:.60}.")


def imputed_position(family: RecordSums, domain: Domain) -> int | None:
    """Return which label stands for missing values, or None if nothing does."""
    if domain.impute is None:
        return None
    (label,) = domain.impute
    return int(label) if family.labels is None else family.labels.index(str(label))


def _shown(value: Fraction | str) -> str:
    return value[:60] if isinstance(value, str) else plain(value)
