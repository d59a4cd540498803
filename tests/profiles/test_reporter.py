"""Reports over time: the sum of new ones, the same one for one observation, and a memory that survives."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from fractions import Fraction
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.errors import BudgetError, DataError, DiscreetError, UsageError
from discreet.profiles import Bins, FittedMechanism, ProfileGraph, Reporter, SmoothCategorical, reporter
from discreet.profiles.reporter import held, read_memory

BINS = Bins([0, 10, 20, 50])
GRAPH = ProfileGraph(
    {"low": ["0.7", "0.2", "0.1"], "high": ["0.2", "0.3", "0.5"]}, "complete", categories=BINS.categories
)


@pytest.fixture(scope="module")
def mechanism() -> FittedMechanism:
    return SmoothCategorical().fit(GRAPH, "0.5")


def test_bins() -> None:
    assert BINS.labels([0, 9.99, 10, 19.999, 20, 49, 50, 1e9, -3, None, "x"]) == [
        *["0 to 10"] * 2, *["10 to 20"] * 2, *["20 to 50"] * 4, "0 to 10", None, None,
    ]  # fmt: skip
    for bad in ([], [0, 1], [0, 2, 1], [0, 0, 1], "012", [0, "a", 2], None, [0, float("inf"), 2]):
        with pytest.raises(UsageError):
            Bins(bad)  # pyright: ignore[reportArgumentType]


def test_new_observations_add_up_and_the_budget_holds(mechanism: FittedMechanism, tmp_path: Path) -> None:
    memory = tmp_path / "device.json"
    one = Reporter(mechanism, "low", "1.2", memory, BINS)
    first = one.report(3, "monday")
    assert {one.report(40, "monday") for _ in range(50)} == {first}
    assert one.spent == Fraction(1, 2)
    one.report(12, "tuesday")
    assert one.guarantee.epsilon == 1
    with pytest.raises(BudgetError, match=r"1\.5, and the budget is 1\.2"):
        one.report(12, "wednesday")
    again = Reporter(mechanism, "low", "1.2", memory, BINS)
    assert again.spent == 1
    assert again.report(49, "monday") == first
    with pytest.raises(BudgetError):
        again.report(12, "wednesday")
    assert again.spent == 1


@pytest.mark.parametrize("writes", [0, 1])
def test_an_interrupted_report_is_charged_once_and_no_second_one_is_seen(
    writes: int, mechanism: FittedMechanism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "device.json"
    one = Reporter(mechanism, "low", 1, memory, BINS)
    real, left = reporter.write_memory, [writes]

    def failing(content: Any, path: Path) -> None:
        if not left[0]:
            raise DataError("the disk is full.")
        left[0] -= 1
        real(content, path)

    monkeypatch.setattr(reporter, "write_memory", failing)
    for _ in range(3):
        with pytest.raises(DataError):
            one.report(3, "monday")
        # what is not written is not sent, and what was written is not forgotten
        left[0] = 0
    monkeypatch.setattr(reporter, "write_memory", real)
    again = Reporter.load(memory, mechanism)
    assert again.spent == Fraction(writes, 2)
    sent = again.report(3, "monday")
    assert {one.report(3, "monday") for _ in range(20)} == {sent}
    assert one.spent == Fraction(1, 2)


def test_several_programs_share_one_budget(mechanism: FittedMechanism, tmp_path: Path) -> None:
    memory = tmp_path / "device.json"
    ones = [Reporter(mechanism, "low", 5, memory, BINS) for _ in range(4)]
    sent: dict[str, set[Any]] = {}
    refused = []

    def send(one: Reporter) -> None:
        for day in range(12):
            try:
                report = one.report(3, str(day))
                sent.setdefault(str(day), set()).add(report)
            except BudgetError:
                refused.append(day)

    threads = [Thread(target=send, args=[one]) for one in ones]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(len, sent.values())) == [1] * 10
    assert len(refused) == 8
    assert {one.spent for one in ones} == {5}
    assert {one.left for one in ones} == {0}


_SENDING = """
import random, sys
from discreet.errors import BudgetError
from discreet.profiles import FittedMechanism, Reporter

one = Reporter.load("device.json", FittedMechanism.load("mechanism.json"))
while True:
    key = str(random.randrange(40))
    try:
        print(key, one.report(3, key), sep=",", flush=True)
    except BudgetError:
        pass
"""


@pytest.mark.slow
def test_programs_that_are_killed_spend_once_and_send_one_report(
    mechanism: FittedMechanism, tmp_path: Path, rng: np.random.Generator
) -> None:
    mechanism.save(tmp_path / "mechanism.json")
    Reporter(mechanism, "low", 15, tmp_path / "device.json", BINS)
    seen: dict[str, set[str]] = {}
    for _ in range(8):
        started = [
            subprocess.Popen(
                [sys.executable, "-c", _SENDING], cwd=tmp_path, stdout=subprocess.PIPE, text=True
            )
            for _ in range(3)
        ]
        # until each has sent something, and then a moment that nobody chose
        lines = [one.stdout.readline() for one in started if one.stdout is not None]
        time.sleep(float(rng.uniform(0, 0.1)))
        for one in started:
            one.kill()
            lines += one.communicate()[0].splitlines()
        for line in lines:
            # the last line may be cut off
            key, _, report = line.strip().partition(",")
            if report in BINS.categories:
                seen.setdefault(key, set()).add(report)
    assert {len(reports) for reports in seen.values()} == {1}
    after = Reporter.load(tmp_path / "device.json", mechanism)
    assert len(seen) <= after.spent / mechanism.epsilon <= 30
    assert len(seen) > 5


def test_a_device_is_held_while_it_reports(mechanism: FittedMechanism, tmp_path: Path) -> None:
    memory = tmp_path / "device.json"
    one = Reporter(mechanism, "low", 1, memory, BINS)
    killed, other = (
        tmp_path / f".{name}.0123456789abcdef.part" for name in ("device.json", "device.json.bak")
    )
    killed.touch()
    other.touch()
    waiting = Thread(target=one.report, args=[3, "monday"])
    with held(memory):
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        assert read_memory(memory).spent == 0
    waiting.join()
    assert (killed.exists(), other.exists()) == (False, True)
    assert one.spent == Fraction(1, 2)
    assert memory.stat().st_mode & 0o777 == 0o600


def test_a_device_is_one_persons_and_keeps_its_budget(mechanism: FittedMechanism, tmp_path: Path) -> None:
    memory = tmp_path / "device.json"
    Reporter(mechanism, "low", 1, memory, BINS).report(3, "monday")
    for change, words in (
        (lambda: Reporter(mechanism, "high", 1, memory, BINS), "another profile"),
        (lambda: Reporter(mechanism, "low", 2, memory, BINS), "the budget of this device is 1"),
        (lambda: Reporter(mechanism, "low", 1, memory), "other bins"),
    ):
        with pytest.raises(UsageError, match=words):
            change()
    again = Reporter.load(memory, mechanism)
    assert (again.profile, again.epsilon, again.bins, again.left) == ("low", 1, BINS, 1)
    assert "So far: 1 report, epsilon = 0.5." in again.statement()
    assert "low" not in again.statement()
    # a file that is gone is not begun anew
    memory.unlink()
    for lost in (lambda: again.report(3, "tuesday"), lambda: Reporter.load(memory, mechanism)):
        with pytest.raises(DataError, match="no such file"):
            lost()


def test_the_sum_is_what_two_reports_lose_and_one_observation_twice_is_no_sum(
    mechanism: FittedMechanism,
) -> None:
    out = mechanism.outputs
    two = {y: np.array([out[i, y[0]] * out[i, y[1]] for i in (0, 1)]) for y in product(range(3), repeat=2)}
    worst = max(abs(np.log(p[0] / p[1])) for p in two.values())
    assert 0.99 < worst <= 1.0
    # the control: one more than the budget of 1 allows
    three = np.einsum("ia,ib,ic->iabc", out, out, out)
    assert abs(np.log(three[0] / three[1])).max() > 1.4
    # the control: one observation reported twice, each time drawn anew, loses more than the sum
    flip = ProfileGraph({"fair": [0.5, 0.5], "one": [0.0, 1.0]}, "complete")
    whole = 2**62
    table = np.array([[[whole, 0], [0, whole]], [[whole // 2, whole // 2], [whole // 2, whole // 2]]])
    silent = FittedMechanism(flip, Fraction(0), "by_hand", table)
    apart = [
        float(flip.probabilities[i] @ (silent.matrices[i][:, 0] * silent.matrices[i][:, 1])) for i in (0, 1)
    ]
    assert apart == [0.0, 0.25]
    one = Reporter(silent, "one", 0)
    assert len({one.report(1, "monday") for _ in range(40)}) == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, p: Reporter(m, "nobody", 1), "profile"),
        (lambda m, p: Reporter(m, "low", -1), "epsilon"),
        (lambda m, p: Reporter("m", "low", 1), "mechanism"),  # pyright: ignore[reportArgumentType]
        (lambda m, p: Reporter(m, "low", 1, None, Bins([0, 1, 2])), "bins are not"),
        (lambda m, p: Reporter(m, "low", 1).report("0 to 10", ""), "key must be"),
        (lambda m, p: Reporter(m, "low", 1).report("0 to 10", "x" * 201), "key must be"),
        (lambda m, p: Reporter(m, "low", 1).report("0 to 10", "a\nb"), "key must be"),
        (lambda m, p: Reporter(m, "low", "0.4"), "one report costs 0.5, more than the budget"),
        (lambda m, p: Reporter(m, "low", 1, p), "folder|Is a directory|cannot"),
        (lambda m, p: Reporter(m, "low", 1, p / "no" / "device.json"), "cannot write"),
        (lambda m, p: Reporter(m, "low", 1).report(3, "monday"), "none of the categories"),
        (lambda m, p: Reporter(m, "low", 1, None, BINS).report("secret", "monday"), "none of the categories"),
    ],
)
def test_bad_input_is_one_line(call: Any, words: str, mechanism: FittedMechanism, tmp_path: Path) -> None:
    with pytest.raises(DiscreetError, match=words) as found:
        call(mechanism, tmp_path)
    assert "secret" not in str(found.value)


def test_hostile_memories(mechanism: FittedMechanism, tmp_path: Path) -> None:
    memory = tmp_path / "device.json"
    Reporter(mechanism, "low", 1, memory, BINS).report(3, "monday")
    good = memory.read_text()
    resealed = [
        {"spent": "-1"}, {"spent": "2"}, {"spent": 0.5}, {"budget": None}, {"bins": ["0", "1"]}, {"bins": "012"},
        {"reports": []}, {"reports": {"": None}}, {"reports": {"monday": "elsewhere"}}, {"reports": {"monday": [1]}},
        {"profile": ["low"]}, {"profile": None}, {"version": 2}, {"graph": 1}, {"more": 1},
        {"format": "discreet/release"},
    ]  # fmt: skip
    bodies = [{**json.loads(good), **change} for change in resealed]
    texts = [json.dumps({**body, "sha256": checksum(body)}) for body in bodies]
    for bad in ("", "{}", "[]", good.replace('"1/2"', '"0"'), good.replace("monday", 'x": 1, "y'), *texts):
        memory.write_text(bad)
        for look in (
            lambda: Reporter(mechanism, "low", 1, memory, BINS),
            lambda: Reporter.load(memory, mechanism),
        ):
            with pytest.raises(DiscreetError):
                look()
        assert memory.read_text() == bad
    memory.write_text(good)
    other = SmoothCategorical().fit(
        ProfileGraph(
            {"low": [0.5, 0.3, 0.2], "high": [0.1, 0.1, 0.8]}, "complete", categories=BINS.categories
        ),
        1,
    )
    with pytest.raises(UsageError, match="another graph"):
        Reporter(other, "low", 1, memory, BINS)
    assert dc.profiles.Reporter is Reporter
