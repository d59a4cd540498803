"""What the studio says, in every language it knows: one file of texts each, with the same keys."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "texts"
#: Names of the languages, each in itself.
LANGUAGES = {"en": "English", "de": "Deutsch"}


@cache
def texts(language: str) -> Mapping[str, str]:
    """Return the texts of a language by key, such as ``budget.title``."""
    content = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return {f"{part}.{key}": text for part, entries in content.items() for key, text in entries.items()}


def chosen_language(accepted: str) -> str:
    """Return the first language of an ``Accept-Language`` header that there are texts in."""
    for part in accepted.split(","):
        language = part.partition(";")[0].strip().lower().partition("-")[0]
        if language in LANGUAGES:
            return language
    return "en"


def say(language: str, key: str, **values: object) -> str:
    """Return a text, with values for what stands in braces."""
    return texts(language)[key].format(**values)
