"""Rerun the commands shown in the README and the docs and put in what they print now: `make pages`.

The test of the pages (tests/docs/test_pages.py) then holds again; look at the difference before committing it. Only
output that a page already shows is replaced.
"""

from __future__ import annotations

import code
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs").glob("tutorial*.md"),
    *(ROOT / "docs/how-to").glob("*.md"),
]
_BLOCK = re.compile(r"^```(python|pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def refresh(text: str) -> str:
    """Return the page with fresh output; blocks of one page share their names."""
    import discreet as dc

    session = code.InteractiveConsole({"dc": dc})

    def block(match: re.Match[str]) -> str:
        language, body = match.groups()
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(body, "page", "exec"), session.locals)  # pyright: ignore[reportArgumentType]
        else:
            body = "".join((_console if language == "console" else _doctest(session))(body))
        return f"```{language}\n{body}```"

    return _BLOCK.sub(block, text)


def _console(body: str) -> list[str]:
    out = []
    for part in re.split(r"^(?=\$ )", body, flags=re.MULTILINE):
        shown_command = re.match(r"\$ (?:.*\\\n)*.*\n", part)
        if shown_command is None:
            out.append(part)
            continue
        command, shown = part[: shown_command.end()], part[shown_command.end() :]
        done = subprocess.run(command[2:], shell=True, capture_output=True, text=True, check=True)
        fresh = "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines()) + "\n"
        out.append(command + (fresh if shown.strip() else shown))
    return out


def _doctest(session: code.InteractiveConsole) -> Callable[[str], list[str]]:
    def run(body: str) -> list[str]:
        out = []
        for part in re.split(r"^(?=>>> )", body, flags=re.MULTILINE):
            statement = re.match(r">>> .*\n(?:\.\.\. .*\n)*", part)
            if statement is None:
                out.append(part)
                continue
            source = re.sub(r"^(>>>|\.\.\.) ?", "", statement.group(), flags=re.MULTILINE)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                session.runsource(source.rstrip() + "\n", symbol="single")
            fresh = (
                re.sub(r"^\s*$", "<BLANKLINE>", printed.getvalue().rstrip("\n"), flags=re.MULTILINE) + "\n"
            )
            shown = part[statement.end() :]
            if shown.startswith("Traceback"):
                # errors are printed elsewhere, and pages leave out most of what they say
                fresh = shown
            out.append(statement.group() + (fresh if shown.strip() else shown))
        return out

    return run


def main() -> None:
    import discreet as dc

    os.environ["PATH"] = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    os.environ.pop("COLUMNS", None)
    # pages import the examples that they show
    sys.path.insert(0, str(ROOT / "docs/examples"))
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for part in ("docs/examples", "src/discreet/datasets"):
                shutil.copytree(ROOT / part, part)
            shutil.copy(dc.datasets.clinic_survey(), "clinic.csv")
            page.write_text(refresh(page.read_text()))


if __name__ == "__main__":
    main()
