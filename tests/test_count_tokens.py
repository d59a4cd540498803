"""The script that counts code: what counts, and which functions of an older revision it finds again."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

SCRIPTS = Path(__file__).parents[1] / "scripts"


def loaded(name: str) -> ModuleType:
    """Return a script as a module."""
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


learned_since, counter = loaded("learned_since"), loaded("count_tokens")

OLD = '''"""A module."""

import math


class Circle:
    """A circle."""

    radius: float

    def area(self):
        # a comment
        return math.pi * self.radius**2


def total(values):
    """Add up."""
    result = 0
    for value in values:
        result = result + value
    return result


def gone(a):
    return a.first.second.third
'''


def test_docstrings_comments_and_line_ends_are_not_counted() -> None:
    assert [token.string for token in counter.read('"""Say."""\nx = 1  # one\n')] == ["x", "=", "1"]


def test_every_token_is_in_one_unit() -> None:
    found = counter.units("old.py", OLD)
    assert sum(map(len, found.values())) == len(counter.read(OLD))
    names = {name for _, name in found}
    assert names == {"(imports)", "Circle", "Circle.area", "total", "gone"}


def test_what_moved_or_has_another_name_is_found_again() -> None:
    new = OLD.replace("def total(", "def summed(").replace(
        "def gone(a):\n    return a.first.second.third\n",
        "def fresh(x, y):\n    return [x(i) for i in y if i]\n",
    )
    now, then = counter.units("new.py", new), counter.units("old.py", OLD)
    found = counter.predecessors(now, then, {})
    assert found["new.py", "Circle.area"] == ("old.py", "Circle.area")
    assert found["new.py", "summed"] == ("old.py", "total")
    # neither what is new nor what is gone has a partner
    assert ("new.py", "fresh") not in found
    assert ("old.py", "gone") not in found.values()


def test_a_rename_that_git_knows_keeps_even_a_function_that_was_rewritten() -> None:
    rewritten = "def gone(x, y):\n    return [x(i) for i in y if i]\n"
    now, then = counter.units("new.py", rewritten), counter.units("old.py", OLD)
    assert counter.predecessors(now, then, {}) == {}
    assert counter.predecessors(now, then, {"new.py": "old.py"}) == {("new.py", "gone"): ("old.py", "gone")}


LATER = """
from people import whole, whole_people

LIMIT, FEW = 3, 5
MOST = 9

def total(values, unit=None):
    kept = [one for one in values if one]
    if unit is not None:
        kept = whole_people(kept, unit, MOST)
    where = kept[0]
    return whole({"kept": kept, "unit": unit, "where": where}, LIMIT)
"""


def test_what_a_function_has_learned_is_told_by_its_words() -> None:
    """An option, its branch and what is handed on; a variable of its own, or a word that it had, is nothing new."""
    tree, lines = ast.parse(LATER), LATER.split("\n")
    function = tree.body[-1]
    assert isinstance(function, ast.FunctionDef)

    def told(before: set[str]) -> list[str]:
        return [
            lines[first[0] - 1][first[1] : last[1]] if first[0] == last[0] else lines[first[0] - 1].strip()
            for first, last in learned_since.learned(function, before)
        ]

    assert told(set()) == ["unit", "if unit is not None:", '"unit": unit']
    assert told({"unit"}) == []
    assert told({'f"{unit}"'}) == []
    beside = learned_since.learned_beside(tree, {"whole", "LIMIT"}, {"FEW"})
    assert [lines[first[0] - 1][first[1] : last[1]] for first, last in beside] == ["whole_people", "MOST = 9"]
