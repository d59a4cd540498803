"""What is compiled is kept until its file, a constant or a compiled function that it names changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_CONSTANTS = "WIDTH = {width}\n"
_KERNELS = """
from discreet.compiled import njit
from constants import WIDTH

@njit(cache=True)
def area(height):
    return WIDTH * height
"""
_CALLER = """
from discreet.compiled import njit
from kernels import area

@njit(cache=True)
def volume(height, depth):
    return area(height) * depth

print(volume(2.0, 5.0), sum(volume.stats.cache_hits.values()))
"""


def _run(folder: Path) -> list[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "kept"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "caller.py"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_constants_of_other_files_are_followed(tmp_path: Path) -> None:
    """The two files with compiled functions stay as they are; only the constant's changes."""
    (tmp_path / "kernels.py").write_text(_KERNELS)
    (tmp_path / "caller.py").write_text(_CALLER)
    (tmp_path / "constants.py").write_text(_CONSTANTS.format(width=3.0))
    assert _run(tmp_path) == ["30.0", "0"]
    assert _run(tmp_path) == ["30.0", "1"]
    (tmp_path / "constants.py").write_text(_CONSTANTS.format(width=4.0))
    assert _run(tmp_path) == ["40.0", "0"]
    assert _run(tmp_path) == ["40.0", "1"]
