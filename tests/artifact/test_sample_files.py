"""Files of samples: round trips, the statement, and forgeries that do not hang together."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pytest

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.curator.publish import sample_with
from discreet.errors import ReleaseFileError
from discreet.mechanisms.base import RandomSource

SCHEMA = json.loads((files("discreet.artifact") / "release.schema.json").read_text(encoding="utf-8"))
BOX = {"mean": (-1, 3), "variance": (1, 6)}


def made(name: str, rng: np.random.Generator) -> dc.Release:
    family, prior, support, how = {
        "bernoulli": (dc.Bernoulli(), "beta:1,1", (0.1, 0.9), {"impute": 1}),
        "categorical": (dc.Categorical(3), "dirichlet:1,1,1", "0.05", {"impute": "2"}),
        "poisson": (dc.Poisson(), "gamma:2,1", (0.5, 9), {"bounds": (0, 20), "missing": "none"}),
        "normal": (dc.Normal(), "normal_inverse_gamma:0,1,2,2", BOX, {"bounds": (-3, 5), "impute": 0}),
    }[name]
    mechanism = dc.mechanisms.PosteriorSampling(prior, epsilon="0.5", samples=2, support=support)
    return sample_with(RandomSource.seeded(rng), [0, 1, 1] * 5, family, mechanism, **how)


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "poisson", "normal"])
def test_round_trips(name: str, rng: np.random.Generator) -> None:
    release = made(name, rng)
    text = release.to_json()
    assert dc.Release.from_json(text) == release
    jsonschema.validate(json.loads(text), SCHEMA)
    assert "2 samples" in repr(release)
    said = release.statement()
    assert "two random draws of the parameters" in said
    assert "tempered posterior" in said
    assert ("floating point" in said) == (name == "categorical")
    assert json.loads(text)["statistics"] is None


def test_the_statement_says_what_stands_for_missing_values(rng: np.random.Generator) -> None:
    assert "missing and undeclared values were replaced by 2" in made("categorical", rng).statement()
    assert "moved to the nearest bound" in made("normal", rng).statement()


def parameter(name: str, value: str) -> Callable[[Any], None]:
    return lambda b: b["mechanism"]["parameters"].__setitem__(name, value)


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "lower temperature": parameter("temperature", "2"),
    "temperature below one": parameter("temperature", "1/2"),
    "smaller range": parameter("range", "1"),
    "another number of cells": parameter("cells", "77"),
    "half a cell": parameter("cells", "1/2"),
    "too many cells": parameter("cells", "9999999999"),
    "an unknown parameter": parameter("r", "1"),
    "a missing parameter": lambda b: b["mechanism"]["parameters"].pop("range"),
    "stronger guarantee": lambda b: b["guarantees"][0].update(epsilon="1/4"),
    "another kind of guarantee": lambda b: b.update(
        guarantees=[{"kind": "zero_concentrated", "rho": "1", "for": "samples"}]
    ),
    "a guarantee for statistics": lambda b: b["guarantees"][0].update({"for": "statistics"}),
    "wider support": lambda b: b["mechanism"].update(support=[["1/100", "9/10"]]),
    "support at the edge": lambda b: b["mechanism"].update(support=[["0", "9/10"]]),
    "no support": lambda b: b["mechanism"].update(support=None),
    "two supports": lambda b: b["mechanism"].update(support=[["1/10", "9/10"]] * 2),
    "another prior": lambda b: b["mechanism"].update(prior="gamma:1,1"),
    "an improper prior": lambda b: b["mechanism"].update(prior="beta:0,1"),
    "an unknown mechanism": lambda b: b["mechanism"].update(name="os.system"),
    "noise": lambda b: b["mechanism"].update(name="discrete_laplace"),
    "a draw outside": lambda b: b["samples"]["draws"].update(p=[0.5, 0.95]),
    "a draw off the grid": lambda b: b["samples"]["draws"].update(p=[0.5, 0.123456]),
    "draws of another name": lambda b: b["samples"].update(draws={"rate": [0.1, 0.9]}),
    "no draws": lambda b: b["samples"].update(draws={}),
    "draws that are no list": lambda b: b["samples"].update(draws=[0.1, 0.9]),
    "a draw that is no number": lambda b: b["samples"]["draws"].update(p=[0.1, "0.9"]),
    "a draw that is true": lambda b: b["samples"]["draws"].update(p=[0.1, True]),
    "draws of two shapes": lambda b: b["samples"]["draws"].update(p=[0.1, [0.9]]),
    "vectors": lambda b: b["samples"]["draws"].update(p=[[0.1], [0.9]]),
    "one draw more": lambda b: b["samples"]["draws"].update(p=[0.1, 0.9, 0.9]),
    "another count": lambda b: b["samples"].update(count=1),
    "another arithmetic": lambda b: b["samples"].update(arithmetic="floating"),
    "an unknown arithmetic": lambda b: b["samples"].update(arithmetic="quantum"),
    "statistics as well": lambda b: b.update(
        statistics={
            "names": ["z"],
            "values": ["1"],
            "grid": ["1"],
            "width": ["1"],
            "shift": None,
            "half": None,
        }
    ),
    "neither": lambda b: b.update(samples=None),
    "redacted": lambda b: b["domain"].update(outside="redact"),
    "counted": lambda b: b["domain"].update(missing="count"),
    "nothing imputed": lambda b: b["domain"].pop("impute"),
    "imputed outside": lambda b: b["domain"].update(impute=["7"]),
    "private count": lambda b: b.update(neighbors="add_remove", records=None),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forgeries(forgery: str, rng: np.random.Generator) -> None:
    body = json.loads(made("bernoulli", rng).to_json())
    FORGERIES[forgery](body)
    body["sha256"] = checksum(body)
    with pytest.raises(ReleaseFileError) as caught:
        dc.Release.from_json(json.dumps(body))
    assert "\n" not in caught.value.message


def test_forged_labels(rng: np.random.Generator) -> None:
    content = made("categorical", rng).to_json()
    for draws in ([[0.04, 0.5, 0.46]] * 2, [[0.5, 0.5, 0.5]] * 2, [[0.5, 0.5]] * 2, [0.5, 0.5]):
        body = json.loads(content)
        body["samples"]["draws"]["p"] = draws
        body["sha256"] = checksum(body)
        with pytest.raises(ReleaseFileError, match=r"outside its support|not of one shape"):
            dc.Release.from_json(json.dumps(body))


def test_noisy_totals_do_not_impute() -> None:
    body = json.loads(dc.release([1, 0], dc.Bernoulli(), epsilon=1, missing="none").to_json())
    body["domain"].update(missing="impute", impute=["0"])
    body["sha256"] = checksum(body)
    with pytest.raises(ReleaseFileError, match="samples only"):
        dc.Release.from_json(json.dumps(body))
