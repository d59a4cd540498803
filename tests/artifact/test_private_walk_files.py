"""Files of private walks and of annealing: they are read back as written, and no cheaper than they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.artifact.codec import checksum
from discreet.curator.publish import sample_with
from discreet.errors import ReleaseFileError
from discreet.mechanisms.base import RandomSource

COMMON: dict[str, Any] = {"support": ("0.05", "0.95"), "cells": 64}
MECHANISMS: dict[str, Any] = {
    "barker": dc.mechanisms.PrivateMetropolis("beta:1,1", epsilon=1, steps=6, **COMMON),
    "metropolis": dc.mechanisms.PrivateMetropolis(
        "beta:1,1",
        epsilon="0.001",
        steps=6,
        width=1,
        rejection=dc.mechanisms.WorstCaseRejection("0.01", "checked on the grid"),
        **COMMON,
    ),
    "resample": dc.mechanisms.PrivateAnnealing("beta:1,1", epsilon=1, samples=2, **COMMON),
    "laplace": dc.mechanisms.PrivateAnnealing("beta:1,1", epsilon=1, weights="laplace", **COMMON),
}


def made(name: str, rng: np.random.Generator) -> dc.Release:
    data = np.array([0, 1, 1, 0, 1] * 6)
    return sample_with(RandomSource.seeded(rng), data, dc.Bernoulli(), MECHANISMS[name], missing="none")


@pytest.mark.parametrize("name", MECHANISMS)
def test_round_trip(name: str, rng: np.random.Generator) -> None:
    release = made(name, rng)
    assert dc.Release.from_json(release.to_json()) == release
    assert release.guarantee == MECHANISMS[name].guarantee("replace")
    posterior = dc.infer(release)
    assert not posterior.diagnostics.independent
    assert "not noise-aware" in str(posterior.diagnostics)


def numbers(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda body: body["mechanism"]["parameters"].update({name: value})


FORGERIES: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "a lower temperature": ("barker", numbers("temperature", "2")),
    "a temperature below 1": ("barker", numbers("temperature", "1/2")),
    "a smaller range": ("barker", numbers("range", "1/100")),
    "longer steps": ("barker", numbers("width", "16")),
    "half a cell": ("barker", numbers("cells", "127/2")),
    "no cells": ("barker", lambda b: b["mechanism"]["parameters"].pop("cells")),
    "a path": ("barker", lambda b: b["mechanism"].update(paths={"epsilons": ["0", "1"]})),
    "more states": (
        "barker",
        lambda b: b["samples"].update(count=12, draws={"p": b["samples"]["draws"]["p"] * 2}),
    ),
    "between the points": ("barker", lambda b: b["samples"]["draws"].update(p=[0.5123] * 6)),
    "another arithmetic": ("barker", lambda b: b["samples"].update(arithmetic="floating")),
    "a smaller promise": ("barker", lambda b: b["guarantees"][0].update(epsilon="1/2")),
    "a wider support": ("barker", lambda b: b["mechanism"].update(support=[["1/1000", "999/1000"]])),
    "a rejection without a delta": ("barker", numbers("rejection", "1/100")),
    "an observed rejection rate": ("metropolis", numbers("rejection", "1/100000")),
    "a smaller delta": ("metropolis", lambda b: b["guarantees"][0].update(delta="1/100")),
    "more records": ("metropolis", lambda b: b.update(records=10**6)),
    "a path that goes back": (
        "resample",
        lambda b: b["mechanism"]["paths"].update(epsilons=["0", "1/10", "1/20", "1/5"]),
    ),
    "a longer path": (
        "resample",
        lambda b: b["mechanism"]["paths"].update(epsilons=["0", "1/2", "9/10"]),
    ),
    "a path beyond the posterior": (
        "resample",
        lambda b: b["mechanism"]["paths"].update(epsilons=["0", "100"]),
    ),
    "no path": ("resample", lambda b: b["mechanism"].pop("paths")),
    "more trajectories": ("resample", numbers("trajectories", "80")),
    "no trajectories": ("resample", numbers("trajectories", "0")),
    "more moves": ("resample", numbers("moves", "3")),
    "a smaller step": ("resample", numbers("step_range", "1/1000")),
    "free weights": ("laplace", numbers("weights_epsilon", "0")),
    "dearer weights": ("laplace", numbers("weights_epsilon", "3/4")),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forgeries(forgery: str, rng: np.random.Generator) -> None:
    name, forge = FORGERIES[forgery]
    body = json.loads(made(name, rng).to_json())
    forge(body)
    body["sha256"] = checksum(body)
    with pytest.raises(ReleaseFileError) as caught:
        dc.Release.from_json(json.dumps(body))
    assert "\n" not in caught.value.message
