"""Whatever the address of a ledger is, it is refused in one line, or leads to one file that cannot be overspent.

Two programs are given an address, or two spellings of one file, at the same moment. Which file they use, what it holds
and whether they wait for its lock is found out without the library, by SQLite itself.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import discreet as dc
from tests.hostile.addresses import KNOWN, PASSWORD, lay_out, pair

PROGRAM = Path(__file__).with_name("address_worker.py")
#: Charges of 0.4 that a budget of 1 allows.
MOST = 2


class Worker:
    """A program that lives through many addresses."""

    def __init__(self) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen([sys.executable, str(PROGRAM)], text=True, **pipes)

    def tell(self, *words: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        with self._process:
            self._process.kill()


def together(workers: list[Worker], *requests: tuple[object, ...]) -> list[dict[str, Any]]:
    """Ask all workers at the same moment."""
    for worker, request in zip(workers, requests, strict=True):
        worker.tell(*request)
    return [worker.answer() for worker in workers]


@dataclass
class Findings:
    """What became of many addresses."""

    taken: int = 0
    refused: int = 0
    raw: list[str] = field(default_factory=list)
    overspent: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)

    def wrong(self) -> list[str]:
        return [*self.raw, *self.overspent, *self.problems]


def ledgers_in(folder: Path) -> dict[str, list[Path]]:
    """Return which real files hold which ledgers."""
    found: dict[str, list[Path]] = {}
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            if path.is_symlink() or not path.is_file():
                continue
            with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
                try:
                    rows = connection.execute("SELECT ledger FROM discreet_head").fetchall()
                except sqlite3.DatabaseError:
                    continue
            for (ledger,) in rows:
                found.setdefault(ledger, []).append(path)
    return found


def recorded(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        bodies = [json.loads(body) for (body,) in connection.execute("SELECT body FROM discreet_entries")]
    return sum(body["kind"] == "charge" for body in bodies)


def listed(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*")}


def judge(workers: list[Worker], folder: Path, urls: tuple[str, str], one: bool, found: Findings) -> None:
    """Give two programs an address each, and note what is wrong."""
    root, case = folder.parent, f"{urls!r}"
    before = listed(root)
    answers = together(workers, *(("open", str(folder), url) for url in urls))
    for answer in answers:
        if "raw" in answer:
            found.raw.append(f"{case}: {answer['raw']}")
        elif "refused" in answer:
            found.refused += 1
            found.words[f"{answer['kind']}: {answer['refused'].partition(':')[0][:60]}"] += 1
            if len(answer["refused"].splitlines()) != 1 or not answer["refused"].isprintable():
                found.problems.append(f"{case}: not one line")
            if PASSWORD in f"{answer['refused']} {answer['hint']}":
                found.problems.append(f"{case}: the password is shown")
        else:
            found.taken += 1
    users = [k for k, answer in enumerate(answers) if "ledger" in answer]
    if not users:
        if listed(root) - before:
            found.problems.append(f"{case}: refused, and a file was made")
        return
    ledgers, active, where = (
        {answers[k]["ledger"] for k in users},
        [workers[k] for k in users],
        ledgers_in(root),
    )
    if one and len(ledgers) > 1:
        found.problems.append(f"{case}: two ledgers")
    for ledger in ledgers:
        if len(where.get(ledger, ())) != 1:
            found.problems.append(f"{case}: the ledger is in {len(where.get(ledger, ()))} files")
    files = {path for ledger in ledgers for path in where.get(ledger, ())}
    granted = 0
    # while another program holds the lock of the file, nobody may be granted anything
    holders = [sqlite3.connect(path, isolation_level=None) for path in files]
    for holder in holders:
        holder.execute("BEGIN IMMEDIATE")
    for answer in together(active, *(("probe", urls[k]) for k in users)):
        granted += answer.get("granted", 0)
        if "in use" not in answer.get("refused", ""):
            found.problems.append(f"{case}: a lock was ignored: {answer}")
    for holder in holders:
        holder.close()
    # all at once, then again after opening again
    for again in (False, True):
        if again:
            together(active, *[("close",)] * len(active))
            together(active, *(("open", str(folder), urls[k]) for k in users))
        for answer in together(active, *[("charge",)] * len(active)):
            granted += answer.get("granted", 0)
            if "raw" in answer or "refused" in answer:
                found.problems.append(f"{case}: a charge failed: {answer}")
    if one and granted > MOST:
        found.overspent.append(f"{case}: {granted} charges of 0.4 granted")
    if sum(recorded(path) for path in files) != granted or (one and granted < MOST):
        found.problems.append(
            f"{case}: {granted} charges granted, recorded {[recorded(path) for path in files]}"
        )
    for k, answer in zip(users, together(active, *(("audit", urls[k]) for k in users)), strict=True):
        if answer.get("problems") != []:
            found.problems.append(f"{urls[k]!r}: the audit found {answer}")
    together(active, *[("close",)] * len(active))


def sweep(workers: list[Worker], folder: Path, cases: list[tuple[str, str, bool]]) -> Findings:
    found = Findings()
    for first, second, one in cases:
        lay_out(folder)
        judge(workers, folder, (first, second), one, found)
        shutil.rmtree(folder.parent)
    return found


@contextmanager
def two_programs() -> Iterator[list[Worker]]:
    made = [Worker(), Worker()]
    try:
        yield made
    finally:
        for worker in made:
            worker.end()


def generated(rng: np.random.Generator, folder: Path, n: int) -> list[tuple[str, str, bool]]:
    chance = random.Random(int(rng.integers(2**32)))
    return [pair(chance, folder) for _ in range(n)]


@pytest.fixture
def workers() -> Iterator[list[Worker]]:
    with two_programs() as made:
        yield made


def test_addresses_are_refused_or_lead_to_one_file_and_a_planted_way_around_is_caught(
    workers: list[Worker], tmp_path: Path, rng: np.random.Generator
) -> None:
    folder = tmp_path / "all" / "here"
    known = [(url.format(folder=folder), url.format(folder=folder), True) for url in KNOWN]
    found = sweep(workers, folder, known + generated(rng, folder, 20))
    assert found.wrong() == []
    assert found.taken >= 8
    assert found.refused >= 15
    # control: SQLAlchemy reads the address, as it once did
    together(workers, ("plant",), ("plant",))
    lies = []
    for url, _, _ in known:
        lay_out(folder)
        dc.Ledger(f"sqlite:///{folder}/m.db", budget=dc.PureDP(1)).close()
        lies.append(Findings())
        judge(workers, folder, (url, url), True, lies[-1])
        shutil.rmtree(folder.parent)
    assert [lie.taken for lie in lies] == [2, 2, 2]
    assert len(lies[0].overspent) == 1
    for lie, words in zip(lies, ("in 0 files", "a lock was ignored", "a lock was ignored"), strict=True):
        assert any(words in problem for problem in lie.problems)


@pytest.mark.slow
def test_ten_thousand_addresses(tmp_path: Path, rng: np.random.Generator) -> None:
    """In a few lanes, since most of the time is spent on waiting for the disk."""
    lanes, start = 4, time.monotonic()
    folders = [tmp_path / f"lane-{lane}" / "here" for lane in range(lanes)]
    cases = [generated(rng, folder, 10_000 // lanes) for folder in folders]

    def lane(folder: Path, own: list[tuple[str, str, bool]]) -> Findings:
        with two_programs() as workers:
            return sweep(workers, folder, own)

    with ThreadPoolExecutor(lanes) as pool:
        found = list(pool.map(lane, folders, cases))
    taken, refused = sum(one.taken for one in found), sum(one.refused for one in found)
    distinct = len({url for own in cases for first, second, _ in own for url in (first, second)})
    print(f"{distinct} addresses; taken {taken}, refused {refused}, in {time.monotonic() - start:.0f} s")
    for word, times in sum((one.words for one in found), Counter()).most_common():
        print(f"{times:6} {word}")
    assert [wrong for one in found for wrong in one.wrong()] == []
    assert taken >= 4_000
    assert refused >= 8_000
