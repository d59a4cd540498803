"""Readers of arguments: what a caller gave, as the kind of value that was asked for, or one line that says what is.

Every reader takes the value and the name of the argument, accepts what is allowed and nothing else, and quotes the
value in its complaint with :func:`shown`, because objects may not print, or print on many lines. Budgets and bounds
are read by :func:`discreet.rational.exact`.
"""

from __future__ import annotations

import copy
import inspect
import os
from abc import ABCMeta
from collections.abc import Iterable, Sequence
from itertools import islice
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, get_args

import numpy as np

from discreet.errors import UsageError

_T = TypeVar("_T")

#: How a caller says which file is meant.
FilePath = str | PathLike[str]
#: Where random numbers come from, as :func:`generator` reads it.
Rng = int | np.random.Generator | None

#: More than any count of records, draws or steps; what is larger overflows somewhere.
LARGEST = 2**63 - 1
#: More draws than fit into memory with their diagnostics.
MOST_DRAWS = 10**8


def shown(value: Any, most: int = 60) -> str:
    """Return ``value`` as Python prints it, on one line and cut off; its type, if it does not print."""
    try:
        if isinstance(value, np.ndarray | np.generic) and np.ndim(value) > 0:
            return f"an array of shape {value.shape}"
        words = " ".join(repr(value).split())
    except Exception:  # whatever a caller's object raises
        return f"an object of type {type(value).__name__[:most]}"
    return words if len(words) <= most else f"{words[: most - 1]}…"


def whole(value: Any, name: str, *, least: int = 1, most: int = LARGEST) -> int:
    """Read a whole number between ``least`` and ``most``; True and False are none, nor is 2.0."""
    if not _is_whole(value) or not least <= (number := int(value)) <= most:
        wanted = "a positive whole number" if least == 1 else f"a whole number from {least} on"
        if most < MOST_DRAWS:
            wanted = f"a whole number from {least} to {most}"
        elif _is_whole(value) and value > most:
            wanted = f"at most {most:,}"
        raise UsageError(f"{name} must be {wanted}, got {name}={shown(value)}.")
    return number


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def real(value: Any, name: str, *, finite: bool = True) -> float:
    """Read a number as a float, finite unless told otherwise."""
    try:
        if isinstance(value, bool | np.bool_ | str | bytes | bytearray) or np.ndim(value) > 0:
            raise TypeError
        number = float(value)
    except Exception:  # whatever a caller's object raises
        number = None
    if number is None or (finite and not isfinite(number)):
        raise UsageError(f"{name} must be a finite number, got {name}={shown(value)}.")
    return number


def positive(value: Any, name: str) -> float:
    """Read a positive, finite number as a float."""
    if not (number := real(value, name)) > 0:
        raise UsageError(f"{name} must be positive, got {name}={shown(value)}.")
    return number


def not_negative(value: Any, name: str) -> float:
    """Read a finite number that is not negative as a float."""
    if not (number := real(value, name)) >= 0:
        raise UsageError(f"{name} must not be negative, got {name}={shown(value)}.")
    return number


def probability(value: Any, name: str) -> float:
    """Read a number strictly between 0 and 1 as a float."""
    if not 0 < (number := real(value, name)) < 1:
        raise UsageError(f"{name} must be between 0 and 1, both excluded, got {name}={shown(value)}.")
    return number


def one_of(value: Any, name: str, options: Any) -> Any:
    """Read a word from a list of words, or from a ``Literal`` of them."""
    words: Sequence[str] = get_args(options) or tuple(options)
    if not isinstance(value, str) or value not in words:
        quoted = [repr(word) for word in words]
        wanted = f"one of {', '.join(quoted)}" if len(quoted) > 2 else " or ".join(quoted)
        raise UsageError(f"{name} must be {wanted}, got {name}={shown(value)}.")
    return str(value)


def flag(value: Any, name: str) -> bool:
    """Read True or False."""
    if not isinstance(value, bool | np.bool_):
        raise UsageError(f"{name} must be True or False, got {name}={shown(value)}.")
    return bool(value)


def text(value: Any, name: str) -> str:
    """Read a text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{name} must be a text, got {name}={shown(value)}.")
    return str(value)


def instance(value: Any, name: str, kind: type[_T] | tuple[type[_T], ...], wanted: str) -> _T:
    """Read an object of a class of this library; ``wanted`` says which in the complaint."""
    if not isinstance(value, kind):
        raise UsageError(f"{name} must be {wanted}, got {name}={shown(value)}.")
    return value


def numbers(value: Any, name: str, *, ndim: int | None = None, finite: bool = True) -> np.ndarray:
    """Read numbers as an array of floats, with ``ndim`` axes if given, all finite unless told otherwise."""
    try:
        if isinstance(value, str | bytes | bytearray | dict | set | frozenset):
            raise TypeError
        plain = np.asarray(value)
        if plain.dtype.kind not in "iufO":
            raise TypeError
        array = np.asarray(plain, dtype=float)
    except Exception:  # whatever a caller's object raises
        raise UsageError(f"{name} must be numbers, got {name}={shown(value)}.") from None
    if ndim is not None and array.ndim != ndim:
        wanted = {0: "one number", 1: "a list of numbers", 2: "a table of numbers"}.get(ndim, f"{ndim} axes")
        raise UsageError(f"{name} must be {wanted}, got {name}={shown(value)}.")
    if finite and not np.isfinite(array).all():
        raise UsageError(f"{name} must be finite numbers.")
    return array


def listed(value: Any, name: str, wanted: str, *, most: int | None = None) -> list[Any]:
    """Read a list or another iterable of things that is no text, no further than ``most`` of them.

    ``wanted`` says of what in the complaint.
    """
    try:
        if isinstance(value, str | bytes | bytearray) or not isinstance(value, Iterable):
            raise TypeError
        return list(islice(value, most))
    except Exception:  # whatever a caller's object raises
        raise UsageError(f"{name} must be {wanted}, got {name}={shown(value)}.") from None


def path(value: Any, name: str = "path") -> Path:
    """Read the path of a file."""
    try:
        if not isinstance(value, str | PathLike) or not os.fspath(value) or "\0" in os.fspath(value):
            raise TypeError
        return Path(value)
    except Exception:  # whatever a caller's object raises
        raise UsageError(f"{name} must be the path of a file, got {name}={shown(value)}.") from None


def generator(rng: Any) -> np.random.Generator:
    """Read a seed (one whole number, or a few) or a generator; None is a fresh one from the operating system."""
    seeds = rng if isinstance(rng, list | tuple) else [rng]
    if (
        rng is None
        or isinstance(rng, np.random.Generator | np.random.BitGenerator | np.random.SeedSequence)
        or (seeds and all(_is_whole(seed) and seed >= 0 for seed in seeds))
    ):
        return np.random.default_rng(rng)
    raise UsageError(f"rng must be a seed (a whole number from 0 on) or a generator, got rng={shown(rng)}.")


class Constructed(ABCMeta):
    """Classes whose constructors say in one line which arguments they take, when they are given others."""

    def __call__(cls: type[_T], *args: Any, **kwargs: Any) -> _T:
        """Construct, and explain arguments that the signature does not take."""
        try:
            return super().__call__(*args, **kwargs)  # pyright: ignore[reportAttributeAccessIssue]
        except TypeError:
            _explain(cls, args, kwargs)
            raise

    @property
    def __signature__(cls) -> inspect.Signature:
        """The constructor's signature, which ``inspect`` would not find behind ``__call__``."""
        made = cls.__init__ if cls.__new__ is object.__new__ else cls.__new__
        found = inspect.signature(made)
        return found.replace(parameters=list(found.parameters.values())[1:])


def fill(record: Any, **values: Any) -> None:
    """Fill a frozen record from its own constructor, which takes what a caller wrote and stores what was read."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


def refilled(record: _T, **values: Any) -> _T:
    """Return a copy of a frozen record with other values in some fields, which its constructor does not read."""
    made = copy.copy(record)
    fill(made, **values)
    return made


def _explain(kind: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise if the constructor of ``kind`` does not take these arguments at all."""
    if inspect.isabstract(kind):
        raise UsageError(f"{kind.__name__} is abstract: use one of its kinds.") from None
    taken = inspect.signature(kind)
    try:
        taken.bind(*args, **kwargs)
    except TypeError:
        names = list(taken.parameters)
        needed = [name for name, each in taken.parameters.items() if each.default is inspect.Parameter.empty]
        unknown = [name for name in kwargs if name not in names]
        takes = f"it takes {', '.join(names)}" if names else "it takes no arguments"
        if unknown:
            problem = f"does not take {unknown[0]!r:.40}; {takes}"
        elif len(args) + len(kwargs) < len(needed):
            call = f"{kind.__name__}({', '.join(name + '=…' for name in needed)})"
            problem = f"needs {' and '.join(needed)}: write {call}"
        else:
            problem = f"was given arguments that it does not take so; {takes}{', by name' if names else ''}"
        raise UsageError(f"{kind.__name__} {problem}.") from None
