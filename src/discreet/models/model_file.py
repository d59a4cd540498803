"""Models declared in a file, in TOML or JSON: what ``discreet release --model survey.toml`` reads.

The grammar is closed. ``model`` names the model; every other key is an argument of it, by the name that it has in
Python. Columns are a table of them by name:

=========================================  ====================================================
``sex = ["f", "m"]``                       these labels; in order, where the order means something
``year = { first = 2010, last = 2020 }``   the whole numbers from one to the other, as labels
``ward = { labels = 5 }``                  so many labels, "0" to "4"
``age = { bounds = [0, 120] }``            numbers, with their public bounds
=========================================  ====================================================

Nothing in a file is run or imported, and no name in it is looked up outside the closed list of models.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any, NoReturn

from discreet.arguments import path as read_path
from discreet.arguments import shown
from discreet.domain.columns import Column, Labels, Numeric
from discreet.domain.labels import MOST_LABELS
from discreet.errors import DataError, UsageError
from discreet.models.base import Model
from discreet.models.registry import MODELS, REGISTERED, kind_named
from discreet.names import did_you_mean

#: How the name of a file ends that declares a model.
ENDINGS = (".toml", ".json")
_NAME = "model"
# A million labels of some length; what is larger declares no model.
_LARGEST_FILE = 2**25
#: Arguments that declare columns, in whichever model.
COLUMN_KEYS = frozenset({"target", "features", "columns", "sequence", "chain", "time", "state", "hidden"})
#: Models that take more than a file can say, and where they are made instead.
ELSEWHERE = {
    "declared_loss": "its gradient is a function, which is written in Python",
    "cluster_mean": "give mean, with --unit and --max-rows",
    "grouped": "give the model of one group, and the groups with --by",
}
_LABELS = "write a list of labels, or { bounds = [low, high] } for numbers"
_PYTHON = re.compile(r'\bdc\.|": [(\[]')
_NEAR = re.compile(r"did you mean .*?\? ")
_BY_NAME = 'as in bounds = { age = [18, 100], smoker = ["no", "yes"] }'
_FORMS = (frozenset({"labels"}), frozenset({"bounds"}), frozenset({"first", "last"}))


def load(path: str | os.PathLike[str]) -> Model:
    """Return the model that a TOML or JSON file declares.

    Parameters
    ----------
    path
        A file whose name ends in ``.toml`` or ``.json``. Its key ``model`` names the model, such as ``"naive_bayes"``;
        the other keys are the model's arguments, as in Python, with columns as a table: ``sex = ["f", "m"]`` declares
        labels, ``age = { bounds = [0, 120] }`` numbers.

    Raises
    ------
    UsageError
        If the file declares no model; the message names the key.
    DataError
        If it cannot be read.
    """
    file = read_path(path)
    trouble = _Trouble(file.name)
    return declared(_parsed(file, trouble), file.name)


def declared(body: Any, file: str) -> Model:
    """Return the model that the tables of a file declare; ``file`` is its name, for complaints."""
    trouble = _Trouble(file)
    if not isinstance(body, dict) or not isinstance(body.get(_NAME), str):
        trouble.say("the key model must name a model.", 'as in model = "naive_bayes"')
    body = dict(body)
    name = body.pop(_NAME).strip().lower().replace("-", "_")
    if name in ELSEWHERE:
        trouble.say(f"model: {name} cannot be declared in a file: {ELSEWHERE[name]}.")
    try:
        kind = kind_named(name)
    except UsageError:
        known = [one for one in (*MODELS, *REGISTERED) if one not in ELSEWHERE]
        hint = f"{did_you_mean(name, known)}there are {', '.join(known)}"
        trouble.say(f"model: there is no model {shown(name)}.", hint)
    keys = _keys(kind)
    takes = f"{name} takes {', '.join(keys)}" if keys else f"{name} takes no other keys"
    trouble.hint = takes
    for key in body:
        if key not in keys:
            trouble.say(f"unknown key {shown(key)}.", f"{did_you_mean(key, keys)}{takes}")
    for key, needed in keys.items():
        if needed and key not in body:
            trouble.say(f"{name} needs the key {key}.")
    read = {
        key: _columns(key, value, trouble)
        if key in COLUMN_KEYS and not ("bounds" in body and isinstance(value, str | list))
        else _plain(key, value, trouble)
        for key, value in body.items()
    }
    try:
        return kind(**read)
    except UsageError as problem:
        trouble.say(problem.message, _of_a_file(problem.hint, takes, by_name="bounds" in body))


def _of_a_file(hint: str | None, takes: str, *, by_name: bool) -> str | None:
    """Return a hint without what is an example in Python, which is none of a file."""
    if not _PYTHON.search(hint or ""):
        return hint
    near = _NEAR.match(hint or "")
    return f"{near[0] if near else ''}{_BY_NAME if by_name else takes}"


class _Trouble:
    """Complains about one file; ``hint`` says what its model takes."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.hint: str | None = None

    def say(self, message: str, hint: str | None = None) -> NoReturn:
        raise UsageError(f"{self.file}: {message}", hint=hint or self.hint) from None


def _keys(kind: type[Model]) -> dict[str, bool]:
    """Return the arguments of a model, and whether they are needed."""
    return {
        name: one.default is inspect.Parameter.empty
        for name, one in inspect.signature(kind).parameters.items()
    }


# -- text ---------------------------------------------------------------------------------------------


def _parsed(file: Any, trouble: _Trouble) -> Any:
    """Read the file as tables, lists, texts and numbers."""
    read = _READERS.get(file.suffix.lower())
    if read is None:
        trouble.say("a model is declared in a file that ends in .toml or .json.")
    try:
        if not file.is_file():
            raise DataError(
                f"cannot read {file}: {'it is no file' if file.exists() else 'there is no such file'}."
            )
        if file.stat().st_size > _LARGEST_FILE:
            trouble.say("this declares no model: it is too large.")
        content = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        trouble.say("it is not UTF-8 text.")
    except DataError:
        raise
    except OSError as problem:
        raise DataError(f"cannot read {file}: {problem.strerror}.") from None
    try:
        return read(content)
    except _Refused as problem:
        trouble.say(f"{problem}.")
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as problem:
        trouble.say(f"it cannot be read: {str(problem)[:1].lower()}{str(problem)[1:]}.")
    except (ValueError, RecursionError):
        trouble.say("it cannot be read: a number is too long, or tables are nested too deeply.")


class _Refused(Exception):
    """Something that both formats can say and no model takes."""


def _number(digits: str) -> float:
    """Read a number with a decimal point, if floating point holds all its digits."""
    number = float(digits)
    if Decimal(digits) != Decimal(repr(number)):
        raise _Refused(
            f"{digits:.40} is no number that can be held exactly; write it as text, in quotation marks"
        )
    return number


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise _Refused(f"the key {shown(key)} is given twice")
        seen[key] = value
    return seen


_READERS: Mapping[str, Callable[[str], Any]] = {
    ".toml": partial(tomllib.loads, parse_float=_number),
    ".json": partial(json.loads, parse_float=_number, parse_constant=_number, object_pairs_hook=_no_repeats),
}


# -- values -------------------------------------------------------------------------------------------


def _columns(key: str, value: Any, trouble: _Trouble) -> dict[str, Column]:
    """Read a table of columns by name."""
    if not isinstance(value, dict) or not value:
        trouble.say(
            f"{key} must be a table of columns by name.", f'for example [{key}], then sex = ["f", "m"]'
        )
    return {name: _column(f"{key}.{name:.60}", name, declared, trouble) for name, declared in value.items()}


def _column(key: str, name: str, declared: Any, trouble: _Trouble) -> Column:
    """Read one column: its labels, or its bounds."""
    form = {"labels": declared} if isinstance(declared, list) else declared
    if not isinstance(form, dict) or frozenset(form) not in _FORMS:
        trouble.say(f"{key} must declare labels or bounds.", _LABELS)
    pair = form.get("bounds")
    if "bounds" in form and (not isinstance(pair, list) or len(pair) != 2):
        trouble.say(f"{key}.bounds must be two numbers.", "for example { bounds = [0, 120] }")
    if pair is not None and any(isinstance(end, date) for end in pair):
        trouble.say(f"{key}.bounds are dates.", "give the column the number of days since some date")
    labels: Any = (
        _between(key, form["first"], form["last"], trouble) if "first" in form else form.get("labels")
    )
    try:
        return Labels(name, labels) if pair is None else Numeric(name, *pair)
    except UsageError as problem:
        trouble.say(f"{key}: {problem.message}", _LABELS)


def _between(key: str, first: Any, last: Any, trouble: _Trouble) -> tuple[str, ...]:
    """Return the whole numbers from the first to the last, as labels."""
    if any(isinstance(end, bool) or not isinstance(end, int) for end in (first, last)):
        trouble.say(
            f"{key} goes from a first whole number to a last.", "for example { first = 2010, last = 2020 }"
        )
    if not 0 <= last - first < MOST_LABELS:
        trouble.say(f"{key}: last must not be below first, nor more than {MOST_LABELS:,} labels above it.")
    return tuple(map(str, range(first, last + 1)))


def _plain(key: str, value: Any, trouble: _Trouble) -> Any:
    """Return a number, a text, a list of them or of lists, or a table of them by name, as it is."""
    if isinstance(value, list):
        return [_plain(key, one, trouble) for one in value]
    if isinstance(value, dict):
        return {name: _plain(f"{key}.{name:.60}", one, trouble) for name, one in value.items()}
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        trouble.say(
            f"{key} must be a number or a text, got {shown(value)}.",
            "dates and yes or no are written as text",
        )
    return value
