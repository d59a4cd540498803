"""Releases and posteriors of many labels: next to DuckDB's bare GROUP BY, on small tables, and as labels grow.

    python benchmarks/labels.py [--check] [--json] [--rounds 5]

* 100,000 declared labels on 10 million rows of Parquet, some of them NULL or undeclared: one ``dc.release``, everything
  included, next to ``SELECT x, count(*) ... GROUP BY x`` on a connection that stays open. The two take turns, so that a
  busy machine slows both, and medians are compared. Peak memory is that of a fresh process with one such release.
* 5,000 labels on 100 rows, as a CSV file and as a list; a multivariate normal of 60 columns on 50 rows.
* The time of a release of 100 rows from 1,000 to 100,000 labels, whose slope on logarithmic axes is 1 if it is linear.
* ``dc.infer`` and the summary of 1,000 draws of 100,000 labels, with the peak memory of their process.

``--check`` exits with 1 if a target is missed. The files are made on the first run, in ``benchmarks/data/``.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROWS, LABELS, DRAWS = 10_000_000, 100_000, 1000
TARGETS = {
    "ratio": 3.0,
    "release_memory": 2_000_000_000,
    "csv_seconds": 1.0,
    "list_seconds": 1.0,
    "multivariate_seconds": 2.0,
    "slope": 1.1,
    "infer_seconds": 60.0,
}
NAMES = {
    "ratio": ("release over GROUP BY", "{:.2f}"),
    "release_memory": ("peak memory of one release, bytes", "{:,.0f}"),
    "csv_seconds": ("5,000 labels, 100-row CSV, s", "{:.3f}"),
    "list_seconds": ("5,000 labels, list of 100, s", "{:.3f}"),
    "multivariate_seconds": ("MultivariateNormal(60), 50 rows, s", "{:.3f}"),
    "slope": ("slope of seconds in labels, log-log", "{:.2f}"),
    "infer_seconds": (f"infer, {LABELS:,} labels, {DRAWS:,} draws, s", "{:.1f}"),
}

DATA = Path(__file__).parent / "data"
TABLE, SMALL, RELEASE = DATA / "labels.parquet", DATA / "labels.csv", DATA / "labels.json"


def make_files() -> None:
    import duckdb

    DATA.mkdir(exist_ok=True)
    if not TABLE.exists():
        connection = duckdb.connect(config={"threads": 1})  # one thread, so that the seed fixes every value
        connection.execute("SELECT setseed(0.5)")
        value = f"""CASE WHEN i % 100 = 0 THEN NULL WHEN i % 50 = 1 THEN 'unknown-' || (i % 1000003)
                    ELSE 'label-' || floor(random() * {LABELS})::INT END"""
        part = TABLE.with_suffix(".part")
        connection.execute(f"COPY (SELECT {value} AS x FROM range({ROWS}) t(i)) TO '{part}' (FORMAT parquet)")
        part.rename(TABLE)
    SMALL.write_text("x\n" + "\n".join(small_rows()) + "\n")


def small_rows() -> list[str]:
    return [f"label-{i * 7 % 60}" for i in range(100)]


def labels(k: int) -> Any:
    import discreet as dc

    return dc.Categorical([f"label-{i}" for i in range(k)])


def release() -> Any:
    import discreet as dc

    return dc.release(TABLE, labels(LABELS), column="x", epsilon=1)


def multivariate() -> Any:
    import numpy as np

    import discreet as dc

    rows = np.random.default_rng(0).uniform(0, 1, (50, 60))
    return dc.release(rows, dc.MultivariateNormal(60), bounds=[(0, 1)] * 60, epsilon=1)


def seconds_of(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def apart(what: str) -> tuple[dict[str, float], int]:
    """Return what a fresh process says, and the bytes that it needs at most."""
    said = subprocess.run(
        [sys.executable, __file__, "--once", what], check=True, capture_output=True, text=True
    )
    answer = json.loads(said.stdout)
    return answer, answer.pop("peak")


def once(what: str) -> dict[str, float]:
    if what == "release":
        release().save(RELEASE)
        answer = {}
    else:
        import discreet as dc

        # compiled once for all, and kept on disk
        dc.infer(dc.release(["label-1"], labels(300), epsilon=1), draws=4)
        found = dc.Release.load(RELEASE)
        start = time.perf_counter()
        posterior = dc.infer(found, draws=DRAWS, rng=0)
        answer = {"infer_seconds": time.perf_counter() - start}
        answer["summary_seconds"] = seconds_of(lambda: str(posterior.summary()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**answer, "peak": peak if sys.platform == "darwin" else peak * 1024}


def best_of(action: Callable[[], Any], rounds: int) -> float:
    action()  # imports
    return statistics.median(seconds_of(action) for _ in range(rounds))


def measure(rounds: int) -> dict[str, Any]:
    import duckdb

    import discreet as dc

    _, release_memory = apart("release")
    connection = duckdb.connect()

    def bare() -> Any:
        return connection.sql(f"SELECT x, count(*) FROM '{TABLE}' GROUP BY x").fetchall()

    seconds: dict[str, list[float]] = {"duckdb": [], "discreet": []}
    for turn in range(rounds + 1):
        one, other = seconds_of(bare), seconds_of(release)
        if turn:  # the first turn imports and warms the file cache
            seconds["duckdb"].append(one)
            seconds["discreet"].append(other)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    growth = {
        k: best_of(lambda k=k: dc.release(SMALL, labels(k), column="x", epsilon=1), rounds)
        for k in (1_000, 10_000, 100_000)
    }
    inferred, infer_memory = apart("infer")
    return {
        "schema": "discreet/benchmark-labels/1",
        "rows": ROWS,
        "labels": LABELS,
        "draws": DRAWS,
        "rounds": rounds,
        "seconds": medians,
        "ratio": medians["discreet"] / medians["duckdb"],
        "release_memory": release_memory,
        "csv_seconds": best_of(lambda: dc.release(SMALL, labels(5000), column="x", epsilon=1), rounds),
        "list_seconds": best_of(lambda: dc.release(small_rows(), labels(5000), epsilon=1), rounds),
        "multivariate_seconds": best_of(multivariate, rounds),
        "growth": growth,
        "slope": math.log(growth[100_000] / growth[1_000]) / math.log(100),
        **inferred,
        "infer_memory": infer_memory,
        "targets": TARGETS,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Releases and posteriors of many labels.")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--once", choices=["release", "infer"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        print(json.dumps(once(arguments.once)))
        return 0
    make_files()
    result = measure(arguments.rounds)
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        one, other = result["seconds"]["duckdb"], result["seconds"]["discreet"]
        print(f"{ROWS:,} rows, {LABELS:,} labels: GROUP BY {one:.2f} s, release {other:.2f} s (medians)")
        for key, (label, shown) in NAMES.items():
            target = shown.format(TARGETS[key])
            print(f"  {label:<44} {shown.format(result[key]):>15}   (target at most {target})")
        print(f"  {'its summary, s':<44} {result['summary_seconds']:>15.1f}")
        print(f"  {'peak memory of both, bytes':<44} {result['infer_memory']:>15,}")
        print("  100 rows: " + ", ".join(f"{k:,} labels {s:.3f} s" for k, s in result["growth"].items()))
    missed = any(result[key] > most for key, most in TARGETS.items())
    return int(arguments.check and missed)


if __name__ == "__main__":
    sys.exit(main())
