"""Help is instant because nothing heavy is imported for it. The time itself is in benchmarks/startup.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs/examples/smoking.json"
HEAVY = {
    "numba",
    "arviz_base",
    "duckdb",
    "matplotlib",
    "narwhals",
    "numpy",
    "opendp",
    "pandas",
    "polars",
    "pyarrow",
    "scipy",
    "xarray",
}


def imported_by(program: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter holds after ``program``."""
    report = "\nimport json, sys; print('\\n' + json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", program + report], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments",
    [[], ["--help"], ["--version"], ["release", "--help"], ["infer", "--help"], ["calibrate", "--help"]],
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    modules = imported_by(f"from discreet.cli import run; assert run({arguments!r}) == 0")
    assert "typer" in modules
    assert not modules & HEAVY


def test_the_package_itself_imports_nothing_heavy() -> None:
    assert not imported_by("import discreet; dir(discreet)") & HEAVY


def test_the_probe_sees_heavy_imports() -> None:
    assert imported_by("import discreet; discreet.families") & HEAVY >= {"numpy", "scipy"}


def test_the_analyst_never_loads_the_private_side() -> None:
    program = (
        "import discreet as dc; dc.infer, dc.Release, dc.Posterior, dc.priors\n"
        "import sys; assert not [m for m in sys.modules if m.startswith(('discreet.data', 'discreet.mechanisms'))]"
    )
    assert not imported_by(program) & {"duckdb", "opendp"}


def test_a_posterior_of_labels_loads_neither_a_compiler_nor_splines() -> None:
    """Both take longer to import than the draws to make."""
    program = (
        "import sys, discreet as dc\n"
        f"dc.infer({str(EXAMPLE)!r}, rng=0)\n"
        "assert 'scipy.interpolate' not in sys.modules"
    )
    assert "numba" not in imported_by(program)
