"""A device's file: exact, with a checksum, and checked again when it is read."""

from __future__ import annotations

import copy
import json
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.artifact.codec import checksum
from discreet.errors import ReleaseFileError, UsageError
from discreet.profiles import FittedMechanism, KRandomizedResponse, ProfileGraph, SmoothCategorical
from discreet.profiles.exact import WHOLE, hides_observations
from tests.profiles.cases import CHAIN


@pytest.fixture
def path(tmp_path: Path) -> Path:
    SmoothCategorical("expected", prior={"a": 0.5, "b": 0.3, "c": 0.2}).fit(
        ProfileGraph.chain(CHAIN), "1/3"
    ).save(tmp_path / "mechanism.json")
    return tmp_path / "mechanism.json"


def test_what_is_read_is_what_was_written(path: Path) -> None:
    read = FittedMechanism.load(path)
    fitted = SmoothCategorical("expected", prior=[0.5, 0.3, 0.2]).fit(ProfileGraph.chain(CHAIN), "1/3")
    assert (read.table == fitted.table).all()
    assert read.graph == fitted.graph
    assert read.epsilon == fitted.epsilon
    assert read.settings == {"objective": "expected", "prior": {"a": 0.5, "b": 0.3, "c": 0.2}}
    assert read.privatize(3, "a") in range(4)


def altered(path: Path, change: Any, *, resummed: bool) -> None:
    body = json.loads(path.read_text())
    change(body)
    if resummed:
        body["sha256"] = checksum(body)
    path.write_text(json.dumps(body))


def test_damage_is_found(path: Path) -> None:
    altered(path, lambda body: body.update(epsilon="1/2"), resummed=False)
    with pytest.raises(ReleaseFileError, match="does not match its checksum"):
        FittedMechanism.load(path)


def less_noise(body: dict[str, Any]) -> None:
    body["table"][0] = [[str(WHOLE * (x == y)) for y in range(4)] for x in range(4)]


def wrapped(body: dict[str, Any]) -> None:
    # sums to 2^62 only if 64-bit integers overflow
    body["table"][0][0] = [str(2**62)] * 4


def one_too_many(body: dict[str, Any]) -> None:
    row = body["table"][0][0]
    row[0] = str(int(row[0]) + 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (less_noise, "do not honor the guarantee"),
        (lambda body: body.update(epsilon="1/4"), "do not honor the guarantee"),
        (lambda body: body.update(epsilon="-1"), "epsilon must be 0 or more"),
        (wrapped, "does not sum to 1"),
        (one_too_many, "does not sum to 1"),
        (lambda body: body["table"][0][0].__setitem__(0, "-5"), "do not fit the graph"),
        (lambda body: body["table"].pop(), "do not fit the graph"),
        (lambda body: body["table"][0].pop(), "do not fit the graph"),
        (lambda body: body["table"][0][0].pop(), "do not fit the graph"),
        (lambda body: body.update(method="k_randomized_response"), "not those of randomized response"),
        (lambda body: body["table"][0][0].__setitem__(0, 0.5), "an integer is missing"),
        (lambda body: body.update(method="os.system"), "method is unknown"),
        (lambda body: body.update(whole="4"), "other units"),
        (lambda body: body["graph"].update(edges=[["a", "z"]]), "no profile"),
        (lambda body: body.pop("settings"), "missing or unknown fields"),
        (lambda body: body.update(version=2), "unknown version"),
        (lambda body: body.update(format="discreet/release"), "not a mechanism file"),
    ],
)
def test_a_forged_file_that_does_not_keep_its_promise_is_refused(
    path: Path, change: Any, message: str
) -> None:
    altered(path, change, resummed=True)
    with pytest.raises(ReleaseFileError, match=message):
        FittedMechanism.load(path)


def test_numbers_of_other_files_are_exact(tmp_path: Path, rng: np.random.Generator) -> None:
    distributions = dict(enumerate(rng.dirichlet(np.ones(5), 4)))
    fitted = SmoothCategorical().fit(ProfileGraph.complete(distributions), 0.1)
    fitted.save(tmp_path / "m.json")
    assert FittedMechanism.load(tmp_path / "m.json").graph == fitted.graph


def test_nobody_makes_a_mechanism_that_does_not_keep_its_promise() -> None:
    graph = ProfileGraph.chain({"a": [0.2, 0.2, 0.2, 0.2, 0.2], "b": [0.3, 0.1, 0.2, 0.2, 0.2]})
    identity = np.repeat((np.eye(5, dtype=np.int64) * WHOLE)[None], 2, axis=0)
    with pytest.raises(UsageError, match="do not honor the guarantee"):
        FittedMechanism(graph, Fraction(1, 10), "smooth_categorical", identity)
    # five times 2^62 is 2^62 in 64 bits
    with pytest.raises(UsageError, match="does not sum to 1"):
        FittedMechanism(graph, Fraction(5), "smooth_categorical", np.full((2, 5, 5), WHOLE))
    fitted = FittedMechanism(graph, Fraction(1), "smooth_categorical", identity)
    with pytest.raises(ValueError, match="read-only"):
        fitted.table[0, 0, 0] = 0


def test_a_promise_by_hand_is_read_as_any_other() -> None:
    graph = ProfileGraph.chain(CHAIN)
    constant = KRandomizedResponse().fit(graph, 0).table
    for epsilon in (Fraction(-1), -0.5, float("nan"), "much"):
        with pytest.raises(UsageError, match="epsilon must be"):
            FittedMechanism(graph, epsilon, "k_randomized_response", constant)  # pyright: ignore[reportArgumentType]
    made = FittedMechanism(graph, 0.5, "mine", constant)  # pyright: ignore[reportArgumentType]
    assert made.epsilon == Fraction(1, 2)
    assert made.statement().startswith("mine for 3 profiles")


def test_copies_are_checked_and_cannot_be_changed() -> None:
    fitted = SmoothCategorical().fit(ProfileGraph.chain(CHAIN), 0.2)
    for again in (copy.deepcopy(fitted), copy.copy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert (again.table == fitted.table).all()
        with pytest.raises(ValueError, match="read-only"):
            again.table[0, 0, 0] = 0
    make, given = fitted.__reduce__()
    with pytest.raises(UsageError, match="do not honor the guarantee"):
        make(given[0], Fraction(1, 10), *given[2:])


@pytest.mark.parametrize("weights", [{3: 4, 2: np.int64(3), 1: 2, 0: 1}, np.arange(1, 5), [1, 2, 3, 4]])
def test_settings_keep_the_names_and_can_be_written(weights: Any, tmp_path: Path) -> None:
    fitted = SmoothCategorical("expected", weights=weights).fit(ProfileGraph.chain(CHAIN), 0.2)
    fitted.save(tmp_path / "m.json")
    read = FittedMechanism.load(tmp_path / "m.json").settings["weights"]
    assert ([read[str(x)] for x in range(4)] if isinstance(weights, dict) else read) == [1, 2, 3, 4]


def test_hiding_the_observation_is_promised_by_numbers_not_by_names() -> None:
    graph = ProfileGraph.chain(CHAIN)
    words = "local differential privacy"
    for mechanism, epsilon, hidden in (
        (KRandomizedResponse(), 0.2, True),
        (SmoothCategorical(), 0.2, False),
        (SmoothCategorical(), 0, True),
    ):
        fitted = mechanism.fit(graph, epsilon)
        assert fitted.hides_observations is hidden
        assert (words in fitted.statement()) is hidden
        assert ("that observations stay hidden" in fitted.statement()) is not hidden
    # exactly: at the bound it holds, for anything less it does not
    table = KRandomizedResponse().fit(graph, 0.2).table
    bound = Fraction(int(table.max()), int(table.min()))
    assert hides_observations(table, bound)
    assert not hides_observations(table, bound * (1 - Fraction(1, 10**40)))
    # a matrix for each profile that is private alone is not enough
    turned = np.stack([KRandomizedResponse().fit(graph, e).table[0] for e in (0.2, 0.2, 0.1)])
    assert hides_observations(turned, bound)
    turned[2] = np.roll(np.eye(4, dtype=np.int64), 1, axis=1) * WHOLE
    assert not hides_observations(turned, bound)


def test_profiles_without_edges_are_hidden_if_everything_is() -> None:
    alone = ProfileGraph({"a": 0.2, "b": 0.6})
    assert "nothing hides them" in SmoothCategorical().fit(alone, 1).statement()
    assert "nothing hides" not in KRandomizedResponse().fit(alone, 1).statement()
