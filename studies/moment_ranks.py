"""Ranks of the mean and sd where the model of `Mean` holds: moments from its prior, records from scaled betas.

    python studies/moment_ranks.py [--check] [--trials 1000] [--seed 0]

The ranks of the mean are to be uniform; the sd is conservative, because its interval allows for tails that are heavier
than those of a beta distribution, and must cover at least 93%. ``--check`` exits with 1 if ranks of the mean are not
uniform (Kolmogorov-Smirnov, once in a thousand runs of the whole table) or a coverage of the sd is below 93%.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from columns.moments import draw_column, sharpness
from scipy.stats import binom, kstest

import discreet as dc
from discreet.curator.publish import release_with
from discreet.validation.ranks import rank

SETTINGS = ((200, 1.0), (1000, 0.1), (1000, 1.0), (10_000, 0.3))
ALARM, LEAST = 1e-3, 0.93


def ranks(n: int, epsilon: float, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Return the ranks of mean and sd, trials × 2."""
    out, largest = np.empty((trials, 2)), sharpness(n, epsilon)
    for i in range(trials):
        mean, sd, records = draw_column(n, largest, rng)
        release = release_with(
            lambda noise: int(noise.sample(1, rng)[0]),
            records,
            dc.Mean(),
            dc.mechanisms.Laplace(epsilon),
            bounds=(0, 1),
            missing="none",
        )
        draws = dc.infer(release, draws=1000, rng=rng).draws
        out[i] = rank(mean, draws["mean"], rng), rank(sd, draws["sd"], rng)
    return out


def main() -> int:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a line falls short")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    failed = 0
    for n, epsilon in SETTINGS:
        rng = np.random.default_rng([asked.seed, n, round(100 * epsilon)])
        mean, sd = ranks(n, epsilon, asked.trials, rng).T
        test = kstest(mean, "uniform")
        covered = [float(np.mean((r > 0.025) & (r < 0.975))) for r in (mean, sd)]
        enough = binom.ppf(ALARM / len(SETTINGS), asked.trials, LEAST)
        good = test.pvalue > ALARM / len(SETTINGS) and covered[1] * asked.trials >= enough
        failed += not good
        print(
            f"n = {n:<6} epsilon = {epsilon:<4} mean: KS {test.statistic:.3f} (p = {test.pvalue:.2g}), covers "
            f"{covered[0]:.3f}; sd: mean rank {sd.mean():.3f}, covers {covered[1]:.3f}"
            f"{'' if good else '  falls short'}",
            flush=True,
        )
    return int(asked.check and failed > 0)


if __name__ == "__main__":
    sys.exit(main())
