"""How much work an engine may do: counted, not timed, so that the same question has the same answer everywhere.

An engine that cannot tell beforehand how long it takes reports its work in seconds of an ordinary machine as it goes.
Files are written by others, and none may keep a reader busy for hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from discreet.errors import EngineError

#: Seconds of work for which ``auto`` lets one engine go on before it tries the next.
PATIENCE = 5.0
#: Seconds of work for an engine that was asked for.
LONG = 900.0

_left: ContextVar[list[float] | None] = ContextVar("_left", default=None)


class TooLong(EngineError):
    """The engine would take longer than it may."""


@contextmanager
def allowed(seconds: float) -> Iterator[None]:
    """Let the block do so much work."""
    token = _left.set([seconds, seconds])
    try:
        yield
    finally:
        _left.reset(token)


def spend(seconds: float) -> None:
    """Count work that is about to be done; raise :class:`TooLong` if it is too much."""
    left = _left.get()
    if left is None:
        return
    left[0] -= seconds
    if left[0] < 0:
        raise TooLong(
            f"this engine would take longer than {left[1]:,.0f} s for such wide noise or bounds.",
            hint="try engine='gibbs', narrower bounds or, to compare, engine='naive'",
        )
