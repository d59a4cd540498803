"""How much work an engine may do: counted, not timed, so that the same question has the same answer everywhere.

An engine that cannot tell beforehand how long it takes reports its work in seconds of an ordinary machine as it goes.
Files are written by others, and none may keep a reader busy for hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from discreet.errors import OutOfReachError

#: Seconds of work for which ``auto`` lets one engine go on before it tries the next; and if there is no next one.
PATIENCE, LAST = 5.0, 15.0
#: Seconds of work for an engine that was asked for.
LONG = 900.0
#: Predicted for what an engine refuses once it is asked.
NEVER = 1e9

#: Numbers that tables of counts may hold for each second of work allowed: 15 s are 0.4 GB.
_NUMBERS_PER_SECOND = 3.5e6

_left: ContextVar[list[float] | None] = ContextVar("_left", default=None)


class TooLong(OutOfReachError):
    """The engine would take longer than it may."""


def too_wide() -> TooLong:
    """Return the error of an engine that would have to enumerate more counts than memory should hold."""
    return TooLong(
        "the noise is too wide to enumerate the counts exactly.",
        hint="release with a larger epsilon, or with missing='none' if no value is missing",
    )


@contextmanager
def allowed(seconds: float) -> Iterator[None]:
    """Let the block do so much work."""
    token = _left.set([seconds, seconds, seconds * _NUMBERS_PER_SECOND])
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
            f"this takes more than {left[1]:,.0f} s of work, for such wide noise or bounds or so many labels.",
            hint="an engine that is asked for by name, such as engine='exact', may take longer",
        )


def hold(numbers: int) -> None:
    """Count numbers that are about to be kept in memory; raise :class:`TooLong` if they are too many."""
    left = _left.get()
    if left is None:
        return
    left[2] -= numbers
    if left[2] < 0:
        raise too_wide()
