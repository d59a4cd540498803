"""Survey weights: bounded by declaration, noised with what they weigh, and read as weights."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.artifact.codec import checksum


def poll(rng: np.random.Generator, n: int = 3000) -> dict[str, list[float]]:
    w = rng.gamma(2.0, 1.0, n)
    return {"x": (50 + 8 * (w - 2) + rng.normal(0, 10, n)).tolist(), "w": w.tolist()}


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_a_weighted_mean_is_read_as_one(neighbors: Any, rng: np.random.Generator):
    rows = poll(rng)
    made = dc.release(
        rows, dc.Mean(), column="x", bounds=(0, 100), weights="w", weight_bounds=(0, 6), epsilon=200,
        neighbors=neighbors,
    )  # fmt: skip
    assert dc.Release.from_json(made.to_json()) == made
    assert "each row counts with its weight “w”, clipped to [0, 6]" in made.statement()
    x, w = np.clip(rows["x"], 0, 100), np.clip(rows["w"], 0, 6)
    posterior = dc.infer(made, rng=1)
    assert posterior.table is not None
    assert np.median(posterior.table.draws["mean"]) == pytest.approx(np.average(x, weights=w), abs=0.1)
    assert np.median(posterior.table.draws["usable"]) == pytest.approx(w.sum(), rel=0.01)
    # the linearized standard error of a weighted mean
    error = np.sqrt(np.sum(w**2 * (x - np.average(x, weights=w)) ** 2)) / w.sum()
    assert np.std(posterior.draws["mean"]) == pytest.approx(error, rel=0.25)


def test_a_weighted_share_is_the_mean_of_0_and_1(rng: np.random.Generator):
    """A share by weights: what :class:`Bernoulli` cannot count is a mean, with the joint sensitivity of clusters."""
    rows = poll(rng)
    rows["x"] = [float(x > 55) for x in rows["x"]]
    made = dc.release(
        rows, dc.Mean(), column="x", bounds=(0, 1), weights="w", weight_bounds=(0, 6), epsilon=200
    )
    w = np.clip(rows["w"], 0, 6)
    low, high = dc.infer(made, rng=1).interval(0.95)["mean"]
    share = np.average(rows["x"], weights=w)
    assert low < share < high
    # and the plain share is another one
    assert not low < np.mean(rows["x"]) < high
    with pytest.raises(dc.DiscreetError, match="a sum of weights says nothing of it"):
        dc.release(rows, dc.Bernoulli(), column="x", weights="w", weight_bounds=(0, 6), epsilon=1)


def test_weights_of_other_rows_do_not_change_what_is_missing():
    rows = {"x": [1.0, 9.0, None, 5.0], "w": [1.0, None, 1.0, -3.0]}
    made = dc.release(
        rows, dc.Mean(), column="x", bounds=(0, 10), weights="w", weight_bounds=(0, 2), epsilon=1e6
    )
    found = dc.infer(made, rng=1, draws=400).table
    assert found is not None
    # one row has a value and a weight above 0
    assert np.median(found.draws["usable"]) == pytest.approx(1.0, abs=0.05)


def test_forged_weights_are_refused(rng: np.random.Generator):
    made = dc.release(
        poll(rng, 50), dc.Mean(), column="x", bounds=(0, 100), weights="w", weight_bounds=(0, 6), epsilon=1
    )
    for forge in (
        lambda body: body["model"]["parameters"]["weights"].update(column="x"),
        lambda body: body["model"]["parameters"]["weights"].update(bounds=["6", "0"]),
        lambda body: body["model"]["parameters"]["weights"].update(bounds=["-1", "6"]),
        lambda body: body["model"]["parameters"].pop("weights"),
    ):
        body = json.loads(made.to_json())
        forge(body)
        body["sha256"] = checksum(body)
        with pytest.raises(dc.errors.ReleaseFileError):
            dc.Release.from_json(json.dumps(body))


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        (dc.Mean(), {"weights": "w"}, "weights need weight_bounds"),
        (dc.Mean(), {"weight_bounds": (0, 1)}, "weight_bounds are for weights"),
        (dc.Mean(), {"weights": "x", "weight_bounds": (0, 1)}, "cannot be the one that is learned about"),
        (dc.Mean(), {"weights": "w", "weight_bounds": (2, 1)}, "0 <= low <= high"),
        (dc.Mean(), {"weights": "w", "weight_bounds": (-1, 1)}, "0 <= low <= high"),
        (
            dc.Mean(),
            {"weights": "w", "weight_bounds": (0, 1), "unit": "id", "per_unit": "sum"},
            "go with max_rows",
        ),
        (
            dc.Normal(),
            {"weights": "w", "weight_bounds": (0, 1)},
            "takes no weights: its likelihood is of records",
        ),
        (dc.Mean(), {"weights": "nobody", "weight_bounds": (0, 1)}, "there is no column 'nobody'"),
    ],
)
def test_bad_declarations(model: Any, options: dict[str, Any], said: str):
    rows = {"id": ["a"], "x": [1.0], "w": [1.0]}
    with pytest.raises(dc.DiscreetError, match=said):
        dc.release(rows, model, column="x", bounds=(0, 1), epsilon=1, **options)
