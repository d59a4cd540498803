"""Plans of regressions take the noise that a release takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.errors import UsageError
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


def test_a_plan_of_several_slopes_says_how_to_ask_for_one(rng: np.random.Generator) -> None:
    rows = {"x": rng.uniform(-1, 1, 200), "u": rng.uniform(-100, 100, 200), "y": rng.uniform(-1, 1, 200)}
    bounds = {"y": (-1, 1), "x": (-1, 1), "u": (-100, 100)}
    model = dc.models.LinearRegression("y", ["x", "u"], bounds=bounds)
    asked: Any = {"n": 2000, "public": rows, "mechanism": "gaussian", "rho": 1}
    both: tuple[dict[str, Any], ...] = ({}, {"parameter": "coefficients[u]"})
    every, one = (dc.plan(model, **asked, **how) for how in both)
    assert "on average of 2 numbers (of one alone: parameter='coefficients[x]')" in str(every)
    assert "average" not in str(one)
    # a slope per hundred is a hundredth of one per unit: the average is half of the larger one
    assert one.width < every.width / 20  # pyright: ignore[reportAttributeAccessIssue]
    assert dc.plan(model, **asked, parameter="u") == one
    with pytest.raises(UsageError) as error:
        dc.plan(model, **asked, parameter="w")
    assert "coefficients[u]" in str(error.value.hint)
