"""How much code there is: tokens by room, docstrings and comments not counted.

    python scripts/count_tokens.py                    tokens of src, by room
    python scripts/count_tokens.py --against REVISION the same, beside another revision of the repository
    python scripts/count_tokens.py --against REVISION --new
                                                      what the revision had, what is gone of it, and what is new

Names, numbers, texts and operators count, one each, however long they are; line ends, indentation, comments and
docstrings do not.

``--new`` asks how much code the *same function* takes. It compares units: functions, methods, and what is left of a
class or of a module without them, its imports apart. A unit of today has a predecessor in the revision if there is

1. one of the same qualified name in the file that this file was, by git's detection of renames; or else
2. one of the same qualified name in any file, with at least 30% of their pairs of neighboring tokens in common; or else
3. one of any name with at least 40% of them in common.

Each predecessor is taken once, the most alike first. Units without one are new: function that the revision did not
have, or another division of what is *gone*, the units of the revision that nothing descends from. Which of the two
cannot be told by counting, so two figures are printed: as if nothing that is new replaced what is gone, and as if all
that is gone was replaced, token for token. What a unit that was there before has learned since (an option, a case)
counts as growth in both; two more figures leave it aside, as far as ``learned_since.py`` can tell it by its words.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tokenize
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

from learned_since import Span, learned, learned_beside

_IDLE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
_NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
#: The least share of pairs of tokens in common, of units of the same name and of another.
SAME_NAME, ANY_NAME = 0.3, 0.4
#: A unit: its file, and its qualified name in it.
Unit = tuple[str, str]


def read(source: str) -> list[tokenize.TokenInfo]:
    """Return the tokens of a module's code."""
    docstrings = {
        (node.body[0].lineno, node.body[0].col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and ast.get_docstring(node, clean=False) is not None
    }
    found = tokenize.generate_tokens(io.StringIO(source).readline)
    return [token for token in found if token.type not in _IDLE and token.start not in docstrings]


def sources(revision: str | None) -> dict[str, str]:
    """Return the files under src, of the working tree or of a revision."""
    if revision is None:
        return {str(path): path.read_text(encoding="utf-8") for path in sorted(Path("src").rglob("*.py"))}
    listed = _git("ls-tree", "-r", "--name-only", revision, "src")
    return {path: _git("show", f"{revision}:{path}") for path in listed.splitlines() if path.endswith(".py")}


def by_file(revision: str | None) -> dict[str, int]:
    """Return the tokens of each file under src, of the working tree or of a revision."""
    return {path: len(read(source)) for path, source in sources(revision).items()}


def by_room(files: dict[str, int]) -> Counter[str]:
    """Return the tokens of each room: the folders right under the package, and the package's own files together."""
    rooms: Counter[str] = Counter()
    for path, count in files.items():
        rooms[_room(path)] += count
    return rooms


def units(path: str, source: str) -> dict[Unit, list[str]]:
    """Return the tokens of each unit of a file."""
    out: dict[Unit, list[str]] = defaultdict(list)
    for name, token in placed(source):
        out[path, name].append(token.string)
    return out


def placed(source: str) -> list[tuple[str, tokenize.TokenInfo]]:
    """Return the tokens of a file, each with the name of its unit."""
    tree = ast.parse(source)
    # methods first: the class is what they leave of it
    places = [_place(node, name) for name, node in named(tree)]
    places += [
        (node.lineno, node.end_lineno or node.lineno, "(imports)")
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (not isinstance(node, _NAMED) and "TYPE_CHECKING" in ast.unparse(node).split("\n")[0])
    ]
    out = []
    for token in read(source):
        line = token.start[0]
        out.append((next((name for first, last, name in places if first <= line <= last), "(module)"), token))
    return out


def named(tree: ast.Module) -> list[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Return the methods, functions and classes of a module with their qualified names, methods before their class."""
    out = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            out += [(f"{node.name}.{inner.name}", inner) for inner in node.body if isinstance(inner, _NAMED)]
        if isinstance(node, _NAMED):
            out.append((node.name, node))
    return out


def _place(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> tuple[int, int, str]:
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return first, node.end_lineno or first, name


def predecessors(
    now: dict[Unit, list[str]], then: dict[Unit, list[str]], was: dict[str, str]
) -> dict[Unit, Unit]:
    """Return the predecessor of each unit that has one; ``was`` names the files of today that had another name."""
    pairs_now = {unit: Counter(pairwise(tokens)) for unit, tokens in now.items()}
    pairs_then = {unit: Counter(pairwise(tokens)) for unit, tokens in then.items()}
    found: dict[Unit, Unit] = {}
    left = dict.fromkeys(then)

    def in_place(unit: Unit, other: Unit) -> bool:
        return other == (was.get(unit[0], unit[0]), unit[1])

    def same_name(unit: Unit, other: Unit) -> bool:
        return other[1] == unit[1] and not unit[1].startswith("(")

    def of_a_size(unit: Unit, other: Unit) -> bool:
        sizes = sorted([len(now[unit]), len(then[other])])
        return "(" not in unit[1] + other[1] and sizes[1] <= 3 * sizes[0]

    for candidate, least in ((in_place, 0.0), (same_name, SAME_NAME), (of_a_size, ANY_NAME)):
        scored = []
        for unit in now.keys() - found.keys():
            for other in filter(lambda other, unit=unit: candidate(unit, other), left):
                a, b = pairs_now[unit], pairs_then[other]
                score = 2 * (a & b).total() / max(a.total() + b.total(), 1)
                if score >= least:
                    scored.append((score, unit, other))
        for _, unit, other in sorted(scored, reverse=True):
            if unit not in found and other in left:
                found[unit] = other
                del left[other]
    return found


def _room(path: str) -> str:
    inside = Path(path).parts[2:]
    return inside[0] if len(inside) > 1 else "(files)"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description="Tokens of code, by room.")
    parser.add_argument("--against", metavar="REVISION", help="another revision to compare with")
    parser.add_argument("--files", action="store_true", help="by file instead")
    parser.add_argument(
        "--new",
        action="store_true",
        help="with --against: what the revision had, what is gone, and what is new",
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
    """Print, by room of today, the tokens of units that the revision had, now and then, and of those that are new."""
    renamed = _git("-c", "diff.renameLimit=5000", "diff", "-M40%", "--name-status", revision, "--", "src")
    rows = [line.split("\t") for line in renamed.splitlines()]
    was = {row[2]: row[1] for row in rows if row[0].startswith("R")}
    now, then = (_all_units(one) for one in (None, revision))
    found = predecessors(now, then, was)
    kept_now, kept_then, new = Counter[str](), Counter[str](), Counter[str]()
    for unit, tokens in now.items():
        room = _room(unit[0])
        if unit in found:
            kept_now[room] += len(tokens)
            kept_then[room] += len(then[found[unit]])
        else:
            new[room] += len(tokens)
    aside = _learned(then, found)
    print(f"{'':20} {'had':>9} {'then':>9} {'':>8} {'new':>9} {'learned':>9}")
    for room in sorted(kept_now | new):
        grown = kept_now[room] - kept_then[room]
        print(
            f"{room:20} {kept_now[room]:9,} {kept_then[room]:9,} {grown:+8,} {new[room]:9,} {aside[room]:9,}"
        )
    whole = sum(map(len, then.values()))
    gone = whole - kept_then.total()
    print(
        f"{'in all':20} {kept_now.total():9,} {kept_then.total():9,} {'':8} {new.total():9,} {aside.total():9,}; "
        f"gone {gone:,}"
    )
    for apart, text in ((0, ""), (aside.total(), ", what they have learned left aside")):
        for what, replaced in (("nothing new", 0), ("new, token for token,", gone)):
            rest = kept_now.total() + replaced - apart
            line = f"same function, if {what} replaced what is gone{text}"
            print(f"{line:100} {rest:9,} {whole:9,} {rest / whole - 1:+8.1%}")


def _learned(then: dict[Unit, list[str]], found: dict[Unit, Unit]) -> Counter[str]:
    """Return, by room, the tokens of units with a predecessor that are for function they have learned since."""
    counts = Counter[str]()
    for path in {path for path, _ in found}:
        source = Path(path).read_text(encoding="utf-8")
        tree, tokens = ast.parse(source), placed(source)
        before = {name: set(then[found[where, name]]) for where, name in found if where == path}
        spans = [
            span
            for name, node in named(tree)
            if name in before and not isinstance(node, ast.ClassDef)
            for span in learned(node, before[name])
        ]
        kept = {
            token.string
            for name, token in tokens
            if name in before and not name.startswith("(") and not _covered(token, spans)
        }
        spans += learned_beside(tree, kept, before.get("(imports)", set()) | before.get("(module)", set()))
        counts[_room(path)] += sum(name in before and _covered(token, spans) for name, token in tokens)
    return counts


def _covered(token: tokenize.TokenInfo, spans: list[Span]) -> bool:
    return any(first <= token.start < last for first, last in spans)


def _all_units(revision: str | None) -> dict[Unit, list[str]]:
    return {
        unit: own for path, source in sources(revision).items() for unit, own in units(path, source).items()
    }


if __name__ == "__main__":
    main()
