"""How long a private linear regression takes: draws, and release beside the bare sums of products.

    python benchmarks/regression.py [--check] [--json] [--rows 1000000]

``--check`` exits with 1 if a limit is missed. Seconds are of processor time; ratios are side by side on this machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from time import process_time
from typing import Any

import numpy as np

import discreet as dc

# features, and seconds for 4,000 draws
LIMITS = {5: 1.0, 20: 20.0}
LEAST_ESS, MOST_R_HAT, MOST_RATIO = 400, 1.01, 3.0


def table_of(
    n: int, d: int, rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], dc.models.LinearRegression]:
    """Return rows of d features and a target, and their regression."""
    x = np.clip(rng.normal(0, 0.3, (n, d)), -1, 1)
    y = np.clip(x @ rng.normal(0, 0.5 / np.sqrt(d), d) + rng.normal(0, 0.2, n), -1, 1)
    names = [f"x{i}" for i in range(d)]
    rows = {**{name: x[:, i] for i, name in enumerate(names)}, "y": y}
    return rows, dc.models.LinearRegression("y", names, bounds=dict.fromkeys(["y", *names], (-1, 1)))


def draws(d: int, rng: np.random.Generator) -> dict[str, Any]:
    """Measure 4,000 draws of a regression on d features."""
    rows, model = table_of(20_000, d, rng)
    release = dc.release(rows, model, mechanism="gaussian", rho="0.05")
    dc.infer(release, draws=400, rng=0)  # compiled, and read once
    start = process_time()
    posterior = dc.infer(release, rng=1)
    seconds = process_time() - start
    how = posterior.diagnostics
    ess = min(float(np.min(v)) for v in how.ess.values())
    r_hat = max(float(np.max(v)) for v in how.r_hat.values())
    passed = seconds <= LIMITS[d] and ess >= LEAST_ESS and r_hat <= MOST_R_HAT
    return {"d": d, "seconds": seconds, "least_ess": ess, "largest_r_hat": r_hat, "passed": passed}


def release_beside_sums(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Measure a release of n rows and 10 columns beside the bare product of the matrix with itself."""
    import pyarrow as pa

    rows, model = table_of(n, 9, rng)
    arrow = pa.table(rows)
    dc.release(arrow.slice(0, 1000), model, epsilon=1)
    start = process_time()
    dc.release(arrow, model, epsilon=1)
    ours = process_time() - start
    start = process_time()
    matrix = np.column_stack([np.ones(n), *(arrow[name].to_numpy() for name in arrow.column_names)])
    _ = matrix.T @ matrix
    bare = process_time() - start
    return {
        "rows": n,
        "release": ours,
        "bare": bare,
        "ratio": ours / bare,
        "passed": ours <= MOST_RATIO * bare,
    }


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is missed")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the release")
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    figures = {"draws": [draws(d, rng) for d in LIMITS], "release": release_beside_sums(asked.rows, rng)}
    if asked.json:
        print(json.dumps(figures))
    else:
        for one in figures["draws"]:
            print(
                f"d = {one['d']:<3} 4,000 draws in {one['seconds']:.2f} s, ESS at least {one['least_ess']:.0f}, "
                f"R-hat at most {one['largest_r_hat']:.4f}"
            )
        one = figures["release"]
        print(
            f"release of {one['rows']:,} × 10 in {one['release']:.2f} s, bare sums of products in {one['bare']:.2f} s: "
            f"{one['ratio']:.1f} times"
        )
    passed = all(one["passed"] for one in [*figures["draws"], figures["release"]])
    return int(asked.check and not passed)


if __name__ == "__main__":
    sys.exit(main())
