"""Columns as a curator declares them: labels or a range, never collected from the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from discreet.arguments import instance, listed, whole
from discreet.domain.bounds import check_pair
from discreet.domain.labels import read_labels
from discreet.errors import UsageError
from discreet.names import check_name, shown, shown_label
from discreet.rational import exact, plain, text

#: Name of the level that stands for a missing or undeclared value in the names of cells.
MISSING = "<missing>"
# more columns than a table of people has; a file cannot ask for a million
_MOST_COLUMNS = 10_000
# labels named in a privacy statement
_MOST_IN_WORDS = 12
_EXAMPLE = '{"sex": ["f", "m"], "pressure": (60, 200)}'


@dataclass(frozen=True)
class Labels:
    """A column that holds one of several labels. Anything else is missing."""

    name: str
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "labels", read_labels(self.labels, f"column {self.name!r:.60}", least=1))

    @cached_property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.labels)

    def in_words(self) -> str:
        """Say what was declared, for the privacy statement; a long list of labels is cut."""
        some = [shown_label(label) for label in self.labels[:_MOST_IN_WORDS]]
        more = [f"{self.n_labels - len(some)} more"] if self.n_labels > len(some) else []
        *others, last = some + more
        listed = f"{', '.join(others)} and {last}" if others else last
        return f"the declared labels of “{shown(self.name)}” are {listed}"

    def position(self, value: Any) -> int:
        """Return the position of a label that the caller wrote, or raise."""
        spelled = str(int(value)) if isinstance(value, bool) and str(value) not in self.labels else str(value)
        if spelled not in self.labels:
            raise UsageError(f"{value!r:.60} is no label of column {self.name!r:.60}.")
        return self.labels.index(spelled)


@dataclass(frozen=True)
class Numeric:
    """A column of numbers between two bounds, chosen without looking at the data."""

    name: str
    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        _check_name(self.name)
        for end in ("low", "high"):
            object.__setattr__(self, end, exact(getattr(self, end), f"a bound of column {self.name!r:.60}"))
        check_pair((self.low, self.high), self.name)

    def in_words(self) -> str:
        """Say what was declared, for the privacy statement."""
        return f"the declared bounds of “{shown(self.name)}” are {self}"

    def __str__(self) -> str:
        return f"[{plain(self.low)}, {plain(self.high)}]"


Column = Labels | Numeric


def read_columns(
    columns: Mapping[str, Any] | Iterable[Column], *, least_labels: int = 2
) -> tuple[Column, ...]:
    """Read declarations such as ``{"sex": ["f", "m"], "pressure": (60, 200)}``, or columns already declared.

    A tuple of two numbers is a range; a list, or a tuple of more or of text, is labels; a whole number is so many
    labels, "0", "1", .... A column of one label says nothing, and is taken only where ``least_labels`` is 1.
    """
    if isinstance(columns, Mapping):
        read = tuple(_read_column(name, declared) for name, declared in columns.items())
    else:
        try:
            read: tuple[Column, ...] = tuple(listed(columns, "columns", "a dictionary"))
            known = all(isinstance(column, Labels | Numeric) for column in read)
        except UsageError:
            read, known = (), False
        if not known:
            raise UsageError("columns are declared by name, in a dictionary.", hint=f"for example {_EXAMPLE}")
    whole(least_labels, "least_labels", least=0)
    if not read:
        raise UsageError("a model needs at least one column.", hint=f"for example {_EXAMPLE}")
    if len(read) > _MOST_COLUMNS:
        raise UsageError(f"a model takes at most {_MOST_COLUMNS} columns, got {len(read)}.")
    seen: set[str] = set()
    for column in read:
        if column.name in seen:
            raise UsageError(f"column {column.name!r:.60} is declared twice.")
        seen.add(column.name)
        if isinstance(column, Labels) and column.n_labels < least_labels:
            raise UsageError(f"column {column.name!r:.60} needs at least two labels, got {column.n_labels}.")
    return read


def only_labels(columns: Iterable[Column], model: str) -> tuple[Labels, ...]:
    """Return the columns if all of them are labels, or say that this model takes no others."""
    found = []
    for column in columns:
        if not isinstance(column, Labels):
            raise UsageError(
                f"{model} counts labels, and column {column.name!r:.60} is declared as numbers.",
                hint="declare its values as labels, or cut them into classes first",
            )
        found.append(column)
    return tuple(found)


def read_split(split: Any, names: Iterable[str], what: str) -> dict[str, Fraction]:
    """Read how a budget is divided, as positive weights by name, 1 for those not named; ``what`` has the names."""
    given = {} if split is None else instance(split, "split", Mapping, "a dictionary of weights by name")
    weights = {name: exact(given.get(name, 1), "a weight of split") for name in names}
    unknown = [name for name in given if name not in weights]
    if unknown:
        raise UsageError(f"split names {unknown[0]!r:.60}, and there is no {what} of that name.")
    if any(weight <= 0 for weight in weights.values()):
        raise UsageError("the weights of split must be positive.")
    return weights


def encode_columns(columns: Iterable[Column]) -> list[dict[str, Any]]:
    """Return the declarations as plain JSON, in order; :func:`decode_columns` reads them back."""
    return [
        {"name": column.name, "labels": list(column.labels)}
        if isinstance(column, Labels)
        else {"name": column.name, "bounds": [text(column.low), text(column.high)]}
        for column in columns
    ]


def decode_columns(value: Any, *, least_labels: int = 2) -> tuple[Column, ...]:
    """Read declarations from a file, which may hold anything; raise ValueError or :class:`UsageError`."""
    if not isinstance(value, list):
        raise ValueError("the model's columns are not a list")
    read: list[Column] = []
    for one in value:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise ValueError("a column of the model has no name")
        if set(one) == {"name", "labels"} and are_texts(one["labels"]):
            read.append(Labels(one["name"], tuple(one["labels"])))
        elif set(one) == {"name", "bounds"} and are_texts(one["bounds"]) and len(one["bounds"]) == 2:
            low, high = (exact(bound, "a bound") for bound in one["bounds"])
            read.append(Numeric(one["name"], low, high))
        else:
            raise ValueError("a column of the model has neither labels nor bounds")
    return read_columns(read, least_labels=least_labels)


def _read_column(name: Any, declared: Any) -> Column:
    _check_name(name)
    if isinstance(declared, Labels | Numeric):
        if declared.name != name:
            raise UsageError(f"column {name!r:.60} is declared under another name.")
        return declared
    if isinstance(declared, tuple) and len(declared) == 2 and not any(isinstance(x, str) for x in declared):
        return Numeric(name, *declared)
    return Labels(name, declared)


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise UsageError(
            f"a column is named by text, got {'none' if isinstance(name, str) else type(name).__name__}."
        )
    check_name(name, "the name of a column")


def are_texts(value: Any) -> bool:
    """Tell whether what a file holds is a list of texts."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
