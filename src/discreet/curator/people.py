"""What a curator says about people: whose rows belong together, and what of them counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.arguments import one_of, whole
from discreet.domain.unit import FOR_DATES, FOR_LABELS, NullUnit, Pair, Rule, Unit, read_unit
from discreet.errors import UsageError
from discreet.families.cluster_mean import MOST_ROWS
from discreet.models import Model
from discreet.names import asked_for


def people_of(
    unit: Any,
    per_unit: Any = None,
    row_bounds: Any = None,
    last_by: Any = None,
    null_unit: Any = "leave_out",
    max_rows: Any = None,
) -> dict[str, Any] | None:
    """Return what was said about people, or None if a record is a row."""
    one_of(null_unit, "null_unit", NullUnit)
    if unit is None:
        said = (per_unit, row_bounds, last_by, max_rows)
        if null_unit != "leave_out" or any(one is not None for one in said):
            raise UsageError(
                "per_unit, max_rows, row_bounds, last_by and null_unit need unit, a column that tells people apart."
            )
        return None
    names = {"unit": asked_for(unit), "last_by": None if last_by is None else asked_for(last_by)}
    if max_rows is not None:
        whole(max_rows, "max_rows", most=MOST_ROWS)
        if any(one is not None for one in (per_unit, row_bounds, last_by)):
            raise UsageError(
                "max_rows counts rows, and per_unit, row_bounds and last_by make one record of them: give one or the "
                "other.",
            )
    return {
        "column": names["unit"],
        "per_unit": per_unit,
        "row_bounds": row_bounds,
        "last_by": names["last_by"],
        "null": null_unit,
        "max_rows": max_rows,
    }


def weighed_and_capped(
    model: Model, people: Mapping[str, Any] | None, weights: Any, weight_bounds: Any
) -> Model:
    """Return the model of rows with weights, and of at most so many rows of each person, as the curator asks."""
    if weights is not None:
        if people is not None and people["max_rows"] is None:
            raise UsageError(
                "weights are weights of rows, and per_unit makes one record of them.",
                hint="with unit, weights go with max_rows",
            )
        model = model.weighted(asked_for(weights), weight_bounds)
    elif weight_bounds is not None:
        raise UsageError("weight_bounds are for weights, the name of a column.")
    if people is None or people["max_rows"] is None:
        return model
    return model.capped(people["max_rows"])


def unit_of(
    people: Mapping[str, Any],
    model: Model,
    columns: Sequence[str] | None,
    bounds: Sequence[Pair | None],
    *,
    dates: bool,
) -> Unit:
    """Return the unit that was declared, checked against the model."""
    said = {name: value for name, value in people.items() if name != "max_rows"}
    names = columns
    allowed: tuple[tuple[Rule, ...], ...] = model.unit_rules
    if not allowed and people["max_rows"] is None:
        raise UsageError(
            f"{model.name} takes no unit: {model.no_unit}.", hint="leave out unit, and protect each row"
        )
    if dates:
        # days have no sum, and a number of rows is no date
        dated = {*FOR_DATES, *FOR_LABELS}
        allowed = tuple(tuple(rule for rule in some if rule in dated) for some in allowed)
    if model.max_groups is not None and columns is not None:
        names = columns[: len(allowed)]
    # a column that makes groups, or one of rows that are not put together, is read as it is
    alone = (
        () if columns is None else columns[len(allowed) :] if model.groups else columns if not allowed else ()
    )
    if said["column"] in alone:
        raise UsageError(
            f"column {said['column']!r:.60} says whose a row is, and cannot be what is learned too, or make groups."
        )
    if people["max_rows"] is not None and columns is None:
        raise UsageError("name the column that is learned about: the unit is another one.")
    if people["max_rows"] is None:
        return read_unit(**said, allowed=allowed, names=names, bounds=bounds, model=model.name)
    return Unit(said["column"], (), (), None, said["null"])
