"""The script that counts code: what counts, and which functions of an older revision it finds again."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "scripts" / "count_tokens.py"
SPEC = importlib.util.spec_from_file_location("count_tokens", SCRIPT)
assert SPEC is not None
assert SPEC.loader is not None
counter = importlib.util.module_from_spec(SPEC)
sys.modules["count_tokens"] = counter
SPEC.loader.exec_module(counter)

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
