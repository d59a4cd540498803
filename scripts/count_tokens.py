"""How much code there is: tokens by room, docstrings and comments not counted.

    python scripts/count_tokens.py                    tokens of src, by room
    python scripts/count_tokens.py --against REVISION the same, beside another revision of the repository
    python scripts/count_tokens.py --against REVISION --new
                                                      the files of function that the revision did not have, and the rest

Names, numbers, texts and operators count, one each, however long they are; line ends, indentation, comments and
docstrings do not. A file is of new function if git finds no file of the revision that it came from, and it is none of
:data:`RESHAPED`. What files that were there before have learned since is not told apart, so the rest has some of it.
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

#: Files without a predecessor that hold, in another division, what files of commit 00834e8 held.
RESHAPED = (
    "artifact/records",
    "curator/charge.py",
    "curator/check.py",
    "curator/declare.py",
    "curator/draw.py",
    "curator/publish.py",
    "data/sources/conceal.py",
    "data/summaries/coded.py",
    "data/summaries/inspection.py",
    "data/summaries/registry.py",
    "data/summaries/sums.py",
    "decisions/__init__.py",
    "domain/declarations.py",
    "families/likelihood.py",
    "families/record_sums.py",
    "inference/counts/latent_cells.py",
    "inference/counts/weights.py",
    "inference/engines/gibbs/gibbs_engine.py",
    "inference/engines/registry.py",
    "inference/exports.py",
    "mechanisms/noise.py",
    "models/column_model.py",
    "models/layout.py",
    "models/public_rows.py",
    "models/tables.py",
    "reporting/pictures.py",
    "samplers/secure.py",
)


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


def new_files(revision: str) -> set[str]:
    """Return the files of function that a revision did not have."""
    found = _git("-c", "diff.renameLimit=5000", "diff", "-M40%", "--name-status", revision, "--", "src")
    added = {line.split("\t")[1] for line in found.splitlines() if line.startswith("A")}
    reshaped = tuple(f"src/discreet/{path}" for path in RESHAPED)
    return {path for path in added if path.endswith(".py") and not path.startswith(reshaped)}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description="Tokens of code, by room.")
    parser.add_argument("--against", metavar="REVISION", help="another revision to compare with")
    parser.add_argument("--files", action="store_true", help="by file instead")
    parser.add_argument(
        "--new", action="store_true", help="with --against: files of new function, and the rest"
    )
    options = parser.parse_args()
    if options.new:
        _print_new(options.against)
        return
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


def _print_new(revision: str) -> None:
    """Print the files of new function, their tokens, and how the rest compares with the revision."""
    now, then = by_file(None), sum(by_file(revision).values())
    new = {path: now[path] for path in sorted(new_files(revision)) if now.get(path)}
    for path, count in new.items():
        print(f"{path:60} {count:8,}")
    rest = sum(now.values()) - sum(new.values())
    print(f"{'new function':60} {sum(new.values()):8,}")
    print(f"{'the rest, against ' + revision:60} {rest:8,} {then:8,} {rest / then - 1:+8.1%}")


if __name__ == "__main__":
    main()
