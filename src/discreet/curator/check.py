"""The curator's private look at a column before anything is released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from discreet.arguments import instance, one_of
from discreet.curator.declare import asked_columns
from discreet.domain.columns import Column, Numeric
from discreet.domain.declarations import Outside
from discreet.families import Categorical, Mean, RecordSums
from discreet.models import ColumnModel, Model
from discreet.names import shown

if TYPE_CHECKING:
    from discreet.data import Inspection

NOTICE = "private, not for publication"


class Looked(TypedDict, total=False):
    """The declarations of :func:`check` by name, for type checkers."""

    column: Any
    columns: Sequence[str] | None
    bounds: Any
    outside: Outside
    table: str | None
    query: str | None


@dataclass(frozen=True, repr=False)
class Check:
    """How many records each policy would touch: exact counts, for the curator's own screen alone.

    ``print(check)`` shows them. Its representation, which a notebook keeps and shares, does not.
    """

    counts: Inspection
    model: RecordSums
    outside: Outside

    @property
    def lines(self) -> list[tuple[str, int]]:
        """The counts that apply, in words; details are indented under the count they are part of."""
        seen, labels = self.counts, self.model.vocabulary is not None
        treatment = "redacted" if self.outside == "redact" else "clipped"
        lines = [
            ("all", seen.records),
            ("usable", seen.usable),
            ("  within the bounds", seen.inside),
            (f"  below the bounds, {treatment}", seen.below),
            (f"  above the bounds, {treatment}", seen.above),
            ("missing", seen.missing),
            (f"  holding something that is no {'declared label' if labels else 'number'}", seen.unknown),
            ("  lines that do not fit the header", seen.malformed),
        ]
        return [(name, count) for name, count in lines if count is not None]

    @property
    def warnings(self) -> list[str]:
        """What the counts suggest is wrong with the declarations or the file."""
        seen, warnings, trouble = self.counts, [], None
        if 2 * seen.usable < seen.records:
            trouble = f"{'fewer than half' if seen.usable else 'none'} of the records are usable"
        elif 4 * seen.unknown > seen.records:
            # a column of M and F would pass as half usable: to a yes-or-no family, F means false
            trouble = "over a quarter of the records hold something that the model does not read"
        if trouble:
            warnings.append(f"{trouble}. Is it the right column? {self._reads()}")
        if seen.inside is not None and 2 * seen.inside < seen.usable:
            warnings.append(
                "fewer than half of the values are within the bounds. Are they in the column's units?"
            )
        if seen.unclosed:
            warnings.append(
                f"lines with a quotation mark that is not closed: {seen.unclosed:,}. One line is one record, so a "
                "field with line breaks in it makes several records of one. Write the file without such breaks, or as "
                "Parquet."
            )
        return warnings

    def _reads(self) -> str:
        """Say what the model takes for a value."""
        if self.model.labels is not None:
            return "Labels match exactly, upper and lower case too; blanks around them do not matter."
        if self.model.vocabulary is not None:
            words = " and ".join(shown(spellings[0]) for spellings in self.model.vocabulary[::-1])
            return (
                f"{self.model.name} reads {words} and what means the same; for two other words, say M and F, declare "
                'dc.Bernoulli(yes="F", no="M"), or -m "bernoulli:yes=F,no=M".'
            )
        return "Numbers are written with digits and a decimal point: 1,5 and 1_000 are no numbers."

    def __str__(self) -> str:
        total = self.counts.records
        width = max(len(name) for name, _ in self.lines)
        lines = [f"{NOTICE.upper()}: exact counts of {', '.join(map(shown, self.counts.columns))}"]
        for name, count in self.lines:
            share = f"{100 * count / total:6.1f}%" if total else ""
            lines.append(f"{name:<{width}}  {count:>12,}  {share}".rstrip())
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])

    def __repr__(self) -> str:
        columns = ", ".join(map(shown, self.counts.columns))
        return f"<Check of {columns}: {NOTICE}; print it to see the counts>"


@overload
def check(data: Any, model: RecordSums, **declared: Unpack[Looked]) -> Check: ...
@overload
def check(data: Any, model: ColumnModel, **declared: Unpack[Looked]) -> dict[str, Check]: ...
def check(
    data: Any,
    model: Model,
    *,
    column: Any = None,
    columns: Sequence[str] | None = None,
    bounds: Any = None,
    outside: Outside = "clip",
    table: str | None = None,
    query: str | None = None,
) -> Check | dict[str, Check]:
    """Count, on your own screen, the records that each policy would touch; nothing is spent, and nothing protected.

    Parameters
    ----------
    data, model, column, columns, bounds, outside, table, query
        As for :func:`discreet.release`.

    Returns
    -------
    Check, or a dictionary of one for each column of a model that declares its own
        ``print`` it to see the counts; ``check.counts`` has them as numbers, ``check.warnings`` what they suggest. A
        column of a single label is left out.

    Privacy
    -------
    The counts are exact. They are for the curator alone: do not publish them, and do not choose bounds or labels by
    them.

    Examples
    --------
    >>> import discreet as dc
    >>> seen = dc.check([3, 4, None, 200], dc.Mean(), bounds=(0, 100))
    >>> seen
    <Check of x: private, not for publication; print it to see the counts>
    >>> seen.counts.above
    1
    """
    from discreet.data import inspect
    from discreet.data.sources.database import rows_in

    if table is not None or query is not None:
        data = rows_in(data, table, query)
    model = instance(model, "model", Model, "a model such as dc.Mean()")
    outside = one_of(outside, "outside", Outside)
    if model.read_columns(None) is not None:
        model.read_columns(asked_columns(column, columns))
        model.read_domain(bounds, outside, "count")
        declared = model.require(ColumnModel, "counts are of a model that declares its columns").columns
        found = {}
        for one in declared:
            single, limits = _of_one(one)
            if single is not None:
                found[one.name] = check(data, single, column=one.name, bounds=limits, outside=outside)
        return found
    family = model.require(RecordSums, "counts are of a model of one column")
    outside = family.only_outside or outside
    domain = family.read_domain(bounds=bounds, outside=outside, missing="count")
    return Check(inspect(data, family, domain, asked_columns(column, columns)), family, outside)


def _of_one(column: Column) -> tuple[RecordSums | None, Any]:
    """Return a model of one column that reads what is declared of this one, and its bounds; no model of one label."""
    if isinstance(column, Numeric):
        return Mean(), (column.low, column.high)
    return (Categorical(column.labels) if column.n_labels > 1 else None), None
