"""A public filter of rows: a small grammar that is read here, and never passed on to a database.

    where="age >= 18 and (region = 'north' or region = 'south')"

A condition compares a column with a literal: a number with ``=``, ``!=``, ``<``, ``<=``, ``>`` or ``>=``; a text in
single quotes, or a date such as ``date '2024-05-01'``, likewise (a text with ``=`` and ``!=`` alone). Conditions are
joined by ``and``, ``or`` and parentheses. A column is a word, or any name in double quotes. A row in which a compared
column is missing does not satisfy the comparison.

A row that does not satisfy the filter counts as a row without a value. So it may be any row, also under ``replace``:
how many rows satisfy the filter is private, and is noised like every number of usable values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NoReturn

from discreet.domain.dates import as_day, shown_day
from discreet.errors import UsageError
from discreet.names import check_label, check_name
from discreet.rational import exact, plain

Operator = Literal["=", "!=", "<", "<=", ">", ">="]

#: Characters of a filter, and comparisons in it, at most.
_LONGEST, _MOST = 2000, 50
_HINT = "for example where=\"age >= 18 and region = 'north'\""
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>'(?:[^']|'')*') | (?P<quoted>"(?:[^"]|"")+")
    | (?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)
    | (?P<operator><=|>=|==|!=|<>|=|<|>) | (?P<bracket>[()]) | (?P<word>[^\W\d]\w*)
    )""",
    re.VERBOSE,
)
_SPELLED = {"==": "=", "<>": "!="}


@dataclass(frozen=True)
class Comparison:
    """One column compared with one literal; a date is the number of its day, with ``dates``."""

    column: str
    operator: Operator
    value: Fraction | str
    dates: bool = False

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Itself, alone."""
        return (self,)

    def __str__(self) -> str:
        word = re.fullmatch(r"[^\W\d]\w*", self.column) and self.column.lower() not in ("and", "or", "date")
        column = self.column if word else '"' + self.column.replace('"', '""') + '"'
        if isinstance(self.value, str):
            value = "'" + self.value.replace("'", "''") + "'"
        else:
            value = f"date '{shown_day(self.value)}'" if self.dates else plain(self.value)
        return f"{column} {self.operator} {value}"


@dataclass(frozen=True)
class Joined:
    """Conditions all of which must hold (``and``), or one of which (``or``)."""

    word: Literal["and", "or"]
    parts: tuple[Condition, ...]

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All comparisons, from left to right."""
        return tuple(one for part in self.parts for one in part.comparisons)

    def __str__(self) -> str:
        said = (f"({part})" if isinstance(part, Joined) else str(part) for part in self.parts)
        return f" {self.word} ".join(said)


Condition = Comparison | Joined


def read_where(where: Any) -> Condition | None:
    """Read a filter, or raise :class:`UsageError`; None if there is none."""
    if where is None:
        return None
    if not isinstance(where, str) or not where.strip():
        raise UsageError("where must be a condition on columns, as text.", hint=_HINT)
    if len(where) > _LONGEST:
        raise UsageError(f"where is longer than {_LONGEST:,} characters.")
    condition = _Reader(where).whole()
    if len(condition.comparisons) > _MOST:
        raise UsageError(f"where has at most {_MOST} comparisons.")
    return condition


class _Reader:
    """Reads tokens from left to right: or, and, comparison or parentheses."""

    def __init__(self, where: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        at, end = 0, len(where.rstrip())
        while at < end:
            found = _TOKEN.match(where, at)
            if found is None or found.lastgroup is None:
                self._refuse(where[at : at + 20].strip())
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()
        self._at = 0

    def whole(self) -> Condition:
        condition = self._joined("or", depth=0)
        if self._at < len(self._tokens):
            self._refuse(self._tokens[self._at][1])
        return condition

    def _joined(self, word: Literal["and", "or"], depth: int) -> Condition:
        if depth > _MOST:
            raise UsageError("where has too many parentheses.")
        parts: list[Condition] = []
        while True:
            part = self._joined("and", depth) if word == "or" else self._single(depth)
            # parentheses around parts that are joined by the same word say nothing
            parts += part.parts if isinstance(part, Joined) and part.word == word else (part,)
            if not self._is_word(word):
                return parts[0] if len(parts) == 1 else Joined(word, tuple(parts))

    def _single(self, depth: int) -> Condition:
        kind, token = self._next()
        if (kind, token) == ("bracket", "("):
            inside = self._joined("or", depth + 1)
            if self._next() != ("bracket", ")"):
                self._refuse(token)
            return inside
        if kind not in ("word", "quoted"):
            self._refuse(token)
        column = check_name(
            token[1:-1].replace('""', '"') if kind == "quoted" else token, "a column of where"
        )
        kind, sign = self._next()
        if kind != "operator":
            self._refuse(sign)
        operator: Any = _SPELLED.get(sign, sign)
        kind, token = self._next()
        if kind == "word" and token.lower() == "date":
            kind, token = self._next()
            day = as_day(_unquoted(token)) if kind == "text" else None
            if day is None:
                raise UsageError("a date in where is written date '2024-05-31'.", hint=_HINT)
            return Comparison(column, operator, day, dates=True)
        if kind == "number":
            return Comparison(column, operator, exact(token, "a number of where"))
        if kind != "text":
            self._refuse(token)
        if operator not in ("=", "!="):
            raise UsageError("where compares text with = and != alone.", hint=_HINT)
        return Comparison(column, operator, check_label(_unquoted(token).strip()))

    def _is_word(self, word: str) -> bool:
        kind, token = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        found = kind == "word" and token.lower() == word
        self._at += found
        return found

    def _next(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise UsageError("where ends too early.", hint=_HINT)
        self._at += 1
        return self._tokens[self._at - 1]

    @staticmethod
    def _refuse(token: str) -> NoReturn:
        raise UsageError(f"cannot read where at {token!r:.30}.", hint=_HINT)


def _unquoted(token: str) -> str:
    return token[1:-1].replace("''", "'")
