"""A web page that stands alone: style, script and numbers are inside, and nothing is fetched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any


@dataclass
class Page:
    """What is written so far: HTML, and the quantiles that the page's script reads."""

    prob: float
    parts: list[str] = field(default_factory=list)
    quantiles: list[dict[str, Any]] = field(default_factory=list)

    @property
    def identity(self) -> str:
        """What the page calls the next numbers that its script reads."""
        return f"q{len(self.quantiles)}"

    def add(self, *html: str) -> None:
        """Append markup."""
        self.parts += html

    def listed(self, facts: Sequence[tuple[str, str]]) -> None:
        """Append names and what there is to say of each, where there is something."""
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts if value)
        self.add(f"<dl>{rows}</dl>")

    def table(self, rows: Sequence[tuple[str, str, str]], head: tuple[str, str, str] | None = None) -> None:
        """Append a table of names, numbers and intervals; the last two are markup."""
        if head is None:
            share = f"<span data-prob>{100 * self.prob:.0f}%</span>"
            cells = f"<th>parameter</th><th>median</th><th>{share} interval</th>"
        else:
            cells = "".join(f"<th>{escape(each)}</th>" for each in head)
        body = "".join(
            f'<tr><th scope="row">{escape(name)}</th><td>{middle}</td><td>{ends}</td></tr>'
            for name, middle, ends in rows
        )
        self.add(
            '<div class="scroll" tabindex="0" role="region" aria-label="table">'
            f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def html(self, heading: str) -> str:
        """Return the whole page, with its style and its script inside."""
        room = files("discreet.reporting")
        style, script = ((room / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
        # "</" inside a script element would end it
        data = json.dumps(self.quantiles, allow_nan=False).replace("</", "<\\/")
        policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(heading)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
            + "\n".join(self.parts)
            + f'\n</main>\n<script type="application/json" id="quantiles">{data}</script>\n'
            f"<script>\n{script}</script>\n</body>\n</html>\n"
        )
