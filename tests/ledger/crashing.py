"""Kill a curator again and again: ``python crashing.py URL FOLDER KILLS SEED`` prints what was found, as JSON.

Everything is imported once; each attempt is a fork that releases into a file of its own and is killed at a random
moment. Half of the moments count from the start of the release or of its charge, and half from the end of the charge,
which the attempt reports through a pipe, so that all phases are hit. Where an attempt was when it died is read off the
ledger and the folder.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from pathlib import Path

import pandas  # noqa: F401 (what a release would import when it reads rows)

import discreet as dc
import discreet.curator.publish
import discreet.data.sources.opening
import discreet.ledger.verify
from discreet.ledger import ledger as module
from discreet.samplers.secure import _opendp

ROWS = {"smoker": ["yes", "no", None, "yes"] * 5}


def attempt(url: str, path: Path, report: int) -> None:
    """Release into a file, and say when the charge is made."""
    charge = module.Ledger.charge

    def reporting(self, *parts, **words):  # type: ignore[no-untyped-def]
        os.write(report, b"r")
        made = charge(self, *parts, **words)
        os.write(report, b"c")
        return made

    module.Ledger.charge = reporting  # type: ignore[method-assign]
    ledger = dc.Ledger(url)
    made = dc.release(ROWS, dc.Bernoulli(), column="smoker", epsilon=0.01, ledger=ledger, dataset="clinic")
    made.save(path)


def run(url: str, path: Path, moment: str | None, delay: float) -> tuple[float, float]:
    """Fork an attempt and kill it ``delay`` after ``moment``; return when it charged and when it ended."""
    read, write = os.pipe()
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            attempt(url, path, write)
        finally:
            os._exit(0)
    os.close(write)
    seen, charged = b"", 0.0
    deadline = start + delay if moment == "start" else None
    while True:
        if moment is not None and deadline is None and seen[-1:] == moment[:1].encode():
            deadline = time.monotonic() + delay
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([read], [], [], wait)
        if not ready:
            os.kill(child, signal.SIGKILL)
            break
        got = os.read(read, 1)
        if not got:
            break
        seen += got
        if got == b"c":
            charged = time.monotonic() - start
    os.waitpid(child, 0)
    os.close(read)
    return charged, time.monotonic() - start


def look(url: str, files: list[Path]) -> tuple[dict[str, int], list[str]]:
    """Open the ledger again, verify it against the files, and count its entries."""
    ledger = dc.Ledger(url)
    found = ledger.verify(against=files)
    kinds = [entry.kind for entry in ledger.entries()]
    counts = {kind: kinds.count(kind) for kind in ("charge", "released")}
    problems = list(found.problems)
    if ledger.account("clinic").totals.charges != counts["charge"]:
        problems.append("charges and totals differ")
    ledger.close()
    return counts, problems


def main(url: str, folder: Path, kills: int, seed: int) -> dict[str, object]:
    _opendp()
    rng = random.Random(seed)
    dc.Ledger(url, budget=dc.PureDP(1000)).close()
    # how long the phases take here and now, undisturbed; the first one warms up
    times = [run(url, folder / f"warm-{i}.json", None, 0.0) for i in range(6)][1:]
    whole = min(end for _, end in times)
    after = min(end - charged for charged, end in times)
    where = dict.fromkeys(("before the charge", "charged, not noted", "noted, not saved", "saved"), 0)
    problems: list[str] = []
    before, _ = look(url, [])
    for k in range(kills):
        path = folder / f"{k}.json"
        moment, longest = (
            ("start", 1.5 * whole),
            ("r", 1.5 * after),
            ("c", 0.9 * after),
            ("c", 1.5 * after),
        )[k % 4]
        run(url, path, moment, rng.uniform(0, longest))
        counts, wrong = look(url, [path] if path.exists() else [])
        problems += wrong
        charged, noted = (counts[kind] - before[kind] for kind in ("charge", "released"))
        if not (0 <= noted <= charged <= 1) or (path.exists() and not noted):
            problems.append(f"attempt {k}: {charged} charges, {noted} noted, file {path.exists()}")
        stage = (charged > 0) + (noted > 0) + path.exists()
        where[list(where)[stage]] += 1
        if moment == "c":
            # how fast the machine is changes: aim earlier after a kill that came too late, later after one that did not
            after *= 0.8 if stage == 3 else 1.15
        before = counts
    _, wrong = look(url, sorted(folder.glob("[0-9]*.json")))
    return {"where": where, "problems": problems + wrong}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
