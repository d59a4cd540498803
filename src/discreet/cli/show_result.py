"""Results that are a text, plain numbers and, if asked for, a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol

from discreet.cli.console import print_json, print_plain, print_written
from discreet.cli.options import output_option
from discreet.cli.output_checks import ensure_output

_HELP = "Save a picture: .png, .pdf or .svg."
Picture = Annotated[Path | None, output_option("FILE", _HELP, "--output", "-o", "--plot")]
Plot = Annotated[Path | None, output_option("FILE", _HELP)]


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


def check_picture(output: Path | None, option: str = "--output", sources: Sequence[Path] = ()) -> None:
    """Raise before any work is done if the picture could not be written, or would destroy one of the ``sources``."""
    if output is not None:
        ensure_output(output, *sources, endings=(".png", ".pdf", ".svg"), option=option)


def show_result(verb: str, found: Result, output: Path | None, *, as_json: bool) -> None:
    """Print the text or the numbers, and write the picture."""
    if output is not None:
        found.plot(output)
    if as_json:
        print_json(verb, found.to_dict(), [output])
        return
    print_plain(found.summary())
    print_written(output)
