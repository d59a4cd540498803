"""What the packaging promises: pinned versions without addresses, and a wall without gaps."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PRIVATE = {"curator", "data", "mechanisms", "samplers"}
#: Allowed to import both sides.
BOTH = {"cli", "planning", "sklearn", "studio", "validation"}
#: Hold nothing that could reach rows: no imports of the package at all.
PLAIN = {"datasets", "version"}


def test_every_dependency_is_pinned_and_no_pin_is_an_address() -> None:
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", pin) for pin in pins)
    pinned = {pin.partition("==")[0].lower().replace("_", "-") for pin in pins}
    wanted = [PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()]
    names = {re.split(r"[<>=[]", requirement)[0].lower() for group in wanted for requirement in group}
    assert names <= pinned


def test_every_part_of_the_package_is_on_a_known_side_of_the_wall() -> None:
    package = ROOT / "src" / "discreet"
    parts = {
        path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    wall = PROJECT["tool"]["importlinter"]["contracts"][0]
    public = {name.removeprefix("discreet.") for name in wall["source_modules"]}
    assert set(wall["forbidden_modules"]) == {f"discreet.{name}" for name in PRIVATE}
    assert parts == {"__init__"} | public | PRIVATE | BOTH | PLAIN
    for name in PLAIN:
        files = (package / name).rglob("*.py") if (package / name).is_dir() else [package / f"{name}.py"]
        assert not any(
            "discreet" in line for f in files for line in f.read_text().splitlines() if "import" in line
        )
