"""What the policies would touch, counted for the curator's own screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import or_
from typing import Any

import narwhals as nw

from discreet.data.sources.conceal import concealed
from discreet.data.sources.kinds import Kind, present
from discreet.data.sources.opening import opened
from discreet.data.sources.source import Picked
from discreet.data.sources.values import Vocabulary
from discreet.data.summaries.engine_sums import combined, is_inside, is_usable, only_row
from discreet.data.summaries.label_counts import count_labels
from discreet.data.summaries.sums import record_needs
from discreet.domain.declarations import Domain
from discreet.families import RecordSums

_MALFORMED = ("malformed", "unclosed")


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


@concealed
def inspect(
    data: Any, family: RecordSums, domain: Domain, columns: Sequence[str] | None = None
) -> Inspection:
    """Count what the policies would touch, for ``discreet check``.

    Privacy
    -------
    The counts are exact and unprotected. Show them to the curator, and to nobody else.
    """
    needs = record_needs(family, domain)

    with opened(data, columns, needs) as (picked, names):
        if needs[0].vocabulary is not None:
            return _inspection(names, _label_totals(picked, needs[0].vocabulary))
        flags = _flags(picked, domain)
        totals = dict.fromkeys(("records", *flags), 0)
        for frame in picked.frames:
            marked = frame.select(**{name: flag.cast(nw.Int64) for name, flag in flags.items()})
            counted = only_row(
                marked.select(nw.len().alias("records"), *(nw.col(name).sum() for name in flags))
            )
            totals = {name: total + more for (name, total), more in zip(totals.items(), counted, strict=True)}
        return _inspection(names, totals)


def _inspection(names: tuple[str, ...], totals: Mapping[str, int]) -> Inspection:
    """Return the counts; what was not counted does not apply."""
    counts: dict[str, Any] = dict.fromkeys(("inside", "below", "above", *_MALFORMED))
    missing = totals["records"] - totals["usable"]
    return Inspection(names, missing=missing, **{**counts, "unknown": 0, **totals})


def _label_totals(picked: Picked, vocabulary: Vocabulary) -> dict[str, int]:
    """Count labels and what is none; a flag can only be raised by a record without a label."""
    column, kind = nw.col("c0"), picked.kinds[0]
    # objects were looked up one by one, and a code no longer tells an unknown label from nothing
    flags = {"unknown": nw.col("unread") if kind is Kind.CODE else present(column, kind)}
    if picked.has_malformed:
        flags |= {name: nw.col(name) for name in _MALFORMED}
    counts = count_labels(picked, vocabulary, flags)
    return {"records": counts.n_records, "usable": counts.n_records - counts.unknown, **counts.flags}


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
