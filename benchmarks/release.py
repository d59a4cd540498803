"""Complete releases of 100 million rows of Parquet next to DuckDB's bare aggregates, and how their time grows.

    python benchmarks/release.py [--check] [--json] [--growth] [--rounds 5] [--rows 100000000]

Three cases, each on the same file as its rival, which stays open and only adds up floating-point numbers (no bounds, no
policy for missing values, no order of addition that is always the same):

    rows     dc.Mean() of a column                      SELECT sum(x), sum(x * x), count(x)
    people   the sum of each person's rows first,       ... of (SELECT sum(x) ... GROUP BY person)
             5 million people
    groups   10,000 declared groups                     ... GROUP BY g

The column holds 1e300, infinities, NaN and NULL, and 6% of it lie outside the bounds. Release and rival take turns.
Seconds are the least of all rounds, by the wall and of processor time; the ratio that counts is that of processor time,
which other work on the machine disturbs least. Peak memory is that of a fresh process that makes one such release. The
slope is that of log seconds over log rows, from a hundredth of the rows to all of them.

``--growth`` measures rows, people, groups and statistics instead, as ``docs/explanation/scale.md`` has them.
``--check`` exits with 1 if a ratio, the memory or the slope misses its target. Files are made on the first run, in
``benchmarks/data/``; they take 1.7 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROWS, PEOPLE, GROUPS = 100_000_000, 5_000_000, 10_000
MOST_TIMES_SLOWER = {"rows": 2.0, "people": 2.5, "groups": 2.0}
MOST_MEMORY = 2_000_000_000
SLOPE = (0.9, 1.1)

DATA = Path(__file__).parent / "data"
X = """
    CASE WHEN i % 1000003 = 0 THEN 1e300
         WHEN i % 1000033 = 0 THEN 'inf'::DOUBLE
         WHEN i % 1000037 = 0 THEN '-inf'::DOUBLE
         WHEN i % 1000 = 1 THEN 'nan'::DOUBLE
         WHEN i % 100 = 0 THEN NULL
         ELSE hash(i) / 18446744073709551616.0 * 110 - 5 END"""
RIVALS = {
    "rows": "SELECT sum(x), sum(x * x), count(x) FROM '{path}'",
    "people": "SELECT sum(s), sum(s * s), count(s) FROM (SELECT sum(x) AS s FROM '{path}' GROUP BY person)",
    "groups": "SELECT g, sum(x), sum(x * x), count(x) FROM '{path}' GROUP BY g",
}


def rows_file(n: int, people: int = PEOPLE) -> Path:
    """Return a file of ``n`` rows, made if it is not there; the same values every time."""
    import duckdb

    DATA.mkdir(exist_ok=True)
    path = DATA / f"rows-{n}-{people}.parquet"
    if not path.exists():
        part = path.with_suffix(".part")
        connection = duckdb.connect()
        connection.execute("SET enable_progress_bar = false")
        connection.execute(
            f"COPY (SELECT {X} AS x, (hash(2 * i + 1) % {people})::BIGINT AS person, "
            f"(hash(3 * i + 7) % {GROUPS})::INTEGER AS g FROM range({n}) t(i)) TO '{part}' (FORMAT parquet)"
        )
        part.rename(path)
    return path


def release(case: str, path: Path, **changed: Any) -> Any:
    """Make the release of a case, everything included."""
    import discreet as dc

    arguments: dict[str, Any] = {"model": dc.Mean(), "column": "x", "bounds": (-3, 100), "epsilon": 1}
    if case == "people":
        arguments |= {"bounds": (-60, 2000), "row_bounds": (-3, 100), "unit": "person", "per_unit": "sum"}
    if case == "groups":
        arguments |= {"by": "g", "groups": [str(i) for i in range(GROUPS)]}
    return dc.release(path, **(arguments | changed))


def clocked(action: Callable[[], Any]) -> np.ndarray:
    """Return the seconds of an action, by the wall and of processor time."""
    wall, processor = time.perf_counter(), time.process_time()
    action()
    return np.array([time.perf_counter() - wall, time.process_time() - processor])


def in_turn(rounds: int, **actions: Callable[[], Any]) -> dict[str, list[float]]:
    """Return the least seconds of each action, wall and processor; the first turn, which warms up, does not count."""
    seconds: dict[str, list[np.ndarray]] = {name: [] for name in actions}
    for turn in range(rounds + 1):
        for name, action in actions.items():
            taken = clocked(action)
            if turn:
                seconds[name].append(taken)
    return {name: np.min(taken, axis=0).tolist() for name, taken in seconds.items()}


def peak_memory(case: str, n: int) -> int:
    """Return the bytes that a process needs at most, from its start to the end of one release."""
    command = [sys.executable, __file__, "--once", case, "--rows", str(n)]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(said.stdout)


def once(case: str, n: int) -> int:
    release(case, rows_file(n))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak if sys.platform == "darwin" else peak * 1024)
    return 0


def slope(counts: list[int], seconds: list[float]) -> float:
    return float(np.polyfit(np.log(counts), np.log(seconds), 1)[0])


def measure(rounds: int, n: int) -> dict[str, Any]:
    import duckdb

    connection, path = duckdb.connect(), rows_file(n)
    connection.execute("SET enable_progress_bar = false")
    cases: dict[str, Any] = {}
    for case, rival in RIVALS.items():
        text = rival.format(path=path)
        taken = in_turn(
            rounds if case == "rows" else max(1, rounds // 2),
            bare=lambda text=text: connection.sql(text).fetchall(),
            release=lambda case=case: release(case, path),
        )
        wall, processor = (
            mine / theirs for mine, theirs in zip(taken["release"], taken["bare"], strict=True)
        )
        cases[case] = {
            "seconds": taken,
            "ratio": processor,
            "wall_ratio": wall,
            "most": MOST_TIMES_SLOWER[case],
            "peak_memory": peak_memory(case, n),
        }
    counts = [n // 100, n // 10, n]
    grown = [in_turn(rounds, release=lambda m=m: release("rows", rows_file(m)))["release"][1] for m in counts]
    return {
        "schema": "discreet/benchmark-release/2",
        "rows": n,
        "rounds": rounds,
        "cases": cases,
        "growth": {"rows": counts, "processor_seconds": grown, "slope": slope(counts, grown)},
        "most_memory": MOST_MEMORY,
    }


def growth(rounds: int, n: int) -> dict[str, list[tuple[Any, ...]]]:
    """Return wall and processor seconds as rows, people, groups and statistics grow, each at fixed other numbers."""
    import discreet as dc

    middle = rows_file(n // 10)
    numbers = {"person": (0, PEOPLE), "g": (0, GROUPS), "x": (-3, 100)}

    def moments(d: int) -> dict[str, Any]:
        names = ["x", "g", "person"][:d]
        return {
            "model": dc.MultivariateNormal(d) if d > 1 else dc.Normal(),
            "column": None,
            "columns": names,
            "bounds": [numbers[name] for name in names],
        }

    tried: dict[str, dict[str, Callable[[], Any]]] = {
        "rows": {
            f"{m:,}": lambda m=m: release("rows", rows_file(m)) for m in (n // 1000, n // 100, n // 10, n)
        },
        "people": {
            f"{k:,}": lambda k=k: release("people", rows_file(n // 10, k))
            for k in (10_000, 100_000, 1_000_000)
        },
        "groups": {
            f"{k:,}": lambda k=k: release(
                "groups", middle, by="person", groups=[str(i) for i in range(k)], neighbors="add_remove"
            )
            for k in (10, 1_000, 10_000, 100_000)
        },
        "statistics": {
            **{
                f"{d + d * (d + 1) // 2 + 1} (moments of {d})": lambda d=d: release(
                    "rows", middle, **moments(d)
                )
                for d in (1, 2, 3)
            },
            **{
                f"{k} (bins of a histogram)": lambda k=k: release("rows", middle, model=dc.Histogram(bins=k))
                for k in (16, 1024)
            },
        },
    }
    return {
        what: [(name, *in_turn(rounds, it=action)["it"]) for name, action in actions.items()]
        for what, actions in tried.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--growth", action="store_true", help="measure growth instead, as Markdown")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--once", choices=list(RIVALS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        return once(arguments.once, arguments.rows)
    if arguments.growth:
        for what, lines in growth(arguments.rounds, arguments.rows).items():
            print(f"| {what} | seconds | of processor time |\n|---:|---:|---:|")
            print("".join(f"| {name} | {wall:.2f} | {processor:.2f} |\n" for name, wall, processor in lines))
        return 0
    result = measure(arguments.rounds, arguments.rows)
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"{arguments.rows:,} rows, least of {arguments.rounds} rounds; seconds: wall, processor")
        for case, found in result["cases"].items():
            bare, mine = found["seconds"]["bare"], found["seconds"]["release"]
            print(
                f"  {case:<7} bare {bare[0]:6.2f} {bare[1]:6.2f}   release {mine[0]:6.2f} {mine[1]:6.2f}   "
                f"ratio {found['ratio']:.2f} of processor time, at most {found['most']:g} "
                f"({found['wall_ratio']:.2f} by the wall), {found['peak_memory'] / 1e6:.0f} MB"
            )
        print(f"  slope of log seconds over log rows: {result['growth']['slope']:.3f} (within {SLOPE})")
    missed = (
        any(
            found["ratio"] > found["most"] or found["peak_memory"] > MOST_MEMORY
            for found in result["cases"].values()
        )
        or not SLOPE[0] <= result["growth"]["slope"] <= SLOPE[1]
    )
    return int(arguments.check and missed)


if __name__ == "__main__":
    sys.exit(main())
