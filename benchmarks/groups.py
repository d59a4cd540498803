"""Release and posterior of many groups: 10,000 of them, next to reading them one by one.

    python benchmarks/groups.py [--check] [--json] [--groups 10000]

A table of a hundred records a group is released by groups (Bernoulli, epsilon 1, ``add_remove``), and all groups are
inferred with 4,000 draws each. The same is done for a few groups through a dictionary of releases, which is read one by
one; both are given in seconds of wall and of processor time. Mean, Poisson and Categorical groups, which are read one
by one, are measured on ``--few`` groups. ``--check`` exits with 1 if release and inference of all groups together take
more than 10 s of processor time: on a free machine that is their wall time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc

TARGET = 10.0
PER_GROUP = 100


def clocked(action: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what an action gives, and its seconds by the wall and by the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    found = action()
    return found, time.perf_counter() - wall, time.process_time() - processor


def rows(n_groups: int) -> tuple[pd.DataFrame, list[str]]:
    rng = np.random.default_rng(0)
    names = [f"group-{i}" for i in range(n_groups)]
    n = n_groups * PER_GROUP
    columns = {
        "g": np.array(names)[rng.integers(0, n_groups, n)],
        "y": rng.integers(0, 2, n),
        "x": np.clip(rng.gamma(2, 10, n), 0, 100),
        "k": rng.poisson(2, n),
        "c": rng.choice(["a", "b", "c"], n),
    }
    return pd.DataFrame(columns), names


def released(table: pd.DataFrame, names: list[str], model: Any, column: str, bounds: Any = None) -> Any:
    return dc.release(
        table, model, column=column, bounds=bounds, by="g", groups=names, epsilon=1, neighbors="add_remove"
    )


def measure(n_groups: int, few: int) -> dict[str, Any]:
    small, some = rows(few)
    warm = released(*rows(60), dc.Bernoulli(), "y")
    dc.infer(warm, draws=8, rng=0)  # imports, and loops that are compiled once for all
    dc.infer(warm.by_group(), draws=8, rng=0)
    table, names = rows(n_groups)
    release, *to_release = clocked(lambda: released(table, names, dc.Bernoulli(), "y"))
    posterior, *to_infer = clocked(lambda: dc.infer(release, rng=0))
    _, *to_summarize = clocked(lambda: str(posterior.summary()))
    each = dict(list(release.by_group().items())[:few])
    _, *one_by_one = clocked(lambda: dc.infer(each, rng=0))
    others = {}
    for model, column, bounds in [
        (dc.Mean(), "x", (0, 100)),
        (dc.Categorical(["a", "b", "c"]), "c", None),
        (dc.Poisson(), "k", (0, 10)),
    ]:
        made = released(small, some, model, column, bounds)
        _, wall, processor = clocked(lambda made=made: dc.infer(made, rng=0))
        others[model.name] = {"wall": wall / few, "processor": processor / few}
    return {
        "schema": "discreet/benchmark-groups/1",
        "groups": n_groups,
        "records": len(table),
        "draws": posterior["group-0"].n_draws,
        "release": to_release,
        "infer": to_infer,
        "summary": to_summarize,
        "together": to_release[1] + to_infer[1],
        "one_by_one_per_group": one_by_one[1] / few,
        "at_once_per_group": to_infer[1] / n_groups,
        "others_per_group": others,
        "target": TARGET,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Release and posterior of many groups.")
    parser.add_argument("--check", action="store_true", help="exit with 1 if the target is missed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--few", type=int, default=20, help="groups that are read one by one")
    arguments = parser.parse_args()
    result = measure(arguments.groups, arguments.few)
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"{result['groups']:,} groups, {result['records']:,} records, {result['draws']:,} draws each")
        for name in ("release", "infer", "summary"):
            wall, processor = result[name]
            print(f"  {name:<24} {wall:>8.2f} s wall {processor:>8.2f} s of processor time")
        print(
            f"  {'release and infer':<24} {result['together']:>8.2f} s of processor time (target {TARGET:g})"
        )
        ratio = result["one_by_one_per_group"] / result["at_once_per_group"]
        print(f"  one by one takes {ratio:.1f} times as long per group")
        for name, seconds in result["others_per_group"].items():
            print(f"  {name}: {1000 * seconds['processor']:.1f} ms a group, one by one")
    return int(arguments.check and result["together"] > TARGET)


if __name__ == "__main__":
    sys.exit(main())
