"""``discreet check``: the curator's private look at a column before anything is released."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from discreet.cli.console import busy, console, plain, print_json, table
from discreet.cli.options import AsJson, Bounds, Columns, Data, Model, Outside, read_bounds

if TYPE_CHECKING:
    from discreet.data import Inspection
    from discreet.families.record_sums import RecordSums

NOTICE = "private, not for publication"


def check(
    data: Data,
    model: Model,
    column: Columns,
    bounds: Bounds = None,
    outside: Outside = "clip",
    json: AsJson = False,
) -> None:
    """Count, on your own screen, the records that each policy would touch.

    The numbers are exact, not protected. They are for the curator alone: do not publish them, and do not choose bounds
    or labels by them.
    """
    from discreet import families

    family = families.parse(model)
    outside = family.only_outside or outside
    domain = family.read_domain(bounds=read_bounds(bounds), outside=outside, missing="count")
    with busy(f"Counting {data.name} …"):
        from discreet.data import inspect

        seen = inspect(data, family, domain, column)
    if json:
        content = {"model": family.name, **asdict(seen), "warnings": _warnings(seen, family)}
        print_json("check", {"private": True, "notice": NOTICE, **content})
        return
    out = console()
    out.print(f"{NOTICE.upper()}: exact counts, for the curator's own screen.")
    counts = table(", ".join(map(plain, seen.columns)), "records", "share")
    for name, count in _lines(seen, labels=family.vocabulary is not None, outside=outside):
        share = f"{100 * count / seen.records:.1f}%" if seen.records else ""
        counts.add_row(name, f"{count:,}", share)
    out.print(counts)
    for warning in _warnings(seen, family):
        out.print(f"warning: {warning}")


def _warnings(seen: Inspection, family: RecordSums) -> list[str]:
    """Say what the counts suggest is wrong with the declarations or the file."""
    warnings = []
    trouble = None
    if 2 * seen.usable < seen.records:
        trouble = f"{'fewer than half' if seen.usable else 'none'} of the records are usable"
    elif 4 * seen.unknown > seen.records:
        # a column of M and F would pass as half usable: to a yes-or-no family, F means false
        trouble = "over a quarter of the records hold something that the model does not read"
    if trouble:
        warnings.append(f"{trouble}. Is it the right column? {_reads(family)}")
    if seen.unclosed:
        warnings.append(
            f"lines with a quotation mark that is not closed: {seen.unclosed:,}. One line is one record, so a field "
            "with line breaks in it makes several records of one. Write the file without such breaks, or as Parquet."
        )
    return warnings


def _reads(family: RecordSums) -> str:
    """Say what a family takes for a value."""
    if family.labels is not None:
        return "Labels match exactly, upper and lower case too; blanks around them do not matter."
    if family.vocabulary is not None:
        return (
            f"{family.name} reads yes/no, y/n, true/false, t/f and 1/0; for two other words, say M and F, use "
            '-m "categorical:labels=M|F".'
        )
    return "Numbers are written with digits and a decimal point: 1,5 and 1_000 are no numbers."


def _lines(seen: Inspection, *, labels: bool, outside: str) -> list[tuple[str, int]]:
    """List the counts that apply, in words; details are indented under the count they are part of."""
    treatment = "redacted" if outside == "redact" else "clipped"
    missing_detail = [
        (f"  holding something that is no {'declared label' if labels else 'number'}", seen.unknown),
        ("  lines that do not fit the header", seen.malformed),
    ]
    usable_detail = [
        ("  within the bounds", seen.inside),
        (f"  below the bounds, {treatment}", seen.below),
        (f"  above the bounds, {treatment}", seen.above),
    ]
    lines = [
        ("all", seen.records),
        ("usable", seen.usable),
        *usable_detail,
        ("missing", seen.missing),
        *missing_detail,
    ]
    return [(name, count) for name, count in lines if count is not None]
