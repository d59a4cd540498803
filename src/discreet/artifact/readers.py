"""Small readers of release files: each takes one JSON value and returns it typed, or raises ValueError."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from discreet.names import check_label, check_name
from discreet.rational import exact, text

_RATIONAL = re.compile(r"-?[0-9]+(/[1-9][0-9]*|\.[0-9]+)?")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_LARGEST_COUNT = 2**63 - 1
# lists in lists in lists: what a model of several columns needs
_DEEPEST = 6
_T = TypeVar("_T")


def exact_fields(name: str, value: Any, fields: str) -> None:
    """Raise unless ``value`` is an object with these fields and no others."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not an object")
    if set(value) != set(fields.split()):
        raise ValueError(f"{name} has missing or unknown fields")


def plain_json(value: Any) -> dict[str, Any]:
    """Read the constants of a model: an object of texts, finite numbers, lists and objects, not too deep."""
    if not isinstance(value, dict):
        raise ValueError("the model's parameters are not an object")
    return {name: _plain(constant, 1) for name, constant in value.items()}


def _plain(value: Any, depth: int) -> Any:
    if depth < _DEEPEST and isinstance(value, list):
        return [_plain(one, depth + 1) for one in value]
    if depth < _DEEPEST and isinstance(value, dict):
        return {name: _plain(one, depth + 1) for name, one in value.items()}
    if (
        value is None
        or isinstance(value, bool | str)
        or (isinstance(value, int) and abs(value) <= _LARGEST_COUNT)
    ):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError("a parameter of the model is neither a text nor a number")


def object_of(value: Any) -> dict[str, Any]:
    """Read an object of any fields."""
    if not isinstance(value, dict):
        raise ValueError("an object is missing")
    return value


def tuple_of(read: Callable[[Any], _T], value: Any) -> tuple[_T, ...]:
    """Read a list."""
    if not isinstance(value, list):
        raise ValueError("a list is missing")
    return tuple(read(v) for v in value)


def optional(read: Callable[[Any], _T], value: Any) -> _T | None:
    """Read something, or null."""
    return None if value is None else read(value)


def text_of(value: Any) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise ValueError("a text is missing")
    return value


def name_of(value: Any) -> str:
    """Read a name, which is shown to people: printable, and short."""
    return check_name(text_of(value), "a name")


def label_of(value: Any) -> str:
    """Read a label, which may hold any character."""
    return check_label(text_of(value))


def rational(value: Any) -> Fraction:
    """Read an exact number, written as an integer, a decimal or p/q."""
    if not isinstance(value, str):
        raise ValueError("an exact number is missing")
    return _rational(value)


# the grid, the widths and the scales of 100,000 counts are a few numbers
@lru_cache(maxsize=256)
def _rational(value: str) -> Fraction:
    if not _RATIONAL.fullmatch(value):
        raise ValueError("an exact number is missing")
    return exact(value, "an exact number")


def integer(value: Any) -> int:
    """Read a 64-bit integer, written as text."""
    if not isinstance(value, str) or not _INTEGER.fullmatch(value):
        raise ValueError("an integer is missing")
    if abs(int(value)) > _LARGEST_COUNT:
        raise ValueError("a value is too large")
    return int(value)


def pair(value: Any) -> tuple[Fraction, Fraction]:
    """Read two exact numbers, the smaller first."""
    low, high = tuple_of(rational, value)
    if not low < high:
        raise ValueError("bounds are reversed")
    return low, high


def count(value: Any) -> int:
    """Read a count, a JSON number."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST_COUNT:
        raise ValueError("a count is not a count")
    return value


class Field(NamedTuple):
    """How a field of a file is written, and how it is read: everything that a file holds is declared once."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]

    @property
    def listed(self) -> Field:
        """A list of such values."""
        return Field(lambda values: list(map(self.write, values)), lambda value: tuple_of(self.read, value))

    @property
    def nullable(self) -> Field:
        """Such a value, or null."""
        return Field(lambda value: optional(self.write, value), lambda value: optional(self.read, value))

    @property
    def named(self) -> Field:
        """Such values by name."""
        return Field(
            lambda values: {name: self.write(value) for name, value in values.items()},
            lambda value: {name: self.read(one) for name, one in object_of(value).items()},
        )


_NO_FIELDS: Mapping[str, Field] = {}


def encode_fields(
    made: Any, fields: Mapping[str, Field], rare: Mapping[str, Field] = _NO_FIELDS
) -> dict[str, Any]:
    """Return an object's fields as JSON; ``rare`` ones are absent where they are false, empty or ``None``."""
    given = {name: field for name, field in rare.items() if getattr(made, name)}
    return {name: field.write(getattr(made, name)) for name, field in {**fields, **given}.items()}


def read_fields(
    what: str, value: Any, fields: Mapping[str, Field], rare: Mapping[str, Field] = _NO_FIELDS
) -> dict[str, Any]:
    """Read an object with these fields, perhaps ``rare`` ones, and no others."""
    here = {**fields, **{name: rare[name] for name in rare if isinstance(value, dict) and value.get(name)}}
    exact_fields(what, value, " ".join(here))
    return {name: field.read(value[name]) for name, field in here.items()}


def described(kind: Callable[..., Any], what: str, fields: Mapping[str, Field]) -> Field:
    """Return the field that holds an object: ``kind``, made of these fields."""
    return Field(
        lambda made: encode_fields(made, fields), lambda value: kind(**read_fields(what, value, fields))
    )


def one_of(*choices: str) -> Field:
    """Return the field that holds one of these texts."""
    return Field(str, lambda value: choice(value, *choices))


def choice(value: Any, *choices: Any) -> Any:
    """Read one of these values."""
    if value not in choices or type(value) is not type(choices[0]):
        raise ValueError("a field has an unknown value")
    return value


#: Exact numbers, 64-bit integers, counts, texts, names, labels and pairs of exact numbers.
EXACT, INTEGER, COUNT = Field(text, rational), Field(str, integer), Field(int, count)
TEXT, NAME, LABEL = Field(str, text_of), Field(str, name_of), Field(str, label_of)
PAIR = Field(EXACT.listed.write, pair)
