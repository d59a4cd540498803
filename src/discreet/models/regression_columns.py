"""How a regression's columns are declared: by name with bounds, or as columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from discreet.arguments import listed, shown
from discreet.domain.columns import Column, Labels, Numeric, read_columns
from discreet.errors import UsageError
from discreet.models.design import Design, is_expression
from discreet.names import did_you_mean
from discreet.objects import spells_number

EXAMPLE = 'dc.models.LogisticRegression({"smoker": ["no", "yes"]}, {"age": (18, 100), "sex": ["f", "m"]})'
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}.*")
_FRACTION = re.compile(r"[+-]?[0-9]+/[0-9]+")
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
_BOUNDS = 'as in bounds={"age": (18, 100), "smoker": ["no", "yes"]}'
_EITHER = 'a number has bounds, "age": (18, 100), and labels are texts, "smoker": ["no", "yes"]'


def read_regression(
    name: str, target: Any, features: Any, bounds: Any, terms: Any
) -> tuple[Column, tuple[Column, ...], tuple[str, ...]]:
    """Return the target, the features and the products and squares of them, however they were declared."""
    written = list(listed(terms, "terms", "a list of texts")) if not isinstance(terms, str) else [terms]
    if bounds is not None and not isinstance(bounds, Mapping):
        raise UsageError("bounds must be a dictionary by column.", hint=_BOUNDS)
    if isinstance(target, str):
        target = [_named(target, bounds)]
    if features is None or isinstance(features, str):
        raise UsageError("features must be a list of columns.", hint='as in features=["age", "bmi"]')
    if isinstance(features, Sequence) and any(isinstance(one, str) for one in features):
        written = [one for one in features if isinstance(one, str) and is_expression(one)] + written
        features = [
            _named(one, bounds) if isinstance(one, str) else one
            for one in features
            if not (isinstance(one, str) and is_expression(one))
        ]
    if written and isinstance(features, list) and not features:
        own = dict.fromkeys(Design.columns_of(str(written[0])))
        raise UsageError(
            f"the columns of the term {written[0]!r:.60} must be features too.",
            hint=f"as in {[*own, written[0]]!r:.120}",
        )
    aim = read_columns(_each(target if isinstance(target, Mapping | list) else [target]))
    if len(aim) != 1:
        raise UsageError(f"{name} has one target, got {len(aim)}.", hint=f"for example {EXAMPLE}")
    declared = _features(_each(features), aim[0])
    known = [column.name for column in (*aim, *declared)]
    for unknown in bounds or {}:
        if unknown not in known:
            near = did_you_mean(unknown, known) if isinstance(unknown, str) else ""
            raise UsageError(
                f"bounds name {unknown!r:.60}, which is neither the target nor a feature.",
                hint=f"{near}list it as a feature, or leave it out of bounds",
            )
    return aim[0], declared, tuple(written)


def zero_or_one(target: Any, bounds: Any) -> Any:
    """Return a target with the bounds 0 and 1 as a column of these two labels, and any other one as it is."""
    declared = bounds if isinstance(target, str) else target
    if isinstance(declared, Mapping) and (isinstance(target, str) or len(declared) == 1):
        (name,) = [target] if isinstance(target, str) else declared
        pair = declared.get(name)
        pair = (pair.low, pair.high) if isinstance(pair, Numeric) else pair
        if isinstance(pair, tuple | list) and _are_numbers(pair) and list(pair) == [0, 1]:
            return {name: ["0", "1"]}
    return target


def _features(features: Any, aim: Column) -> tuple[Column, ...]:
    """Return the features, none of them twice and none the target."""
    if isinstance(features, Sequence | Mapping) and not features:
        raise UsageError("a regression has at least one feature.", hint='as in features=["age", "smoker"]')
    seen = {aim.name: f"the target {aim.name!r:.60} is among the features too."}
    for one in features if isinstance(features, Sequence) else ():
        if isinstance(one, Labels | Numeric) and one.name in seen:
            raise UsageError(seen[one.name], hint="leave it out there")
        if isinstance(one, Labels | Numeric):
            seen[one.name] = f"the feature {one.name!r:.60} stands twice."
    declared = read_columns(features)
    if aim.name in (one.name for one in declared):
        raise UsageError(seen[aim.name], hint="leave it out there")
    return declared


def _each(columns: Any) -> Any:
    """Return columns that are declared in a dictionary as columns, and others as they are."""
    if not isinstance(columns, Mapping):
        return columns
    return {name: _column(name, declared) for name, declared in columns.items()}


def _named(name: str, bounds: Mapping[str, Any] | None) -> Column:
    """Return a column that is given by name, as ``bounds`` declare it."""
    declared = (bounds or {}).get(name)
    if isinstance(declared, np.ndarray):
        declared = declared.tolist()
    if declared is None:
        known = [one for one in bounds or () if isinstance(one, str)]
        near = "" if name in known else did_you_mean(name, known)
        raise UsageError(
            f"column {name!r:.60} needs bounds or labels, chosen without looking at the data.",
            hint="a square is written as age ** 2" if "^" in name else f"{near}{_BOUNDS}",
        )
    # here numbers are bounds, and dates are meant as such, also in a list; texts in one are labels
    if isinstance(declared, list):
        ends = len(declared) == 2 and any(map(_is_number, declared)) and all(map(_spells_end, declared))
        if ends or _are_numbers(declared) or _are_dates(declared):
            declared = tuple(declared)
    return _column(name, declared)


def _column(name: Any, declared: Any) -> Column:
    """Return a column that is declared by a pair of numbers, or by labels."""
    if isinstance(declared, np.ndarray):
        declared = declared.tolist()
    if isinstance(declared, Labels | Numeric | range):
        return read_columns({name: declared})[0]
    _refuse_dates(name, declared if isinstance(declared, list | tuple) else [declared])
    if not isinstance(declared, list | tuple):
        raise UsageError(
            f"column {name!r:.60} is declared by two bounds or by labels, got {shown(declared)}.",
            hint=_EITHER,
        )
    if any(isinstance(one, bool | np.bool_) for one in declared):
        raise UsageError(
            f"the labels of column {name!r:.60} are texts or whole numbers.",
            hint='of yes and no: ["False", "True"]',
        )
    if isinstance(declared, list):
        if any(isinstance(one, float) for one in declared):
            raise UsageError(f"the labels of column {name!r:.60} are texts or whole numbers.", hint=_EITHER)
        return read_columns({name: declared})[0]
    check_bounds(name, declared)
    if len(declared) == 2 and all(map(_spells_end, declared)):
        return Numeric(name, *declared)
    return read_columns({name: declared})[0]


def check_bounds(name: Any, declared: tuple[Any, ...]) -> None:
    """Raise where a tuple is meant as bounds and is no pair of numbers; one of texts may be labels."""
    _refuse_dates(name, declared)
    texts = [one for one in declared if isinstance(one, str)]
    if _are_numbers(declared) and len(declared) != 2:
        count = "one number" if len(declared) == 1 else f"{len(declared)} numbers"
        raise UsageError(f"column {name!r:.60} has two bounds, got {count}.", hint=_EITHER)
    if len(declared) == len(texts) == 2 and all(map(_WHOLE.fullmatch, texts)):
        low, high = (f"{one.strip():.20}" for one in texts)
        raise UsageError(
            f"({texts[0]!r:.20}, {texts[1]!r:.20}) of column {name!r:.60} may be bounds, and may be labels.",
            hint=f'write ({low}, {high}) for bounds, ["{low}", "{high}"] for labels',
        )
    if len(declared) == 2 and len(texts) == 1 and not all(map(_spells_end, declared)):
        raise UsageError(f"column {name!r:.60} is declared by a number and a text.", hint=_EITHER)


def _refuse_dates(name: Any, declared: Sequence[Any]) -> None:
    meant = isinstance(declared, tuple) and _are_dates(declared)
    if meant or any(isinstance(one, date | np.datetime64) for one in declared):
        raise UsageError(
            f"the bounds of {name!r:.60} are dates, and a regression takes numbers and labels.",
            hint="give it the number of days since some date",
        )


def _are_numbers(values: Sequence[Any]) -> bool:
    return len(values) > 0 and all(map(_is_number, values))


def _spells_end(value: Any) -> bool:
    """Tell whether this is a number, or the text of one."""
    return _is_number(value) or (
        isinstance(value, str) and (spells_number(value) or _FRACTION.fullmatch(value) is not None)
    )


def _are_dates(values: Sequence[Any]) -> bool:
    """Tell whether two texts are dates."""
    return len(values) == 2 and all(isinstance(one, str) and _DATE.fullmatch(one) for one in values)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)
