"""The script that wraps Markdown changes where lines end, and nothing that a reader sees."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

SCRIPT = Path(__file__).parents[2] / "scripts" / "wrap_markdown.py"
SPEC = importlib.util.spec_from_file_location("wrap_markdown", SCRIPT)
assert SPEC is not None
assert SPEC.loader is not None
wrap_markdown = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(wrap_markdown)

LONG = " ".join(f"word{i}" for i in range(40))


def rendered(text: str) -> str:
    return re.sub(r"\s+", " ", MarkdownIt("commonmark").enable("table").render(text))


@pytest.mark.parametrize(
    "page",
    [
        LONG,
        f"# Heading {LONG}\n\n{LONG}\nand one more line",
        f"- {LONG}\n- short\n  - {LONG}\n    continued\n\n1. {LONG}\n10. {LONG}",
        f"> {LONG}\n> quoted",
        f"before\n\n```python\n{LONG}\n```\n\n{LONG}",
        f"- item\n\n      code {LONG}\n\n    {LONG}",
        f"    {LONG}",
        f"| a | b |\n|---|---|\n| {LONG} | x |",
        f"{LONG} [a link with spaces in its text](https://example.org/a) and `code with  two  spaces` {LONG}",
        # words that would begin a list, a heading or a quote if a line began with them
        " ".join(f"{word} - # > 12. + x" for word in LONG.split()),
        f"{LONG}  \nhard break",
    ],
)
def test_what_a_reader_sees_stays(page: str) -> None:
    wrapped = wrap_markdown.wrap(page)
    assert rendered(wrapped) == rendered(page)
    assert wrap_markdown.wrap(wrapped) == wrapped
    assert not list(wrap_markdown.too_long(wrapped))


def test_long_lines_are_found_and_wrapped() -> None:
    page = f"{LONG}\n\n```\n{LONG}\n```\n\n:::{{note}}\n{LONG}\n:::\n\n| {LONG} |\n|---|\n"
    assert [number for number, _ in wrap_markdown.too_long(page)] == [1, 8]
    assert max(len(line) for line in wrap_markdown.wrap(LONG).split("\n")) <= 100


def test_mathematics_and_front_matter_stay() -> None:
    page = f"---\ntitle: {LONG}\n---\n\n$$\n{LONG}\n$$\n\n<div>{LONG}</div>\n\n[ref]: https://example.org {LONG}\n"
    assert wrap_markdown.wrap(page) == page
