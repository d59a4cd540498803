"""Several models of one table: one budget, divided by declared weights."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.curator.declare import Declaration, declare
from discreet.domain.columns import read_split
from discreet.errors import UsageError
from discreet.families import RecordSums
from discreet.mechanisms import Mechanism
from discreet.rational import Number, exact

Budget = dict[str, Fraction | None]

# What may be said of each model by its name; bounds, columns and labels of units only so.
_BY_NAME = ("bounds", "columns", "outside", "missing", "per_unit", "row_bounds", "fit_check", "unit_label")
# What several models do not take.
_NOT_BY_NAME = {
    "column": "several models take their columns by name: leave out column.",
    "impute": "impute is for mechanisms that release samples.",
    "by": "several models are not released by groups yet: make one release for each.",
    "max_groups": "several models are not released by groups yet: make one release for each.",
    "groups": "several models are not released by groups yet: make one release for each.",
}


def divide(
    models: Mapping[str, RecordSums], split: Mapping[str, Number] | None, budget: Mapping[str, Number | None]
) -> dict[str, Budget]:
    """Return each model's share of epsilon, delta or rho, exactly."""
    if not models:
        raise UsageError("there is no model to release for.")
    weights = read_split(split, models, "model")
    total = sum(weights.values())
    whole = {name: None if value is None else exact(value, name) for name, value in budget.items()}
    return {
        model: {name: None if value is None else value * weight / total for name, value in whole.items()}
        for model, weight in weights.items()
    }


def declare_several(
    data: Any, models: Mapping[str, RecordSums], mechanisms: Mapping[str, Mechanism], **declarations: Any
) -> dict[str, Declaration]:
    """Check the declarations of every model, as :func:`declare` takes them.

    Unless told otherwise, a model is of the column it is named after.
    """
    for argument, problem in _NOT_BY_NAME.items():
        if declarations.pop(argument) is not None:
            raise UsageError(problem)
    for argument in _BY_NAME:
        given = declarations[argument]
        if isinstance(given, Mapping):
            unknown = [name for name in given if name not in models]
            if unknown:
                raise UsageError(f"{argument} names {unknown[0]!r:.60}, and there is no model of that name.")
        elif given is not None and argument in ("bounds", "columns", "unit_label"):
            raise UsageError(f"with several models, {argument} must be a dictionary by name.")
    asked = {}
    for name, model in models.items():
        if not isinstance(name, str):
            raise UsageError(f"models must be named by columns, got {type(name).__name__}.")
        own: dict[str, Any] = {
            argument: given.get(name) if argument in _BY_NAME and isinstance(given, Mapping) else given
            for argument, given in declarations.items()
        }
        if own["per_unit"] != "last":
            own["last_by"] = None
        columns = (name,) if own["columns"] is None else own["columns"]
        own["columns"] = (columns,) if isinstance(columns, str) else columns
        asked[name] = declare(data, model, mechanisms[name], **own)
    return asked
