"""How much code the same calls need: what the tests of another revision execute there, and what they execute today.

    git worktree add BASE 00834e8    # any two checkouts; each needs an environment of its own:
    python3.11 -m venv .venv && .venv/bin/python -m pip install -c constraints.txt -e '.[dev]' coverage
    .venv/bin/python scripts/same_calls.py BASE TODAY --out FOLDER    # with TODAY's environment; 25 minutes
    .venv/bin/python scripts/same_calls.py BASE TODAY --out FOLDER --alike 0.9    # runs that are there are read again

1. *The same calls.* A test of today is a test of the base if it has the same file (or what git says that the file has
   become), the same function (or one with most of its words) and the same parameters. Left out on both sides are tests
   of the repository, its documents and its studies; tests that loop over all that is registered, or over a table of the
   tests that has more entries today; slow tests; and tests that do not pass on both sides. ``--alike`` keeps only tests
   with at least this share of their words in common.
2. *What they execute* is measured by coverage, test by test, also in programs that a test starts; not what runs while
   tests are collected. Coverage does not see into functions that Numba compiles: such a function counts whole if an
   executed statement names it, in its own file or in one that imports it or its file, or if a compiled function that
   counts does.
3. *Tokens* are those of ``count_tokens.py``. Counted are

   - ``a``: executed statements of functions and methods (whole statements; of compound ones the head), and the
     signatures and decorators of functions that were entered;
   - ``b``: functions and methods that were entered, whole, with what is defined inside of them;
   - ``c``: what is outside of functions: of modules with a function that was entered, their imports apart, and of
     classes with a method that was entered (without any method: that an executed statement names).

What a call does today that it did not do then (a wider model, a warning, a check) counts as growth, and so do the calls
that a test has got since. The last tables say where: units that nothing in the base is the predecessor of, in the sense
of ``count_tokens.py``, by file, beside those of the base that nothing today descends from. How much of the new replaced
what is gone cannot be told by counting: two rows say what the same calls would need if none of it did (and all of it
were new function), and if as many tokens of it did as are gone. Two runs differ by some 0.1%, because some tests race.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

from count_tokens import Unit, by_room, placed, predecessors
from coverage import CoverageData  # pyright: ignore[reportMissingImports]
from same_calls_run import alike, collected, ended, goes_through_more, paired, renamed, run

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Part = ast.stmt | ast.ExceptHandler | ast.match_case
_PARTS = (ast.stmt, ast.ExceptHandler, ast.match_case)
_COMPILERS = {"njit", "jit", "compiled", "short_loop"}


class Source:
    """A file under src: the innermost statement of each line, and what was executed."""

    def __init__(self, text: str, lines: dict[int, set[str]]) -> None:
        self.text = text
        #: The innermost statement (handler, case) of each line.
        self.owner: dict[int, Part] = {}
        #: What a statement stands in: the next larger one, the innermost function and class, the outermost function.
        self.parent: dict[Part, Part | None] = {}
        self.function: dict[Part, Part | None] = {}
        self.outermost: dict[Part, Part | None] = {}
        self.kind: dict[Part, ast.ClassDef | None] = {}
        self._place(ast.parse(text), None, None, None, None)
        self.done: set[Part] = set()
        self.entered: set[Part] = set()
        self.outermost_entered: set[Part | None] = set()
        #: The tests that execute a statement.
        self.tests: dict[Part, set[str]] = defaultdict(set)
        for line in lines.keys() & self.owner.keys():
            part = self.owner[line]
            function = self.function[part]
            # what stands on the line of the head is executed when the function is made
            if isinstance(function, _FUNCTIONS) and line > function.lineno:
                self._execute(part, function)
                self.tests[part] |= lines[line]

    def _place(
        self,
        node: ast.AST,
        parent: Part | None,
        function: Part | None,
        outermost: Part | None,
        kind: ast.ClassDef | None,
    ) -> None:
        for part in ast.iter_child_nodes(node):
            if not isinstance(part, _PARTS):
                continue
            is_function = isinstance(part, _FUNCTIONS)
            outer = part if is_function and outermost is None else outermost
            within = part if isinstance(part, ast.ClassDef) and function is None else kind
            self.owner |= dict.fromkeys(range(*_lines(part)), part)
            self.parent[part], self.function[part] = parent, function
            self.outermost[part], self.kind[part] = outer, within
            self._place(part, part, part if is_function else function, outer, within)

    def _execute(self, part: Part | None, function: Part) -> None:
        self.entered.add(function)
        self.outermost_entered.add(self.outermost[function])
        while part is not None and part is not function:
            self.done.add(part)
            part = self.parent[part]

    def compiled(self) -> list[ast.FunctionDef]:
        """Return the functions that Numba compiles."""
        return [
            part
            for part in self.parent
            if isinstance(part, ast.FunctionDef)
            and any(_COMPILERS & set(_names(decorator)) for decorator in part.decorator_list)
        ]

    def execute_whole(self, function: ast.FunctionDef) -> None:
        """Take every statement of a function for executed."""
        for part in ast.walk(function):
            if isinstance(part, _PARTS) and part is not function:
                self._execute(part, function)

    def executed_names(self) -> set[str]:
        """Return the names that stand in statements that were executed."""
        return {name for part in self.done for name in _names(part)}

    def used(self, module: str) -> set[str]:
        """Return the full names of what executed statements of this module name: its own, and what it imports."""
        local = {name: f"{module}.{name}" for name in self.executed_names()}
        for part in self.parent:
            if isinstance(part, ast.ImportFrom):
                local |= {one.asname or one.name: f"{part.module}.{one.name}" for one in part.names}
        found = set()
        for part in self.done - {part for part in self.done if isinstance(part, ast.Import | ast.ImportFrom)}:
            for node in _expressions(part):
                if isinstance(node, ast.Name) and node.id in local:
                    found.add(local[node.id])
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    found.add(f"{local.get(node.value.id)}.{node.attr}")
        return found

    def senses(self, part: Part, named: set[str]) -> str:
        """Return the senses in which a statement counts; ``named`` are names that executed statements use."""
        outermost, kind = self.outermost[part], self.kind[part]
        if outermost is not None:
            is_done = part in self.done or part in self.entered
            return "a" * is_done + "b" * (outermost in self.outermost_entered)
        if kind is not None:
            methods = [one for one in kind.body if isinstance(one, _FUNCTIONS)]
            counts = any(one in self.entered for one in methods) if methods else kind.name in named
            return "c" * counts
        is_import = isinstance(part, ast.Import | ast.ImportFrom) or (
            isinstance(part, ast.If) and "TYPE_CHECKING" in _names(part.test)
        )
        return "c" * (bool(self.entered) and not is_import)


def _lines(part: Part) -> tuple[int, int]:
    if isinstance(part, ast.match_case):
        return part.pattern.lineno, (part.body[-1].end_lineno or 0) + 1
    first = min([part.lineno, *(one.lineno for one in getattr(part, "decorator_list", ()))])
    return first, (part.end_lineno or 0) + 1


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a statement or expression and what is inside of it, statements inside of it apart."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _PARTS):
            yield from _expressions(child)


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names and attributes in a statement or expression, statements inside of it apart."""
    for one in _expressions(node):
        if isinstance(one, ast.Name | ast.Attribute):
            yield one.id if isinstance(one, ast.Name) else one.attr


@dataclass
class Executed:
    """Tokens that tests execute: by sense and unit, those of functions also by test; and the tests of each unit."""

    units: dict[str, Counter[Unit]] = field(default_factory=lambda: defaultdict(Counter))
    by_test: Counter[str] = field(default_factory=Counter)
    tests: dict[Unit, set[str]] = field(default_factory=lambda: defaultdict(set))

    def total(self, senses: str) -> Counter[Unit]:
        """Return the tokens of units in several senses together."""
        return sum((self.units[sense] for sense in senses), Counter[Unit]())


def counted(tree: Path, data: Path, tests: set[str]) -> Executed:
    """Return the tokens of a checkout that these tests execute."""
    measured = CoverageData(str(data))
    measured.read()
    sources = {}
    for path in sorted((tree / "src").rglob("*.py")):
        lines = {line: tests & {*names} for line, names in measured.contexts_by_lineno(str(path)).items()}
        lines = {line: names for line, names in lines.items() if names}
        sources[str(path.relative_to(tree))] = Source(path.read_text(encoding="utf-8"), lines)
    _enter_compiled(sources)
    named = set().union(*(source.executed_names() for source in sources.values()))
    out = Executed()
    for path, source in sources.items():
        for name, token in placed(source.text):
            part = source.owner.get(token.start[0])
            if part is None:
                continue
            for sense in source.senses(part, named):
                out.units[sense][path, name] += 1
            by = source.tests.get(part, set())
            out.by_test.update(by)
            out.tests[path, name] |= by
    return out


def _enter_compiled(sources: dict[str, Source]) -> None:
    """Take compiled functions for executed that an executed statement or another such function names."""
    modules = {path: ".".join(Path(path).with_suffix("").parts[1:]) for path in sources}
    left = {
        f"{modules[path]}.{one.name}": (path, one) for path in sources for one in sources[path].compiled()
    }
    while True:
        used = set().union(*(source.used(modules[path]) for path, source in sources.items()))
        reached = used & left.keys()
        if not reached:
            return
        for name in reached:
            path, function = left.pop(name)
            sources[path].execute_whole(function)


def print_counts(then: Executed, now: Executed, pairs: dict[str, str]) -> None:
    """Print both sides and their ratio, in each sense, in all and by room; and the ratio test by test."""
    for senses in ("a", "b", "ac", "bc"):
        sides = [_by_room(side.total(senses)) for side in (then, now)]
        print(f"\n{' + '.join(senses):16} {'base':>9} {'today':>9}")
        for room in sorted(sides[0] | sides[1]):
            _print_row(room, sides[0][room], sides[1][room])
        _print_row("in all", sides[0].total(), sides[1].total())
    ratios = [now.by_test[other] / then.by_test[test] for test, other in pairs.items() if then.by_test[test]]
    tenths = ", ".join(f"{ratio - 1:+.1%}" for ratio in quantiles(ratios, n=10))
    print(
        f"\na, test by test, compiled functions apart, from the first tenth of the tests to the ninth: {tenths}"
    )


def print_origins(then: Executed, now: Executed, base: Path, today: Path, rows: int) -> None:
    """Print what became of the units that the calls execute, and which files have most of what is new or gone."""
    before, after = then.total("bc"), now.total("bc")
    was = {new: old for old, new in renamed(base, today, "src").items()}
    found = predecessors(_texts(today), _texts(base), was)
    descended = set(found.values())
    kept = Counter({unit: count for unit, count in after.items() if unit in found and before[found[unit]]})
    kept_then = Counter({unit: before[found[unit]] for unit in kept})
    new = Counter({unit: count for unit, count in after.items() if unit not in found})
    gone = Counter({unit: count for unit, count in before.items() if unit not in descended})
    others = before.total() - kept_then.total() - gone.total(), after.total() - kept.total() - new.total()
    print("\nb + c, by what became of the units")
    for name, *both in (
        ("then and now", kept_then.total(), kept.total()),
        ("one side only", *others),
        ("gone, new", gone.total(), new.total()),
        ("nothing replaced", before.total(), after.total() - new.total()),
        ("all replaced", before.total(), after.total() - new.total() + gone.total()),
    ):
        _print_row(name, *both)
    reach = Counter[int]()
    for unit, count in new.items():
        reach[len(str(len(now.tests[unit]))) if now.tests[unit] else 0] += count
    print("new, by the number of tests that execute the unit:", end=" ")
    print(", ".join(f"{10 ** (n - 1) if n else 0}+: {count:,}" for n, count in sorted(reach.items())))
    grown = Counter({unit: count - kept_then[unit] for unit, count in kept.items()})
    for title, counts, side in (
        ("new: nothing in the base is the predecessor; tokens, and tests that execute them", new, now),
        ("gone: nothing today descends from it", gone, then),
        ("executed then and now: what it has grown by", grown, now),
    ):
        print(f"\n{title}")
        files: dict[str, Counter[str]] = defaultdict(Counter)
        for (path, name), count in counts.items():
            files[path][name] += count
        for path, names in sorted(files.items(), key=lambda one: -one[1].total())[:rows]:
            tests = set().union(*(side.tests[path, name] for name in names))
            most = ", ".join(f"{name} {count}" for name, count in names.most_common(4))
            print(f"{names.total():6,} {len(tests):5,} {path.removeprefix('src/discreet/'):52} {most}")


def _texts(tree: Path) -> dict[Unit, list[str]]:
    out: dict[Unit, list[str]] = defaultdict(list)
    for path in sorted((tree / "src").rglob("*.py")):
        for name, token in placed(path.read_text(encoding="utf-8")):
            out[str(path.relative_to(tree)), name].append(token.string)
    return out


def _by_room(counts: Counter[Unit]) -> Counter[str]:
    files: Counter[str] = Counter()
    for (path, _), count in counts.items():
        files[path] += count
    return by_room(files)


def _print_row(name: str, then: int, now: int) -> None:
    print(f"{name:16} {then:9,} {now:9,} {now - then:+9,}" + (f" {now / then - 1:+8.1%}" if then else ""))


def main() -> None:
    parser = argparse.ArgumentParser(description="How much code the same calls need.")
    parser.add_argument("base", type=Path, help="a checkout of the revision to compare with")
    parser.add_argument("today", type=Path, help="a checkout of today's")
    parser.add_argument("--out", type=Path, required=True, help="a folder for what the runs leave")
    parser.add_argument(
        "--alike", type=float, default=0.0, help="the least share of words that tests have in common"
    )
    parser.add_argument("--rows", type=int, default=25, help="how many files each of the last tables has")
    options = parser.parse_args()
    base, today, out = (path.resolve() for path in (options.base, options.today, options.out))
    out.mkdir(parents=True, exist_ok=True)
    then, now = collected(base, out / "base.json"), collected(today, out / "today.json")
    pairs = paired(base, today, then, now)
    run(base, list(pairs), out / "base")
    run(today, list(pairs.values()), out / "today")
    loops = goes_through_more(base, today, pairs)
    ends = ended(out / "base"), ended(out / "today")
    failed = {
        test for test, other in pairs.items() if not ends[0].get(test) == ends[1].get(other) == "passed"
    }
    kept = {test: other for test, other in pairs.items() if test not in loops | failed}
    if options.alike:
        kept = {
            test: other for test, other in kept.items() if alike(base, today, test, other) >= options.alike
        }
    print(f"tests of the base {len(then):,}, found today {len(pairs):,}, counted {len(kept):,}", end=" ")
    print(f"({len(kept) / len(then):.1%})")
    for why, tests in (
        ("loop over all there is, or over more", loops),
        ("do not pass on both sides", failed),
    ):
        print(f"left out because they {why}: {len(tests)}")
        for test, count in sorted(Counter(name.split("[")[0] for name in tests).items()):
            print(f"{count:6} {test}")
    sides = (
        counted(base, (out / "base").with_suffix(".coverage"), {*kept}),
        counted(today, (out / "today").with_suffix(".coverage"), {*kept.values()}),
    )
    print_counts(*sides, kept)
    print_origins(*sides, base, today, options.rows)


if __name__ == "__main__":
    main()
