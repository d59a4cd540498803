"""Warnings about a release fire where they should, and stay silent where nothing is wrong.

    python -m studies.warnings_check [--check] [--trials 100] [--seed 0] [--json]

Real columns of statsmodels' tables (anes96, randhie, fair) are populations that are resampled, n = 1000, epsilon = 1
unless a line says otherwise. Something is wrong with each of the first lines: labels that are spelled otherwise, a
family that the column does not follow, redaction, a small budget, wide bounds. The other lines are records that follow
their family, complete or with 5% missing, within sensible bounds; there noise on the sums is at most half of what the
data scatter by themselves, which is where a word about noise would be out of place. ``--check`` exits with 1 if a
warning fires in less than 95 of 100 releases that it is for, or any in more than 1 of 100 where nothing is wrong. A
line on which one fires more often at first is simulated ten times as often with new random numbers, and these decide.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import discreet as dc
from discreet.curator.publish import release_with
from studies.fit_check import column, some_missing

N, FIRES, SILENT = 1000, 0.95, 0.01
#: How each warning is recognised.
WORDS = {
    "usable": "values were usable",
    "outside": "of records outside the bounds",
    "modes": "explain the totals",
    "noise": "times the data's own uncertainty",
    "wide": "noise drowns the column",
    "fit": "fit check: p",
}


@dataclass(frozen=True)
class Line:
    """Where records come from, how they are released, and which warnings this calls for."""

    name: str
    family: Any
    draw: Callable[[np.random.Generator], Any]
    how: dict[str, Any] = field(default_factory=dict)
    wanted: tuple[str, ...] = ()
    epsilon: float = 1.0


def resampled(table: str, what: str, n: int = N) -> Callable[[np.random.Generator], np.ndarray]:
    """Return a way to draw records from a real column."""
    population = column(table, what)
    return lambda rng: rng.choice(population, n)


def wrong_lines() -> list[Line]:
    """Return releases with something wrong about them."""
    vote = column("anes96", "vote")
    spelled = np.where(vote == 1, "Dole", "Clinton")
    income, age, city = (resampled("anes96", what) for what in ("income", "age", "popul"))
    visits, affairs = resampled("randhie", "mdvis"), resampled("fair", "affairs")
    return [
        Line("votes under other labels", dc.Categorical(["clinton", "dole"]),
             lambda rng: rng.choice(spelled, 900), wanted=("usable",)),
        Line("ages, bounds of children, normal", dc.Normal(), age, {"bounds": (18, 40)}, ("outside",)),
        Line("incomes, redacted, normal", dc.Normal(), income, {"bounds": (1, 24), "outside": "redact"},
             ("outside",)),
        Line("visits, Poisson, narrow bounds", dc.Poisson(), visits, {"bounds": (0, 2)}, ("outside",)),
        Line("half of a normal cut off", dc.Normal(), lambda rng: rng.normal(0, 1, 5000),
             {"bounds": ("0", 2), "outside": "redact"}, ("modes",)),
        Line("city sizes, epsilon 0.02, mean", dc.Mean(), city, {"bounds": (0, 8000)}, ("noise",), 0.02),
        Line("affairs, epsilon 0.02, exponential", dc.Exponential(), affairs, {"bounds": (0, 60)}, ("noise",), 0.02),
        Line("votes, epsilon 0.02", dc.Bernoulli(), resampled("anes96", "vote"), wanted=("noise",), epsilon=0.02),
        Line("visits, wide bounds, mean", dc.Mean(), visits, {"bounds": (0, 100_000)}, ("wide",)),
        Line("visits, wide bounds, exponential", dc.Exponential(), visits, {"bounds": (0, 10_000)},
             ("noise", "wide")),
        Line("ages, wide bounds, normal", dc.Normal(), age, {"bounds": (-10_000, 10_000)}, ("noise", "wide")),
        Line("visits, fit check, Poisson", dc.Poisson(), visits, {"bounds": (0, 20), "fit_check": 0.2}, ("fit",)),
    ]  # fmt: skip


def right_lines() -> list[Line]:
    """Return releases about which there is nothing to say."""
    return [
        Line("Bernoulli", dc.Bernoulli(), lambda rng: rng.random(N) < 0.3),
        Line("Categorical", dc.Categorical(3), lambda rng: rng.choice(3, N, p=(0.2, 0.3, 0.5))),
        Line("Poisson", dc.Poisson(), lambda rng: rng.poisson(4, N), {"bounds": (0, 15), "fit_check": 0.2}),
        Line("Poisson, missing", dc.Poisson(), lambda rng: some_missing(rng.poisson(4, N), rng), {"bounds": (0, 15)}),
        Line("Geometric", dc.Geometric(), lambda rng: rng.geometric(0.3, N) - 1, {"bounds": (0, 15)}),
        Line("Exponential", dc.Exponential(), lambda rng: rng.exponential(5, N), {"bounds": (0, 30)}),
        Line("Normal", dc.Normal(), lambda rng: rng.normal(55, 12, N), {"bounds": (0, 100)}),
        Line("Normal, private count, missing", dc.Normal(), lambda rng: some_missing(rng.normal(47, 16, N), rng),
             {"bounds": (0, 100), "neighbors": "add_remove"}),
        Line("Normal, fit check", dc.Normal(), lambda rng: rng.normal(55, 14, N),
             {"bounds": (0, 100), "fit_check": 0.2}),
        Line("ages, mean", dc.Mean(), resampled("anes96", "age"), {"bounds": (18, 100)}),
        Line("visits, mean", dc.Mean(), resampled("randhie", "mdvis"), {"bounds": (0, 20)}),
        Line("city sizes, histogram", dc.Histogram(bins=16), resampled("anes96", "popul"), {"bounds": (0, 8000)}),
    ]  # fmt: skip


def fired(line: Line, trials: int, seed: tuple[int, int]) -> dict[str, float]:
    """Return in which share of the releases each warning fires."""
    counts = dict.fromkeys(WORDS, 0)
    for trial in range(trials):
        rng = np.random.default_rng([*seed, trial])
        release = release_with(
            lambda distribution, rng=rng: int(distribution.sample(1, rng)[0]),
            line.draw(rng),
            line.family,
            dc.mechanisms.Laplace(str(line.epsilon)),
            **line.how,
        )
        said = dc.infer(release, draws=1000, rng=rng).diagnostics.warnings
        for name, words in WORDS.items():
            counts[name] += any(words in one for one in said)
    return {name: count / trials for name, count in counts.items()}


def main() -> int:
    """Print a line for each case, and return 1 if one falls short and ``--check`` is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a line falls short")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only", default="", help="lines whose name holds this text")
    asked = parser.parse_args()
    found, failed = {}, 0
    lines = [*((line, False) for line in wrong_lines()), *((line, True) for line in right_lines())]
    for i, (line, right) in enumerate(lines):
        if asked.only not in line.name:
            continue
        shares = found[line.name] = fired(line, asked.trials, (asked.seed, i))
        if right:
            if max(shares.values()) > SILENT:
                shares = found[line.name] = fired(line, 10 * asked.trials, (asked.seed + 1, i))
            good = max(shares.values()) <= SILENT
        else:
            good = all(shares[name] >= FIRES for name in line.wanted)
        failed += not good
        if not asked.json:
            words = ", ".join(f"{name} {share:.3f}" for name, share in shares.items() if share)
            wanted = f"wants {', '.join(line.wanted)}; " if line.wanted else ""
            print(f"{line.name:36} {wanted}{words or 'silent'}{'' if good else '  falls short'}", flush=True)
    if asked.json:
        print(
            json.dumps(
                {"schema": "discreet/study-warnings/1", "trials": asked.trials, "fired": found}, indent=2
            )
        )
    else:
        print(f"{failed} of {len(found)} lines fall short")
    return int(asked.check and failed > 0)


if __name__ == "__main__":
    sys.exit(main())
