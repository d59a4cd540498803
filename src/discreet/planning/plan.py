"""The verb plan: which width a budget buys, and which budget a wanted width needs, before any row is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import FilePath, generator, instance, positive, probability, whole
from discreet.curator.publish import choose_mechanism
from discreet.domain.declarations import Missing, Neighbors, Outside
from discreet.errors import UsageError
from discreet.models.base import Model
from discreet.planning.risk import risk_in_words
from discreet.planning.simulated_people import ALIKE, People
from discreet.planning.simulated_tables import Tables, expected_tables
from discreet.planning.solving import ENDLESS, Budget, solve, solve_records
from discreet.privacy.guarantees import check_neighbors
from discreet.rational import Number, exact

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.planning.division import Division

#: Simulated tables; fewer of families of numbers, which are read by chains, of groups and of people with rows.
_FEWER, _ALL = 8, 24
# Tables for each point of a curve.
_FEW = 4
_DELTA = 1e-6


@dataclass(frozen=True)
class Plan:
    """What a release is expected to tell: :meth:`summary` in words, :meth:`plot` as a picture.

    Attributes
    ----------
    epsilon, delta, rho
        The budget, given or solved for; None for those that the mechanism does not take.
    width, sd
        Mean width of the interval that holds ``prob``, and mean posterior standard deviation, under that budget.
    widths
        From which to which width the interval has in four of five tables that may be met; None if they are alike,
        because something public says what to expect. A mean near a bound, for example, has a narrower interval.
    floor, ceiling
        The mean width without any noise, and with nothing but noise: what the prior says.
    """

    model: str
    n: int
    parameter: str
    prob: float
    neighbors: Neighbors
    mechanism: str
    epsilon: float | None
    delta: float | None
    rho: float | None
    width: float
    sd: float
    floor: float
    ceiling: float
    expects: str
    widths: tuple[float, float] | None = None
    #: Numbers of the parameter, each in its own unit, that widths are averaged over; none if it is one.
    averaged: tuple[str, ...] = ()
    #: Whether the table is expected to be as something public says, and not as experience does.
    public: bool = False
    wanted: float | None = None
    #: What the interval allows for however many records there are; empty if nothing.
    allowance: str = ""
    groups: int | None = None
    #: The column that tells people apart, who are protected then; None if a record is protected.
    unit: str | None = None
    budget: Budget = field(repr=False, default_factory=lambda: Budget("laplace", "epsilon"))
    tables: Tables | None = field(repr=False, compare=False, default=None)
    again: Callable[..., Any] | None = field(repr=False, compare=False, default=None)

    @property
    def spent(self) -> float:
        """The budget that was varied: epsilon, or rho."""
        return float(self.epsilon if self.budget.varied == "epsilon" else self.rho)  # pyright: ignore

    def curve(self, points: int = 9) -> tuple[np.ndarray, np.ndarray]:
        """Return budgets around the planned one, and the mean width under each."""
        budgets = self.spent * np.geomspace(1 / 30, 30, whole(points, "points", least=2, most=200))
        assert self.tables is not None
        return budgets, np.array([self.tables.width(self.budget.at(b), _FEW).width for b in budgets])

    def compare(self) -> dict[str, Plan]:
        """Return what else could be declared under the same budget, by name, from the narrowest interval on.

        Gaussian noise under the same epsilon allows an exception of probability 1e-6, and Laplace noise none; the
        neighbor relation says what is protected. The best of them is a choice about promises, not only about widths.
        """
        assert self.again is not None
        other: Neighbors = "add_remove" if self.neighbors == "replace" else "replace"
        found = {"as planned": self, f"neighbors={other!r}": self.again(neighbors=other)}
        if self.mechanism != "gaussian":
            found["gaussian noise, delta=1e-6"] = self.again(mechanism="gaussian", delta=_DELTA)
        if self.mechanism != "laplace" and self.epsilon is not None:
            found["laplace noise"] = self.again(mechanism="laplace", delta=None)
        if self.public and self.tables is not None and self.tables.domain.bounds is not None:
            pairs = [
                (low - (high - low) / 2, high + (high - low) / 2) for low, high in self.tables.domain.bounds
            ]
            with suppress(UsageError):  # a family may not allow bounds beyond its support
                found["bounds twice as wide"] = self.again(bounds=pairs)
        if self.groups is not None:
            found["twice as many groups"] = self.again(groups=2 * self.groups)
        return dict(sorted(found.items(), key=lambda item: item[1].width))

    def guarantee(self) -> Any:
        """Return what a release under this plan promises."""
        promised = self.budget.at(self.spent).guarantee(self.neighbors)
        return promised if self.unit is None else promised.for_unit(self.unit)

    def summary(self) -> str:
        """Return the plan in words."""
        percent = f"{100 * self.prob:g}%"
        spent = ", ".join(
            f"{name} = {value:.4g}"
            for name, value in (("epsilon", self.epsilon), ("delta", self.delta), ("rho", self.rho))
            if value is not None
        )
        varying = "; four of five such tables have a width between {:.4g} and {:.4g}"
        varying = "" if self.widths is None else varying.format(*self.widths)
        averaged = ", on average of {} numbers (of one alone: parameter={!r:.60})"
        averaged = averaged.format(len(self.averaged), self.averaged[0]) if self.averaged else ""
        who = "records" if self.unit is None else "people"
        what = f"{self.model}, {self.n:,} {who}" + (f" in {self.groups:,} groups" if self.groups else "")
        lines = [
            f"{what}: {spent} ({self.mechanism} noise, neighbors: {self.neighbors})",
            f"{percent} interval of {self.parameter}{averaged}: expected width {self.width:.4g}"
            f" (plus or minus {self.width / 2:.4g}), posterior sd {self.sd:.4g}",
            f"without noise it would be {self.floor:.4g}; with nothing but noise {self.ceiling:.4g}",
            f"expected of the table: {self.expects}" + varying,
            *([self.allowance] if self.allowance else []),
            *risk_in_words(self.guarantee()),
            "No row was read and nothing was spent, as long as what this plan was given is public.",
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        names = (
            "model",
            "n",
            "groups",
            "unit",
            "parameter",
            "prob",
            "neighbors",
            "mechanism",
            "epsilon",
            "delta",
            "rho",
        )
        found = ("wanted", "width", "widths", "sd", "floor", "ceiling", "expects")
        return {
            **{name: getattr(self, name) for name in (*names, *found)},
            "risk": risk_in_words(self.guarantee()),
        }

    def plot(self, path: FilePath | None = None) -> Figure:
        """Draw the expected width against the budget, with the wanted width, the floor and the ceiling as lines."""
        from discreet.reporting.planning import plot_plan

        return plot_plan(self, path=path)


def plan(
    model: Model | Mapping[str, Model],
    *,
    n: int | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    width: Any = None,
    mechanism: str | None = None,
    bounds: Any = None,
    outside: Outside | None = None,
    missing: Missing | None = None,
    neighbors: Neighbors = "replace",
    groups: Any = None,
    unit: str | None = None,
    per_unit: Any = None,
    max_rows: int | None = None,
    prior: Any = None,
    public: Any = None,
    parameter: str | None = None,
    prob: float = 0.95,
    rng: Any = 0,
) -> Plan | Division:
    """Say what a budget buys, or which budget a wanted width needs, before any row is read.

    Tables are simulated as the prior, or what is public about such tables, lets one expect them; they are released and
    read like real ones, and the widths of their intervals averaged. Nothing is spent.

    Parameters
    ----------
    model
        The model to be released, such as ``dc.Mean()``. Or several by name: the budget is then divided among them
        (:class:`Division`), so that their widths, each as a share of what it is without data, add up to the least; or,
        with ``width`` by name, so that every wanted width is met.
    n
        About how many records (people, with ``unit``) the table has. Leave it out and give both a budget
        and ``width`` to have it solved for: how many records are enough.
    epsilon, delta, rho
        The budget. Leave it out and give ``width`` to have it solved for.
    width
        The wanted full width of the interval: 0.04 for plus or minus 2 points of a share.
    mechanism, bounds, outside, missing, neighbors
        As in :func:`release`. With several models, ``bounds`` are by name.
    groups
        Into how many groups the records fall, about equally many in each, or their names; the width is then that of
        one group.
    unit, per_unit, max_rows
        As in :func:`release`: the column that tells people apart, who are then protected, and what of their rows
        counts. With ``per_unit`` a person is one record, and ``public`` is about such records. With ``max_rows`` every
        person has so many rows, of which any two have a correlation of 0.5; or ``public`` is a table of public people,
        by column, with ``unit`` among them, whose people are drawn again with all their rows.
    prior
        As in :func:`infer`.
    public
        What is publicly known of such tables: rough values of the parameters, ``{"mean": 40, "sd": 12}`` or
        ``{"p": 0.2}``, or a list of public records; for one of ``dc.models``, a table of them, by column, or a CSV,
        TSV or Parquet file of one. With several models by name.
    parameter
        Which of the draws is to have this width; the first one of the model unless given.
    prob
        The probability that the interval holds.
    rng
        Seed of the simulation: plans are the same every time unless it is changed.

    Returns
    -------
    Plan, or a Division of the budget among several models
    """
    prob, rng = probability(prob, "prob"), generator(rng)
    check_neighbors(neighbors)
    # what all questions of a division share, and what each has of its own
    common: dict[str, Any] = {
        "mechanism": mechanism,
        "outside": outside,
        "missing": missing,
        "neighbors": neighbors,
        "groups": groups,
        "unit": unit,
        "per_unit": per_unit,
        "max_rows": max_rows,
        "prob": prob,
    }
    own = {"bounds": bounds, "prior": prior, "public": public, "parameter": parameter}
    if n is None:
        if width is None or isinstance(model, Mapping):
            raise UsageError("say about how many records the table has.", hint="n=1000")
        said = {**common, **own, "epsilon": epsilon, "delta": delta, "rho": rho}
        seed = int(rng.integers(2**31))
        model = instance(model, "model", Model, "a family such as dc.Mean()")
        wanted = positive(width, "width")
        return solve_records(
            lambda size: _one(model, n=size, **said, rng=seed), wanted, model.allowance_in_words
        )
    n = common["n"] = whole(n, "n")
    people = People.read(unit, per_unit, max_rows)
    if isinstance(model, Mapping):
        from discreet.planning.division import divide_budget

        each = {**own, "width": width}
        return divide_budget(model, epsilon, delta, rho, each, common, int(rng.integers(2**31)))
    model = instance(model, "model", Model, "a family such as dc.Mean()")
    if mechanism is None and (rho is not None or delta is not None):
        mechanism = "gaussian"
    elif mechanism is None:
        mechanism = model.noise(neighbors) if groups is None and max_rows is None else "laplace"
    given = {"epsilon": epsilon, "rho": rho}
    named = [name for name, value in given.items() if value is not None]
    if (width is None) == (not named):
        raise UsageError(
            "give either a budget or a wanted width.",
            hint="epsilon=0.5, or width=0.04 for plus or minus 0.02",
        )
    if mechanism not in ("laplace", "gaussian", "k-norm"):
        choose_mechanism(mechanism, epsilon, delta, rho)
        raise UsageError("a plan is for noise: mechanism='laplace', 'gaussian' or 'k-norm'.")
    varied = named[0] if named else ("rho" if mechanism == "gaussian" and delta is None else "epsilon")
    budget = Budget(mechanism, varied, delta)
    if named:
        choose_mechanism(mechanism, epsilon, delta, rho)
    number = _number_of_groups(groups)
    if number is not None and people is not None and people.max_rows is not None:
        raise UsageError("a plan for groups takes per_unit: max_rows is for people without groups.")
    tables = expected_tables(
        model,
        mechanism=budget.at(1.0),
        n=n,
        size=_FEWER if number or max_rows or (model.has_numbers and model.assumption) else _ALL,
        prior=prior,
        public=public,
        groups=number,
        people=people,
        parameter=parameter,
        prob=prob,
        neighbors=neighbors,
        rng=rng,
        bounds=bounds,
        outside=outside,
        missing=missing,
    )
    floor = tables.width_without_noise(budget.at(ENDLESS))
    ceiling = _without_data(tables, budget, n)
    wanted = None if width is None else positive(width, "width")
    asked = given[varied]
    if wanted is not None:
        value, found = solve(tables, budget, wanted, floor, ceiling, n)
    else:
        value = float(exact(0 if asked is None else asked, varied))
        found = tables.width(budget.at(value))
    again = partial(plan, model, **{**common, **own, varied: value, "delta": delta})
    return Plan(
        model=model.name,
        n=n,
        parameter=tables.parameter,
        averaged=tables.averaged,
        prob=prob,
        neighbors=neighbors,
        mechanism=mechanism,
        epsilon=value if varied == "epsilon" else None,
        delta=None if delta is None else float(delta),
        rho=value if varied == "rho" else None,
        width=found.width,
        sd=found.sd,
        floor=floor.width,
        ceiling=ceiling,
        expects=_expects(public, people),
        widths=None if tables.alike else found.usual,
        public=public is not None,
        wanted=wanted,
        allowance=model.allowance_in_words,
        groups=number,
        unit=None if tables.unit is None else tables.unit.column,
        budget=budget,
        tables=tables,
        again=again,
    )


def _without_data(tables: Tables, budget: Budget, n: int) -> float:
    """Return the mean width where there is nothing but noise, or as near to that as integers of 64 bits allow."""
    value = budget.nothing(n)
    while True:
        try:
            return tables.width_of_noise(budget.at(value)).width
        except UsageError:
            if value > 1:
                raise
        value *= 10


def _one(model: Model, **said: Any) -> Plan:
    """Return the plan of one model."""
    return instance(plan(model, **said), "model", Plan, "one model")


def _expects(public: Any, people: People | None) -> str:
    if people is not None and people.is_table(public):
        return "people like public ones, each with all rows"
    rows = ""
    if people is not None and people.max_rows is not None:
        rows = f"; {people.max_rows:,} rows of every person, any two with a correlation of {ALIKE:g}"
    if public is None:
        return "what the prior, or experience with bounded columns, lets expect" + rows
    if isinstance(public, Mapping):
        named = [f"{name} about {value}" for name, value in public.items() if np.ndim(value) == 0]
        return (", ".join(named) or "records like public ones") + rows
    if isinstance(public, str | os.PathLike):
        return f"records like those of {public}" + rows
    return f"records like {len(public):,} public ones" + rows


def _number_of_groups(groups: Any) -> int | None:
    if groups is None:
        return None
    return whole(len(groups) if isinstance(groups, list | tuple) else groups, "groups", least=2)
