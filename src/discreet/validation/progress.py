"""A progress bar on stderr, for work that takes a while."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from discreet.extras import needed_for


@contextmanager
def progress_bar(total: int, wanted: bool | None, words: str) -> Iterator[Callable[[int], None]]:
    """Show a progress bar while the block runs, by default if stderr is a terminal; gives what moves it."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda _: None
        return
    with needed_for("a progress bar"):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # a file keeps the last state of the bar, a terminal need not
    with Progress(*columns, console=Console(stderr=True), transient=sys.stderr.isatty()) as bar:
        task = bar.add_task(words, total=total)
        yield lambda more: bar.advance(task, more)
