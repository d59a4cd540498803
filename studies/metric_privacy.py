"""What a budget per unit of distance buys: posterior sd of a bounded mean, next to plain differential privacy.

    python studies/metric_privacy.py [--trials 20] [--seed 0] [--check] [--json]

Ages of the bundled survey, in bounds of growing width. Both releases promise the same for two records whose ages are
one year apart: plain differential privacy promises it for any two records, metric privacy only for those. ``--check``
exits with 1 unless the sd under the metric is smaller wherever the bounds are wider than four years.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

import discreet as dc
from discreet.curator.publish import release_with
from discreet.mechanisms.base import Mechanism

EACH = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 5))
BOUNDS = ((48, 52), (40, 60), (18, 100), (0, 120))


def mean_sd(mechanism: Mechanism, bounds: tuple[int, int], trials: int, rng: np.random.Generator) -> float:
    """Return the median posterior sd of the mean age over releases."""
    ages = dc.datasets.clinic_survey()
    sds = []
    for _ in range(trials):
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            ages,
            dc.Mean(),
            mechanism,
            column="age",
            bounds=bounds,
        )
        sds.append(dc.infer(release, rng=rng).sd()["mean"])
    return float(np.median(sds))


def table(trials: int, seed: int) -> list[dict[str, float]]:
    """Return one row for each budget and pair of bounds."""
    rng, rows = np.random.default_rng(seed), []
    for each in EACH:
        for low, high in BOUNDS:
            metric = dc.mechanisms.Laplace(metric="absolute", epsilon_per_unit=each)
            plain = dc.mechanisms.Laplace(each)
            rows.append(
                {
                    "loss one year apart": float(each),
                    "low": low,
                    "high": high,
                    "sd plain": mean_sd(plain, (low, high), trials, rng),
                    "sd metric": mean_sd(metric, (low, high), trials, rng),
                    "largest loss metric": float(each * (high - low)),
                }
            )
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    rows = table(options.trials, options.seed)
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        print("| loss one year apart | bounds | sd, plain ε-DP | sd, metric | largest loss, metric |")
        print("|---|---|---|---|---|")
        for row in rows:
            print(
                f"| {row['loss one year apart']:g} | {row['low']:g} to {row['high']:g} | {row['sd plain']:.3g} "
                f"| {row['sd metric']:.3g} | {row['largest loss metric']:g} |"
            )
    worse = [row for row in rows if row["high"] - row["low"] > 4 and row["sd metric"] > row["sd plain"]]
    return int(options.check and bool(worse))


if __name__ == "__main__":
    sys.exit(main())
