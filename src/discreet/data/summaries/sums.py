"""The two looks at the rows: the sums that go to a mechanism, and the counts for the curator's own screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import or_
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from discreet.data.sources.batches import batches
from discreet.data.sources.kinds import Kind, present
from discreet.data.sources.opening import look_at, resolve
from discreet.data.sources.source import Need, Picked, Source
from discreet.data.sources.values import Vocabulary
from discreet.data.summaries.coordinate_sums import sums
from discreet.data.summaries.fixed_point import (
    Frame,
    Map,
    check_size,
    combined,
    imputed,
    is_inside,
    is_usable,
    maps,
    measure_arrays,
    numeric_records,
    only_row,
)
from discreet.data.summaries.label_counts import count_labels, label_sums
from discreet.domain.declarations import Domain
from discreet.families.base import Family
from discreet.families.impute import imputed_position
from discreet.models.layout import Layout

_MALFORMED = ("malformed", "unclosed")


@dataclass(frozen=True, repr=False)
class Summary:
    """The exact sums: one integer per coordinate of the layout, in steps of its grid. Private."""

    values: tuple[int, ...]
    n_records: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Inspection:
    """How many records each policy touches. Private: for the curator's screen, never for publication.

    ``records = usable + missing``; with bounds, ``usable`` splits into ``inside`` and the records of which some column
    lies ``below`` or ``above`` (with several columns a record can be both). Of the missing, ``unknown`` held something
    that is no number (or no declared label), and ``malformed`` were lines that do not fit the header; ``unclosed`` of
    those have an odd number of quotation marks, as the pieces of a field with a line break in it do. What does not
    apply is ``None``.
    """

    columns: tuple[str, ...]
    records: int
    usable: int
    missing: int
    inside: int | None
    below: int | None
    above: int | None
    unknown: int
    malformed: int | None
    unclosed: int | None


def summarize(
    data: Any, family: Family, domain: Domain, layout: Layout, columns: Sequence[str] | None = None
) -> Summary:
    """Sum the statistics of every record exactly.

    Parameters
    ----------
    data
        A path to a CSV or Parquet file, a pandas, Polars, PyArrow or DuckDB table, an array, a list, or a dictionary
        of columns.
    family, domain, layout
        The declarations, which say what one record adds.
    columns
        Which columns make a record; not needed when the data has no others, unless it is a text file.

    Returns
    -------
    Summary
        The same integers whatever the engine, the chunks and the order of rows.

    Privacy
    -------
    The result is private. Only declarations raise: an absent column, a column whose type is wrong, a file that is not
    there. Values never do, and no message contains one. One record changes the values by at most the layout's
    sensitivity, whatever it holds.
    """
    vocabulary = None if family.vocabulary is None else Vocabulary.of(family.vocabulary)
    needs = [Need(family.name, vocabulary)] * family.n_columns

    def look(source: Source) -> Summary:
        positions, names = resolve(source, columns, needs)
        picked = source.pick(positions, needs)
        if vocabulary is not None:
            counts = count_labels(picked, vocabulary)
            stand_in = imputed_position(family, domain)
            if stand_in is not None:
                counts = counts.imputed(stand_in)
            check_size(counts.n_records, layout)
            return Summary(tuple(label_sums(counts, family, layout)), counts.n_records, tuple(names))
        frames = picked.frames
        if domain.impute is not None:
            frames = imputed(frames, domain.impute)
        if family.measure_needs_arrays:
            frames = _measured(frames, family, maps(domain.bounds, layout, identity=family.sums_values))
        n_records, totals = 0, [0] * len(layout.names)
        for frame in frames:
            n, values = sums(numeric_records(frame, family, domain, layout), family, layout)
            n_records += n
            totals = [total + value for total, value in zip(totals, values, strict=True)]
        check_size(n_records, layout)
        return Summary(tuple(totals), n_records, tuple(names))

    return look_at(data, look)


def inspect(data: Any, family: Family, domain: Domain, columns: Sequence[str] | None = None) -> Inspection:
    """Count what the policies would touch, for ``discreet check``.

    Privacy
    -------
    The counts are exact and unprotected. Show them to the curator, and to nobody else.
    """
    vocabulary = None if family.vocabulary is None else Vocabulary.of(family.vocabulary)
    needs = [Need(family.name, vocabulary)] * family.n_columns

    def look(source: Source) -> Inspection:
        positions, names = resolve(source, columns, needs)
        picked = source.pick(positions, needs)
        if vocabulary is not None:
            return _inspected_labels(picked, vocabulary, names)
        flags = _flags(picked, domain)
        totals = dict.fromkeys(("records", *flags), 0)
        for frame in picked.frames:
            marked = frame.select(**{name: flag.cast(nw.Int64) for name, flag in flags.items()})
            counted = only_row(
                marked.select(nw.len().alias("records"), *(nw.col(name).sum() for name in flags))
            )
            totals = {name: total + more for (name, total), more in zip(totals.items(), counted, strict=True)}
        usable = totals["usable"]
        return Inspection(
            columns=tuple(names),
            records=totals["records"],
            usable=usable,
            missing=totals["records"] - usable,
            inside=totals.get("inside"),
            below=totals.get("below"),
            above=totals.get("above"),
            unknown=totals.get("unknown", 0),
            malformed=totals.get("malformed"),
            unclosed=totals.get("unclosed"),
        )

    return look_at(data, look)


def column_names(data: Any) -> list[str]:
    """Return the names of the columns, which are declarations; none for arrays and lists."""
    return look_at(data, lambda source: list(source.names or []))


def _inspected_labels(picked: Picked, vocabulary: Vocabulary, names: Sequence[str]) -> Inspection:
    """Count labels and what is none; a flag can only be raised by a record without a label."""
    column, kind = nw.col("c0"), picked.kinds[0]
    # objects were looked up one by one, and a code no longer tells an unknown label from nothing
    flags = {"unknown": nw.col("unread") if kind is Kind.CODE else present(column, kind)}
    if picked.has_malformed:
        flags |= {name: nw.col(name) for name in _MALFORMED}
    counts = count_labels(picked, vocabulary, flags)
    return Inspection(
        columns=tuple(names),
        records=counts.n_records,
        usable=counts.n_records - counts.unknown,
        missing=counts.unknown,
        inside=None,
        below=None,
        above=None,
        unknown=counts.flags["unknown"],
        malformed=counts.flags.get("malformed"),
        unclosed=counts.flags.get("unclosed"),
    )


def _flags(picked: Picked, domain: Domain) -> dict[str, nw.Expr]:
    """Return one flag per count of records of numbers."""
    flags: dict[str, nw.Expr] = {}
    usable = flags["usable"] = is_usable(len(picked.kinds))
    if picked.has_unread:
        flags["unknown"] = nw.col("unread")
    if domain.bounds is not None:
        limits = [(float(low), float(high)) for low, high in domain.bounds]
        columns = [nw.col(f"c{i}") for i in range(len(limits))]
        flags["inside"] = is_inside(limits)
        flags["below"] = usable & combined(
            or_, [x < low for x, (low, _) in zip(columns, limits, strict=True)]
        )
        flags["above"] = usable & combined(
            or_, [x > high for x, (_, high) in zip(columns, limits, strict=True)]
        )
    if picked.has_malformed:
        flags |= {name: nw.col(name) for name in _MALFORMED}
    return flags


def _measured(frames: Iterable[Frame], family: Family, each: Sequence[Map]) -> Iterator[Frame]:
    """Add columns u0, u1, ... with a measure that only understands arrays, batch by batch."""
    for frame in frames:
        for batch in batches(frame):
            columns = {}
            for i, m in enumerate(each):
                x = batch.column(f"c{i}").to_numpy(zero_copy_only=False)
                columns[f"c{i}"] = pa.array(x)
                columns[f"u{i}"] = pa.array(measure_arrays(np.asarray(x, dtype=np.float64), family, m))
            yield nw.from_native(pa.table(columns), eager_only=True)
