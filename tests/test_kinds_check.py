"""The script that looks for tests of kinds: every planted one is found, and what only looks like one is not."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "check_kinds.py"
SPEC = importlib.util.spec_from_file_location("check_kinds", SCRIPT)
assert SPEC is not None
assert SPEC.loader is not None
check_kinds = importlib.util.module_from_spec(SPEC)
sys.modules["check_kinds"] = check_kinds
SPEC.loader.exec_module(check_kinds)

TREE = {
    "models/__init__.py": "from discreet.models.chain import Chain, Ring",
    "models/base.py": "class Model: ...",
    "models/chain.py": "from discreet.models.base import Model\nclass Chain(Model): ...\nclass Ring(Chain): ...",
    "mechanisms/base.py": "class Mechanism: ...",
    "artifact/records/base.py": "class Record: ...",
    "priors/normal.py": "class Chain: ...",
}
FOUND = [
    "isinstance(x, Ring)",
    "isinstance(x, int | Chain)",
    "isinstance(x, models.Ring)",
    "isinstance(x, KINDS)",
    "issubclass(x, Model)",
    "type(x) is Chain",
    "type(x) in KINDS",
    "type(release.model) not in {}",
    "type(self._family).sample is x",
    "TABLE[type(x)]",
    "TABLE.get(type(x))",
    "x[type(model)]",
    "hasattr(model, 'labels')",
    "getattr(release.mechanism, 'scale', None)",
    "hasattr(given, 'labels')",
    "release.model.name == 'chain'",
    "record.kind in ('a', 'b')",
]
PASSED = [
    "isinstance(x, Prior)",
    "type(x) is Prior",
    "type(x) is type(y)",
    "{}[type(x)]",
    "hasattr(x, 'item')",
    "getattr(posterior, 'model', None)",
    "column.name == 'age'",
    "type(model).__name__",
    "model.name == other.name",
]


def report(tmp_path: Path, where: str, body: str) -> list[tuple[str, int, str]]:
    """Return what is found in a small tree with this module in it."""
    head = (
        "from discreet import models\nfrom discreet.models import Chain, Ring\n"
        "from discreet.models.base import Model\nfrom discreet.priors.normal import Chain as Prior\n"
        "KINDS = (Ring, int)\nTABLE = {Ring: 1}\ndef f(x, y, given: Chain, release, model, record, posterior):\n"
    )
    for path, text in {**TREE, where: head + body}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return list(check_kinds.violations(check_kinds.read_tree(tmp_path)))


@pytest.mark.parametrize("test", FOUND)
def test_a_planted_test_is_found(tmp_path: Path, test: str) -> None:
    ((path, line, _),) = report(tmp_path, "inference/planted.py", f"    return {test}\n")
    assert (path, line) == ("inference/planted.py", 8)


@pytest.mark.parametrize(
    "body",
    [
        "    match x:\n        case Ring():\n            return 1\n",
        "    match model.name:\n        case 'ring':\n            return 1\n",
    ],
)
def test_a_planted_match_is_found(tmp_path: Path, body: str) -> None:
    assert len(report(tmp_path, "inference/planted.py", body)) == 1


@pytest.mark.parametrize("test", PASSED)
def test_what_is_none_passes(tmp_path: Path, test: str) -> None:
    assert report(tmp_path, "inference/planted.py", f"    return {test}\n") == []


def test_an_argument_is_checked_at_the_door_only(tmp_path: Path) -> None:
    assert report(tmp_path, "curator/door.py", "    return isinstance(x, Model)\n") == []
    assert len(report(tmp_path, "curator/door.py", "    return isinstance(x, Ring)\n")) == 1


def test_asserts_and_names_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(tmp_path, "inference/chain.py", "    assert isinstance(x, int)\n" * 11)
    assert check_kinds.main([], tmp_path) == 1
    assert "0 tests of kinds, 11 assert isinstance" in capsys.readouterr().out
    assert check_kinds.main(["--names"], tmp_path) == 0
    assert "chain.py: inference/chain.py, models/chain.py" in capsys.readouterr().out
