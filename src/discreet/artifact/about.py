"""What a curator declares about a release in words: who, why, for whom, and what else there is.

Public text beside the numbers: it is written into the file as it is, changes nothing about the guarantee, and cannot be
checked against the rows. The fields are those of the OpenDP deployments registry and of NIST SP 800-226 that no file of
noisy numbers can know. The list is closed and sizes are limited, because files come from anybody.

References
----------
.. Near, Darais, Lefkovitz and Howarth (2025), Guidelines for evaluating differential privacy guarantees, NIST SP
   800-226.
.. Nanayakkara, Ghazi and Vadhan (2025), Practitioners' perspectives on a differential privacy deployment registry,
   arXiv:2509.13509.
"""

from __future__ import annotations

import datetime
import json
import tomllib
from collections.abc import Mapping
from typing import Any

from discreet.arguments import FilePath, shown
from discreet.arguments import path as read_path
from discreet.artifact.files import read_text
from discreet.errors import ReleaseFileError, UsageError
from discreet.names import closest

About = Mapping[str, str | tuple[str, ...]]

#: What may be declared, and what each says.
FIELDS: dict[str, str] = {
    "name": "what the release is called",
    "description": "what is published, in a sentence or two",
    "curators": "who holds the rows and publishes, one or several",
    "contact": "whom to ask",
    "intended_use": "what it is for",
    "region": "which part of the world it is about",
    "sector": "which field: health, government, technology, …",
    "publication_date": "when it was published, as 2026-11-17",
    "data_domain": "where the rows come from and what they hold",
    "unprotected_quantities": "what is published beside it, or was looked at, without protection",
    "privacy_unit": "whom or what one protected unit stands for: a patient, a visit, a device and a day",
    "trust_assumptions": "whom people in the table have to trust",
    "actors": "who has which part: curator, people in the table, readers, adversaries",
    "release_type": "one release or many releases",
    "release_details": "if there are many: how often, and what happens to the budget",
    "data_source_type": "static or dynamic: whether rows are still being added",
    "access": "who can get it, and how",
    "preprocessing": "what was done to the rows before they were read, and what was tuned on them",
    "composition": "what else was released about the same people, and how it adds up",
    "post_processing": "what was done to the released numbers before they were published",
    "justification": "why this mechanism, these parameters and this unit",
    "utility": "how exact it had to be, and is",
    "sources": "papers, pages and code that describe it, one or several",
}
#: Fields that take one of a few words.
CHOICES = {"release_type": ("one release", "many releases"), "data_source_type": ("static", "dynamic")}
#: Fields that are lists; one text will do.
LISTS = ("curators", "sources")
#: Characters of one text and of all together, and texts in one list.
LONGEST, LONGEST_TOGETHER, MOST = 2000, 20_000, 20


def read_about(value: Any) -> About:
    """Read declarations by field; raise :class:`UsageError` at what no field takes. No value is repeated."""
    try:
        given_by_name = dict(value) if isinstance(value, Mapping) else {}
    except Exception:  # whatever a caller's object raises
        given_by_name = {}
    if not given_by_name:
        raise UsageError(
            "about must be a dictionary of declarations, with one at least.",
            hint=f"fields: {', '.join(FIELDS)}",
        )
    found: dict[str, str | tuple[str, ...]] = {}
    for name, given in given_by_name.items():
        if type(name) is not str or name not in FIELDS:
            near = closest(name[:40], FIELDS) if type(name) is str else None
            raise UsageError(
                f"about has no field {shown(name, 40)}.",
                hint=f"{near}?" if near else f"fields: {', '.join(FIELDS)}",
            )
        found[name] = _listed(given, name) if name in LISTS else _text(given, name)
    for name, allowed in CHOICES.items():
        if name in found and found[name] not in allowed:
            raise UsageError(f"about: {name} must be {' or '.join(map(repr, allowed))}.")
    if "publication_date" in found:
        _check_date(str(found["publication_date"]))
    if sum(len(part) for texts in found.values() for part in _parts(texts)) > LONGEST_TOGETHER:
        raise UsageError(
            f"about: all declarations together must be shorter than {LONGEST_TOGETHER:,} characters."
        )
    return {name: found[name] for name in FIELDS if name in found}


def encode_about(about: About) -> dict[str, Any]:
    """Return declarations as a file writes them."""
    return {name: list(texts) if isinstance(texts, tuple) else texts for name, texts in about.items()}


def decode_about(value: Any) -> About:
    """Read declarations from a file, in its own order and form; raise ValueError at any other."""
    found = read_about(value)
    if encode_about(found) != value or list(value) != list(found):
        raise ValueError("what it says about itself is not written as files write it")
    return found


def load_about(path: FilePath) -> About:
    """Read declarations from a TOML or JSON file."""
    file = read_path(path)
    try:
        content = read_text(file, "declaration", 4 * LONGEST_TOGETHER)
        if file.suffix.lower() == ".json":
            return read_about(json.loads(content))
        return read_about(_plain(tomllib.loads(content)))
    except ReleaseFileError as problem:
        raise UsageError(problem.message) from None
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as problem:
        raise UsageError(
            f"{file} cannot be read: {problem!s:.80}.", hint='write name = "text" lines'
        ) from None


def _plain(body: Mapping[str, Any]) -> dict[str, Any]:
    # TOML has dates of its own
    return {name: str(value) if type(value) is datetime.date else value for name, value in body.items()}


def _text(value: Any, name: str) -> str:
    if type(value) is not str or not value.strip():
        raise UsageError(f"about: {name} must be a text.", hint=FIELDS[name])
    if len(value) > LONGEST:
        raise UsageError(f"about: {name} must be shorter than {LONGEST:,} characters.")
    # nothing that a terminal would act on, or that turns the direction of what follows
    if not all(line.isprintable() for line in value.split("\n")):
        raise UsageError(f"about: {name} holds a character that cannot be printed.")
    return value


def _listed(value: Any, name: str) -> tuple[str, ...]:
    given = value if isinstance(value, list | tuple) else [value]
    if not 0 < len(given) <= MOST:
        raise UsageError(f"about: {name} takes 1 to {MOST} texts.")
    return tuple(_text(one, name) for one in given)


def _check_date(text: str) -> None:
    try:
        plain = datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        plain = False
    if not plain:
        raise UsageError("about: publication_date must be a date such as 2026-11-17.")


def _parts(texts: str | tuple[str, ...]) -> tuple[str, ...]:
    return texts if isinstance(texts, tuple) else (texts,)
