"""The script that counts how far a call goes: what it counts, and that it sees a longer way."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import discreet as dc

SCRIPT = Path(__file__).parents[1] / "scripts" / "walk.py"
SPEC = importlib.util.spec_from_file_location("walk", SCRIPT)
assert SPEC is not None
assert SPEC.loader is not None
walk = importlib.util.module_from_spec(SPEC)
sys.modules["walk"] = walk
SPEC.loader.exec_module(walk)


def test_nothing_of_ours_is_no_walk() -> None:
    assert walk.walk("sum", lambda: sum([1, 2])) == walk.Walk("sum", 0, 0, 0)


def test_a_longer_way_is_seen() -> None:
    one = walk.walk("one", lambda: dc.PureDP(1))
    two = walk.walk("two", lambda: dc.compose(dc.PureDP(1), dc.PureDP(1)))
    assert one.functions >= 1
    assert one.files >= 1
    assert two.functions > one.functions
    assert two.files > one.files
    assert two.crossings > one.crossings
    # a reader opens each file at least once, from somewhere
    assert two.files - 1 <= two.crossings <= two.functions
    assert set(walk.LIMITS) == {
        "release of a Normal from CSV",
        "infer, Bernoulli, exact",
        "infer, Normal, gibbs",
        "infer, naive Bayes",
    }
