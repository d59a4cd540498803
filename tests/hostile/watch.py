"""What can be seen of a call: its error with all that hangs on it, warnings, log records, what it prints."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from tests.hostile.objects import NEEDLES


@dataclass
class Seen:
    """What one call showed."""

    error: BaseException | None = None
    warned: list[str] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)
    shown: str = ""

    @property
    def outcome(self) -> str:
        """What the caller learns from it having raised or not."""
        return "" if self.error is None else f"{type(self.error).__name__}: {self.error}"

    def problems(self) -> list[str]:
        """Name everything that may not be."""
        found = [f"warning {text}" for text in (*self.warned, *self.logged)]
        text = "\n".join([self.shown, *self.warned, *self.logged, *_texts(self.error)])
        found += [f"canary {needle}" for needle in NEEDLES if needle in text]
        if self.error is not None:
            if not isinstance(self.error, DiscreetError):
                found.append(f"raw {type(self.error).__name__}: {str(self.error)[:200]}")
            elif "\n" in self.error.message or (self.error.hint and "\n" in self.error.hint):
                found.append(f"several lines: {self.error.message[:200]}")
            elif not self.error.message or len(self.error.message) > 500:
                found.append("an empty or a very long message")
            if self.error.__context__ is not None or self.error.__cause__ is not None:
                found.append(f"a context: {type(self.error.__context__ or self.error.__cause__).__name__}")
        return found


def _texts(error: BaseException | None, depth: int = 0) -> Iterator[str]:
    """Yield all text of an exception and of those behind it, also of suppressed ones."""
    if error is None or depth > 10:
        return
    for look in (
        str,
        repr,
        lambda e: repr(e.args),
        lambda e: repr(getattr(e, "__notes__", None)),
        _vars,
        _formatted,
    ):
        try:
            yield look(error)
        except BaseException as problem:
            yield f"{problem!r}"
    yield from _texts(error.__cause__, depth + 1)
    yield from _texts(error.__context__, depth + 1)


def _vars(error: BaseException) -> str:
    return repr(vars(error))


def _formatted(error: BaseException) -> str:
    return "".join(traceback.TracebackException.from_exception(error).format())


class _Keep(logging.Handler):
    def __init__(self) -> None:
        super().__init__(0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        # the compiler tells how it compiles, before it has seen a row
        if not record.name.startswith("numba"):
            self.lines.append(self.format(record))


#: Said of the shape of y and the names of columns alone, in scikit-learn's own words.
ALLOWED = ("A column-vector y was passed", "X has feature names", "X does not have valid feature names")


def watch(call: Callable[[], Any], *, strict: bool = False) -> Seen:
    """Run a call and return what can be seen of it; if ``strict``, in a program where all warnings are errors."""
    seen, keep = Seen(), _Keep()
    root = logging.getLogger()
    level = root.level
    root.addHandler(keep)
    root.setLevel(0)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("error" if strict else "always")
            try:
                with np.errstate(all="raise") if strict else nullcontext():
                    seen.shown = _shown(call())
            except BaseException as error:
                seen.error = error
    finally:
        root.removeHandler(keep)
        root.setLevel(level)
    seen.warned = [
        f"{w.category.__name__}: {w.message}" for w in warned if not str(w.message).startswith(ALLOWED)
    ]
    seen.logged = keep.lines
    return seen


def _shown(result: Any) -> str:
    """Return how a result is shown; a prediction may well be about the canary, but never repeats it."""
    return repr(result) + str(result)


@contextmanager
def printed() -> Iterator[list[str]]:
    """Catch what is printed, by any thread of any engine, to the file descriptors themselves."""
    lines: list[str] = []
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as file:
        python = sys.stdout, sys.stderr
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        out = os.fdopen(os.dup(file.fileno()), "w", errors="backslashreplace")
        sys.stdout = sys.stderr = out
        try:
            yield lines
        finally:
            out.flush()
            sys.stdout, sys.stderr = python
            for old, number in zip(kept, (1, 2), strict=True):
                os.dup2(old, number)
                os.close(old)
            out.close()
            file.seek(0)
            lines.append(file.read().decode("utf-8", "backslashreplace"))
