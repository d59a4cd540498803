"""The protocol of an engine: what it is asked, what it hands back, whether it applies, and how much work it may do.

Work is counted, not timed, so that the same question has the same answer everywhere. An engine that cannot tell
beforehand how long it takes reports its work in seconds of an ordinary machine as it goes. Files are written by others,
and none may keep a reader busy for hours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.artifact import Release
from discreet.errors import OutOfReachError, UsageError
from discreet.inference.missing_prior import MissingPrior, missing_prior
from discreet.inference.record_prior import CountPrior, RecordPrior

if TYPE_CHECKING:
    from discreet.inference.histogram import Distribution

#: Seconds of work for which ``auto`` lets one engine go on before it tries the next; and if there is no next one.
PATIENCE, LAST = 5.0, 12.0
#: Seconds of work for an engine that was asked for.
LONG = 900.0
#: Predicted for what an engine refuses once it is asked.
NEVER = 1e9


# Numbers that tables of counts may hold for each second of work allowed: 15 s are 0.4 GB.
_NUMBERS_PER_SECOND = 3.5e6
# And at most, however long an engine may take: 2 GB.
_MOST_NUMBERS = 2.5e8


@dataclass
class _Work:
    """Seconds of work that are left of those allowed, and where to ask for more; numbers held so far."""

    left: float
    allowed: float
    more: Callable[[], float] | None
    held: int = 0

    @property
    def most_numbers(self) -> float:
        """Numbers that may be held, in all."""
        return min(self.allowed * _NUMBERS_PER_SECOND, _MOST_NUMBERS)

    def ask_for_more(self) -> None:
        """Add what may be added, once."""
        if self.more is not None:
            more, self.more = self.more, None
            extra = more()
            self.left, self.allowed = self.left + extra, self.allowed + extra


_left: ContextVar[_Work | None] = ContextVar("_left", default=None)


@dataclass(frozen=True)
class Question:
    """A release and everything the analyst says about it.

    ``size`` draws are asked for in all, filed under ``chains`` chains of equal length. ``missing`` is the prior on the
    number of missing values where it is latent and n is public; None stands for the default one.
    """

    release: Release
    prior: Any
    records: RecordPrior
    size: int
    chains: int
    rng: np.random.Generator
    missing: MissingPrior | None = None

    @cached_property
    def usable(self) -> CountPrior:
        """The prior on the usable count: the analyst's on records or on missing values, or a point if it is public."""
        n = self.release.records
        if n is None:
            return self.records
        if self.release.domain.missing != "count":
            return RecordPrior(n, n)
        if self.release.where is not None and self.missing is None:
            # a filter may leave any number
            return RecordPrior(0, n)
        return missing_prior(None, n) if self.missing is None else self.missing

    def refuse_missing(self) -> None:
        """Raise if there is a prior on the number of missing values, for engines that have their own."""
        if self.missing is not None:
            raise UsageError(
                f"{self.release.model.name} takes no prior on the number of missing values.",
                hint="leave out missing",
            )

    def refuse_records(self) -> None:
        """Raise if there is a prior on the number of records, for engines that would ignore it."""
        if self.records != RecordPrior():
            raise UsageError(
                f"{self.release.model.name} takes no prior on the number of records.",
                hint="leave out records",
            )


@dataclass(frozen=True)
class Answer:
    """Draws by parameter name, draws first and chain after chain, and how far they can be trusted.

    ``table`` holds, where an engine has them, draws of the totals of the table that was released, by name; the other
    draws are of the population that it is a sample of. ``labels`` are names along the axes of draws that depend on the
    declarations, and ``distribution`` is there if the draws are of a column's whole distribution.
    ``missing`` says what was assumed of the number of missing values; None if it was ``Question.usable``.
    ``headline`` is what a reader must know before any number.
    ``more_warnings`` finds warnings that take some work, when the diagnostics are read.
    ``log_prior`` is the log density of each draw under the prior, where other priors are put in its place (pooling).
    """

    draws: dict[str, np.ndarray]
    approximation: str = "none"
    warnings: tuple[str, ...] = ()
    independent: bool = True
    table: dict[str, np.ndarray] | None = None
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    distribution: Distribution | None = None
    missing: str | None = None
    headline: str = ""
    more_warnings: Callable[[], tuple[str, ...]] | None = None
    log_prior: np.ndarray | None = None


@dataclass(frozen=True)
class Engine:
    """How a release is read.

    ``refusal`` returns why the engine cannot read a release, or None if it can; ``draw`` draws; ``predicted_seconds``
    says roughly how long that takes. ``reluctance`` returns why a later engine should be taken although this one
    applies, or None. An engine that is not ``automatic`` is taken only by name, to be compared with.
    One that is ``foretold`` says well beforehand how long it takes, and may take that long. One that is a
    ``last_resort`` draws less than the others: they may work as long as if it were not there. One for ``any_noise``
    asks noise for nothing but its mass, and reads what others published too.
    """

    name: str
    refusal: Callable[[Release], str | None]
    draw: Callable[[Question], Answer]
    predicted_seconds: Callable[[Question], float] = lambda question: 0.1
    reluctance: Callable[[Release], str | None] = lambda release: None
    automatic: bool = True
    foretold: bool = False
    last_resort: bool = False
    any_noise: bool = False


@cache
def load(place: str) -> Engine:
    """Import an engine."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def reads_all(release: Release) -> None:
    """Return None: no release is refused."""


class TooLong(OutOfReachError):
    """The engine would take longer than it may."""


def too_wide() -> TooLong:
    """Return the error of an engine that would have to enumerate more counts than memory should hold."""
    return TooLong(
        "the noise is too wide to enumerate the counts exactly.",
        hint="engine='exact', asked for by name, may hold up to 2 GB; or take fewer labels, or a larger epsilon",
    )


@contextmanager
def allowed(seconds: float, more: Callable[[], float] | None = None) -> Iterator[None]:
    """Let the block do so much work; once that is done, ``more`` says how much may be added, if any."""
    token = _left.set(_Work(seconds, seconds, more))
    try:
        yield
    finally:
        _left.reset(token)


def spend(seconds: float, hint: str | None = None) -> None:
    """Count work that is about to be done; raise :class:`TooLong` if it is too much, with a hint of what to do."""
    work = _left.get()
    if work is None:
        return
    work.left -= seconds
    if work.left < 0:
        work.ask_for_more()
    if work.left < 0:
        raise TooLong(
            f"this takes more than {work.allowed:,.0f} s of work, for such wide noise or bounds or so many labels.",
            hint=hint or "an engine that is asked for by name, such as engine='exact', may take longer",
        )


def left() -> float:
    """Return the seconds of work that are left, 0 where nobody counts."""
    work = _left.get()
    return 0.0 if work is None else work.left


def held() -> int:
    """Return how many numbers are kept in memory, as far as they are counted."""
    work = _left.get()
    return 0 if work is None else work.held


def hold(numbers: int) -> None:
    """Count numbers that are about to be kept in memory; raise :class:`TooLong` if they are too many.

    What is given up again is counted as less than none.
    """
    work = _left.get()
    if work is None:
        return
    work.held += numbers
    if work.held > work.most_numbers:
        work.ask_for_more()
    if work.held > work.most_numbers:
        raise too_wide()
