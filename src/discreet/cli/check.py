"""``discreet check``: the curator's private look at a column before anything is released."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from discreet.cli.console import busy, plain, print_json, print_wrapped
from discreet.cli.console import table as printed_table
from discreet.cli.options import (
    AsJson,
    Bounds,
    Columns,
    Data,
    Model,
    Outside,
    Query,
    Table,
    read_bounds,
    read_columns,
    read_model,
)

if TYPE_CHECKING:
    from discreet.curator.check import Check


def check(
    data: Data,
    model: Model,
    column: Columns = None,
    bounds: Bounds = None,
    outside: Outside = "clip",
    table: Table = None,
    query: Query = None,
    json: AsJson = False,
) -> None:
    """Count, on your own screen, the records that each policy would touch.

    The numbers are exact, not protected. They are for the curator alone: do not publish them, and do not choose bounds
    or labels by them. A model of several columns is counted column by column.
    """
    asked = read_model(model)
    names, limits = read_columns(column, asked), read_bounds(bounds)
    with busy("Counting …"):
        from discreet.curator.check import NOTICE
        from discreet.curator.check import check as look

        seen: Check | dict[str, Check] = look(  # pyright: ignore[reportCallIssue]
            data,
            asked,  # pyright: ignore[reportArgumentType]
            columns=names,
            bounds=limits,
            outside=outside,
            table=table,
            query=query,
        )
    several = seen if isinstance(seen, dict) else None
    if json:
        content = {"model": asked.name, **(_json(seen) if not isinstance(seen, dict) else {})}
        if several is not None:
            content["columns"] = {name: _json(one) for name, one in several.items()}
        print_json("check", {"private": True, "notice": NOTICE, **content})
        return
    print_wrapped(f"{NOTICE.upper()}: exact counts, for the curator's own screen.")
    for one in [seen] if not isinstance(seen, dict) else seen.values():
        _print(one)


def _json(seen: Check) -> dict[str, Any]:
    return {**asdict(seen.counts), "warnings": seen.warnings}


def _print(seen: Check) -> None:
    total = seen.counts.records
    counts = printed_table(", ".join(map(plain, seen.counts.columns)), "records", "share")
    for name, count in seen.lines:
        counts.add_row(name, f"{count:,}", f"{100 * count / total:.1f}%" if total else "")
    print_wrapped(counts, *(f"warning: {warning}" for warning in seen.warnings))
