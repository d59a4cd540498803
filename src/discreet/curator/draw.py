"""What touches rows and randomness: the rows are read; once the ledger is charged, the release is drawn."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from discreet.artifact import FitCheck, GroupSelection, LedgerStamp, Record, Release
from discreet.artifact.possible_totals import MOST_RECORDS
from discreet.curator.declare import Declaration
from discreet.errors import DataError, UsageError
from discreet.families import RecordSums
from discreet.families.fit_bins import bin_layout, checkable, chosen_cells, fit_grid
from discreet.mechanisms.base import RandomSource, Totals
from discreet.mechanisms.noise import NoiseMechanism
from discreet.mechanisms.private_groups import choose_groups
from discreet.mechanisms.quantile import choose_bounds
from discreet.models import ColumnModel
from discreet.names import check_name
from discreet.version import __version__

if TYPE_CHECKING:
    from discreet.data import BinCounts, Records, Summary
    from discreet.data.summaries.label_members import LabelMembers


@dataclass(frozen=True, repr=False)
class Reading:
    """What was read for a release that lacks only its randomness. Private.

    It holds exact totals or every record in ``data``, as the mechanism reads them; or, if bounds are to be bought, the
    number of records in each bin of a public grid, in ``bins``. ``cells`` are the counts of another public grid, whose
    cells a fit check will join to bins; ``members`` are the numbers of people by which labels of groups will be
    chosen. ``record`` is the public record of the mechanism.
    """

    asked: Declaration
    columns: tuple[str, ...]
    n_records: int
    record: Record
    data: Totals | Records | None
    bins: BinCounts | None = None
    cells: BinCounts | None = None
    members: LabelMembers | None = None


def read(asked: Declaration) -> Reading:
    """Read the rows, up to where the first random number is needed; refuse for what the public count says."""
    members = None if asked.group_selection is None else read_members(asked, asked.group_selection)
    if members is not None:
        data = bins = cells = None
        n_records, columns = members.n_records, asked.columns or ()
    else:
        data, bins, cells, n_records, columns = read_exactly(asked)
    if asked.neighbors == "replace" and n_records == 0:
        raise UsageError(
            "the table is empty, and under neighbors='replace' its size is public.",
            hint="use neighbors='add_remove' if the number of records must stay private",
        )
    if asked.neighbors == "replace" and n_records > MOST_RECORDS:
        raise UsageError(f"a release file holds at most {MOST_RECORDS:,} records.")
    if asked.columns is None:
        # names of the table's own; of a file without a header the first row stands for them, and no message repeats it
        for name in columns:
            check_name(name, "the name of a column")
    record = asked.record
    if record is None:
        public = n_records if asked.neighbors == "replace" else None
        record = asked.mechanism.plan(asked.model, asked.domain, public, asked.layout)
    return Reading(asked, columns, n_records, record, data, bins, cells, members)


def read_exactly(
    asked: Declaration,
) -> tuple[Totals | Records | None, BinCounts | None, BinCounts | None, int, tuple[str, ...]]:
    """Read what a :class:`Reading` holds: data, bins and cells, the number of records and the names of columns."""
    from discreet.data import count_bins, read_records

    bins = cells = None
    if asked.bounds_choice is not None:
        family = asked.model.require(RecordSums, "private quantiles are bounds of a family")
        grids = [how.grid(family) for how in asked.bounds_choice]
        bins = count_bins(_rows(asked), family, grids, asked.columns)
        data, n_records, columns = None, bins.n_records, asked.columns or ()
    elif asked.mechanism.reads == "records":
        model = asked.model.require(ColumnModel, "records are read of a model of several columns")
        data = read_records(_rows(asked), model, asked.reading_domain)
        n_records, columns = data.n_records, data.columns
    else:
        cells = _count_cells(asked)
        data, columns = read_totals(asked)
        n_records = data.n_records
        _check_same(n_records, cells)
    return data, bins, cells, n_records, columns


def read_members(asked: Declaration, selection: GroupSelection) -> LabelMembers:
    """Return how many people have each label of the column whose labels nobody declared."""
    from discreet.data.sources.chosen_rows import new_key
    from discreet.data.summaries.label_members import count_members

    most = asked.model.max_groups or asked.model.max_rows or 1
    key = asked.row_key or new_key()
    return count_members(_filtered(asked), selection.column, asked.unit, most, key)


def _count_cells(asked: Declaration) -> BinCounts | None:
    """Return how many records are in each cell that a fit check may join to bins, if there is to be one."""
    if asked.checker is None:
        return None
    from discreet.data import count_bins

    family = checkable(asked.model)
    grid = fit_grid(family, asked.domain.bounds)
    return count_bins(_rows(asked), family, [grid], asked.columns, purpose="a fit check")


def _check_same(n_records: int, *read: BinCounts | Totals | None) -> None:
    """Raise if another reading of the rows found more or fewer of them."""
    if any(one is not None and one.n_records != n_records for one in read):
        raise DataError("the data did not stay the same while it was read.")


def _filtered(asked: Declaration) -> Any:
    """Return the data, of rows that satisfy the filter."""
    if asked.where is None:
        return asked.data
    from discreet.data.sources.filtered import FilteredRows

    return FilteredRows(asked.data, asked.where)


def _rows(asked: Declaration) -> Any:
    """Return the data, of rows that satisfy the filter, with each person's rows as what counts of them."""
    rows = _filtered(asked)
    if asked.unit is None:
        return rows
    from discreet.data.sources.chosen_rows import ChosenRows, new_key
    from discreet.data.sources.people import MemberRows, PeopleRows

    if asked.model.max_rows is not None:
        return ChosenRows(rows, asked.unit, asked.row_key or new_key())
    if asked.model.max_groups is not None:
        return MemberRows(rows, asked.unit, asked.model.max_groups, asked.row_key or new_key())
    return PeopleRows(rows, asked.unit)


def read_totals(asked: Declaration) -> tuple[Totals, tuple[str, ...]]:
    """Return the exact totals of the layout, and the columns they are of."""
    from discreet.data.summaries.registry import SUMMARIES

    # the summary that the model names
    module, _, name = SUMMARIES[asked.model.summary].partition(":")
    summarize = getattr(import_module(module), name)
    summary: Summary = summarize(_rows(asked), asked.model, asked.reading_domain, asked.layout, asked.columns)
    return (
        Totals(asked.model, asked.domain, summary.values, summary.n_records, asked.layout),
        summary.columns,
    )


def draw(
    reading: Reading,
    source: RandomSource,
    *,
    dataset: str | None = None,
    stamp: LedgerStamp | None = None,
) -> Release:
    """Draw the noise or the samples, and return them with everything that was declared and promised."""
    from discreet.data.sources.conceal import run_concealed

    if reading.bins is not None:
        reading = _with_bounds(reading, reading.bins, source)
    if reading.members is not None and reading.asked.group_selection is not None:
        reading = _with_groups(reading, reading.members, reading.asked.group_selection, source)
    asked = reading.asked
    held = reading.record.held
    made = run_concealed(
        lambda: asked.mechanism.draw(reading.record, reading.data, source), f"the {held} could not be drawn."
    )
    drawn = Release(
        id=str(uuid.uuid4()),
        dataset=dataset,
        model=asked.model,
        columns=reading.columns,
        domain=asked.domain,
        neighbors=asked.neighbors,
        unit=asked.unit,
        max_rows=asked.model.max_rows or 1,
        records=reading.n_records if asked.neighbors == "replace" else None,
        mechanism=reading.record,
        guarantees=asked.guarantees,
        software={"discreet": __version__, "opendp": _opendp_version()},
        ledger=stamp,
        bounds_choice=asked.bounds_choice,
        unit_label=asked.unit_label,
        where=None if asked.where is None else str(asked.where),
        group_selection=asked.group_selection,
        about=asked.about,
        **{held: made},  # pyright: ignore[reportArgumentType]
    )
    if reading.cells is None or asked.checker is None:
        return drawn
    cells, checker = reading.cells, asked.checker
    return run_concealed(
        lambda: _with_fit_check(drawn, reading, cells, checker, source), "the fit check could not be drawn."
    )


def _with_fit_check(
    drawn: Release, reading: Reading, counted: BinCounts, checker: NoiseMechanism, source: RandomSource
) -> Release:
    """Join cells to bins, as the noisy sums say, and add noise to their counts.

    Privacy
    -------
    The bins depend on the rows through the noisy sums alone, and the noise is calibrated to
    :func:`~discreet.families.fit_bins.bin_layout`, whatever they are: adaptive composition of two mechanisms, each with
    its share of the budget. The cells were counted before the first random number was drawn.
    """
    asked = reading.asked
    family = checkable(asked.model)
    cells = chosen_cells(family, drawn.domain, *drawn.noisy_sums())
    (per_cell,) = counted.counts
    ends = [0, *cells, len(per_cell)]
    counts = tuple(sum(per_cell[first:last]) for first, last in pairwise(ends))
    layout = bin_layout(len(counts), asked.neighbors)
    record = checker.check(asked.model, asked.domain, layout)
    totals = Totals(asked.model, asked.domain, counts, reading.n_records, layout)
    made = checker.draw(record, totals, source)
    grid = fit_grid(family, drawn.domain.bounds)
    cuts = tuple(grid.lower(cell) for cell in cells)
    return replace(drawn, fit_check=FitCheck(cuts, made.values, record.scale[0], record.sensitivity))


def _with_bounds(reading: Reading, bins: BinCounts, source: RandomSource) -> Reading:
    """Buy the bounds, and read the totals within them."""
    asked = reading.asked
    family = asked.model.require(RecordSums, "private quantiles are bounds of a family")
    bounds = choose_bounds(source, bins.counts, asked.bounds_choice or (), family, asked.neighbors)
    domain = replace(asked.domain, bounds=bounds)
    asked = replace(asked, domain=domain, layout=family.layout(domain, asked.neighbors))
    cells = _count_cells(asked)
    totals, columns = read_totals(asked)
    _check_same(reading.n_records, cells, totals)
    return replace(reading, asked=asked, columns=columns, data=totals, cells=cells)


def _with_groups(
    reading: Reading, members: LabelMembers, plan: GroupSelection, source: RandomSource
) -> Reading:
    """Choose the labels of groups, and read the totals of the groups that they make.

    Privacy
    -------
    Adaptive composition: the labels that were chosen are public from here on, and their groups are released as
    declared ones are. That no label was chosen is public too, and is said.
    """
    from discreet.data.sources.conceal import run_concealed
    from discreet.models.grouped import MOST_GROUPS, Grouped

    asked = reading.asked
    grouped = asked.model.require(Grouped, "groups are chosen")
    labels, made = run_concealed(
        lambda: choose_groups(
            source,
            members.counts,
            members.spelled,
            plan,
            MOST_GROUPS // len(grouped.groups),
            alone=len(grouped.by) == 1,
        ),
        "the groups could not be chosen.",
    )
    if not labels:
        raise DataError(
            "no group was published: the noisy number of people in none of them reached the threshold of "
            f"{plan.threshold:,}; the budget is spent.",
            hint="larger groups, or a larger epsilon, have better chances",
        )
    model = grouped.with_labels(plan.column, labels)
    layout = model.layout(asked.reading_domain, asked.neighbors)
    asked = replace(asked, model=model, layout=layout, group_selection=made)
    totals, columns = read_totals(asked)
    _check_same(reading.n_records, totals)
    public = reading.n_records if asked.neighbors == "replace" else None
    record = asked.mechanism.plan(model, asked.domain, public, layout)
    return replace(reading, asked=asked, columns=columns, record=record, data=totals)


@cache
def _opendp_version() -> str:
    """Read once: looking a version up costs more than a small release."""
    return version("opendp")
