r"""One family in every group of a table: the groups are declared, and all of them are released at once.

What is released is one block of totals for each declared group, the same as the family releases about one column under
``add_remove``, because how many records a group has is nobody's public knowledge.

**Privacy.** A record is in one group, or in none. Under ``add_remove`` it moves the block of its own group, by the
family's sensitivity: the groups compose in parallel, and cost together what one of them costs. Under ``replace`` it may
leave one group and enter another, and moves two blocks, each by at most that sensitivity s: by 2 s in L1. In L2 by
sqrt(2) s if it changes groups; if it stays, by what the model says, r: at most sqrt(2) s too where no coordinate of a
record is negative, otherwise at most 2 s, and for the products of a regression what is proven of two records.

A person with several rows is in one group by a rule, like a record; or, with ``max_groups`` = g, has one record in each
of at most g groups, chosen in the engine. Then adding or removing a person moves g blocks: by g s in L1 and sqrt(g) s
in L2. Replacing one moves j blocks in which both have a record by r each, and 2 (g - j) others by s each: by 2 g s
in L1, and in L2 by sqrt(g) times the larger of sqrt(2) s and r.

Where at most k rows of a person count (``max_rows``), whatever their groups, the family's own sensitivity is for rows
of all groups together (:mod:`discreet.families.cluster_mean`: the rows in groups add up to at most k, the squares of
their numbers to at most k^2, and no coordinate is negative), and no number of groups enters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, ClassVar, Literal, Self

from discreet.arguments import shown, whole
from discreet.domain.columns import Column, Labels, decode_columns, encode_columns, only_labels
from discreet.domain.declarations import Domain, Missing, Neighbors, Outside
from discreet.domain.labels import one_spelling
from discreet.domain.unit import FOR_LABELS, Rule
from discreet.errors import UsageError
from discreet.models.base import Model
from discreet.models.layout import Layout
from discreet.names import asked_for
from discreet.objects import BLANKS
from discreet.rational import sqrt_up

#: Groups of one release: their totals make a file of some hundred bytes each.
MOST_GROUPS = 100_000
#: Said instead of labels: those that enough people have will be published, by a threshold.
PRIVATE = "private"
# stands for every label of such a column until labels are chosen
_ANY_LABEL = "(any)"


@dataclass(frozen=True)
class Grouped(Model):
    """A model of one record, in each of the groups that the columns ``by`` make."""

    name: ClassVar[str] = "grouped"
    engines: ClassVar[str] = "none"

    model: Model
    by: tuple[Labels, ...]
    max_groups: int | None = None

    def __post_init__(self) -> None:
        if prod(column.n_labels for column in self.by) > MOST_GROUPS:
            raise UsageError(f"a release has at most {MOST_GROUPS:,} groups.")
        if len(set(self.groups)) < len(self.groups):
            raise UsageError("two groups would have the same name: leave commas out of their labels.")

    @property
    def summary(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.model.group_summary if self.max_rows is None else self.model.summary

    @property
    def max_rows(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.model.max_rows

    @property
    def totals_in_words(self) -> str:
        return self.model.totals_in_words

    @property
    def slow_in_words(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.model.slow_in_words

    @cached_property
    def groups(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The names of the groups, the last column changing fastest."""
        return tuple(", ".join(labels) for labels in product(*(column.labels for column in self.by)))

    @property
    def draw_names(self) -> tuple[str, ...]:
        return self.model.draw_names

    @property
    def numbers_per_draw(self) -> int:
        return len(self.groups) * self.model.numbers_per_draw

    @property
    def in_words(self) -> str:
        return self.model.in_words

    def with_labels(self, column: str, labels: Sequence[str]) -> Grouped:
        """Return the same model with these labels of one column."""
        by = tuple(Labels(one.name, tuple(labels)) if one.name == column else one for one in self.by)
        return replace(self, by=by)

    def title(self, columns: Sequence[str]) -> str:
        return f"{self.model.title(columns[: len(columns) - len(self.by)])} by {', '.join(c.name for c in self.by)}"

    def describe(self) -> str:
        return f"{self.model.describe()} by {' and '.join(column.name for column in self.by)}"

    # -- what a file records --------------------------------------------------------------------------

    def constants(self) -> dict[str, Any]:
        inner = {"name": self.model.name, "parameters": self.model.constants()}
        several = {} if self.max_groups is None else {"max_groups": self.max_groups}
        return {"model": inner, "by": encode_columns(self.by), **several}

    @classmethod
    def from_constants(cls, constants: Mapping[str, Any]) -> Self:
        from discreet.models.registry import build

        rest = dict(constants)
        several = rest.pop("max_groups", None)
        if set(rest) != {"model", "by"} or set(rest["model"]) != {"name", "parameters"}:
            raise ValueError("its model has other constants than a grouped one")
        inner = build(rest["model"]["name"], rest["model"]["parameters"])
        by = only_labels(decode_columns(rest["by"], least_labels=1), cls.name)
        return cls(*checked(inner, by), read_max_groups(several, inner))

    # -- declarations ---------------------------------------------------------------------------------

    @property
    def labels(self) -> tuple[str, ...] | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.model.labels

    @property
    def only_outside(self) -> Outside | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.model.only_outside

    @property
    def has_numbers(self) -> bool:
        return self.model.has_numbers

    @property
    def by_norm(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.model.by_norm

    @property
    def takes_where(self) -> bool:
        return self.model.takes_where

    @property
    def unit_rules(self) -> tuple[tuple[Rule, ...], ...]:
        if self.max_rows is not None:
            return ()
        if self.max_groups is not None:
            return self.model.unit_rules
        return (*self.model.unit_rules, *[FOR_LABELS] * len(self.by))

    def record_bounds(self, domain: Domain) -> tuple[tuple[Fraction, Fraction] | None, ...]:
        bounds = self.model.record_bounds(domain)
        return (*bounds, *[None] * (len(self.unit_rules) - len(bounds)))

    def record_columns(self, columns: Sequence[str], domain: Domain) -> tuple[Column, ...]:
        learned = columns[: len(columns) - len(self.by)]
        return (*self.model.record_columns(learned, domain), *self.by)

    def read_columns(self, columns: tuple[str, ...] | None) -> tuple[str, ...]:
        columns = self.model.read_columns(columns)
        if columns is None:
            raise UsageError("name the column that is learned about in each group.")
        names = (*columns, *(column.name for column in self.by))
        if len(set(names)) < len(names):
            raise UsageError("a column that makes groups cannot be the one that is learned about.")
        return names

    def read_domain(self, bounds: Any, outside: Outside, missing: Missing, impute: Any = None) -> Domain:
        return self.model.read_domain(bounds, outside, missing, impute)

    def check_domain(self, domain: Domain, columns: Sequence[str]) -> None:
        at = len(columns) - len(self.by)
        if tuple(columns[at:]) != tuple(column.name for column in self.by):
            raise ValueError("its columns are not its model's")
        self.model.check_domain(domain, columns[:at])

    def decode_impute(self, values: Sequence[str]) -> tuple[Fraction | str, ...]:
        raise ValueError("nothing is imputed in groups")

    def stand_ins(self, domain: Domain) -> tuple[Fraction | str, ...]:
        return self.model.stand_ins(domain)

    def suited(self, norm: Literal["l1", "l2"]) -> Self:
        return replace(self, model=self.model.suited(norm))

    def layout(self, domain: Domain, neighbors: Neighbors) -> Layout:
        block = self.model.layout(domain, "add_remove")
        several = Fraction(self.max_groups or 1)
        l1, l2 = several * block.l1_sensitivity, sqrt_up(several) * block.l2_sensitivity
        if neighbors == "replace":
            l1 *= 2
            moved = sqrt_up(Fraction(2)) * block.l2_sensitivity
            l2 = sqrt_up(several) * max(moved, self.model.replaced_l2(domain))
        n = len(self.groups)
        return replace(
            block,
            names=tuple(f"{group}: {name}" for group in self.groups for name in block.names),
            rows=(),
            grid=block.grid * n,
            width=block.width * n,
            l1_sensitivity=l1,
            l2_sensitivity=l2,
        )

    def coordinate_ranges(self, domain: Domain, neighbors: Neighbors) -> Sequence[tuple[Fraction, Fraction]]:
        return tuple(self.model.coordinate_ranges(domain, "add_remove")) * len(self.groups)

    def assumptions(self, domain: Domain) -> list[str]:
        said = [column.in_words() for column in self.by]
        said.append("records of none of these groups were left out")
        if self.max_groups is not None:
            most = "one group" if self.max_groups == 1 else f"at most {self.max_groups} groups"
            said.append(f"each person has one record in each of {most}, chosen by a hash with a random key")
        return [*self.model.assumptions(domain), *said]

    def missing_in_words(self, neighbors: Neighbors) -> str:
        return self.model.missing_in_words("add_remove")


def checked(model: Model, by: Sequence[Labels]) -> tuple[Model, tuple[Labels, ...]]:
    """Return a model and the columns that make groups of it, or raise unless they go together."""
    if not by:
        raise UsageError("groups need a column that makes them.")
    if len({column.name for column in by}) < len(by):
        raise UsageError("each column that makes groups is named once.")
    for column in by:
        # values are trimmed before they are compared
        trimmed = {label.strip(BLANKS) for label in column.labels}
        if "" in trimmed or len(trimmed) < column.n_labels:
            raise UsageError(f"the groups of {column.name!r:.60} must differ in more than blanks.")
    if not model.takes_groups:
        raise UsageError(
            f"{model.name} is not released by groups.",
            hint="dc.Mean(), dc.Bernoulli() and other families are, and regressions, but not a table of labels",
        )
    return model, tuple(by)


def read_max_groups(max_groups: Any, model: Model) -> int | None:
    """Return in how many groups a person may be, or None if a person is in one group by a rule."""
    if max_groups is None:
        return None
    if model.max_rows is not None:
        raise UsageError(
            "max_rows counts a person's rows whatever their groups: max_groups is for per_unit.",
            hint="leave out max_groups",
        )
    return whole(max_groups, "max_groups", most=MOST_GROUPS)


def read_groups(model: Model, by: Any, groups: Any, max_groups: Any = None) -> Grouped:
    """Return a model in each of the groups that a curator declares.

    Parameters
    ----------
    by
        The name of a column, or a list of them.
    groups
        The labels that each of these columns may hold, chosen without looking: a list for one column, or lists by name.
    """
    if by is None:
        raise UsageError("groups need by, the column that makes them.", hint='for example by="region"')
    names = [by] if isinstance(by, str) else list(by) if isinstance(by, list | tuple) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise UsageError(
            "by must be the name of a column, or a list of names.", hint='for example by="region"'
        )
    if groups is None:
        raise UsageError(
            "by needs groups, the labels that make them, chosen without looking at the data.",
            hint=f'for example groups={{"{names[0]:.40}": ["north", "south"]}}',
        )
    declared = groups if isinstance(groups, Mapping) else {names[0]: groups}
    if set(declared) != set(names):
        raise UsageError("groups must have the labels of every column in by, and of no other.")
    labels = [
        Labels(name, (_ANY_LABEL,) if _is_private(declared[name]) else _declared(name, declared[name]))
        for name in names
    ]
    return Grouped(*checked(model, labels), read_max_groups(max_groups, model))


def _declared(name: str, labels: Any) -> Any:
    """Return the labels that a curator declares for one column, or raise if two of them may mean the same rows."""
    if isinstance(labels, str):
        raise UsageError(
            f"groups of {name!r:.60} must be a list of labels, or 'private', got {shown(labels)}.",
            hint=f"for example groups=[{labels!r:.40}, ...]",
        )
    if not isinstance(labels, list | tuple):
        return labels
    found: dict[str, str] = {}
    # what is no text or whole number is refused where labels are read
    for label in (str(label).strip(BLANKS) for label in labels if isinstance(label, str | int)):
        other = found.setdefault(one_spelling(label), label)
        if other != label:
            raise UsageError(
                f"the groups {other!r:.40} and {label!r:.40} of {name!r:.60} overlap: where a column holds numbers or "
                "flags, they are one label."
            )
    return labels


def private_column(by: Any, groups: Any) -> str | None:
    """Return the column whose labels are not declared but chosen by a threshold, or None if there is none."""
    first = by[0] if isinstance(by, list | tuple) and by else by
    declared: dict[Any, Any] = dict(groups) if isinstance(groups, Mapping) else {asked_for(first): groups}
    found: list[str] = [name for name, labels in declared.items() if _is_private(labels)]
    if len(found) > 1:
        raise UsageError(
            "the labels of one column can be private, and those of the others are declared.",
            hint='for example groups={"region": "private", "sex": ["f", "m"]}',
        )
    return found[0] if found else None


def _is_private(labels: Any) -> bool:
    return isinstance(labels, str) and labels == PRIVATE
