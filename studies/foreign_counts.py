"""Coverage of shares read from OpenDP's noisy counts: taken at their word, and with their noise.

    python studies/foreign_counts.py                 500 runs, about two minutes
    python studies/foreign_counts.py --runs 50

Each run draws a population, a table of 200 people in four groups and OpenDP's discrete Laplace noise on its counts,
clipped at zero as OpenDP does by default. A 95% interval of each group's share in the population either holds the
truth or does not. The naive reading takes the counts for true ones.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

import numpy as np
from scipy.stats import binomtest

import discreet as dc

PEOPLE, GROUPS, SCALE = 200, ("a", "b", "c", "d"), 10.0


def run(group: int, rng: np.random.Generator) -> tuple[bool, bool]:
    """Return whether the naive and the noise-aware interval of one group's share hold it."""
    dp: Any = import_module("opendp.prelude")
    dp.enable_features("contrib")
    measure = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=SCALE)
    p = rng.dirichlet(np.ones(len(GROUPS)))
    counts = rng.multinomial(PEOPLE, p)
    noisy = {group: max(measure(int(count)), 0) for group, count in zip(GROUPS, counts, strict=True)}
    release = dc.libraries.opendp(dc.Categorical(list(GROUPS)), noisy, measure, records=PEOPLE, clipped=0)
    held = []
    for engine in ("naive", "auto"):
        draws = dc.infer(release, engine=engine, draws=1000, rng=rng).draws["p"]
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        held.append(bool(low[group] <= p[group] <= high[group]))
    return held[0], held[1]


def main() -> None:
    """Print both shares, and what a binomial test says of ours."""
    reader = argparse.ArgumentParser()
    reader.add_argument("--runs", type=int, default=500)
    reader.add_argument("--seed", type=int, default=1)
    asked = reader.parse_args()
    rng = np.random.default_rng(asked.seed)
    # one group a run: groups of one table are not independent
    naive = ours = 0
    for at in range(asked.runs):
        held = run(at % len(GROUPS), rng)
        naive, ours = naive + held[0], ours + held[1]
    test = binomtest(ours, asked.runs, 0.95)
    shares = f"naive {naive / asked.runs:.3f}, ours {ours / asked.runs:.3f}"
    print(f"{shares} of {asked.runs} intervals; p = {test.pvalue:.3f} that ours hold 95%")


if __name__ == "__main__":
    main()
