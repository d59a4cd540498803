"""Audit mechanisms of other libraries: OpenDP's, and diffprivlib's, where a known fault is found.

    python studies/audit_others.py --check                     makes an environment for diffprivlib first
    python studies/audit_others.py --python PATH --check       uses one that has it

An audit needs nothing but a function of a table. diffprivlib needs an older scikit-learn and runs in an environment of
its own: another process is told a table and how often to run, and answers with outputs. Its linear regression takes the
lower bound of a feature twice where it should take both (issue 104 of its repository), so that a feature with bounds
(0, 1) gets no noise on its sum of squares. Floating-point noise has holes of its own, which the audit finds in all of
its mechanisms; so outputs are also rounded to a grid, where nothing speaks against its Laplace noise, and the
regression is still told apart.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common.diffprivlib_environment import environment

import discreet as dc

HOME = Path(__file__).parent
RESULTS = HOME / "results" / "audit_others.json"
# neighboring tables: numbers between 0 and 1, and (feature, target) of a regression through the origin
NUMBERS = ([0.5, 0.0], [0.5, 1.0])
POINTS = ([[1.0, 0.0]], [[0.01, 0.0]])


def opendp(table: list[float], times: int) -> list[float]:
    """Return clamped sums with OpenDP's Laplace noise."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    noisy = dp.m.make_laplace(*space, scale=1.0)
    total = sum(min(max(value, 0.0), 1.0) for value in table)
    return [noisy(total) for _ in range(times)]


def diffprivlib(python: str, what: str) -> Callable[[Any, int], list[Any]]:
    """Return a function that runs one of diffprivlib's mechanisms in its own environment."""

    def run(table: Any, times: int) -> list[Any]:
        asked = json.dumps({"what": what, "table": table, "times": times})
        done = subprocess.run(
            [python, "-W", "ignore", str(HOME / "diffprivlib_runs.py")],
            input=asked,
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    return run


def on_a_grid(function: Callable[[Any, int], list[Any]]) -> Callable[[Any, int], list[Any]]:
    """Return the same outputs rounded to 2^-20, which takes the holes of floating-point noise away."""
    return lambda table, times: (np.round(np.array(function(table, times)) * 2**20) / 2**20).tolist()


def main() -> None:
    """Audit every case, print what was found and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--python", help="an interpreter that has diffprivlib")
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--check", action="store_true", help="exit 1 unless the known fault is found")
    parser.add_argument(
        "--only", default="", help="cases whose name contains this; others keep what was found"
    )
    asked = parser.parse_args()
    python = asked.python or environment()
    cases = {
        "OpenDP, Laplace": (opendp, NUMBERS, asked.runs),
        "diffprivlib, Laplace": (diffprivlib(python, "laplace"), NUMBERS, asked.runs),
        "diffprivlib, LaplaceTruncated": (diffprivlib(python, "truncated"), NUMBERS, asked.runs),
        "diffprivlib, mean": (diffprivlib(python, "mean"), NUMBERS, asked.runs),
        "diffprivlib, LinearRegression": (diffprivlib(python, "regression"), POINTS, asked.runs // 5),
    }
    cases |= {
        f"{name}, on a grid": (on_a_grid(cases[name][0]), *cases[name][1:])
        for name in ("diffprivlib, Laplace", "diffprivlib, LinearRegression")
    }
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if asked.only and RESULTS.exists() else {}
    for name, (function, pair, runs) in cases.items():
        if asked.only not in name:
            continue
        result = dc.audit(function, pair=pair, epsilon=1, runs=runs, batched=True, rng=1)
        print(f"{name}\n{result.summary()}\n", flush=True)
        found[name] = result.to_dict()
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    wrong = [name for name, one in found.items() if one["violated"]]
    if asked.check and (
        "diffprivlib, LinearRegression, on a grid" not in wrong
        or {"OpenDP, Laplace", "diffprivlib, Laplace, on a grid"} & set(wrong)
    ):
        sys.exit("the known fault was not found, or a mechanism without one was called wrong")


if __name__ == "__main__":
    main()
