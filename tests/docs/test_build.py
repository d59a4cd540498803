"""The documentation builds, and a warning is an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    command += ["-d", str(tmp_path / "trees"), str(ROOT / "docs"), str(tmp_path / "html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    reference = (tmp_path / "html" / "reference" / "command-line.html").read_text()
    for option in ("--epsilon", "--bounds", "--records", "--plot"):
        assert option in reference
