"""A charge against a ledger that already has 100,000 entries, next to one bare SQLite insert-and-commit.

    python benchmarks/ledger.py [--check] [--json] [--entries 100000] [--rounds 200]

The rival is ``INSERT INTO t (body) VALUES (?)`` and ``COMMIT`` with Python's own sqlite3, on a connection that stays
open and with SQLite's default settings. Ours is one ``ledger.charge``: lock, check of the newest entry, filter,
entry, totals, head, durable commit. The two take turns in files of the same folder, so that a slow disk slows both,
and medians are compared. The same is measured against a ledger that is nearly empty, because a charge must not grow
with the ledger; and a verification of everything, which grows linearly. Where files are kept in memory
(``TMPDIR=/dev/shm``) a commit is next to free, and the ratio is as bad as it gets.

``--check`` exits with 1 if the ratio misses its target.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.ledger.filters import Totals, added, guarantee_json, terms_of
from discreet.ledger.hash_chain import Entry

MOST_TIMES_SLOWER = 50.0
CHARGE = dc.PureDP("0.0001")


def fill(path: Path, n: int) -> None:
    """Make a ledger with ``n`` entries by the rules, but in one transaction: durable commits would take minutes."""
    ledger = dc.Ledger(f"sqlite:///{path}", budget=dc.ApproxDP(5, "1e-6"))
    ledger.open("clinic")
    terms, totals = terms_of(dc.ApproxDP(5, "1e-6")), Totals()
    with ledger._store.writing() as session:
        head = session.head()
        previous, sequence = head.hash, head.sequence
        while sequence < n - 1:
            sequence += 1
            content = {
                "dataset": "clinic",
                "analyst": None,
                "model": None,
                "guarantees": [guarantee_json(CHARGE)],
            }
            entry = Entry(ledger.id, sequence, "charge", "2026-01-01T00:00:00.000+00:00", previous, content)
            session.append(entry, None)
            previous, totals = entry.hash, added(terms, totals, [CHARGE])
        session.set_totals("clinic", "", totals)
    ledger.close()


def seconds_of(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measure(entries: int, rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder / "long.db", entries)
        fill(folder / "short.db", 10)
        ledgers = {size: dc.Ledger(f"sqlite:///{folder / size}.db") for size in ("long", "short")}
        bare = sqlite3.connect(folder / "bare.db")
        bare.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)")
        bare.commit()
        body = "x" * 400

        def insert() -> None:
            bare.execute("INSERT INTO t (body) VALUES (?)", (body,))
            bare.commit()

        seconds: dict[str, list[float]] = {"bare": [], "long": [], "short": []}
        for turn in range(rounds + 5):
            taken = {"bare": seconds_of(insert)}
            for size, ledger in ledgers.items():
                taken[size] = seconds_of(lambda ledger=ledger: ledger.charge("clinic", CHARGE))
            if turn >= 5:  # the first turns open connections
                for key, value in taken.items():
                    seconds[key].append(value)
        verified = seconds_of(lambda: sound(ledgers["long"]))
        for ledger in ledgers.values():
            ledger.close()
        bare.close()
    medians = {key: statistics.median(values) for key, values in seconds.items()}
    return {
        "schema": "discreet/benchmark-ledger/1",
        "entries": entries,
        "rounds": rounds,
        "seconds": medians,
        "ratio": medians["long"] / medians["bare"],
        "growth": medians["long"] / medians["short"],
        "verify_seconds": verified,
        "target_ratio": MOST_TIMES_SLOWER,
    }


def sound(ledger: dc.Ledger) -> None:
    found = ledger.verify()
    assert found.passed, found.problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 if the target is missed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    result = measure(arguments.entries, arguments.rounds)
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"median of {arguments.rounds}")
        for label, name in (
            ("bare insert and commit", "bare"),
            (f"charge, {arguments.entries:,} entries", "long"),
            ("charge, a few entries", "short"),
        ):
            print(f"  {label:<32} {1000 * result['seconds'][name]:8.2f} ms")
        print(
            f"  {'ratio to the bare insert':<32} {result['ratio']:8.1f}    (target at most {MOST_TIMES_SLOWER:g})"
        )
        print(f"  {'growth with the ledger':<32} {result['growth']:8.2f}")
        print(f"  {'verify everything':<32} {result['verify_seconds']:8.1f} s")
    return int(arguments.check and result["ratio"] > MOST_TIMES_SLOWER)


if __name__ == "__main__":
    sys.exit(main())
