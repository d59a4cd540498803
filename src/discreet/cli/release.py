"""``discreet release``: rows in, a private release file out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from discreet.cli.arguments import (
    AsJson,
    Bounds,
    Columns,
    Data,
    Missing,
    Model,
    Neighbors,
    Outside,
    read_bounds,
)
from discreet.cli.console import busy, console, plain, print_json
from discreet.cli.files import ensure_writable

_BUDGET = "Budget"


def release(
    data: Data,
    model: Model,
    column: Columns,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Release file to write.", show_default=False),
    ],
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Privacy loss.", show_default=False, rich_help_panel=_BUDGET),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Failure probability, with epsilon.",
            show_default=False,
            rich_help_panel=_BUDGET,
        ),
    ] = None,
    rho: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Zero-concentrated privacy loss.",
            show_default=False,
            rich_help_panel=_BUDGET,
        ),
    ] = None,
    mechanism: Annotated[
        Literal["laplace", "gaussian"],
        typer.Option(
            help="laplace takes epsilon; gaussian takes rho, or epsilon with delta.", rich_help_panel=_BUDGET
        ),
    ] = "laplace",
    bounds: Bounds = None,
    outside: Outside = "redact",
    missing: Missing = "count",
    neighbors: Neighbors = "replace",
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name of the data set, to be written into the file.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    json: AsJson = False,
) -> None:
    """Spend budget: turn rows into a private release file.

    One line of a CSV file is one record; a file with line breaks inside fields must be rewritten first, for example as
    Parquet. Noise comes from the operating system's random source; there is no seed. Every run is a new release and
    costs its budget again.
    """
    from discreet import families

    family = families.parse(model)
    limits = read_bounds(bounds)
    # a release that cannot be saved is budget thrown away
    ensure_writable(output, replace=force, loss=", and the release in it was paid for")
    arguments: dict[str, Any] = {
        "columns": column,
        "epsilon": epsilon,
        "delta": delta,
        "rho": rho,
        "mechanism": mechanism,
        "bounds": limits,
        "outside": outside,
        "missing": missing,
        "neighbors": neighbors,
        "dataset": dataset,
    }
    with busy(f"Summing {data.name} …"):
        from discreet.mechanisms.curator import release as make_release

        made = make_release(data, family, **arguments)
        made.save(output)
    if json:
        guarantee = made.guarantee
        print_json(
            "release",
            {
                "file": str(output),
                "id": made.id,
                "model": family.name,
                "columns": list(made.columns),
                "records": made.records,
                "guarantee": {"kind": guarantee.kind, **{k: str(v) for k, v in guarantee.budgets().items()}},
                "statement": made.statement(),
            },
        )
        return
    out = console()
    out.print(f"Wrote {plain(str(output))}: {made.guarantee.describe()}.")
    out.print()
    out.print(plain(made.statement()))
