"""What a release would do, before anything is spent: declarations, queries, what leaves the engine, noise, cost.

Privacy
-------
Nothing here follows from a row. Declarations, sensitivity, scales of noise and cost follow from each other; queries are
written down instead of run (:mod:`discreet.data.sources.results`), from the names and types of columns. No budget is
charged, no random number is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from textwrap import indent
from typing import TYPE_CHECKING, Any

from discreet.curator.charge import Payer, parts_of
from discreet.curator.declare import Declaration
from discreet.curator.draw import read_exactly, read_members, read_totals
from discreet.errors import BudgetError
from discreet.privacy import Guarantee, compose
from discreet.rational import plain

if TYPE_CHECKING:
    from discreet.data.sources.results import Query

# names that are listed before the others are counted
_LISTED = 6
# characters of a query that are printed
_READABLE = 400


@dataclass(frozen=True)
class PlannedRelease:
    """What would be done for one model.

    Attributes
    ----------
    title, declarations
        What is learned, and what was declared about it.
    queries
        What would run, in order, and what would come back from each engine.
    leaves
        What the engines hand over in the end: exact integers, or records. It is private until noise is added.
    mechanism
        How it becomes private: sensitivity and scales of noise, or samples.
    guarantee
        What would be promised.
    """

    title: str
    declarations: tuple[str, ...]
    queries: tuple[Query, ...]
    leaves: str
    mechanism: tuple[str, ...]
    guarantee: Guarantee

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        budgets = {name: str(value) for name, value in self.guarantee.budgets().items()}
        return {
            "title": self.title,
            "declarations": list(self.declarations),
            "queries": [asdict(query) for query in self.queries],
            "leaves": self.leaves,
            "mechanism": list(self.mechanism),
            "guarantee": {"describe": self.guarantee.describe(), **budgets},
        }

    def __str__(self) -> str:
        lines = [self.title, *(f"  {said}" for said in self.declarations), "", "Runs:"]
        for query in self.queries:
            lines.append(f"  in {query.engine}:")
            if query.text:
                lines.append(indent(_head(query.text), "    "))
            lines.append(f"    brings back {query.result}")
        lines += ["", f"Leaves the engine: {self.leaves}", "", "Becomes private by:"]
        lines += [f"  {said}" for said in self.mechanism]
        return "\n".join([*lines, "", f"Promises: {self.guarantee.describe()}"])


@dataclass(frozen=True)
class Explanation:
    """What a call of :func:`release` would do; print it, or take it apart.

    ``cost`` is what all parts would promise and be charged together, ``payment`` whether the ledger allows it today.
    """

    releases: Mapping[str, PlannedRelease]
    cost: Guarantee
    payment: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "releases": {name: one.to_dict() for name, one in self.releases.items()},
            "cost": self.cost.describe(),
            "payment": self.payment,
        }

    def __str__(self) -> str:
        parts = [str(one) for one in self.releases.values()]
        cost = f"Costs: {self.cost.describe()}. {self.payment}"
        return "\n\n".join(
            [*parts, cost, "Nothing was charged, drawn or released, and nothing here depends on a row."]
        )


def explain(asked: Mapping[str, Declaration], payer: Payer | None) -> Explanation:
    """Return what would be read, promised and charged; nothing is."""
    releases = {name: _planned(one) for name, one in asked.items()}
    cost = compose(*parts_of(asked))
    if payer is None:
        return Explanation(releases, cost, "No ledger is charged.")
    whom = f"the data set {payer.dataset}" + ("" if payer.analyst is None else f" and {payer.analyst}")
    try:
        payer.check(asked)
    except BudgetError as refusal:
        return Explanation(releases, cost, f"The ledger would refuse it: {refusal}")
    return Explanation(releases, cost, f"The ledger would charge {whom}.")


def _planned(asked: Declaration) -> PlannedRelease:
    from discreet.data.sources.results import STAND_IN_KEY, only_planned

    with only_planned() as queries:
        asked = replace(asked, row_key=STAND_IN_KEY)
        if asked.group_selection is not None:
            read_members(asked, asked.group_selection)
        read_exactly(asked)
        if asked.bounds_choice is not None:
            # with the bounds that were bought instead of the widest
            read_totals(asked)
    columns = asked.columns or ()
    said = [*asked.model.assumptions(asked.domain), f"neighbors: {asked.neighbors}"]
    if asked.domain.bounds is not None:
        pairs = ", ".join(f"[{plain(low)}, {plain(high)}]" for low, high in asked.domain.bounds)
        bought = " at most: narrower ones will be bought" if asked.bounds_choice is not None else ""
        said.insert(0, f"bounds: {pairs}{bought}; values outside them: {asked.domain.outside}")
    said.append(f"missing values: {asked.domain.missing}")
    if asked.where is not None:
        said.append(f"only rows count with {asked.where}")
    if asked.unit is not None:
        said += [f"unit: {asked.unit.column}", *asked.unit.in_words(columns)]
    if asked.model.slow_in_words and not asked.mechanism.every_record:
        said.append(f"warning: {asked.model.slow_in_words}")
    return PlannedRelease(
        title=asked.model.title(columns),
        declarations=tuple(said),
        queries=tuple(queries),
        leaves=_leaves(asked),
        mechanism=(*_choice(asked), f"{asked.mechanism.name}", *asked.mechanism.explained(asked.layout)),
        guarantee=compose(*asked.guarantees.values()),
    )


def _head(text: str) -> str:
    """Return the beginning of a query, for people."""
    if len(text) <= _READABLE:
        return text
    return f"{text[:_READABLE]}...\n({len(text):,} characters; to_dict(), or --json, has all of them)"


def _choice(asked: Declaration) -> list[str]:
    """Say how labels of groups that nobody declared will be chosen."""
    chosen = asked.group_selection
    if chosen is None:
        return []
    whose = "records" if asked.unit is None else "people"
    return [
        f"labels of {chosen.column}: the number of {whose} with each, and noise of scale {float(chosen.scale):.9g}; "
        f"published if that is {chosen.threshold:,} or more",
    ]


def _leaves(asked: Declaration) -> str:
    layout = asked.layout
    if layout is None:
        return (
            "every record, clipped and imputed, to the mechanism in this process; samples alone are released."
        )
    if asked.group_selection is not None:
        return (
            f"the labels of {asked.group_selection.column} with whole numbers of "
            f"{'records' if asked.unit is None else 'people'}; then, for labels that noise and a threshold let pass, "
            f"{len(layout.names):,} exact whole numbers each. Noise is added before anything is released."
        )
    listed = ", ".join(layout.names[:_LISTED])
    more = f" and {len(layout.names) - _LISTED:,} more" if len(layout.names) > _LISTED else ""
    steps = " and ".join(map(str, sorted(set(layout.grid))))
    return (
        f"{len(layout.names):,} exact whole numbers ({listed}{more}), in steps of {steps}, and how many records there "
        "are. Noise is added before anything is released."
    )
