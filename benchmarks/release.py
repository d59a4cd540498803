"""A complete ``dc.release`` of 30 million rows next to DuckDB's bare sums, side by side.

    python benchmarks/release.py [--check] [--json] [--rounds 9]

The rival is ``SELECT SUM(x), SUM(x * x)`` on a clean Parquet file, on a connection that stays open: floating-point
sums, no bounds, nothing missing. Ours is one call of ``dc.release(path, dc.Normal(), ...)``, everything included, on a
file of the same size that also holds 1e300, infinities, NaN and NULL. The two take turns, so that a busy machine slows
both, and medians are compared. Peak memory is that of a fresh process that makes one such release.

``--check`` exits with 1 if the ratio or the memory misses its target. The files are made on the first run, in
``benchmarks/data/``.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROWS = 30_000_000
MOST_TIMES_SLOWER = 6.0
MOST_MEMORY = 1_000_000_000

DATA = Path(__file__).parent / "data"
CLEAN, DIRTY = DATA / "clean.parquet", DATA / "dirty.parquet"
USUAL = "random() * 110 - 5"
UNUSUAL = f"""
    CASE WHEN i % 1000003 = 0 THEN 1e300
         WHEN i % 1000033 = 0 THEN 'inf'::DOUBLE
         WHEN i % 1000037 = 0 THEN '-inf'::DOUBLE
         WHEN i % 1000 = 1 THEN 'nan'::DOUBLE
         WHEN i % 100 = 0 THEN NULL
         ELSE {USUAL} END"""


def make_files() -> None:
    import duckdb

    DATA.mkdir(exist_ok=True)
    connection = duckdb.connect(config={"threads": 1})  # one thread, so that the seed fixes every value
    for path, value in ((CLEAN, USUAL), (DIRTY, UNUSUAL)):
        if not path.exists():
            connection.execute("SELECT setseed(0.5)")
            part = path.with_suffix(".part")
            connection.execute(
                f"COPY (SELECT {value} AS x FROM range({ROWS}) t(i)) TO '{part}' (FORMAT parquet)"
            )
            part.rename(path)


def release() -> Any:
    import discreet as dc

    return dc.release(DIRTY, dc.Normal(), column="x", bounds=(-3, 100), epsilon=1)


def seconds_of(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def peak_memory() -> int:
    """Return the bytes that a process needs at most, from its start to the end of one release."""
    subprocess.run([sys.executable, __file__, "--once"], check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def measure(rounds: int) -> dict[str, Any]:
    import duckdb

    # first, while this process has no other children
    memory = peak_memory()
    connection = duckdb.connect()
    query = f"SELECT SUM(x), SUM(x * x) FROM '{CLEAN}'"

    def bare() -> Any:
        return connection.sql(query).fetchall()

    seconds: dict[str, list[float]] = {"duckdb": [], "discreet": []}
    for turn in range(rounds + 1):
        one, other = seconds_of(bare), seconds_of(release)
        if turn:  # the first turn imports and warms the file cache
            seconds["duckdb"].append(one)
            seconds["discreet"].append(other)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        "schema": "discreet/benchmark-release/1",
        "rows": ROWS,
        "rounds": rounds,
        "seconds": medians,
        "fastest": {name: min(values) for name, values in seconds.items()},
        "ratio": medians["discreet"] / medians["duckdb"],
        "target_ratio": MOST_TIMES_SLOWER,
        "peak_memory": memory,
        "target_memory": MOST_MEMORY,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        release()
        return 0
    make_files()
    result = measure(arguments.rounds)
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"{ROWS:,} rows, median of {arguments.rounds} (fastest)")
        for label, name in (
            ("SELECT SUM(x), SUM(x*x), clean file", "duckdb"),
            ("dc.release, dirty file", "discreet"),
        ):
            print(f"  {label:<38} {result['seconds'][name]:7.3f} s  ({result['fastest'][name]:.3f} s)")
        print(f"  {'ratio':<38} {result['ratio']:7.2f}    (target at most {MOST_TIMES_SLOWER:g})")
        print(
            f"  {'peak memory of one release':<38} {result['peak_memory'] / 1e6:7.0f} MB (target at most 1000 MB)"
        )
    missed = result["ratio"] > MOST_TIMES_SLOWER or result["peak_memory"] > MOST_MEMORY
    return int(arguments.check and missed)


if __name__ == "__main__":
    sys.exit(main())
