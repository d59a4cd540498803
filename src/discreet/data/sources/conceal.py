"""Keep rows out of error messages and warnings.

Engines quote the value they stumbled over: "could not convert string 'HIV+' to DOUBLE". Whatever touches rows runs
inside :func:`run_concealed` (or is :func:`concealed`), which lets our own errors through and replaces every other one
by a fixed message. An interrupt stays an interrupt, but a new one: code that runs over the rows can raise one too, with
words of its own.

A warning says as much: "overflow encountered in cast" is about somebody's value. No warning leaves what reads rows,
and no setting of the caller's (warnings or floating-point errors that raise, or are printed) decides whether it goes
on.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from discreet.errors import DataError, DiscreetError

P = ParamSpec("P")
T = TypeVar("T")

#: What is said of any trouble on the way, whatever it was.
TROUBLE = "the data could not be read to its end."


def run_concealed(action: Callable[[], T], message: str = TROUBLE) -> T:
    """Run ``action``; if an engine fails, raise :class:`DataError` with ``message`` and nothing else.

    Privacy
    -------
    ``raise ... from None`` hides the engine's exception but keeps it in ``__context__``, where a debugger or a log
    handler finds it. So the error is raised outside the ``except`` block, without context, cause, or the frames that
    held rows.
    """
    kept: BaseException
    try:
        with quiet():
            return action()
    except KeyboardInterrupt:
        kept = KeyboardInterrupt()
    except SystemExit:
        kept = SystemExit(1)
    except DiscreetError as error:
        kept = error
    except BaseException:  # panics of Rust engines are not Exceptions
        kept = DataError(message)
    kept.__context__ = kept.__cause__ = None
    raise kept.with_traceback(None)


def concealed(work: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that touches rows, so that it runs :func:`run_concealed`."""

    @wraps(work)
    def inside(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_concealed(lambda: work(*args, **kwargs))

    return inside


class _Silence:
    """How many are inside a seal, in all threads, and the filters from before the first of them.

    Filters of warnings belong to the whole process: if each thread put back what it found, the last to leave would put
    back the silence of another. Engines' own threads are covered too.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._before.__exit__(None, None, None)


_silence = _Silence()


@contextmanager
def quiet() -> Iterator[None]:
    """Let nothing warn, and let no floating-point error do more than its result says."""
    if getattr(sys.flags, "context_aware_warnings", False):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    else:
        with _silence, np.errstate(all="ignore"):
            yield
