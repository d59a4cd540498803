"""Names and labels that somebody else wrote: what they may hold, and how they are shown.

A name of a column or a data set stands inside sentences that people rely on. So it is printable, and short: no line
feed, no control character, nothing that turns the direction of what follows, no invisible character. A label must be
equal to what the rows hold, so it may hold any character of Unicode, and is escaped wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from discreet.errors import UsageError

#: Characters in a name, at most; and in a label.
LONGEST_NAME = 200
LONGEST_LABEL = 1000
# Quotes that the statement puts around names. Inside a name they would end it.
_QUOTES = "“”"


def check_name(name: Any, what: str) -> str:
    """Return a name that can be shown as it is, or raise :class:`UsageError` without repeating it."""
    if not isinstance(name, str) or not name:
        raise UsageError(
            f"{what} must be a text, got {'none' if isinstance(name, str) else type(name).__name__}."
        )
    # Unicode's categories for what cannot be seen: control, format, unassigned, private use, separators but for a blank
    if not name.isprintable():
        raise UsageError(
            f"{what} holds a character that cannot be printed, such as a line feed.", hint="rename it"
        )
    if len(name) > LONGEST_NAME:
        raise UsageError(f"{what} is longer than {LONGEST_NAME} characters.", hint="rename it")
    return name


def asked_for(name: Any) -> str:
    """Return the name of a column that the caller wants, checked, or say what a name can be."""
    if type(name) is str:
        return check_name(name, "the name of a column")
    # brings in NumPy, which the command line's help does without
    from discreet.objects import plain_value

    parts = name if isinstance(name, tuple) else (name,)
    if not parts or not all(isinstance(plain_value(part), str | int | float) for part in parts):
        raise UsageError(
            f"a column is named by text or a number, or by a tuple of them, got {type(name).__name__}."
        )
    try:
        text = spelled(name)
    except ValueError:  # a number of more digits than Python writes
        raise UsageError("a column is named by text or a number of some digits.") from None
    return check_name(text, "the name of a column")


def spelled(name: Any) -> str:
    """Return the name of a column as text: ``('a', 'b')`` for a level of columns under another, ``0`` for a number.

    Both the table's own names and those that the caller asks for go through here, so that they are found.
    """
    from discreet.objects import plain_value

    if isinstance(name, tuple):
        return f"({', '.join(repr(part) if isinstance(part, str) else spelled(part) for part in name)})"
    read = plain_value(name)
    return str(read) if isinstance(read, str | int | float) else str(name)


def check_label(label: str) -> str:
    """Return a label that a file can hold, or raise :class:`UsageError` without repeating it."""
    if len(label) > LONGEST_LABEL:
        raise UsageError(f"a label is longer than {LONGEST_LABEL} characters.")
    if not label.isascii() and any("\ud800" <= c <= "\udfff" for c in label):
        raise UsageError("a label holds half a character, a surrogate, which no file can hold.")
    return label


def untaken(stem: str, taken: Container[str]) -> str:
    """Return a name that is not taken: the stem, or the stem with the first number from 2 on that will do."""
    name, k = stem, 2
    while name in taken:
        name, k = f"{stem}-{k}", k + 1
    return name


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a mistyped one is most like, or None if it is like none of them."""
    import difflib

    names = {one.lower(): one for one in reversed(list(known))}
    found = difflib.get_close_matches(name.lower(), list(names), n=1)
    return names[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the beginning of a hint that names the known name most like a mistyped one; empty if it is like none."""
    near = closest(name, known)
    return "" if near is None else f"did you mean {near}? "


def one_line(text: str) -> str:
    """Return a text on one line: what cannot be printed, as escapes."""
    return _escaped(text, "")


def shown(text: str) -> str:
    """Return a name or label on one line and within its quotes: what cannot be printed, and quotes, as escapes."""
    return _escaped(text, _QUOTES)


def _escaped(text: str, others: str) -> str:
    if text.isprintable() and not any(c in text for c in others):
        return text
    escapes = (c.encode("unicode_escape").decode("ascii") for c in text)
    return "".join(
        c if c.isprintable() and c not in others else e for c, e in zip(text, escapes, strict=True)
    )


def shown_label(label: str) -> str:
    """Return a label for a list of them within a sentence: quoted if it could be read as anything but one label."""
    plain = all(c.isalnum() or c in " _-+/<>=()" for c in label) and len(label) <= 40
    return label if plain else f"“{shown(label)}”"
