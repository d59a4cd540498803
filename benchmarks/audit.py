"""How long an audit takes: 100,000 runs a side of a release with Laplace noise, and of a function.

    python benchmarks/audit.py --check    exit 1 if it takes more than 30 seconds, or finds too little

The search for tables, 1,000 whole releases and the checks of the path are part of it. No other library audits a
release end to end; what is compared is the bound with the claim.
"""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

import numpy as np

import discreet as dc

RUNS, MOST_SECONDS, LEAST = 100_000, 30.0, 0.9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    rng = np.random.default_rng(1)

    def noisy(table: list[float], times: int) -> np.ndarray:
        return np.round((sum(table) + rng.laplace(size=times)) * 2**20) / 2**20

    start = perf_counter()
    release = dc.audit(dc.Bernoulli(), epsilon=1, runs=RUNS, rng=1)
    middle = perf_counter()
    function = dc.audit(noisy, pair=([0.0], [1.0]), epsilon=1, runs=RUNS, batched=True, rng=1)
    end = perf_counter()
    print(f"{'':30}{'seconds':>10}{'epsilon at least':>20}")
    for name, seconds, found in (
        ("release, Laplace noise", middle - start, release),
        ("function, Laplace noise", end - middle, function),
    ):
        print(f"{name:30}{seconds:10.1f}{found.epsilon_lower:20.3f}")
    wrong = middle - start > MOST_SECONDS or not all(
        one.passed and one.epsilon_lower >= LEAST for one in (release, function)
    )
    if asked.check and wrong:
        sys.exit("an audit takes too long, or its bound is not what it should be")


if __name__ == "__main__":
    main()
