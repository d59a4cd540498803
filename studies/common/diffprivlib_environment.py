"""A Python that has diffprivlib, which needs an older scikit-learn: an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

PLACE = Path(__file__).parents[2] / "benchmarks" / "data" / "diffprivlib"
PACKAGES = ("diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy==2.4.6", "scipy==1.17.1")


def environment() -> str:
    """Return the interpreter; the environment is made on the first run."""
    python = PLACE / "bin" / "python"
    if not python.exists():
        print("making an environment for diffprivlib …", file=sys.stderr)
        venv.create(PLACE, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return str(python)
