"""One reading of numbers and labels, for text and for Python objects.

A number in text is an optional sign, ASCII digits with an optional point, an optional exponent; or one of the words
nan, inf, infinity in any case. ``1e400`` is infinite. Nothing else is a number: not ``1_000``, ``0x10`` or ``1,5``. CSV
fields are read by the same pattern inside DuckDB, so a list of strings and a file of them give the same integers.

A Python object can raise whatever is asked of it, so it is asked nothing: see :mod:`discreet.objects`. One of a type
that is not allowed is there, but is no number and no label: what one record holds must not decide whether there is a
release.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.objects import BLANKS, forgiving, number, plain_value

_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)

#: Beyond this, neighboring integers are the same float64
EXACT_IN_FLOAT = 2**53


def floats(array: pa.Array) -> np.ndarray:
    """Return an Arrow column of numbers as float64, with NaN for every null."""
    return np.asarray(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def numbers(
    values: Iterable[Any], read_one: Callable[[Any], float | None] = number
) -> tuple[np.ndarray, np.ndarray]:
    """Read objects as float64, with NaN for every missing one, and tell which were there but unreadable."""
    read = [read_one(value) for value in values]
    unread = np.fromiter((value is None for value in read), dtype=bool, count=len(read))
    return np.array([math.nan if value is None else value for value in read], dtype=np.float64), unread


@dataclass(frozen=True)
class Vocabulary:
    """The accepted spellings of each label, as look-ups from a value to the position of its label.

    A spelling belongs to one label, the first that claims it, so a record never counts twice: a careless vocabulary
    costs accuracy, never privacy. A label that is a plain integer also goes by its float spelling (``1.0`` for ``1``),
    because that is how a column of integers with gaps is usually exported.
    """

    n_labels: int
    words: dict[str, int]
    integers: dict[int, int]
    flags: dict[bool, int]

    @classmethod
    def of(cls, spellings: Sequence[Sequence[str]]) -> Vocabulary:
        """Index the spellings of each label."""
        words: dict[str, int] = {}
        for position, forms in enumerate(spellings):
            for form in forms:
                words.setdefault(form.strip(BLANKS), position)
        plain = {word: at for word, at in words.items() if _PLAIN_INTEGER.fullmatch(word)}
        for word, position in plain.items():
            words.setdefault(f"{word}.0", position)
        flags = {}
        for flag, forms in ((True, ("true", "True", "TRUE", "1")), (False, ("false", "False", "FALSE", "0"))):
            found = [words[form] for form in forms if form in words]
            if found:
                flags[flag] = found[0]
        return cls(len(spellings), words, {int(word): at for word, at in plain.items()}, flags)

    @forgiving
    def find(self, value: Any) -> int | None:
        """Return the position of the label that this Python object spells, or ``None``."""
        read = plain_value(value)
        if isinstance(read, str):
            return self.words.get(read.strip(BLANKS))
        if isinstance(read, bool):
            return self.flags.get(read)
        if isinstance(read, int):
            return self.integers.get(read)
        if isinstance(read, float) and read.is_integer() and abs(read) <= EXACT_IN_FLOAT:
            return self.integers.get(int(read))
        return None

    def codes(self, values: Iterable[Any]) -> tuple[list[int | None], np.ndarray]:
        """Return each object's label position, and tell which objects were there but spell no label."""
        items = list(values)
        found = [self.find(item) for item in items]
        unread = (at is None and not is_absent(item) for item, at in zip(items, found, strict=True))
        return found, np.fromiter(unread, dtype=bool, count=len(items))


@forgiving
def is_absent(value: Any) -> bool:
    """Tell whether a Python object stands for a missing value; one that raises is there."""
    # the word "nan" is absent as a number, but it is there
    read = plain_value(value)
    return read is None or (not read.strip(BLANKS) if isinstance(read, str) else read != read)
