"""Results that are a text, plain numbers and, if asked for, a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from discreet.cli.console import console, plain, print_json
from discreet.cli.files import ensure_ending, ensure_no_release, ensure_writable

Picture = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Save a picture: .png, .pdf or .svg.",
        show_default=False,
        rich_help_panel="Output",
    ),
]


class Result(Protocol):
    """What there is to show."""

    def summary(self) -> str:
        """Return the text."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        ...

    def plot(self, path: Any = None) -> Any:
        """Draw the picture."""
        ...


def check_picture(output: Path | None) -> None:
    """Raise before any work is done if the picture could not be written."""
    if output is not None:
        ensure_ending(output, ".png", ".pdf", ".svg", option="--output")
        ensure_no_release(output)
        ensure_writable(output, replace=True)


def show_result(verb: str, found: Result, output: Path | None, *, as_json: bool) -> None:
    """Print the text or the numbers, and write the picture."""
    if output is not None:
        found.plot(output)
    files = [] if output is None else [str(output)]
    if as_json:
        print_json(verb, {**found.to_dict(), "files": files})
        return
    out = console()
    out.print(plain(found.summary()), soft_wrap=True)
    for file in files:
        out.print(f"Wrote {plain(file)}.", soft_wrap=True)
