"""Exact truncated Dirichlet draws next to untruncated ones from NumPy, side by side.

    python benchmarks/truncated_dirichlet.py [--check] [--json] [--rounds 7] [--draws 20000]

How many times longer a draw takes if every probability must be at least ``lower``. The rival is ``Generator.dirichlet``
with the same parameters. The two take turns, and medians are compared, of processor time: a batch of the rival's is so
short that a busy machine would interrupt only ours. Data of 1,000 records under a flat prior: none at all, even,
decreasing like 1/k, all in one cell. Beside the ratios, how often a proposal is accepted, at worst over these data;
what is promised for all data; and how often plain rejection from the Dirichlet distribution would accept.

``--check`` exits with 1 if a ratio at lower = 0.001 misses its target.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.privacy.costs.rejection import acceptance_bound
from discreet.samplers.truncated_dirichlet import Proposal, sample_truncated_dirichlet

RECORDS = 1000
MOST_TIMES_SLOWER = 100.0
CELLS = (5, 25)
LOWER = (0.001, 0.01, 0.02)
TIGHT = 0.99  # of 1/K, the tightest there could be


def data(k: int) -> dict[str, np.ndarray]:
    """Return the posterior's parameters for each kind of data."""
    falling = 1 / np.arange(1, k + 1)
    shares = {"no data": np.zeros(k), "even": np.full(k, 1 / k), "falling": falling / falling.sum()}
    shares["one cell"] = np.eye(k)[0]
    return {name: 1 + RECORDS * share for name, share in shares.items()}


def seconds_of(action: Callable[[], Any]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def measure_one(alpha: np.ndarray, lower: float, draws: int, rounds: int) -> dict[str, float]:
    rng = np.random.default_rng(0)
    seconds: dict[str, list[float]] = {"numpy": [], "discreet": []}
    for turn in range(rounds + 1):
        one = seconds_of(lambda: rng.dirichlet(alpha, draws))
        other = seconds_of(lambda: sample_truncated_dirichlet(alpha, lower, draws, rng))
        if turn:  # the first turn warms up
            seconds["numpy"].append(one)
            seconds["discreet"].append(other)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    proposal = Proposal.tuned(alpha, np.full(alpha.size, lower))
    return {
        "nanoseconds_numpy": medians["numpy"] / draws * 1e9,
        "nanoseconds": medians["discreet"] / draws * 1e9,
        "ratio": medians["discreet"] / medians["numpy"],
        "acceptance": float(np.exp(proposal.propose(20_000, rng)[2]).mean()),
        "plain_rejection": float((rng.dirichlet(alpha, 100_000) >= lower).all(axis=1).mean()),
    }


def measure(draws: int, rounds: int) -> dict[str, Any]:
    rows = []
    for k in CELLS:
        for lower in (*LOWER, TIGHT / k):
            found = {name: measure_one(alpha, lower, draws, rounds) for name, alpha in data(k).items()}
            worst = max(found, key=lambda name: found[name]["ratio"])
            rows.append(
                {
                    "cells": k,
                    "lower": lower,
                    "ratio": found[worst]["ratio"],
                    "worst": worst,
                    "acceptance": min(one["acceptance"] for one in found.values()),
                    "bound": acceptance_bound(np.ones(k), RECORDS),
                    "plain_rejection": min(one["plain_rejection"] for one in found.values()),
                    "by_data": found,
                }
            )
    return {
        "schema": "discreet/benchmark-truncated-dirichlet/1",
        "records": RECORDS,
        "draws": draws,
        "rounds": rounds,
        "target_ratio": MOST_TIMES_SLOWER,
        "rows": rows,
    }


def show(result: dict[str, Any]) -> None:
    kinds = list(result["rows"][0]["by_data"])
    print(
        f"processor time, in untruncated draws' times, median of {result['rounds']} with {result['draws']:,} draws"
    )
    head = "".join(f"{name:>10}" for name in kinds)
    print(f"{'cells':>7}{'lower':>9}{head}{'accepted':>12}{'promised':>10}{'plain rejection':>17}")
    for row in result["rows"]:
        ratios = "".join(f"{row['by_data'][name]['ratio']:>10.1f}" for name in kinds)
        plain = f"{row['plain_rejection']:.2g}" if row["plain_rejection"] else "below 1e-5"
        print(
            f"{row['cells']:>7}{row['lower']:>9.4g}{ratios}{row['acceptance']:>12.3f}{row['bound']:>10.3f}{plain:>17}"
        )
    print(
        "accepted, plain rejection: share of proposals, at worst over the data; promised: whatever the data"
    )
    print(f"target: at most {MOST_TIMES_SLOWER:g} times at lower = 0.001")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--draws", type=int, default=20_000)
    arguments = parser.parse_args()
    result = measure(arguments.draws, arguments.rounds)
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)
    missed = any(row["ratio"] > MOST_TIMES_SLOWER for row in result["rows"] if row["lower"] == LOWER[0])
    return int(arguments.check and missed)


if __name__ == "__main__":
    sys.exit(main())
