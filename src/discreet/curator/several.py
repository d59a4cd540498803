"""Several models of one table: one budget, divided by declared weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from discreet.curator.declare import Declaration, declare
from discreet.domain.declarations import Neighbors
from discreet.errors import UsageError
from discreet.families.record_sums import RecordSums
from discreet.mechanisms.base import Mechanism
from discreet.names import asked_for
from discreet.rational import Number, exact

Budget = dict[str, Fraction | None]


def divide(
    models: Mapping[str, RecordSums], split: Mapping[str, Number] | None, budget: Mapping[str, Number | None]
) -> dict[str, Budget]:
    """Return each model's share of epsilon, delta or rho, exactly."""
    if not models:
        raise UsageError("there is no model to release for.")
    unknown = [name for name in split or {} if name not in models]
    if unknown:
        raise UsageError(f"split names {unknown[0]!r:.60}, and there is no model of that name.")
    weights = {name: exact((split or {}).get(name, 1), "a weight of split") for name in models}
    if any(weight <= 0 for weight in weights.values()):
        raise UsageError("the weights of split must be positive.")
    total = sum(weights.values())
    whole = {name: None if value is None else exact(value, name) for name, value in budget.items()}
    return {
        model: {name: None if value is None else value * weight / total for name, value in whole.items()}
        for model, weight in weights.items()
    }


def declare_several(
    data: Any,
    models: Mapping[str, RecordSums],
    split: Mapping[str, Number] | None,
    budget: Mapping[str, Number | None],
    mechanism_for: Callable[[Budget], Mechanism],
    *,
    columns: Any,
    bounds: Any,
    outside: Any,
    missing: Any,
    neighbors: Neighbors,
    people: Mapping[str, Any] | None = None,
    fit_check: Any = None,
) -> dict[str, Declaration]:
    """Check the declarations of every model; unless told otherwise, a model is of the column it is named after."""
    for argument, given in (("bounds", bounds), ("columns", columns)):
        if given is not None and not isinstance(given, Mapping):
            raise UsageError(f"with several models, {argument} must be a dictionary by name.")
    for argument, given in (
        ("bounds", bounds),
        ("columns", columns),
        ("outside", outside),
        ("missing", missing),
        ("per_unit", (people or {}).get("per_unit")),
        ("row_bounds", (people or {}).get("row_bounds")),
        ("fit_check", fit_check),
    ):
        unknown = [name for name in given if name not in models] if isinstance(given, Mapping) else []
        if unknown:
            raise UsageError(f"{argument} names {unknown[0]!r:.60}, and there is no model of that name.")
    shares = divide(models, split, budget)
    asked = {}
    for name, model in models.items():
        if not isinstance(name, str):
            raise UsageError(f"models must be named by columns, got {type(name).__name__}.")
        own = (columns or {}).get(name, (name,))
        asked[name] = declare(
            data,
            model,
            mechanism_for(shares[name]),
            columns=tuple(asked_for(one) for one in ((own,) if isinstance(own, str) else own)),
            bounds=(bounds or {}).get(name),
            outside=outside.get(name) if isinstance(outside, Mapping) else outside,
            missing=missing.get(name) if isinstance(missing, Mapping) else missing,
            neighbors=neighbors,
            people=None if people is None else {**people, **_own(people, name)},
            fit_check=fit_check.get(name) if isinstance(fit_check, Mapping) else fit_check,
        )
    return asked


def _own(people: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return what is said about people's records for one of the models: the same for all, or by name."""
    given = {argument: people[argument] for argument in ("per_unit", "row_bounds")}
    own = {k: v.get(name) if isinstance(v, Mapping) else v for k, v in given.items()}
    return {**own, "last_by": people["last_by"] if own["per_unit"] == "last" else None}
