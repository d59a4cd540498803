"""Results that are a text, plain numbers and, if asked for, a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Protocol

from discreet.cli.console import console, plain, print_json, print_written
from discreet.cli.options import output_option
from discreet.cli.output_checks import ensure_ending, ensure_no_release, ensure_writable

_HELP = "Save a picture: .png, .pdf or .svg."
Picture = Annotated[Path | None, output_option("--output", "-o", "--plot", metavar="FILE", help=_HELP)]
Plot = Annotated[Path | None, output_option(metavar="FILE", help=_HELP)]


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


def check_picture(output: Path | None, option: str = "--output") -> None:
    """Raise before any work is done if the picture could not be written."""
    if output is not None:
        ensure_ending(output, ".png", ".pdf", ".svg", option=option)
        ensure_no_release(output)
        ensure_writable(output, replace=True)


def show_result(verb: str, found: Result, output: Path | None, *, as_json: bool) -> None:
    """Print the text or the numbers, and write the picture."""
    if output is not None:
        found.plot(output)
    if as_json:
        print_json(verb, {**found.to_dict(), "files": [] if output is None else [str(output)]})
        return
    console().print(plain(found.summary()), soft_wrap=True)
    print_written(output)
