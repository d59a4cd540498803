"""The documentation builds, and a warning is an error."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    # everything is read and every reference resolved; only the writing of HTML, which warns of nothing, is left out
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "dummy"]
    command += ["-d", str(tmp_path / "trees"), str(ROOT / "docs"), str(tmp_path / "nothing")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    reference = pickle.loads(
        (tmp_path / "trees" / "reference" / "command-line.doctree").read_bytes()
    ).astext()
    for option in ("--epsilon", "--bounds", "--records", "--plot"):
        assert option in reference
