"""The first line about noise: how much of it there is, which terms it hides, and what it asks for."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.inference.regression import Readings
from discreet.inference.regression.latent_records import _log_gamma_density
from discreet.inference.regression.noise_share import CLEAR, clearance, square_sds
from discreet.mechanisms.base import Mechanism, RandomSource


def headline(
    rows: dict[str, Any], model: Any, mechanism: Mechanism, rng: np.random.Generator, draws: int = 80
) -> str:
    release = sample_with(RandomSource.seeded(rng), rows, model, mechanism)
    return dc.infer(release, rng=1, draws=draws).diagnostics.headline


def unit_model(target: str, names: list[str]) -> dc.models.LinearRegression:
    return dc.models.LinearRegression(target, names, bounds=dict.fromkeys([target, *names], (-1, 1)))


TIED = {
    "labels": (["g"], {"g": ["a", "b", "c"]}),
    "rare labels": (["r"], {"r": ["a", "b", "c"]}),
    "a product of a label": (["x", "s", "x * s"], {"x": (-1, 1), "s": ["a", "b", "c"]}),
    "a square": (["x", "x ** 2"], {"x": (-1, 1)}),
}


@pytest.mark.parametrize("case", TIED)
def test_the_noise_along_the_least_direction_is_that_of_simulated_noise(
    case: str, rng: np.random.Generator
) -> None:
    features, bounds = TIED[case]
    n = 2000
    rows = {
        "y": rng.uniform(-1, 1, n),
        "x": rng.uniform(-1, 1, n),
        "g": rng.choice(["a", "b", "c"], n),
        "r": rng.choice(["a", "b", "c"], n, p=[0.9, 0.05, 0.05]),
        "s": rng.choice(["a", "b", "c"], n),
    }
    model = dc.models.LinearRegression("y", features, bounds={"y": (-1, 1), **bounds})
    gaussian = dc.mechanisms.Gaussian(rho=5)
    readings = [Readings.of(sample_with(RandomSource.seeded(rng), rows, model, gaussian)) for _ in range(400)]
    _, sd, v = clearance(readings[0], n)
    found = [float(v @ one.at_face_value(n)[1] @ v) for one in readings]
    # an sd of 400 numbers is off by 3.5% of itself; what products of noise add is less than a tenth
    assert abs(np.std(found) / sd - 1) < 0.25
    # the control: a tied square has the noise of what it repeats, and not none
    if case != "a square":
        assert (square_sds(readings[0]) > np.diag(readings[0].sds[1])).any()


def test_the_slopes_are_judged_by_the_features_and_the_residual_sd_by_the_target_too(
    rng: np.random.Generator,
) -> None:
    n = 2000
    x = np.clip(rng.normal(0, 0.5, n), -1, 1)
    rows = {"x": x, "y": 0.2 + 0.03 * x + rng.normal(0, 0.02, n)}
    release = sample_with(RandomSource.seeded(rng), rows, unit_model("y", ["x"]), dc.mechanisms.KNorm(1))
    posterior = dc.infer(release, rng=1)
    said = posterior.diagnostics.headline
    assert said.startswith("noise dominates what the features leave unexplained of 'y'")
    assert "slopes hardly" in said
    # and so it is: the interval is as wide as noise alone makes it, not as the prior's, from -2 to 2
    low, high = posterior.interval(0.95)["coefficients"]
    readings = Readings.of(release)
    alone = readings.sds[1][1, 0] / n / float(np.var(x))
    assert (high - low)[0] < 2 * 3.92 * alone < 0.2


def test_many_terms_that_go_together_are_named_by_three(rng: np.random.Generator) -> None:
    shares = rng.uniform(-0.6, 0.6, (20_000, 16))
    shares -= shares.mean(axis=1, keepdims=True)
    names = [f"x{i}" for i in range(16)]
    rows = dict(zip(names, shares.T, strict=True)) | {"y": rng.uniform(-1, 1, 20_000)}
    said = headline(rows, unit_model("y", names), dc.mechanisms.Gaussian(rho=50), rng)
    assert re.search(r"'x\d+', 'x\d+', 'x\d+' and others", said)


def test_the_budget_that_is_asked_for(rng: np.random.Generator) -> None:
    """Ten features that vary as much as usual: what is asked for is neither far too little nor far too much."""
    d, n = 10, 2000
    covariance = 0.09 * (0.3 + 0.7 * np.eye(d))
    x = np.clip(rng.multivariate_normal(np.zeros(d), covariance, n), -1, 1)
    names = [f"x{i}" for i in range(d)]
    rows = dict(zip(names, x.T, strict=True)) | {"y": np.clip(0.3 * x[:, 0] + rng.normal(0, 0.25, n), -1, 1)}
    model = unit_model("y", names)

    def asked(rho: float) -> list[float]:
        """Return what each of eight releases asks for, of those in which noise dominates."""
        said = [headline(rows, model, dc.mechanisms.Gaussian(rho=rho), rng) for _ in range(8)]
        return [float(found) for one in said for found in re.findall(r"at least about rho = ([\d.]+)", one)]

    wanted = float(np.median(asked(0.05)))
    assert len(asked(wanted / 3)) == 8
    # half of the releases are clear at 0.22, 19 of 20 at 0.35
    assert len(asked(2 * wanted)) <= 2


def test_a_step_that_weighs_records_does_not_take_weights_for_records(rng: np.random.Generator) -> None:
    n = 3000
    x = rng.uniform(-1, 1, n)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(3.2 - x)), "b", "a")
    model = dc.models.LogisticRegression("y", ["x"], bounds={"y": ["a", "b"], "x": (-1, 1)})
    rows = {"x": x, "y": y}
    first = sample_with(RandomSource.seeded(rng), rows, model, dc.mechanisms.Laplace(1))
    step = model.refined(dc.infer(first, rng=1, draws=300))
    said = [headline(rows, step, dc.mechanisms.Laplace("0.1"), rng, 300) for _ in range(6)]
    assert sum("noise dominates" in one for one in said) >= 3
    assert not any("seem usable" in one for one in said)
    # what is asked for is counted in records, not in their weights
    records = [
        float(one.replace(",", "")) for text in said for one in re.findall(r"or ([\d,]+) records", text)
    ]
    assert min(records) > n


@pytest.mark.parametrize("c", [0.3, 5.0, 25.0])
def test_scales_at_the_floor_weigh_as_much_as_all_below_it(c: float) -> None:
    scales: Any = stats.gamma(1 / c, scale=c)
    assert _log_gamma_density(1e-8, c) == pytest.approx(scales.logcdf(1e-8), rel=1e-6)
    assert _log_gamma_density(0.3, c) == pytest.approx(scales.logpdf(0.3), rel=1e-9)


def test_readings_of_features_are_those_without_the_target(rng: np.random.Generator) -> None:
    rows = {"x": rng.uniform(-1, 1, 500), "y": rng.uniform(-1, 1, 500)}
    release = sample_with(RandomSource.seeded(rng), rows, unit_model("y", ["x"]), dc.mechanisms.KNorm(5))
    whole = Readings.of(release)
    part = whole.of_features
    assert part.names == ("x",)
    assert part.sds[0] == whole.sds[0][:1]
    assert part.sds[1] == whole.sds[1][:1, :1]
    assert part.at_face_value(500.0)[1] == whole.at_face_value(500.0)[1][:1, :1]


def test_gaussian_noise_is_named_where_it_is_much_smaller(rng: np.random.Generator) -> None:
    names = [f"x{i}" for i in range(4)]
    rows = {name: rng.uniform(-1, 1, 500) for name in ["y", *names]}
    laplace, gaussian = dc.mechanisms.Laplace(epsilon=1), dc.mechanisms.Gaussian(rho="0.01")
    told = headline(rows, unit_model("y", names), laplace, rng)
    assert told.endswith("Gaussian noise (rho=) is much smaller")
    for features, mechanism in ((names, gaussian), (names[:2], dc.mechanisms.Laplace(epsilon="0.2"))):
        said = headline(rows, unit_model("y", features), mechanism, rng)
        assert said.startswith("noise dominates")
        assert "Gaussian" not in said


@pytest.mark.parametrize("off", [0.5, 1.0, 1.5, 1.8])
def test_a_label_that_no_row_has_is_found_by_its_noisy_mean(off: float, rng: np.random.Generator) -> None:
    """The square of a sign has no noise of its own, but its variance has that of the mean: two of it are too few."""
    n = 1000
    rows = {"y": rng.uniform(-1, 1, n), "x": rng.uniform(-1, 1, n), "s": ["no"] * n}
    bounds = {"y": (-1, 1), "x": (-1, 1), "s": ["no", "other"]}
    model = dc.models.LinearRegression("y", ["x", "s"], bounds=bounds)
    release = sample_with(RandomSource.seeded(rng), rows, model, dc.mechanisms.Gaussian(rho="0.1"))
    found = Readings.of(release).of_features
    sd = found.sds[0][1]
    means, products = found.means.copy(), found.products.copy()
    means[1] = -n + off * sd
    products[0, 1] = products[1, 0] = -means[0] + off * sd
    least, noise, _ = clearance(replace(found, means=means, products=products), n)
    assert least < CLEAR * noise
    # the control: a label that a tenth of the rows have
    means[1] = -0.8 * n
    products[0, 1] = products[1, 0] = -0.8 * means[0]
    least, noise, _ = clearance(replace(found, means=means, products=products), n)
    assert least > CLEAR * noise
