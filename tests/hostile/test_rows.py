"""No function that takes rows shows one: not in an error, a warning, a log, on the screen."""

from __future__ import annotations

import collections
import logging
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.data.sources import conceal, memory
from discreet.errors import UsageError
from tests.hostile.entries import ENTRIES, command_line
from tests.hostile.objects import NEEDLES, WORD
from tests.hostile.rows import build
from tests.hostile.watch import Seen, printed, watch

#: Every how many inputs a table is also read with another value in the place of the canary.
TWINS = 3


def inputs(base: int, count: int) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Yield entry, container and seed, all pairs of entry and container in turn."""
    pairs = [(entry, container) for entry, given in ENTRIES.items() for container in given.containers]
    rng = np.random.default_rng(base)
    order: list[int] = []
    for i in range(count):
        if not order:
            order = rng.permutation(len(pairs)).tolist()
        entry, container = pairs[order.pop()]
        yield entry, container, (base, i)


def run(entry: str, container: str, seed: tuple[int, int], folder: Path, *, twin: bool = False) -> Seen:
    given = ENTRIES[entry]
    rows = build(seed, container, given.names, folder, twin=twin)
    return watch(lambda: given.call(rows), strict=given.strict and seed[1] % 2 == 1)


def steady(entry: str, container: str) -> bool:
    """Tell whether no value of a record may change what happens."""
    given = ENTRIES[entry]
    return given.steady and not (given.shaped and container == "rows")


def sweep(base: int, count: int, folder: Path) -> tuple[list[str], collections.Counter[str]]:
    """Run inputs; return what was wrong, and how often what happened."""
    wrong: list[str] = []
    tally: collections.Counter[str] = collections.Counter()
    with printed() as screen:
        for i, (entry, container, seed) in enumerate(inputs(base, count)):
            try:
                build(seed, container, ENTRIES[entry].names, folder, twin=False)
            except Exception:  # the library of this container fails on what it is to hold, before we see it
                tally["not built"] += 1
                continue
            seen = run(entry, container, seed, folder)
            tally["inputs"] += 1
            tally["released" if seen.error is None else "refused"] += 1
            where = f"{entry} of {container} {seed}"
            wrong += [f"{where}: {problem}" for problem in seen.problems()]
            if steady(entry, container) and i % TWINS == 0:
                tally["twins"] += 1
                other = run(entry, container, seed, folder, twin=True)
                if seen.outcome != other.outcome.replace("-twin", ""):
                    wrong.append(f"{where}: one value decides: {seen.outcome!r} or {other.outcome!r}")
    if screen[0]:
        wrong.append(f"printed: {screen[0][:500]!r}")
    return wrong, tally


def test_no_input_shows_a_row(tmp_path: Path) -> None:
    wrong, tally = sweep(20_260_101, 40, tmp_path)
    assert wrong == []
    # neither everything refused nor everything taken
    assert min(tally["released"], tally["refused"]) > tally["inputs"] / 10


@pytest.mark.slow
def test_twenty_thousand_hostile_inputs(tmp_path: Path) -> None:
    start = time.perf_counter()
    wrong, tally = sweep(int(os.environ.get("HOSTILE_SEED", "481516")), 20_200, tmp_path)
    print(f"{dict(tally)}, {len(wrong)} wrong, {time.perf_counter() - start:.0f} s")
    assert wrong == []
    assert tally["not built"] < 0.02 * tally["inputs"]


@pytest.mark.parametrize("seed", range(4))
def test_the_command_line_shows_no_row(seed: int, tmp_path: Path) -> None:
    path = build((7, seed), "text file" if seed % 2 else "parquet", ["x"], tmp_path, twin=False)
    code, shown = command_line(path)
    assert code in (0, 1, 2)
    assert not any(needle in shown for needle in NEEDLES)
    assert "Traceback" not in shown


# -- controls: what the sweep must find ---------------------------------------------------------------


def _raises(values: list[Any], need: Any) -> Any:
    raise ValueError(f"could not convert {values[0]!r}")


def _quotes(values: list[Any], need: Any) -> Any:
    raise UsageError(f"cannot read {WORD}.")


def _warns(values: list[Any], need: Any) -> Any:
    warnings.warn(f"{WORD} is odd", stacklevel=1)
    return READ(values, need)


def _prints(values: list[Any], need: Any) -> Any:
    os.write(2, WORD.encode())
    return READ(values, need)


def _logs(values: list[Any], need: Any) -> Any:
    logging.getLogger("discreet").debug("read %s", WORD)
    return READ(values, need)


def _chooses(values: list[Any], need: Any) -> Any:
    if not all(value is None or type(value) in (bool, int, float, str) for value in values):
        raise UsageError("something is wrong with the data.")
    return READ(values, need)


READ = memory.read_objects


@pytest.mark.parametrize(
    ("leak", "concealed", "found"),
    [
        (_raises, False, "raw ValueError"),
        (_quotes, True, "canary"),
        (_warns, False, "warning UserWarning"),
        (_prints, True, "printed"),
        (_logs, True, "canary"),
        (_chooses, True, "one value decides"),
    ],
)
def test_planted_leaks_are_found(
    leak: Any, concealed: bool, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "read_objects", leak)
    if not concealed:
        monkeypatch.setattr(conceal, "run_concealed", lambda action, message="": action())
    entry = "Normal"
    wrong: list[str] = []
    with printed() as screen:
        for i in range(12):
            seen, other = (run(entry, "rows", (3, 2 * i), tmp_path, twin=twin) for twin in (False, True))
            wrong += seen.problems()
            if seen.outcome != other.outcome:
                wrong.append("one value decides")
    wrong += ["printed"] if screen[0] else []
    assert any(problem.startswith(found) for problem in wrong)


@pytest.mark.parametrize("leak", [_raises, _warns])
def test_the_seal_stops_what_a_reader_says(
    leak: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "read_objects", leak)
    for i in range(5):
        assert run("Normal", "rows", (3, i), tmp_path).problems() == []
