"""How much code there is: tokens by room, docstrings and comments not counted.

    python scripts/count_tokens.py                    tokens of src, by room
    python scripts/count_tokens.py --against REVISION the same, beside another revision of the repository

Names, numbers, texts and operators count, one each, however long they are; line ends, indentation, comments and
docstrings do not.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tokenize
from collections import Counter
from pathlib import Path

_IDLE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def tokens(source: str) -> int:
    """Return how many tokens of code a module has."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        (node.body[0].lineno, node.body[0].col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None
    }
    read = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(token.type not in _IDLE and token.start not in docstrings for token in read)


def by_file(revision: str | None) -> dict[str, int]:
    """Return the tokens of each file under src, of the working tree or of a revision."""
    if revision is None:
        return {
            str(path): tokens(path.read_text(encoding="utf-8")) for path in sorted(Path("src").rglob("*.py"))
        }
    listed = _git("ls-tree", "-r", "--name-only", revision, "src")
    paths = [path for path in listed.splitlines() if path.endswith(".py")]
    return {path: tokens(_git("show", f"{revision}:{path}")) for path in paths}


def by_room(files: dict[str, int]) -> Counter[str]:
    """Return the tokens of each room: the folders right under the package, and the package's own files together."""
    rooms: Counter[str] = Counter()
    for path, count in files.items():
        inside = Path(path).parts[2:]
        rooms[inside[0] if len(inside) > 1 else "(files)"] += count
    return rooms


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description="Tokens of code, by room.")
    parser.add_argument("--against", metavar="REVISION", help="another revision to compare with")
    parser.add_argument("--files", action="store_true", help="by file instead")
    options = parser.parse_args()
    groups = Counter if options.files else by_room
    now = groups(by_file(None))
    then = None if options.against is None else groups(by_file(options.against))
    for name in sorted(now | (then or Counter())):
        print(
            f"{name:40} {now[name]:8,}"
            + ("" if then is None else f" {then[name]:8,} {now[name] - then[name]:+8,}")
        )
    line = f"{'in all':40} {now.total():8,}"
    if then is not None:
        line += f" {then.total():8,} {now.total() / then.total() - 1:+8.1%}"
    print(line)


if __name__ == "__main__":
    main()
