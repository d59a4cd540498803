"""Functions whose arguments are read by their annotations before they run.

For the many functions of a formula each, whose signatures already say what they take: ``@checked`` reads numbers,
whole numbers, words of a ``Literal``, arrays and objects of this library, and refuses anything else in one line.
Ranges are the function's own business.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, Literal, TypeVar, get_origin

import numpy as np

from discreet.arguments import LARGEST, flag, instance, listed, numbers, one_of, shown, whole
from discreet.errors import UsageError
from discreet.rational import exact

_F = TypeVar("_F", bound=Callable[..., Any])
_Reader = Callable[[Any, str], Any]


def checked(function: _F) -> _F:
    """Read the arguments of ``function`` by its annotations; those that say ``Any`` pass as they are."""
    signature = inspect.signature(function)

    @functools.cache
    def readers() -> dict[str, _Reader]:
        # when first called: annotations may name what is imported further down
        names = function.__globals__
        return {
            each.name: _reader(each.annotation, names)
            for each in signature.parameters.values()
            if isinstance(each.annotation, str)
        }

    @functools.wraps(function)
    def reading(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # Python's own words
        for name, value in bound.arguments.items():
            if (read := readers().get(name)) is None:
                continue
            several = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            bound.arguments[name] = (
                tuple(read(each, name) for each in value) if several else read(value, name)
            )
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                return function(*bound.args, **bound.kwargs)
        except ArithmeticError:
            raise UsageError(
                f"{function.__name__}: these numbers are too large or too small to compute with."
            ) from None

    return reading  # pyright: ignore[reportReturnType]


def _reader(annotation: str, names: Mapping[str, Any]) -> _Reader:
    """Return what reads an argument with this annotation: the first of its alternatives that does."""
    alternatives = re.split(r"\s*\|\s*(?![^\[]*\])", annotation)
    readers = [_one(each.strip(), names) for each in alternatives if each.strip() != "None"]
    optional = len(readers) < len(alternatives)

    def read(value: Any, name: str) -> Any:
        if value is None and optional:
            return None
        refused: UsageError | None = None
        for each in readers:
            try:
                return each(value, name)
            except UsageError as problem:
                # the first says it best: annotations begin with what is most usual
                refused = refused or problem
        assert refused is not None
        raise refused

    return read


def _one(kind: str, names: Mapping[str, Any]) -> _Reader:
    """Return what reads an argument of one kind."""
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in ("Any", "object"):
        return lambda value, name: value
    head = kind.partition("[")[0]
    if head in ("Mapping", "dict", "Theta"):
        return lambda value, name: instance(value, name, Mapping, "a dictionary")
    if head in ("Sequence", "Iterable", "tuple", "list"):
        return _list_reader(kind, names)
    if head == "Literal":
        words = re.findall(r"'([^']*)'|\"([^\"]*)\"", kind)
        return lambda value, name: one_of(value, name, [a or b for a, b in words])
    named = names.get(head)
    if get_origin(named) is Literal:
        return lambda value, name: one_of(value, name, named)
    if inspect.isclass(named):
        return lambda value, name: instance(value, name, named, f"an object of type {named.__name__}")
    return lambda value, name: value


def _list_reader(kind: str, names: Mapping[str, Any]) -> _Reader:
    """Return what reads a list whose items are all of one kind, or a tuple of a few kinds."""
    inner = [part.strip() for part in kind.partition("[")[2].removesuffix("]").split(",")]
    some = len(inner) == 1 or inner[-1] == "..."

    def read(value: Any, name: str) -> tuple[Any, ...]:
        items = listed(value, name, "a list")
        if not some and len(items) != len(inner):
            raise UsageError(f"{name} must have {len(inner)} entries, got {name}={shown(value)}.")
        kinds = [inner[0]] * len(items) if some else inner
        return tuple(_reader(each, names)(item, name) for each, item in zip(kinds, items, strict=True))

    return read


def _number(value: Any, name: str) -> float:
    """Read a number, which may be infinite."""
    try:
        if isinstance(value, bool | np.bool_) or not (isinstance(value, Real) or _is_scalar(value)):
            raise TypeError
        number = float(value)
    except Exception:  # whatever a caller's object raises
        number = float("nan")
    if np.isnan(number):
        raise UsageError(f"{name} must be a number, got {name}={shown(value)}.")
    return number


def _is_scalar(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iuf"


def _exact(value: Any, name: str) -> Any:
    exact(value, name)
    return value


def _word(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name} must be a text, got {name}={shown(value)}.")
    return value


_KINDS: dict[str, _Reader] = {
    "float": _number,
    "int": lambda value, name: whole(value, name, least=-LARGEST),
    "bool": flag,
    "str": _word,
    "Number": _exact,
    "ArrayLike": lambda value, name: numbers(value, name, finite=False),
}
