"""The tests that two checkouts of the repository have in common, and running them under coverage.

Used by ``same_calls.py``, which says what it is for. This file is also the plugin of pytest that it runs them with: the
plugin writes down the tests that there are, keeps those that are asked for, names the test that is running to coverage
(also to programs that it starts), and writes down how each ended.
"""

from __future__ import annotations

import ast
import difflib
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

#: Tests of the repository and of its studies rather than of what the package does, by the beginning of their names.
OF_THE_REPOSITORY = ("tests/docs/", "tests/studies/", "tests/test_packaging.py", "tests/test_public_names.py")
#: Names for all that there is of something: a test that goes through them itself makes more calls the more there are.
_ALL_THERE_IS = re.compile(
    r"(\w+\.)*(__all__|(names|models|registered)\(\)|REGISTERED|SUMMARIES)(\.\w+\(\))?"
)
#: The least share of tokens in common of a test that got another name.
_SAME_TEST = 0.7
_HERE = Path(__file__).parent
_CONFIGURATION = """
[run]
source = discreet
parallel = true
context = ${SAME_CALLS_TEST-}
disable_warnings = module-not-imported, no-data-collected, module-not-measured, include-ignored
"""
# tokens of a test are compared as words
_WORD = re.compile(r"\w+|[^\w\s]")


def collected(tree: Path, out: Path) -> list[str]:
    """Return the names of all tests of a checkout that its default run has."""
    if not out.exists():
        _pytest(tree, ["-m", "pytest"], ["--collect-only"], {"SAME_CALLS_COLLECTED": str(out)})
    return json.loads(out.read_text(encoding="utf-8"))


def paired(base: Path, today: Path, then: list[str], now: list[str]) -> dict[str, str]:
    """Return which test of today each test of the base is: the same function and parameters, maybe in another file.

    A function that has another name today is recognized by its text, in the file that its file has become.
    """
    became = renamed(base, today, "tests")
    left = dict.fromkeys(now)
    by_name = defaultdict(list)
    for test in now:
        by_name[_name(test)].append(test)
    others = _other_names(base, today, then, now, became)
    found: dict[str, str] = {}
    asked = [test for test in then if not test.startswith(OF_THE_REPOSITORY)]
    # all that stayed where they were before any that moved: two files may have tests of the same name
    for is_moved in (False, True):
        for test in asked:
            file, function, parameters = _split(test)
            where = became.get(file, file)
            new_name = others.get((file, function), function)
            candidates = [f"{where}::{function}{parameters}", f"{where}::{new_name}{parameters}"]
            if is_moved:
                candidates = by_name[_name(test)] if len(by_name[_name(test)]) == 1 else []
            for candidate in candidates:
                if test not in found and candidate in left:
                    found[test] = candidate
                    del left[candidate]
    return found


def goes_through_more(base: Path, today: Path, pairs: dict[str, str]) -> set[str]:
    """Return the tests that loop over all there is, or over a table of the tests that has more entries today."""
    out, asked = set(), {}
    for test, other in pairs.items():
        key = _split(test)[:2], _split(other)[:2]
        if key not in asked:
            over = [
                _loops(tree / file, function)
                for tree, (file, function) in zip((base, today), key, strict=True)
            ]
            is_all = any(_ALL_THERE_IS.fullmatch(text) for texts in over for text in texts)
            tables = {text.split(".")[0] for text in over[0] & over[1] if text.split(".")[0].isupper()}
            sizes = ([_entries(tree, tree / one[0], name) for name in sorted(tables)]
                     for tree, one in zip((base, today), key, strict=True))  # fmt: skip
            asked[key] = is_all or any(now > then for then, now in zip(*sizes, strict=True))
        if asked[key]:
            out.add(test)
    return out


def run(tree: Path, tests: list[str], out: Path) -> None:
    """Run these tests of a checkout under coverage; leave ``out``.coverage and, how they ended, ``out``.ended.json."""
    ends, data = out.with_suffix(".ended.json"), out.with_suffix(".coverage")
    if ends.exists():
        return
    asked, configuration = out.with_suffix(".asked.json"), out.with_suffix(".rc")
    asked.write_text(json.dumps(tests), encoding="utf-8")
    configuration.write_text(_CONFIGURATION, encoding="utf-8")
    told = {
        "SAME_CALLS_ASKED": str(asked),
        "SAME_CALLS_ENDED": str(ends),
        "SAME_CALLS_CONFIGURATION": str(configuration),
        "COVERAGE_FILE": str(data),
    }
    coverage = ["-m", "coverage", "run", f"--rcfile={configuration}", "-m", "pytest"]
    _pytest(tree, coverage, sorted({_split(test)[0] for test in tests}), told)
    python = str(tree / ".venv/bin/python")
    combine = [python, "-m", "coverage", "combine", "-q", f"--rcfile={configuration}"]
    subprocess.run(combine, cwd=tree, check=True, env=os.environ | {"COVERAGE_FILE": str(data)})


def ended(out: Path) -> dict[str, str]:
    """Return how each test of a run ended: passed, skipped or failed."""
    return json.loads(out.with_suffix(".ended.json").read_text(encoding="utf-8"))


def _pytest(tree: Path, program: list[str], arguments: list[str], told: dict[str, str]) -> None:
    # one process, so that contexts of coverage are right; tests that fail on either side are left out later
    command = [str(tree / ".venv/bin/python"), *program, "-p", "same_calls_run", "-p", "no:xdist"]
    command += ["-p", "no:cacheprovider", "-q", *arguments]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = os.environ | threads | told | {"PYTHONPATH": str(_HERE), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, cwd=tree, env=environment, check=False, stdout=sys.stderr)


def renamed(base: Path, today: Path, folder: str) -> dict[str, str]:
    """Return what files of a folder are called today, by git's detection of renames."""
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=base, check=True, capture_output=True, text=True
    ).stdout.strip()
    command = ["git", "-c", "diff.renameLimit=5000", "diff", "-M40%", "--name-status", revision, "--", folder]
    found = subprocess.run(command, cwd=today, check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in found.splitlines()]
    return {row[1]: row[2] for row in rows if row[0].startswith("R")}


def _other_names(
    base: Path, today: Path, then: list[str], now: list[str], became: dict[str, str]
) -> dict[tuple[str, str], str]:
    """Return the names that test functions of the base have today, if they have others."""
    mine: dict[str, dict[str, None]] = defaultdict(dict)
    theirs: dict[str, dict[str, None]] = defaultdict(dict)
    for tests, into in ((then, mine), (now, theirs)):
        for file, function, _ in map(_split, tests):
            into[file][function] = None
    out = {}
    for file, functions in mine.items():
        where = became.get(file, file)
        gone = functions.keys() - theirs[where].keys()
        new = theirs[where].keys() - functions.keys()
        if not gone or not new:
            continue
        before, after = dict(_functions(base / file)), dict(_functions(today / where))
        scored = sorted(
            (
                (_alike(before[name], after[other]), name, other)
                for name in gone & before.keys()
                for other in new & after.keys()
            ),
            reverse=True,
        )
        for score, name, other in scored:
            if score >= _SAME_TEST and (file, name) not in out and other in new:
                out[file, name] = other
                new.discard(other)
    return out


def alike(base: Path, today: Path, test: str, other: str) -> float:
    """Return the share of words that the functions of two tests have in common."""
    return _alike_functions(base, today, *_split(test)[:2], *_split(other)[:2])


@cache
def _alike_functions(base: Path, today: Path, file: str, function: str, where: str, other: str) -> float:
    before, after = dict(_functions(base / file)).get(function), dict(_functions(today / where)).get(other)
    return 0.0 if before is None or after is None else _alike(before, after)


def _alike(before: ast.AST, after: ast.AST) -> float:
    words = [_WORD.findall(ast.unparse(node)) for node in (before, after)]
    return difflib.SequenceMatcher(None, *words, autojunk=False).ratio()


def _functions(path: Path) -> Iterator[tuple[str, ast.AST]]:
    """Yield the functions of a file of tests under the names that pytest gives them."""
    if not path.exists():
        return
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield f"{node.name}::{inner.name}", inner


def _loops(path: Path, function: str) -> set[str]:
    """Return what a test function loops over, or makes a set or list of."""
    over = []
    for node in ast.walk(dict(_functions(path)).get(function, ast.Module([], []))):
        if isinstance(node, ast.For | ast.comprehension):
            over.append(node.iter)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"set", "list", "sorted", "len"}:
            over += node.args
    return {ast.unparse(one) for one in over}


def _entries(tree: Path, path: Path, name: str) -> int:
    """Return how many entries a table of the tests has: a dictionary, list, tuple or set that is written out."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else ():
        if isinstance(node, ast.ImportFrom) and any(name == (one.asname or one.name) for one in node.names):
            return _entries(tree, (tree / str(node.module).replace(".", "/")).with_suffix(".py"), name)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            value = node.value  # pyright: ignore[reportAttributeAccessIssue]
            if isinstance(value, ast.Dict):
                parts = [one for key, one in zip(value.keys, value.values, strict=True) if key is None]
                count = len(value.keys) - len(parts)
            else:
                parts = [one.value for one in getattr(value, "elts", ()) if isinstance(one, ast.Starred)]
                count = len(getattr(value, "elts", ())) - len(parts)
            return count + sum(_entries(tree, path, one.id) for one in parts if isinstance(one, ast.Name))
    return 0


def _split(test: str) -> tuple[str, str, str]:
    """Return the file, the function (with its class) and the parameters of a test's name."""
    file, rest = test.split("::", 1)
    function, bracket, parameters = rest.partition("[")
    return file, function, bracket + parameters


def _name(test: str) -> str:
    return test.split("::", 1)[1]


# -- the plugin -----------------------------------------------------------------------------------------------------

_ended: dict[str, str] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = os.environ.get("SAME_CALLS_ASKED")
    if asked is None:
        return
    wanted = set(json.loads(Path(asked).read_text(encoding="utf-8")))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in wanted])
    items[:] = [item for item in items if item.nodeid in wanted]


def pytest_collection_finish(session: pytest.Session) -> None:
    out = os.environ.get("SAME_CALLS_COLLECTED")
    if out is not None:
        Path(out).write_text(json.dumps([item.nodeid for item in session.items]), encoding="utf-8")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    configuration = os.environ.get("SAME_CALLS_CONFIGURATION")
    if configuration is not None:
        from coverage import Coverage  # pyright: ignore[reportMissingImports]

        measured = Coverage.current()
        assert measured is not None
        measured.switch_context(item.nodeid)
        # programs that the test starts are measured too, and say whose they are
        os.environ |= {"COVERAGE_PROCESS_START": configuration, "SAME_CALLS_TEST": item.nodeid}
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.outcome != "passed" or report.nodeid not in _ended:
        _ended[report.nodeid] = report.outcome


def pytest_sessionfinish() -> None:
    out = os.environ.get("SAME_CALLS_ENDED")
    if out is not None:
        Path(out).write_text(json.dumps(_ended), encoding="utf-8")
