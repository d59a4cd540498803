"""A dictionary of releases in, a dictionary of posteriors out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError

ROWS = {"smoker": [1, 0, 1, 1] * 30, "visits": [0, 2, 1, 3] * 30}
MADE = dc.release(
    ROWS, {"smoker": dc.Bernoulli(), "visits": dc.Poisson()}, bounds={"visits": (0, 9)}, epsilon=2
)
PRIORS: dict[str, Any] = {"smoker": "beta:1,1", "visits": "gamma:1,1"}


def test_each_release_is_read_with_a_stream_of_its_own(tmp_path: Path) -> None:
    MADE["smoker"].save(tmp_path / "smoker.json")
    twice = {"one": MADE["smoker"], "two": tmp_path / "smoker.json"}
    found = dc.infer(twice, rng=4)
    assert list(found) == ["one", "two"]
    assert abs(np.corrcoef(found["one"].draws["p"], found["two"].draws["p"])[0, 1]) < 0.1
    again = dc.infer(dict(reversed(twice.items())), rng=4)
    for name in twice:
        assert np.array_equal(found[name].draws["p"], again[name].draws["p"])
    assert not np.array_equal(found["one"].draws["p"], dc.infer(twice, rng=5)["one"].draws["p"])


def test_a_generator_without_seeds_spawns_too() -> None:
    made = np.random.Generator(np.random.RandomState(3)._bit_generator)
    assert set(dc.infer({"a": MADE["smoker"], "b": MADE["smoker"]}, rng=made, draws=8)) == {"a", "b"}


def test_priors_by_name_or_one_for_all() -> None:
    found = dc.infer(MADE, prior=PRIORS, rng=1, draws=400)
    assert set(found["visits"].draws) == {"rate"}
    strong = dc.infer({"a": MADE["smoker"], "b": MADE["smoker"]}, prior="beta:9e6,1e6", rng=1, draws=400)
    assert all(abs(one.mean()["p"] - 0.9) < 0.01 for one in strong.values())
    one = dc.infer({"a": MADE["smoker"], "b": MADE["smoker"]}, prior={"a": "beta:9e6,1e6"}, rng=1, draws=400)
    assert one["b"].mean()["p"] < 0.85 < one["a"].mean()["p"]


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ([MADE["smoker"]], {}, "at least two"),
        ({}, {}, "the dictionary is empty"),
        ({1: MADE["smoker"]}, {}, "the name of a release must be a text"),
        ({"a": 3}, {}, "'a' must be a release or the path of one"),
        (MADE, {"prior": {"nobody": "beta:1,1"}}, "prior names 'nobody'"),
        (MADE, {"prior": PRIORS, "records": {"nobody": (1, 2)}}, "records names 'nobody'"),
    ],
)
def test_what_cannot_be_meant(given: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        dc.infer(given, **options)


def test_one_summary_and_one_picture_for_all(tmp_path: Path) -> None:
    rows = {"smoker": ["yes", "no"] * 100, "age": [30, 50] * 100}
    made = dc.release(
        rows, {"smoker": dc.Bernoulli(), "age": dc.Mean()}, bounds={"age": (0, 100)}, epsilon=10
    )
    both = dc.infer(made, draws=40, rng=1)
    assert list(both) == ["smoker", "age"]
    assert [row.name for row in both.summary().rows] == ["smoker.p", "age.mean", "age.sd"]
    assert "<table>" in both._repr_html_()
    both.plot(tmp_path / "both.png")
    assert (tmp_path / "both.png").stat().st_size > 1000
    uneven = type(both)({"a": both["age"], "b": dc.infer(made["age"], draws=80, rng=1)})
    with pytest.raises(UsageError, match="different numbers of draws"):
        uneven.summary()
