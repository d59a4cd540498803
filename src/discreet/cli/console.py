"""What the commands print: results on stdout, errors and progress on stderr."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    from discreet.artifact import Release
    from discreet.privacy import Guarantee

#: A command that is done sooner shows no progress.
PATIENCE_SECONDS = 1.0

# stands for a blank at which no line is broken; never in what is shown, because plain() refuses it and _Tidy writes a
# blank for it (a no-break space would not do: rich breaks lines there, and searches for "epsilon = 1" would fail)
_JOINT = "\ue000"


def report_error(message: str, hint: str | None, code: int, *, as_json: bool) -> int:
    """Print an error as one line and a hint on stderr, or as JSON on stdout; return ``code``."""
    message, hint = _one_line(message), None if hint is None else _one_line(hint)
    if as_json:
        print(json.dumps({"error": message, "hint": hint, "code": code}))
    else:
        print(f"error: {message}", file=sys.stderr)
        if hint:
            print(f"hint: {hint}", file=sys.stderr)
    return code


def print_json(verb: str, content: Mapping[str, Any], files: Iterable[Path | None] | None = None) -> None:
    """Print a result as JSON that names its schema and, of a verb that writes ``files``, those that were written."""
    body = {"schema": f"discreet/{verb}/1", **content}
    if files is not None:
        body["files"] = [str(path) for path in files if path is not None]
    print(json.dumps(body, indent=2, allow_nan=False, ensure_ascii=False))


def print_plain(text: str) -> None:
    """Print a text as it is, its lines never broken."""
    console().print(plain(text), soft_wrap=True)


def print_wrapped(*parts: str | Table) -> None:
    """Print texts, whose lines are broken where the terminal ends, and tables."""
    for part in parts:
        console().print(paragraph(part) if isinstance(part, str) else part)


def print_written(*paths: Path | None, content: str = "") -> None:
    """Say which files were written, and what they hold."""
    for path in filter(None, paths):
        print_plain(f"Wrote {path}{content}.")


def release_json(release: Release) -> dict[str, Any]:
    """Return which release a result is from: its data set, model and columns, and what was promised for it."""
    return {
        "release": release.id,
        "dataset": release.dataset,
        "model": release.model.name,
        "columns": list(release.columns),
        "guarantee": guarantee_json(release.guarantee),
    }


def guarantee_json(guarantee: Guarantee) -> dict[str, str]:
    """Return a guarantee's kind, its exact budgets and its neighbors, without which it says nothing."""
    budgets = {name: str(value) for name, value in guarantee.budgets().items()}
    return {"kind": guarantee.kind, **budgets, "neighbors": guarantee.neighbors}


def console() -> Console:
    """Return the console for results."""
    from rich.console import Console

    return Console(markup=False, highlight=False, file=cast(TextIO, _Tidy(sys.stdout)))


class _Tidy:
    """A stream without blanks at the ends of lines, which rich leaves when it wraps and aligns."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(re.sub(r" +$", "", text, flags=re.MULTILINE).replace(_JOINT, " "))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def paragraph(text: str) -> str:
    """Return plain text in which no line is broken around an equals sign."""
    return plain(text).replace(" = ", f"{_JOINT}={_JOINT}")


def table(*columns: str, title: str | None = None) -> Table:
    """Return an empty table: the first column to the left, the others to the right."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for position, column in enumerate(columns):
        made.add_column(column, justify="left" if position == 0 else "right", overflow="fold")
    return made


@contextmanager
def busy(message: str) -> Iterator[None]:
    """Show a spinner on stderr while the block runs, if that takes over a second and stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from threading import Timer

    from rich.console import Console

    status = Console(stderr=True).status(plain(message))
    timer = Timer(PATIENCE_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def plain(text: str) -> str:
    """Replace characters that a terminal would act on; names and labels in a release file are somebody else's."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def number(value: float, spread: float | None = None) -> str:
    """Print a number to two significant digits of its spread, or to four of its own."""
    if not math.isfinite(value):
        return str(value)
    if value == 0 and not spread:
        return "0"
    if spread and math.isfinite(spread) and spread > 0:
        decimals = 1 - math.floor(math.log10(spread))
    else:
        decimals = 3 - math.floor(math.log10(abs(value)))
    if decimals > 9 or abs(value) >= 1e12:
        return f"{value:.4g}"
    return f"{round(value, decimals):,.{max(decimals, 0)}f}"


def _one_line(text: str) -> str:
    return plain(" ".join(text.split()))
