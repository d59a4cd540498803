"""``discreet declare``: names of columns in, a declaration to fill in out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from discreet.cli.console import print_json, print_written
from discreet.cli.options import AsJson, Force, option, written_option
from discreet.cli.output_checks import ensure_output


def declare(
    data: Annotated[
        str | None, Argument(metavar="[DATA]", help="The table: only the names of its columns are read.")
    ] = None,
    model: Annotated[
        str, option("MODEL", "Which model of several columns to declare.", "--model", "-m")
    ] = "contingency_table",
    schema: Annotated[
        Path | None, option("FILE", "CSVW, CSVW-EO or SmartNoise description: its bounds and labels.")
    ] = None,
    output: Annotated[Path | None, written_option("Declaration to write: .toml.")] = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Write a commented declaration of a model of several columns, for you to fill in.

    It is made from the names of the columns alone. Types, labels and bounds would have to be read from the rows, and
    are yours to declare from public knowledge; a schema that says them is read if there is one.
    """
    from discreet.curator.declaration_template import template

    if output is not None:
        ensure_output(output, data, schema, replace=force, endings=(".toml",))
    made = template(data, model=model, schema=schema)
    if output is not None:
        output.write_text(made, encoding="utf-8")
    if json:
        print_json("declare", {"declaration": made}, [output])
    elif output is None:
        typer.echo(made, nl=False)
    else:
        print_written(output)
