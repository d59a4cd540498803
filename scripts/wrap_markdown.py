"""Wrap the prose of Markdown pages at 100 characters, or check that no line is over 120.

    python scripts/wrap_markdown.py README.md docs    rewrite pages in place
    python scripts/wrap_markdown.py --check           exit 1 if a line of any page is too long

Paragraphs, list items, quotes and definitions are wrapped. Left as they are: headings, fenced and indented code,
tables, MyST directives and their options, comments and blocks of HTML, mathematics, front matter, link definitions, and
any paragraph with a line that ends in a hard break. A paragraph whose lines are all short enough already is not
touched. A link, image or code span is never broken; a line that cannot be broken, or is long because of a link, passes.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
WIDTH, LONGEST = 100, 120
SKIPPED = {
    ".venv",
    ".venv-engines",
    ".venv-spark",
    ".venv-browser",
    ".venv-examples",
    "site-packages",
    "_build",
    "node_modules",
    "discreet-demo",
    "build",
    ".git",
}

_FENCE = re.compile(r"^\s*(`{3,}|~{3,}|:{3,})")
_ITEM = re.compile(r"^(\s*)([-*+]|\d{1,3}[.)])(\s+)(\[[ xX]\]\s+)?")
_DEFINITION = re.compile(r"^(\s*):(\s+)")
_QUOTE = re.compile(r"^(\s*>\s?)")
# directives whose body is prose
_PROSE = re.compile(
    r"^\s*(?:`{3,}|:{3,})\{(?:admonition|caution|danger|hint|important|note|seealso|tip|warning)\}"
)
# what stands for itself: headings, tables, directives' options, HTML, rules, link definitions, roles of MyST, comments
_ALONE = re.compile(
    r"^\s*(#{1,6}\s|\||:[\w-]+:|<|-{3,}\s*$|\*{3,}\s*$|={3,}\s*$|\[[^\]]+\]:|\(.+\)=\s*$|%|\+\+\+)"
)
# pieces that must stay on one line: links and images, code spans, roles, inline mathematics, autolinks
_PIECE = re.compile(
    r"!?\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?|(?:\{[\w:.-]+\})?(`+)(?:(?!\1).)+?\1|\$[^$\s](?:[^$]*[^$\s])?\$|<[^>\s]+>"
)
_LINK = re.compile(r"\]\(|\]\[|https?://|<[^>\s]+>")


def wrap(text: str) -> str:
    """Return a page with its paragraphs wrapped."""
    lines: list[str] = []
    for block, prose in blocks(text.split("\n")):
        lines += _wrapped(block) if prose else block
    return "\n".join(lines)


def blocks(lines: list[str]) -> Iterator[tuple[list[str], bool]]:
    """Yield the lines of a page in order: paragraphs, marked as prose, and all else one line at a time."""
    fence, math, front, paragraph = "", False, bool(lines) and lines[0] == "---", []
    in_list, opened = False, []
    for number, line in enumerate(lines):
        marker = _FENCE.match(line)
        literal = bool(fence or math or front)
        if front and number and line == "---":
            front = False
        elif fence:
            if marker and marker[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif math:
            math = line.strip() != "$$"
        elif marker and (_PROSE.match(line) or (opened and line.strip() == opened[-1])):
            # the body of such a directive is read like the rest of the page
            opened = [*opened, marker[1]] if _PROSE.match(line) else opened[:-1]
            literal = True
        elif marker:
            fence, literal = marker[1], True
        elif line.strip() == "$$":
            math = literal = True
        indented = line.startswith("    ") and not paragraph and not in_list
        if literal or not line.strip() or indented or _ALONE.match(line):
            if paragraph:
                yield paragraph, True
                paragraph = []
            yield [line], False
            in_list = in_list and (not line.strip() or line.startswith(" "))
            continue
        starts = _ITEM.match(line) or _DEFINITION.match(line)
        if paragraph and (starts or bool(_QUOTE.match(line)) != bool(_QUOTE.match(paragraph[0]))):
            yield paragraph, True
            paragraph = []
        in_list = bool(_ITEM.match(line) or _DEFINITION.match(line)) or (
            in_list and (bool(paragraph) or line.startswith(" "))
        )
        paragraph.append(line)
    if paragraph:
        yield paragraph, True


def _wrapped(paragraph: list[str]) -> list[str]:
    """Wrap one paragraph, item or quote, with the indentation that its first two lines have."""
    if all(len(line) <= WIDTH for line in paragraph) or any(
        line.endswith(("  ", "\\")) for line in paragraph
    ):
        return paragraph
    first = paragraph[0]
    item, definition, quote = _ITEM.match(first), _DEFINITION.match(first), _QUOTE.match(first)
    if quote:
        lead = rest = quote[1]
        body = [line[len(match[1]) :] if (match := _QUOTE.match(line)) else line for line in paragraph]
    elif item or definition:
        match = item or definition
        assert match is not None
        lead = match[0]
        box = item[4] if item and item[4] else ""
        rest = " " * (len(lead) - len(box))
        body = [first[len(lead) :], *paragraph[1:]]
    else:
        lead = rest = first[: len(first) - len(first.lstrip())]
        body = paragraph
    return _fill(" ".join(line.strip() for line in body), lead, rest)


def _fill(text: str, lead: str, rest: str) -> list[str]:
    """Break a text at spaces, none of which is inside a link, a code span or a formula."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"\x00{len(kept) - 1}\x01"

    words = _PIECE.sub(keep, text).split()
    lines, current = [], lead
    empty = True
    for word in words:
        whole = re.sub("\x00(\\d+)\x01", lambda match: kept[int(match[1])], word)
        if not empty and len(current) + 1 + len(whole) > WIDTH and not _begins_a_block(whole):
            lines.append(current)
            current, empty = rest, True
        current += whole if empty else f" {whole}"
        empty = False
    return [*lines, current]


def _begins_a_block(word: str) -> bool:
    """Tell whether a word at the start of a line would be read as a list item, heading, quote, table or definition."""
    return bool(re.match(r"([-*+:>|%]|#{1,6}|\d{1,3}[.)])$|[>|#]|:{3}|={2,}|-{2,}|\+\+\+|`{3}|~{3}", word))


def too_long(text: str) -> Iterator[tuple[int, int]]:
    """Yield the numbers and lengths of lines of prose that are over the limit and could be shorter."""
    number = 1
    for block, prose in blocks(text.split("\n")):
        for line in block:
            bare = not line.lstrip().startswith(("|", "#")) and not _LINK.search(line)
            if prose and len(line) > LONGEST and bare and _wrapped(block) != block:
                yield number, len(line)
            number += 1


def pages(paths: list[str]) -> list[Path]:
    """Return the Markdown files among or below the given paths, or below the root."""
    given = [Path(path) for path in paths] or [ROOT]
    found = {page for path in given for page in ([path] if path.is_file() else path.rglob("*.md"))}
    return sorted(page for page in found if not SKIPPED & set(page.resolve().relative_to(ROOT).parts[:-1]))


def main() -> int:
    parser = argparse.ArgumentParser(description="Wrap the prose of Markdown pages.")
    parser.add_argument("paths", nargs="*", help="pages or folders; all pages of the project by default")
    parser.add_argument("--check", action="store_true", help="only say which lines are too long")
    options = parser.parse_args()
    long = 0
    for page in pages(options.paths):
        text = page.read_text(encoding="utf-8")
        if options.check:
            for number, length in too_long(text):
                print(f"{page.resolve().relative_to(ROOT)}:{number}: {length} characters, at most {LONGEST}")
                long += 1
        elif (wrapped := wrap(text)) != text:
            page.write_text(wrapped, encoding="utf-8")
    return int(long > 0)


if __name__ == "__main__":
    sys.exit(main())
