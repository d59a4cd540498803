"""What every source of rows offers: its column names, and chosen columns as frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa

from discreet.data.sources.kinds import Kind
from discreet.data.sources.values import Vocabulary
from discreet.errors import UsageError

# names of columns that a message lists
_MOST_LISTED = 20

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]


@dataclass(frozen=True)
class Need:
    """What is wanted of one column: numbers, days, labels, a key that tells people apart, or what is there.

    A ``key`` that is ``unlisted`` tells groups apart instead, whose labels nobody declared: a filter is for it too.
    """

    family: str
    vocabulary: Vocabulary | None
    key: bool = False
    unlisted: bool = False
    presence: bool = False
    dates: bool = False

    @property
    def labels(self) -> bool:
        """Whether labels are wanted."""
        return self.vocabulary is not None


@dataclass(frozen=True)
class Picked:
    """Chosen columns, named c0, c1, ..., each in the form of its kind.

    ``frames`` can be walked once; together the frames hold every record once. If ``has_unread``, a column ``unread``
    flags records that held something which is neither number nor label; if ``has_malformed``, a column ``malformed``
    flags lines that could not be split into fields, and ``unclosed`` those of them with an odd number of quotation
    marks. ``latin1`` says that text is UTF-8 decoded as Latin-1. ``beside`` brings a public table into the engine that
    holds the frames, so that they can be joined there; a source in Arrow batches has none. ``origin`` is where such
    batches are read from, as ``explain`` shows it.
    """

    kinds: tuple[Kind, ...]
    frames: Iterator[Frame]
    has_unread: bool = False
    has_malformed: bool = False
    latin1: bool = False
    beside: Callable[[pa.Table], Frame] | None = None
    origin: str = ""


class Source(ABC):
    """Rows, wherever they live."""

    #: Column names in order; ``None`` for arrays and lists, which have none.
    names: list[str] | None
    #: The text file whose first line the names are; if it has no header, they are somebody's record.
    header_of: Path | None = None
    #: Whether the rows are gone after one look.
    once: bool = False

    @abstractmethod
    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        """Return the columns at these positions, each as its need says; raise only for their declared types."""

    def width(self, wanted: int) -> int:
        """Return the number of columns; a source of Python rows has as many as are ``wanted``."""
        return len(self.names or ())

    def close(self) -> None:  # noqa: B027 -- most sources hold nothing
        """Let go of files and connections."""


def listed_names(names: Sequence[str]) -> str:
    """Return the names of columns for a message, the first of many."""
    shown = ", ".join(names[:_MOST_LISTED])
    if not names:
        return "none: these data have no columns"
    return shown if len(names) <= _MOST_LISTED else f"{shown}, ... ({len(names)} in all)"


def check_named(names: Sequence[str] | None, what: str) -> None:
    """Raise unless the columns have names, by which ``what`` finds one of them."""
    if not names:
        raise UsageError(
            f"{what} by name, and these data have no names.",
            hint="give a table with named columns, such as a dictionary of lists",
        )
