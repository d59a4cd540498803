"""Check that models, mechanisms and records are asked what they can do, never what class they are.

    python scripts/check_kinds.py            exit 1 if a kind is tested outside the protocol modules
    python scripts/check_kinds.py --names    list the module names that stand more than once

A *kind* is a subclass of ``Model``, ``Mechanism`` or ``Record``. Reported, with file and line, are tests of kinds:
``isinstance`` and ``issubclass``, comparisons of ``type(x)``, tables looked up by ``type(x)``, class patterns of
``match``, ``hasattr``, ``getattr`` with a default, and comparisons of the name of a model, mechanism or record with a
text. Names are followed through imports, so a prior called ``Normal`` is not mistaken for the family. Whether an
argument of the caller's is a model, a family or a mechanism at all may be asked in ``curator`` and ``validation``.
Beside that, every ``assert isinstance`` is counted, whatever it is about.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "discreet"
#: Where the kinds are defined, and the modules that may test them.
ROOMS = ("models", "families", "mechanisms", "artifact/records")
PROTOCOLS = {
    "models/base.py": "Model",
    "models/column_model.py": "ColumnModel",
    "families/base.py": "Family",
    "families/likelihood.py": "Likelihood",
    "mechanisms/base.py": "Mechanism",
    "artifact/records/base.py": "Record",
}
ROOTS = {"Model", "Mechanism", "Record"}
#: Packages that check whether an argument of the caller's is one of these at all.
DOORS = ("curator", "validation")
AT_THE_DOOR = {"ColumnModel", "Family", "Likelihood", "Mechanism", "Model"}
#: What a variable or attribute that holds a model, mechanism or record is called.
NOUNS = {"family", "mechanism", "model", "record"}
#: Rooms where a mechanism is another thing, that of profile-based privacy.
OTHER_MECHANISMS = ("profiles",)
MOST_ASSERTS = 10

Places = dict[str, tuple[str, str]]


@dataclass
class Module:
    """One source file: its tree, and where each name it uses comes from, as (module, name)."""

    path: str
    tree: ast.Module
    names: Places = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, source: Path) -> Module:
        """Parse the file and note its imports and its own classes."""
        where = path.relative_to(source).as_posix()
        module = cls(where, ast.parse(path.read_text(encoding="utf-8"), where))
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    module.names[alias.asname or alias.name] = (node.module, alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    module.names[alias.asname or alias.name] = (alias.name, "")
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                module.names[node.name] = (module.dotted, node.name)
        return module

    @property
    def dotted(self) -> str:
        """The name under which it is imported."""
        return "discreet." + self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Kinds:
    """The classes of models, mechanisms and records in a source tree."""

    def __init__(self, modules: list[Module]) -> None:
        self._modules = {module.dotted: module for module in modules}
        bases = {
            (module.dotted, node.name): [self.origin(module, base) for base in node.bases]
            for module in modules
            if module.path.startswith(tuple(f"{room}/" for room in ROOMS))
            for node in module.tree.body
            if isinstance(node, ast.ClassDef)
        }
        self.found = {place for place in bases if place[1] in ROOTS and place[0].endswith(".base")}
        while new := {place for place, over in bases.items() if self.found & set(over)} - self.found:
            self.found |= new

    def origin(self, module: Module, node: ast.expr) -> tuple[str, str] | None:
        """Return the module and name of the class that an expression names, followed through imports."""
        if isinstance(node, ast.Subscript):
            return self.origin(module, node.value)
        if isinstance(node, ast.Name):
            return self._follow(module.names.get(node.id))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            package = module.names.get(node.value.id)
            return None if package is None else self._follow((".".join(filter(None, package)), node.attr))
        return None

    def _follow(self, place: tuple[str, str] | None) -> tuple[str, str] | None:
        for _ in range(8):
            over = None if place is None else self._modules.get(place[0])
            if place is None or over is None or over.names.get(place[1], place) == place:
                break
            place = over.names[place[1]]
        return place

    def named(self, module: Module, node: ast.AST) -> set[str]:
        """Return the kinds that an expression mentions, also through a constant of its module."""
        nodes = list(ast.walk(node))
        constants = {one.id for one in nodes if isinstance(one, ast.Name)}
        for statement in module.tree.body:
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
            if any(isinstance(target, ast.Name) and target.id in constants for target in targets):
                value = getattr(statement, "value", None)
                # a table is about the kinds that are its keys
                about = value.keys if isinstance(value, ast.Dict) else [value]
                nodes += [one for part in about if part is not None for one in ast.walk(part)]
        places = {self.origin(module, one) for one in nodes if isinstance(one, ast.Name | ast.Attribute)}
        return {place[1] for place in places & self.found if place is not None}


def _called(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _terminal(node: ast.AST) -> str:
    """Return the last name of an expression such as ``release.model``."""
    if isinstance(node, ast.Attribute):
        return node.attr.strip("_")
    return node.id.strip("_") if isinstance(node, ast.Name) else ""


class Tests(ast.NodeVisitor):
    """Finds the tests of kinds in one module."""

    def __init__(self, module: Module, kinds: Kinds) -> None:
        self._module, self._kinds = module, kinds
        self._held: list[set[str]] = [set()]
        self.found: list[tuple[int, str]] = []

    def _report(self, node: ast.AST, what: str) -> None:
        self.found.append((getattr(node, "lineno", 0), what))

    def _is_kind(self, node: ast.AST) -> bool:
        """Tell whether an expression holds a model, mechanism or record, by its name or its annotation."""
        if isinstance(node, ast.Name) and any(node.id in held for held in self._held):
            return True
        return _terminal(node) in NOUNS and self._module.path.split("/")[0] not in OTHER_MECHANISMS

    def _type_of_kind(self, node: ast.AST) -> bool:
        """Tell whether ``type(x)`` of a model, mechanism or record stands in an expression."""
        return any(
            _called(one, "type") and len(one.args) == 1 and self._is_kind(one.args[0])
            for one in ast.walk(node)
            if isinstance(one, ast.Call)
        )

    def _by_type(self, node: ast.expr, table: ast.expr) -> bool:
        """Tell whether a table is looked up by the class of a model, mechanism or record."""
        about = _called(node, "type") and bool(self._kinds.named(self._module, table))
        return about or (_called(node, "type") and self._type_of_kind(node))

    def _gets_by_type(self, node: ast.Call) -> bool:
        get = node.func
        return (
            isinstance(get, ast.Attribute)
            and get.attr == "get"
            and bool(node.args)
            and self._by_type(node.args[0], get.value)
        )

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        origins = {
            one.arg: self._kinds.origin(self._module, one.annotation)
            for one in every
            if one.annotation is not None
        }
        self._held.append({name for name, place in origins.items() if place in self._kinds.found})
        self.generic_visit(node)
        self._held.pop()

    visit_FunctionDef = _function
    visit_AsyncFunctionDef = _function

    def visit_Call(self, node: ast.Call) -> None:
        if _called(node, "isinstance", "issubclass") and len(node.args) == 2:
            kinds = self._kinds.named(self._module, node.args[1])
            if self._module.path.split("/")[0] in DOORS:
                kinds -= AT_THE_DOOR
            if kinds:
                self._report(node, f"{ast.unparse(node.func)} of {', '.join(sorted(kinds))}")
        elif _called(node, "hasattr") and node.args and self._is_kind(node.args[0]):
            self._report(node, f"hasattr of {ast.unparse(node.args[0])}")
        elif _called(node, "getattr") and len(node.args) == 3 and self._is_kind(node.args[0]):
            self._report(node, f"getattr of {ast.unparse(node.args[0])} with a default")
        elif self._gets_by_type(node):
            self._report(node, "a table looked up by type()")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if self._by_type(node.slice, node.value):
            self._report(node, "a table looked up by type()")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        of_type = any(_called(side, "type") for side in sides)
        if any(self._type_of_kind(side) for side in sides) or (
            of_type and any(self._kinds.named(self._module, side) for side in sides)
        ):
            self._report(node, "a comparison of type()")
        names = [side for side in sides if self._is_name(side)]
        texts = [one for side in sides for one in ast.walk(side) if isinstance(one, ast.Constant)]
        if names and any(isinstance(text.value, str) for text in texts):
            self._report(node, f"{ast.unparse(names[0])} compared with a text")
        self.generic_visit(node)

    def _is_name(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and node.attr in ("name", "kind") and self._is_kind(node.value)

    def visit_Match(self, node: ast.Match) -> None:
        patterns = [one for case in node.cases for one in ast.walk(case.pattern)]
        for one in patterns:
            if isinstance(one, ast.MatchClass) and self._kinds.named(self._module, one.cls):
                self._report(one, f"match of {ast.unparse(one.cls)}")
        if self._is_name(node.subject) and any(isinstance(one, ast.MatchValue) for one in patterns):
            self._report(node, f"match of {ast.unparse(node.subject)}")
        self.generic_visit(node)


def read_tree(source: Path) -> list[Module]:
    """Parse every module of a source tree."""
    return [Module.read(path, source) for path in sorted(source.rglob("*.py"))]


def violations(modules: list[Module]) -> Iterator[tuple[str, int, str]]:
    """Yield file, line and what is wrong, for each test of kinds outside the protocol modules."""
    kinds = Kinds(modules)
    for module in modules:
        if module.path not in PROTOCOLS:
            tests = Tests(module, kinds)
            tests.visit(module.tree)
            yield from ((module.path, line, what) for line, what in sorted(tests.found))


def asserts(modules: list[Module]) -> list[tuple[str, int]]:
    """Return file and line of each ``assert isinstance``."""
    return [
        (module.path, node.lineno)
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Assert) and any(_called(one, "isinstance") for one in ast.walk(node.test))
    ]


def repeated_names(modules: list[Module]) -> dict[str, list[str]]:
    """Return the module names that stand more than once, each with its files."""
    places = defaultdict(list)
    for module in modules:
        name = module.path.split("/")[-1]
        if name not in ("__init__.py", "__main__.py"):
            places[name].append(module.path)
    return {name: paths for name, paths in sorted(places.items()) if len(paths) > 1}


def main(arguments: list[str] | None = None, source: Path = SOURCE) -> int:
    """Print what is found; return 1 if that is too much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--names", action="store_true", help="list the module names that stand more than once"
    )
    modules = read_tree(source)
    if parser.parse_args(arguments).names:
        repeated = repeated_names(modules)
        for name, paths in repeated.items():
            print(f"{name}: {', '.join(paths)}")
        print(f"{len(repeated)} module names stand more than once")
        return 0
    found, asserted = list(violations(modules)), asserts(modules)
    for path, line, what in found:
        print(f"src/discreet/{path}:{line}: {what}")
    if len(asserted) > MOST_ASSERTS:
        for path, line in asserted:
            print(f"src/discreet/{path}:{line}: assert isinstance")
    print(f"{len(found)} tests of kinds, {len(asserted)} assert isinstance (at most {MOST_ASSERTS})")
    return int(bool(found) or len(asserted) > MOST_ASSERTS)


if __name__ == "__main__":
    sys.exit(main())
