"""Plans of regressions take the noise that a release takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.samplers.secure import RandomSource


def test_a_plan_takes_the_noise_of_a_release(rng: np.random.Generator) -> None:
    x = rng.normal(0, 0.4, 400).clip(-1, 1)
    rows = {"x": x, "y": (0.5 * x + rng.normal(0, 0.2, 400)).clip(-1, 1)}
    model = dc.models.LinearRegression("y", ["x"], bounds={"x": (-1, 1), "y": (-1, 1)})
    asked: Any = {"n": 2000, "public": rows, "parameter": "coefficients", "rng": 0}
    plan: Any = dc.plan(model, epsilon=1, **asked)
    assert plan.mechanism == "k-norm"
    assert "k-norm noise" in str(plan)
    widths = []
    for seed in range(12):
        at = np.random.default_rng(seed).integers(400, size=2000)
        sampled = {name: column[at] for name, column in rows.items()}
        release = sample_with(RandomSource.seeded(rng), sampled, model, dc.mechanisms.KNorm(1))
        draws = dc.infer(release, rng=seed, draws=1000, chains=2).draws["coefficients"]
        widths.append(np.subtract(*np.quantile(draws, [0.975, 0.025])))
    assert plan.width == pytest.approx(np.mean(widths), rel=0.1)
    # control: Laplace noise is another plan, and a wider one
    other: Any = dc.plan(model, epsilon=1, mechanism="laplace", **asked)
    assert other.width > 1.1 * plan.width
    assert {"laplace noise", "gaussian noise, delta=1e-6"} <= set(plan.compare())


def test_which_regressions_take_it() -> None:
    model = dc.models.LinearRegression("y", ["x"], bounds={"x": (-1, 1), "y": (-1, 1)})
    assert model.noise("replace") == "k-norm"
    three = dc.models.LinearRegression({"y": (-1, 1)}, {f"x{i}": (-1, 1) for i in range(3)})
    assert (three.noise("replace"), three.noise("add_remove")) == ("k-norm", "laplace")
    assert dc.models.LinearRegression({"y": (0, 1)}, {"ward": ["a", "b", "c"]}).noise("replace") == "laplace"
