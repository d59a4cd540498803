"""``discreet check``: the curator's private look at a column before anything is released."""

from __future__ import annotations

from dataclasses import asdict

from discreet.cli.console import busy, console, plain, print_json, table
from discreet.cli.options import AsJson, Bounds, Columns, Data, Model, Outside, read_bounds


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
    from discreet.families import parse

    with busy(f"Counting {data.name} …"):
        from discreet.curator.check import NOTICE
        from discreet.curator.check import check as look

        seen = look(data, parse(model), columns=column, bounds=read_bounds(bounds), outside=outside)
    if json:
        content = {"model": seen.model.name, **asdict(seen.counts), "warnings": seen.warnings}
        print_json("check", {"private": True, "notice": NOTICE, **content})
        return
    out, total = console(), seen.counts.records
    out.print(f"{NOTICE.upper()}: exact counts, for the curator's own screen.")
    counts = table(", ".join(map(plain, seen.counts.columns)), "records", "share")
    for name, count in seen.lines:
        counts.add_row(name, f"{count:,}", f"{100 * count / total:.1f}%" if total else "")
    out.print(counts)
    for warning in seen.warnings:
        out.print(f"warning: {warning}")
