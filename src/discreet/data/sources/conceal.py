"""Keep rows out of error messages.

Engines quote the value they stumbled over: "could not convert string 'HIV+' to DOUBLE". Whatever touches rows runs
inside :func:`sealed`, which lets our own errors through and replaces every other one by a fixed message. An interrupt
stays an interrupt, but a new one: an object among the rows can raise one too, with words of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from discreet.errors import DataError, DiscreetError

T = TypeVar("T")


def sealed(action: Callable[[], T], message: str) -> T:
    """Run ``action``; if an engine fails, raise :class:`DataError` with ``message`` and nothing else.

    Privacy
    -------
    ``raise ... from None`` hides the engine's exception but keeps it in ``__context__``, where a debugger or a log
    handler finds it. So the error is raised outside the ``except`` block, without context, cause, or the frames that
    held rows.
    """
    kept: BaseException
    try:
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
