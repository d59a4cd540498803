"""Labels as a curator declares them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from discreet.arguments import listed, shown
from discreet.errors import UsageError
from discreet.names import check_label
from discreet.objects import BLANKS
from discreet.rational import exact

#: More labels than a table of counts can use; a file cannot ask for a billion.
MOST_LABELS = 1_000_000

# spellings of one cell: a label that is a whole number is also its float, and yes is 1
_FLOAT = re.compile(r"(0|-?[1-9][0-9]*)\.0", re.ASCII)
_FLAGS = {"true": "1", "True": "1", "TRUE": "1", "false": "0", "False": "0", "FALSE": "0"}


def read_labels(labels: Any, owner: str = "categorical", *, least: int = 2) -> tuple[str, ...]:
    """Read ``least`` or more labels, or their number; ``owner`` is whose they are, for messages."""
    if isinstance(labels, int | float | np.number) and not isinstance(labels, bool):
        k = float(exact(labels, "k"))  # pyright: ignore[reportArgumentType]
        if k != int(k) or not least <= k <= MOST_LABELS:
            raise UsageError(f"k must be an integer from {least} to {MOST_LABELS}, got k={shown(labels)}.")
        return tuple(str(i) for i in range(int(k)))
    given = listed(labels, "labels", "a list of texts, or their number", most=MOST_LABELS + 1)
    if len(given) > MOST_LABELS:
        raise UsageError(
            f"{owner} takes at most {MOST_LABELS:,} labels.", hint="join rare ones under one label"
        )
    if any(isinstance(label, bool) or not isinstance(label, str | int | np.integer) for label in given):
        raise UsageError("labels must be texts or whole numbers.")
    names = tuple(check_label(str(label)) for label in given)
    if len(names) < least:
        few = "two labels" if least == 2 else "one label"
        raise UsageError(f"{owner} needs at least {few}, got {len(names)}.")
    if "" in names:
        raise UsageError("an empty text cannot be a label: it means missing.")
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise UsageError(f"labels must be distinct, but {repeated[0]!r:.60} is repeated.")
    return names


def one_spelling(label: str) -> str:
    """Return a text that is the same for labels that one cell may equal at once, in a column of whatever type."""
    trimmed = label.strip(BLANKS)
    found = _FLOAT.fullmatch(trimmed)
    return found[1] if found else _FLAGS.get(trimmed, trimmed)
