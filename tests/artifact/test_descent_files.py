"""Files of noisy descents and Langevin walks: round trips, and forgeries that do not hang together."""

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
from discreet.artifact.records.noisy_sgd import descent_of
from discreet.curator.publish import sample_with
from discreet.errors import ReleaseFileError, UsageError
from discreet.mechanisms.base import RandomSource
from discreet.models import DeclaredLoss, LinearRegression, LogisticRegression

SCHEMA = json.loads((files("discreet.artifact") / "release.schema.json").read_text(encoding="utf-8"))
LOGISTIC = LogisticRegression({"y": ["no", "yes"]}, {"x": (-1, 1), "s": ["f", "m", "u"]})
MODELS = {
    "logistic": LOGISTIC,
    "linear": LinearRegression({"t": (0, 10)}, {"x": (-1, 1)}, residual_sd=2),
    "declared": DeclaredLoss(
        {"x": (-1, 1), "s": ["f", "m", "u"]}, ["a", "b"], lambda w, r: 0.5 * w - r / 9,
        gradient_bound=1, smoothness=1, strong_convexity="0.1",
    ),
}  # fmt: skip
WALK = dc.mechanisms.Langevin(epsilon=2, delta="1e-5", steps=8, samples=3)
MECHANISMS = {
    "public": dc.mechanisms.NoisySGD(rho="0.5"),
    "secret": dc.mechanisms.NoisySGD(rho="0.5", order="secret", extra_steps=0, orders=(2, 4)),
    "langevin": WALK,
}


def made(model: str, mechanism: str, rng: np.random.Generator) -> dc.Release:
    rows = {
        "x": rng.uniform(-1, 1, 12),
        "s": rng.choice(["f", "m", "u"], 12),
        "y": rng.choice(["no", "yes"], 12),
        "t": rng.uniform(0, 10, 12),
    }
    return sample_with(RandomSource.seeded(rng), rows, MODELS[model], MECHANISMS[mechanism], missing="none")


@pytest.mark.parametrize(
    ("model", "mechanism"),
    [(a, b) for a in MODELS for b in MECHANISMS if (a, b) != ("declared", "langevin")],
)
def test_round_trips(model: str, mechanism: str, rng: np.random.Generator) -> None:
    release = made(model, mechanism, rng)
    text = release.to_json()
    assert dc.Release.from_json(text) == release
    jsonschema.validate(json.loads(text), SCHEMA)
    assert json.loads(text)["samples"]["arithmetic"] == "floating"
    assert ("constants that the curator declared" in release.statement()) == (model == "declared")
    if mechanism == "langevin":
        with pytest.raises(UsageError, match="not made by noisy descent"):
            descent_of(release)
    else:
        rhos = descent_of(dc.Release.from_json(text)).rhos()
        assert rhos.size == 12
        assert (rhos.max() <= 0.5) == (mechanism == "public")


def parameter(name: str, value: str) -> Callable[[Any], None]:
    return lambda b: b["mechanism"]["parameters"].__setitem__(name, value)


def scaled(name: str, factor: float) -> Callable[[Any], None]:
    def change(body: Any) -> None:
        numbers = body["mechanism"]["parameters"]
        upper, _, lower = numbers[name].partition("/")
        numbers[name] = repr(factor * int(upper) / int(lower or 1))

    return change


DESCENT: dict[str, Callable[[dict[str, Any]], Any]] = {
    "less noise": scaled("sigma", 0.999),
    "no noise": parameter("sigma", "0"),
    "negative noise": parameter("sigma", "-1"),
    "a longer step": parameter("step_size", "9"),
    "a tamer gradient": scaled("gradient_bound", 0.9),
    "a smoother loss": scaled("smoothness", 0.9),
    "a more convex loss": scaled("strong_convexity", 2.0),
    "fewer extra steps": parameter("noise_steps", "3"),
    "steps without end": parameter("noise_steps", str(10**12)),
    "both kinds of extra steps": parameter("public_steps", "3"),
    "half a step": parameter("noise_steps", "25/2"),
    "a negative number of steps": parameter("public_steps", "-3"),
    "a secret order": parameter("secret_order", "1"),
    "a very secret order": parameter("secret_order", "2"),
    "an unknown parameter": parameter("r", "1"),
    "a missing parameter": lambda b: b["mechanism"]["parameters"].pop("sigma"),
    "a prior": lambda b: b["mechanism"].update(prior="beta:1,1"),
    "a stronger guarantee": lambda b: b["guarantees"][0].update(rho="2/5"),
    "another kind of guarantee": lambda b: b.update(
        guarantees=[{"kind": "pure", "epsilon": "1", "for": "samples"}]
    ),
    "a wider ball": lambda b: b["model"]["parameters"].update(radius="6"),
    "another ridge": lambda b: b["model"]["parameters"].update(ridge="1/2000"),
    "a ridge that is no number": lambda b: b["model"]["parameters"].update(ridge=[1]),
    "a feature more": lambda b: b["model"]["parameters"]["features"].append(
        {"name": "z", "bounds": ["0", "1"]}
    ),
    "a target twice": lambda b: b["model"]["parameters"].update(target={"name": "x", "labels": ["a", "b"]}),
    "three labels as target": lambda b: b["model"]["parameters"]["target"]["labels"].append("maybe"),
    "another model": lambda b: b["model"].update(name="linear_regression"),
    "another mechanism": lambda b: b["mechanism"].update(name="langevin"),
    "a draw outside the ball": lambda b: b["samples"]["draws"].update(weights=[[9.0, 0.0, 0.0, 0.0]]),
    "a weight less": lambda b: b["samples"]["draws"].update(weights=[[0.1, 0.2, 0.3]]),
    "two draws": lambda b: b["samples"].update(count=2, draws={"weights": [[0.1, 0.2, 0.3, 0.1]] * 2}),
    "exact arithmetic": lambda b: b["samples"].update(arithmetic="exact"),
    "a private count": lambda b: b.update(neighbors="add_remove", records=None),
}
WALKS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a longer step": scaled("step_size", 1.01),
    "no step": parameter("step_size", "0"),
    "more steps": parameter("steps", "9"),
    "half a step": parameter("steps", "17/2"),
    "fewer steps than states": parameter("steps", "2"),
    "a cooler walk": parameter("temperature", "1/2"),
    "a smaller clip": parameter("clip", "0"),
    "longer gradients": parameter("clip", "2"),
    "a rate above 1": parameter("rate", "2"),
    "a smaller rate": parameter("rate", "1/2"),
    "another sampling": parameter("poisson", "1"),
    "samples of nobody": parameter("rate", "1/1000"),
    "hardly a rate": parameter("rate", "1e-200"),
    "negative precision": parameter("precision", "-1"),
    "an unknown parameter": parameter("sigma", "1"),
    "a stronger guarantee": lambda b: b["guarantees"][0]["epsilons"].__setitem__(0, "1/1000"),
    "a higher order": lambda b: b["guarantees"][0]["orders"].__setitem__(-1, "100000"),
    "another kind of guarantee": lambda b: b.update(
        guarantees=[{"kind": "zero_concentrated", "rho": "1", "for": "samples"}]
    ),
    "a state outside the ball": lambda b: b["samples"]["draws"]["weights"].__setitem__(
        0, [9.0, 0.0, 0.0, 0.0]
    ),
    "exact arithmetic": lambda b: b["samples"].update(arithmetic="exact"),
    "a private count": lambda b: b.update(neighbors="add_remove", records=None),
}


@pytest.mark.parametrize(
    ("mechanism", "forgery"), [*(("public", f) for f in DESCENT), *(("langevin", f) for f in WALKS)]
)
def test_forgeries(mechanism: str, forgery: str, rng: np.random.Generator) -> None:
    body = json.loads(made("logistic", mechanism, rng).to_json())
    (DESCENT if mechanism == "public" else WALKS)[forgery](body)
    body["sha256"] = checksum(body)
    with pytest.raises(ReleaseFileError) as caught:
        dc.Release.from_json(json.dumps(body))
    assert "\n" not in caught.value.message


def test_a_file_cannot_ask_for_endless_work(rng: np.random.Generator) -> None:
    body = json.loads(made("logistic", "public", rng).to_json())
    body["records"] = 10**12
    body["mechanism"]["parameters"]["noise_steps"] = str(10**12)
    body["sha256"] = checksum(body)
    # ample noise for as many records as may be, and nothing is counted one by one
    assert dc.Release.from_json(json.dumps(body)).records == 10**12
    body = json.loads(made("logistic", "secret", rng).to_json())
    body["records"] = 10**12
    body["sha256"] = checksum(body)
    with pytest.raises(ReleaseFileError, match="less than its guarantee needs"):
        dc.Release.from_json(json.dumps(body))


def test_the_mean_over_places_is_no_guarantee_for_a_secret_order(rng: np.random.Generator) -> None:
    release = made("logistic", "secret", rng)
    mean = float(descent_of(release).rhos().mean())
    body = json.loads(release.to_json())
    body["guarantees"][0]["epsilons"] = [repr(2 * mean), repr(4 * mean)]
    body["sha256"] = checksum(body)
    with pytest.raises(ReleaseFileError, match="less than its guarantee needs"):
        dc.Release.from_json(json.dumps(body))
