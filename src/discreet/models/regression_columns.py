"""How a regression's columns are declared: by name with bounds, or as columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from discreet.arguments import listed
from discreet.domain.columns import Column, Labels, Numeric, read_columns
from discreet.errors import UsageError
from discreet.models.design import Design, is_expression
from discreet.names import did_you_mean
from discreet.objects import spells_number

EXAMPLE = 'dc.models.LogisticRegression({"smoker": ["no", "yes"]}, {"age": (18, 100), "sex": ["f", "m"]})'
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}.*")
_BOUNDS = 'as in bounds={"age": (18, 100), "smoker": ["no", "yes"]}'


def read_regression(
    name: str, target: Any, features: Any, bounds: Any, terms: Any
) -> tuple[Column, tuple[Column, ...], tuple[str, ...]]:
    """Return the target, the features and the products and squares of them, however they were declared."""
    written = list(listed(terms, "terms", "a list of texts")) if not isinstance(terms, str) else [terms]
    if bounds is not None and not isinstance(bounds, Mapping):
        raise UsageError("bounds must be a dictionary by column.", hint=_BOUNDS)
    if isinstance(target, str):
        target = [_column(target, bounds)]
    if isinstance(features, str):
        raise UsageError("features must be a list of columns.", hint='as in features=["age", "bmi"]')
    if isinstance(features, Sequence) and any(isinstance(one, str) for one in features):
        written = [one for one in features if isinstance(one, str) and is_expression(one)] + written
        features = [
            _column(one, bounds) if isinstance(one, str) else one
            for one in features
            if not (isinstance(one, str) and is_expression(one))
        ]
    if written and isinstance(features, list) and not features:
        own = dict.fromkeys(Design.columns_of(str(written[0])))
        raise UsageError(
            f"the columns of the term {written[0]!r:.60} must be features too.",
            hint=f"as in {[*own, written[0]]!r:.120}",
        )
    aim = read_columns(target if isinstance(target, Mapping | list) else [target])
    if len(aim) != 1:
        raise UsageError(f"{name} has one target, got {len(aim)}.", hint=f"for example {EXAMPLE}")
    declared = read_columns(features)
    # a column that is both is caught by its name
    read_columns((*aim, *declared))
    named = {column.name for column in (*aim, *declared)}
    for unknown in bounds or {}:
        if unknown not in named:
            raise UsageError(
                f"bounds name {unknown!r:.60}, which is neither the target nor a feature.", hint=_BOUNDS
            )
    return aim[0], declared, tuple(written)


def _column(name: str, bounds: Mapping[str, Any] | None) -> Column:
    declared = (bounds or {}).get(name)
    if declared is None:
        near = "" if name in (bounds or ()) else did_you_mean(name, bounds or ())
        raise UsageError(
            f"column {name!r:.60} needs bounds or labels, chosen without looking at the data.",
            hint="a square is written as age ** 2" if "^" in name else f"{near}{_BOUNDS}",
        )
    if isinstance(declared, Sequence) and not isinstance(declared, str) and len(declared) == 2:
        low, high = declared
        if all(isinstance(end, Real) and not isinstance(end, bool) for end in (low, high)):
            return Numeric(name, low, high)  # pyright: ignore[reportArgumentType]
        if isinstance(declared, tuple) and all(isinstance(end, str) for end in declared):
            if all(map(spells_number, declared)):
                return Numeric(name, low, high)
            if any(map(_DATE.fullmatch, declared)):
                raise UsageError(
                    f"the bounds of {name!r:.60} are dates, and a regression takes numbers and labels.",
                    hint="give it the number of days since some date",
                )
    return declared if isinstance(declared, Labels | Numeric) else read_columns({name: declared})[0]
