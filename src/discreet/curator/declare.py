"""First step of a release: everything the curator declares, checked before any row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.arguments import listed, one_of
from discreet.artifact import BoundsChoice, GroupSelection, Record
from discreet.artifact.about import About, read_about
from discreet.curator.people import people_of, unit_of, weighed_and_capped
from discreet.domain.declarations import Domain, Missing, Neighbors, Outside
from discreet.domain.unit import NullUnit, Unit
from discreet.domain.where import Condition, read_where
from discreet.errors import UsageError
from discreet.families import Family, RecordSums
from discreet.families.fit_bins import bin_layout, checkable, fit_grid, read_share
from discreet.mechanisms import Mechanism
from discreet.mechanisms.noise import NoiseMechanism
from discreet.mechanisms.private_groups import LabelBudget
from discreet.mechanisms.quantile import PrivateQuantiles, plan_choices
from discreet.models import ColumnModel, Model
from discreet.models.layout import Layout
from discreet.names import asked_for, check_name
from discreet.privacy import ApproxDP, Guarantee, PureDP


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """A release of which nothing was read yet: what was declared, all of it checked, and what follows from it.

    ``layout`` is the vector of the totals to be read, None for mechanisms that read records; ``bounds_choice`` says how
    bounds are to be bought, if they are; ``group_selection`` how labels of groups are to be chosen, if nobody declared
    them; ``checker`` adds the noise of a fit check, if there is one; ``guarantees`` are what will be promised, part by
    part; ``record`` is the public record of the mechanism, if it is known already.
    """

    data: Any = field(repr=False)
    model: Model
    mechanism: Mechanism
    columns: tuple[str, ...] | None
    domain: Domain
    neighbors: Neighbors
    layout: Layout | None
    guarantees: Mapping[str, Guarantee]
    bounds_choice: tuple[BoundsChoice, ...] | None = None
    unit: Unit | None = None
    checker: NoiseMechanism | None = None
    unit_label: str | None = None
    row_key: bytes | None = field(default=None, repr=False)
    where: Condition | None = None
    group_selection: GroupSelection | None = None
    record: Record | None = None
    about: About | None = None

    @property
    def label(self) -> str:
        """What is released, in a few words, for a ledger."""
        return f"{self.model.name} of {', '.join(self.columns)}" if self.columns else self.model.name

    @property
    def reading_domain(self) -> Domain:
        """The domain to read rows by: where every record must count, also one that breaks the declarations."""
        if self.mechanism.every_record and self.domain.missing == "none":
            return replace(self.domain, missing="impute", impute=self.model.stand_ins(self.domain))
        return self.domain


def declare(
    data: Any,
    model: Model,
    mechanism: Mechanism,
    *,
    column: Any = None,
    columns: Any = None,
    bounds: Any = None,
    outside: Outside | None = None,
    missing: Missing | None = None,
    impute: Any = None,
    neighbors: Neighbors = "replace",
    fit_check: Any = None,
    unit: Any = None,
    per_unit: Any = None,
    max_rows: Any = None,
    row_bounds: Any = None,
    last_by: Any = None,
    null_unit: NullUnit = "leave_out",
    weights: Any = None,
    weight_bounds: Any = None,
    by: Any = None,
    groups: Any = None,
    max_groups: Any = None,
    where: Any = None,
    unit_label: Any = None,
    about: Any = None,
    row_key: bytes | None = None,
    label_budget: LabelBudget | None = None,
) -> Declaration:
    """Check all declarations, which are the arguments of :func:`~discreet.release`; no row is read.

    ``row_key`` is the key by which rows of a person are chosen, for simulation; a new one unless it is given.
    ``label_budget`` is what a choice of groups may cost, where their labels are private.
    """
    model, people = _as_model(model), None
    one_of(neighbors, "neighbors", Neighbors)
    if model.by_norm:
        model = mechanism.suited(model)
    said = (unit, per_unit, row_bounds, last_by, max_rows, weights, weight_bounds)
    default = isinstance(null_unit, str) and null_unit == "leave_out"
    if not default or any(one is not None for one in said):
        people = people_of(unit, per_unit, row_bounds, last_by, null_unit, max_rows)
        model = weighed_and_capped(model, people, weights, weight_bounds)
    selection = None
    if by is not None or groups is not None:
        from discreet.models.grouped import private_column, read_groups

        model = read_groups(model, by, groups, max_groups)
        column_chosen = private_column(by, groups)
        if column_chosen is not None:
            selection = _selection(column_chosen, label_budget, model, neighbors, is_unit=people is not None)
    if max_groups is not None and (people is None or by is None):
        raise UsageError("max_groups is for people with several rows in groups: give unit and by too.")
    if unit_label is not None:
        check_name(unit_label, "unit_label")
    described = None if about is None else read_about(about)
    columns = model.read_columns(asked_columns(column, columns))
    if mechanism.reads == "records":
        model.require(ColumnModel, f"{type(mechanism).__name__} reads records of a model of several columns")
    elif mechanism.every_record:
        model.require(Family, f"{type(mechanism).__name__} samples a family")
    checker = None
    if fit_check is not None:
        mechanism, checker = mechanism.divided(read_share(fit_check))
        checkable(model)
    outside, missing = _policies(
        mechanism, model.only_outside if outside is None else outside, missing, impute
    )
    if neighbors not in mechanism.relations:
        raise UsageError(
            f"{type(mechanism).__name__} is private for neighbors={' or '.join(map(repr, mechanism.relations))}, "
            f"got neighbors={neighbors!r}.",
            hint=f"use neighbors={mechanism.relations[0]!r}",
        )
    choices = None
    if are_bought(bounds):
        if mechanism.needs_bounds:
            what = "samples need" if mechanism.every_record else "a distance between records needs"
            raise UsageError(f"{what} declared bounds: private quantiles are for noisy totals.")
        choices = plan_choices(bounds, model.require(RecordSums, "private quantiles are bounds of a family"))
        # bounds to be bought cannot be wider than this, and no declaration depends on how much narrower they get
        bounds = [how.within for how in choices]
    if not mechanism.every_record and not model.has_numbers:
        # no label lies outside the bounds, so either word does nothing, and files write the same one
        outside = "redact"
    condition = None if where is None else read_where(where)
    if condition is not None:
        if mechanism.every_record or not model.takes_where:
            raise UsageError(
                "where is for noisy totals of a family: samples, and models of several columns, count every record.",
                hint="filter the rows first; the number that is left is then public",
            )
        # how many rows satisfy a filter is private, so the number of usable values is one of the totals
        missing = "count"
    domain = model.read_domain(bounds, outside, missing, impute)
    if mechanism.needs_bounds:
        mechanism = mechanism.within(model, domain, neighbors)
    persons = None
    if people is not None:
        if choices is not None:
            raise UsageError("bounds of people's records must be declared: private quantiles are for rows.")
        if checker is not None:
            # its cells are counted row by row, and a person may have many
            raise UsageError("fit_check is for rows: people's records take none.", hint="leave out fit_check")
        persons = unit_of(people, model, columns, model.record_bounds(domain), dates=domain.dates)
    if checker is not None:
        if domain.dates:
            raise UsageError("fit_check is for numbers: dates take none.", hint="leave out fit_check")
        checker.check(model, domain, bin_layout(2, neighbors))
        _check_grids(model, domain, choices)
    asked = Declaration(
        data=data,
        model=model,
        mechanism=mechanism,
        columns=columns,
        domain=domain,
        neighbors=neighbors,
        layout=None,
        guarantees={},
        bounds_choice=choices,
        unit=persons,
        checker=checker,
        unit_label=unit_label,
        row_key=row_key,
        where=condition,
        group_selection=selection,
        about=described,
    )
    layout = model.layout(asked.reading_domain, neighbors) if mechanism.reads == "totals" else None
    record = mechanism.check(model, domain, layout)
    return replace(asked, guarantees=_guarantees(asked), layout=layout, record=record)


def _guarantees(asked: Declaration) -> dict[str, Guarantee]:
    """Return what each part of a release promises: its totals or samples, a fit check, bounds, labels of groups."""
    neighbors = asked.neighbors
    purpose = "samples" if asked.mechanism.every_record else "statistics"
    parts: dict[str, Guarantee] = {purpose: asked.mechanism.guarantee(neighbors)}
    if asked.checker is not None:
        parts["fit_check"] = asked.checker.guarantee(neighbors)
    if asked.bounds_choice is not None:
        parts["bounds"] = PureDP(sum(made.epsilon for made in asked.bounds_choice), neighbors=neighbors)
    if asked.group_selection is not None:
        chosen = asked.group_selection
        parts["groups"] = ApproxDP(chosen.epsilon, chosen.delta, neighbors=neighbors)
    if asked.unit is None:
        return parts
    return {purpose: part.for_unit(asked.unit.column) for purpose, part in parts.items()}


def _selection(
    column: str, budget: LabelBudget | None, model: Model, neighbors: Any, *, is_unit: bool
) -> GroupSelection:
    """Return how labels are to be chosen, or raise."""
    if budget is None:
        raise UsageError("groups='private' needs a budget for the choice of groups.")
    most = (model.max_groups or model.max_rows) if is_unit else 1
    if most is None:
        raise UsageError(
            "groups='private' with unit needs max_groups, in how many groups a person counts at most.",
            hint="for example max_groups=1",
        )
    return budget.plan(column, most, neighbors)


def _as_model(model: Any) -> Model:
    """Return a model, or say what one is."""
    if isinstance(model, Model):
        return model
    if isinstance(model, type) and issubclass(model, Model):
        raise UsageError(f"model is a class: write dc.{model.__name__}().")
    raise UsageError(f"model must be a family such as dc.Bernoulli(), got {type(model).__name__}.")


def _check_grids(model: Model, domain: Domain, choices: tuple[BoundsChoice, ...] | None) -> None:
    """Raise unless a fit check can cut the bounds, whichever they will be, into cells."""
    family = checkable(model)
    fit_grid(family, domain.bounds)
    for how in choices or ():
        # the narrowest that can be chosen, where floating point tells least apart
        cells = how.grid(family)
        fit_grid(family, (cells.pair(0, 0),))
        fit_grid(family, (cells.pair(cells.n_cells - 1, cells.n_cells - 1),))


def _policies(mechanism: Mechanism, outside: Any, missing: Any, impute: Any) -> tuple[Outside, Missing]:
    """Return what becomes of values outside the bounds and of missing ones, as the mechanism allows."""
    if outside is not None:
        one_of(outside, "outside", Outside)
    if missing is not None:
        one_of(missing, "missing", Missing)
    if not mechanism.every_record:
        if impute is not None or missing == "impute":
            raise UsageError(
                "impute is for mechanisms that release samples.",
                hint="noise takes missing='count', which leaves missing values out or counts them as a label",
            )
        return outside or "clip", missing or "count"
    if outside == "redact" or missing == "count":
        asked = "outside='redact'" if outside == "redact" else "missing='count'"
        raise UsageError(
            f"{asked} leaves records out, and samples are private only if every record counts.",
            hint="values are clipped to the bounds, and missing ones replaced by impute=…",
        )
    if missing == "none" and impute is not None:
        raise UsageError("impute contradicts missing='none': leave out one of them.")
    if missing != "none" and impute is None:
        raise UsageError(
            "samples need impute, a public value that stands for missing ones.",
            hint="give impute=…, or declare with missing='none' that nothing is missing",
        )
    return "clip", missing or "impute"


def are_bought(bounds: Any) -> bool:
    """Tell whether bounds, one for all columns or one for each, are to be bought."""
    each = bounds if isinstance(bounds, list | tuple) else [bounds]
    return any(isinstance(one, PrivateQuantiles) for one in each)


def asked_columns(column: Any, columns: Any) -> tuple[str, ...] | None:
    """Return the names of the columns that make a record, or None if the caller names none."""
    if column is not None and columns is not None:
        raise UsageError("give either column or columns, not both.")
    if isinstance(columns, str | Mapping):
        raise UsageError("columns must be a list of names; use column for a single one.")
    if column is not None:
        return (asked_for(column),)
    if columns is None:
        return None
    return tuple(asked_for(name) for name in listed(columns, "columns", "a list of names"))
