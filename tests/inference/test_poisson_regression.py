"""Poisson regressions from noise: each route against greatest likelihood, what is said, and hard tables."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.errors import UsageError
from discreet.inference.regression.newton import newton_step
from discreet.inference.regression.poisson_maps import stein, step_off
from discreet.mechanisms.base import RandomSource

BOUNDS: dict[str, Any] = {"visits": (0, 40), "age": (0, 100), "s": ["a", "b", "c"]}
WEIGHTS = np.array([-0.3, 0.015, 0.3, -0.4])


def model_of(*features: str, **more: Any) -> dc.models.PoissonRegression:
    bounds = {name: BOUNDS[name] for name in ("visits", *features) if name in BOUNDS}
    return dc.models.PoissonRegression("visits", list(features), bounds=bounds, **more)


def rows_of(n: int, rng: np.random.Generator, dispersion: float = 1.0) -> dict[str, Any]:
    rows: dict[str, Any] = {"age": rng.uniform(5, 95, n), "s": rng.choice(["a", "b", "c"], n)}
    means = np.exp(terms_of(rows) @ WEIGHTS)
    # a gamma mixture in which the variance is in proportion to the mean
    if dispersion > 1:
        means = rng.gamma(means / (dispersion - 1), dispersion - 1)
    rows["visits"] = rng.poisson(means).astype(float)
    return rows


def terms_of(rows: dict[str, Any]) -> np.ndarray:
    s = rows["s"]
    return np.column_stack([np.ones(len(s)), rows["age"], s == "b", s == "c"]).astype(float)


def fitted(rows: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of greatest likelihood, and their standard errors by the sandwich."""
    x, y = terms_of(rows), np.clip(rows["visits"], 0, 40)
    found = np.array([np.log(y.mean()), 0, 0, 0])
    for _ in range(30):
        means = np.exp(x @ found)
        inverse = np.linalg.inv((x * means[:, None]).T @ x)
        found = found + inverse @ (x.T @ (y - means))
    score = x * (y - np.exp(x @ found))[:, None]
    return found, np.sqrt(np.diag(inverse @ score.T @ score @ inverse))


def drawn(posterior: Any) -> np.ndarray:
    return np.column_stack([posterior.draws["intercept"], posterior.draws["coefficients"]])


def test_the_map_is_exact_for_normal_features() -> None:
    slopes, spread, middle = (
        np.array([0.5, -0.8]),
        np.array([[0.05, 0.01], [0.01, 0.04]]),
        np.array([0.1, -0.1]),
    )
    square = slopes @ spread @ slopes
    average = np.exp(0.2 + slopes @ middle + square / 2)
    most, variance = 20.0, 2.5 * average + average**2 * square
    mean = np.append(middle, 2 * average / most - 1)
    covariance = np.zeros((3, 3))
    covariance[:2, :2] = spread
    covariance[:2, 2] = covariance[2, :2] = spread @ slopes * average * 2 / most
    covariance[2, 2] = variance * (2 / most) ** 2
    found, mean_count, dispersion, sd = stein(mean[None], covariance[None], most)
    assert found[0] == pytest.approx([0.2, *slopes])
    assert (mean_count[0], dispersion[0], sd[0]) == pytest.approx((average, 2.5, np.sqrt(square)))


@pytest.mark.parametrize("dispersion", [1.0, 4.0])
def test_with_hardly_any_noise_two_releases_are_greatest_likelihood(
    dispersion: float, rng: np.random.Generator
) -> None:
    rows = rows_of(4000, rng, dispersion)
    aim, errors = fitted(rows)
    model = model_of("age", "s")
    first = dc.infer(dc.release(rows, model, epsilon=10_000), rng=1, draws=1000)
    assert any("refined" in said for said in first.diagnostics.warnings)
    assert np.median(first.draws["dispersion"]) == pytest.approx(dispersion, rel=0.15)
    assert np.median(first.draws["mean"]) == pytest.approx(rows["visits"].mean(), rel=0.02)
    refined = model.refined(first)
    assert (model.released, refined.released) == ("products", "step")
    second = dc.infer(dc.release(rows, refined, mechanism="gaussian", rho=10_000), rng=1, draws=2000)
    found = drawn(second)
    assert (np.abs(found.mean(axis=0) - aim) < 0.3 * errors).all()
    # robust to a variance of up to 1.3 times, and a sandwich of 4,000 records
    assert (found.std(axis=0) > 0.95 * errors).all()
    assert (found.std(axis=0) < 1.35 * errors).all()
    assert (found.std(axis=0) < drawn(first).std(axis=0)).all()
    assert not second.diagnostics.headline
    again = refined.refined(second)
    assert again.mean == refined.mean
    asked = {"age": [10, 90], "s": ["a", "c"]}
    means = second.predict(asked, interval=0.95)
    true = np.exp(terms_of({"age": np.array([10, 90]), "s": np.array(["a", "c"])}) @ WEIGHTS)
    assert (means.low < true).all()
    assert (true < means.high).all()
    assert second.predict(asked) == pytest.approx(means.mean)
    assert np.isfinite(second.log_likelihood(rows)).all()


def skewed(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return counts whose largest means are those of few records, far from the others."""
    age, s = np.minimum(8 + rng.gamma(2.0, 9, n), 100), rng.choice(["a", "b", "c"], n)
    rows: dict[str, Any] = {"age": age, "s": s}
    means = np.exp(terms_of(rows) @ np.array([-1.0, 0.04, 0.3, -0.4]))
    return rows | {"visits": rng.poisson(rng.gamma(means / 2, 2)).astype(float)}


def stepped(rows: dict[str, Any], model: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the posterior of a step with hardly any noise, and how far its middle is off, in errors and in its sds."""
    aim, errors = fitted(rows)
    posterior = dc.infer(dc.release(rows, model, mechanism="gaussian", rho=1000), rng=1, draws=2000)
    found = drawn(posterior)
    off = np.abs(np.median(found, axis=0) - aim)
    return posterior, off / errors, off / found.std(axis=0)


def test_heavy_records_count_in_the_curvature(rng: np.random.Generator) -> None:
    """Where few records have the largest means a long step is off, within its intervals, and the next one is not.

    The control: with half the limit, as without one in a file, it is further off; with a quarter that is said.
    """
    rows, model = skewed(20_000, rng), model_of("age", "s")
    refined = model.refined(dc.infer(dc.release(rows, model, epsilon=10_000), rng=1, draws=1000))
    assert refined.limit is not None
    assert refined.mean is not None
    assert float(refined.limit) == pytest.approx(4 * float(refined.mean), rel=1e-5)
    second, off, own = stepped(rows, refined)
    assert (own < 1).all()
    assert [said.partition(":")[0] for said in second.diagnostics.warnings] == [
        "much of the width of these intervals is that the start was far for how much is known"
    ]
    _, further, own = stepped(rows, replace(refined, limit=None))
    assert (own < 1).all()
    assert further.max() > 1.5 * off.max()
    lowest, _, _ = stepped(rows, replace(refined, limit=refined.mean))
    assert any("beyond model.limit" in said for said in lowest.diagnostics.warnings)
    third, nearer, own = stepped(rows, refined.refined(second))
    assert (own < 1).all()
    assert nearer.max() < off.max() / 2
    assert not third.diagnostics.warnings


def test_what_a_step_may_be_off_by() -> None:
    """It is parts of the step's length and of its square, in each direction, and twice that for half the limit."""
    rng, size = np.random.default_rng(1), 20_000
    mean, covariance = np.zeros((size, 2)), np.broadcast_to(np.diag([0.25, 0.04]), (size, 2, 2))
    step = np.array([0.3, 0.4, -1.0])
    whole = np.diag([1.0, 0.25, 0.04])
    length = np.sqrt(step @ whole @ step)
    slopes = np.broadcast_to(whole @ step, (size, 3))

    def linear(o: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return t, np.ones_like(t)

    for times, wider in ((math.inf, 1.0), (4.0, 1.0), (2.0, 2.0)):
        found = newton_step(
            np.zeros(3),
            mean,
            covariance,
            slopes,
            np.zeros(size),
            linear,
            rng,
            step_off(times),
            np.full(2, -1.0),
        )
        sd = wider * (0.02 * length + 0.15 * length**2)
        # four standard errors of an sd of so many draws
        assert found.draws.std(axis=0) * np.sqrt(np.diag(whole)) == pytest.approx(
            [sd] * 3, rel=4 / np.sqrt(2 * size)
        )
        assert found.moved == pytest.approx(length)
        assert found.share == pytest.approx(1)
    without = newton_step(
        np.zeros(3), mean, covariance, slopes, np.zeros(size), linear, rng, (0.0, 0.0), np.full(2, -1.0)
    )
    assert without.draws.std(axis=0) == pytest.approx([0] * 3, abs=1e-4)


def test_limits_in_files(rng: np.random.Generator) -> None:
    """A limit is part of a step's file; a file without one has twice the mean, as it had when it was written."""
    known: dict[str, Any] = {"start": [0, "0.01"], "dispersion": 2, "mean": "1.5"}
    said, unsaid = model_of("age", limit=6, **known), model_of("age", **known)
    assert (said.heaviest, unsaid.heaviest) == (6, 3)
    assert said.constants()["limit"] == "6"
    assert "limit" not in unsaid.constants()
    for model in (said, unsaid):
        assert type(model).from_constants(model.constants()) == model
    # never above the target's bound
    assert model_of("age", limit=1000, **known).heaviest == 40
    rows = rows_of(500, rng)
    assert dc.release(rows, said, epsilon=1).model == said


def test_naive_errors_do_not_hold(rng: np.random.Generator) -> None:
    """The control: what takes noise for the table is off by many of its own errors, what does not is not."""
    rows, model = rows_of(2000, rng), model_of("age", "s")
    off: dict[str, list[float]] = {"auto": [], "naive": []}
    aim = fitted(rows)[0]
    for _ in range(12):
        made = sample_with(RandomSource.seeded(rng), rows, model, dc.mechanisms.Laplace("0.5"))
        for engine, found in off.items():
            draws = drawn(dc.infer(made, engine=engine, rng=1, draws=400, chains=2))  # pyright: ignore
            found.extend(np.abs(np.median(draws, axis=0) - aim) / draws.std(axis=0))
    # of 48 values two in three of a calibrated reading are below 1, and hardly any is above 3
    assert np.mean(np.array(off["auto"]) > 3) < 0.1
    assert np.mean(np.array(off["naive"]) > 3) > 0.3


HARD: dict[str, Any] = {
    "constant": lambda rows: rows | {"age": np.full(500, 5.0)},
    "no counts": lambda rows: rows | {"visits": np.zeros(500)},
    "all at the bound": lambda rows: rows | {"visits": np.full(500, 1e6)},
    "nothing usable": lambda rows: rows | {"age": np.full(500, np.nan), "s": np.full(500, "?")},
    "fewer rows than terms": lambda rows: {name: column[:2] for name, column in rows.items()},
}
FAR: dict[str, Any] = {"start": [9, 1, -5, 5], "dispersion": "0.01", "mean": 1000}


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("more", [{}, {"start": [0, "0.01", 1, 1], "dispersion": 2, "mean": 1}, FAR])
def test_hard_tables_give_draws_and_no_error(case: str, more: Any, rng: np.random.Generator) -> None:
    model = model_of("age", "s", **more)
    made = sample_with(
        RandomSource.seeded(rng), HARD[case](rows_of(500, rng)), model, dc.mechanisms.Laplace(1)
    )
    for engine in ("auto", "naive"):
        posterior = dc.infer(made, engine=engine, rng=1, draws=200, chains=2)  # pyright: ignore
        assert all(np.isfinite(values).all() for values in posterior.draws.values())
        assert str(posterior.summary())


def test_a_picture_of_coefficients(rng: np.random.Generator) -> None:
    posterior = dc.infer(dc.release(rows_of(500, rng), model_of("age", "s"), epsilon=5), draws=200, rng=1)
    axes = posterior.plot().axes[0]
    assert axes.get_xlabel() == "change of log of the mean of visits"
    # a label has no unit
    beside = [one.get_text() for one in axes.texts]
    assert [said.endswith("per unit") for said in beside] == [True, False, False]
    assert posterior.question == "Poisson regression of visits"
    assert str(posterior.about).startswith("Poisson regression of visits on age, s, ")


REFUSED: dict[str, tuple[Any, str]] = {
    "below 0": (
        lambda: dc.models.PoissonRegression({"y": (-1, 5)}, {"x": (0, 1)}),
        "count with bounds from 0",
    ),
    "above 0": (
        lambda: dc.models.PoissonRegression({"y": (1, 5)}, {"x": (0, 1)}),
        "count with bounds from 0",
    ),
    "labels": (lambda: dc.models.PoissonRegression({"y": ["0", "1"]}, {"x": (0, 1)}), "count with bounds"),
    "no bounds": (lambda: dc.models.PoissonRegression("y", ["x"], bounds={"x": (0, 1)}), "needs bounds"),
    "short start": (lambda: model_of("age", start=[1], dispersion=1, mean=1), "start must be 2 numbers"),
    "start alone": (lambda: model_of("age", start=[1, 0]), "dispersion goes with start"),
    "mean alone": (lambda: model_of("age", mean=1), "mean goes with start"),
    "limit alone": (lambda: model_of("age", limit=1), "limit goes with start"),
    "no limit": (
        lambda: model_of("age", start=[1, 0], dispersion=1, mean=1, limit=0),
        "limit must be above 0",
    ),
    "dispersion": (lambda: model_of("age", start=[1, 0], dispersion=0, mean=1), "dispersion must be above 0"),
    "another posterior": (lambda: model_of("age").refined(None), "posterior of the same regression"),
    "descent": (
        lambda: dc.release(
            {"visits": [1], "age": [2]},
            model_of("age"),
            mechanism=dc.mechanisms.NoisySGD(rho=1),
            missing="none",
        ),
        "not fitted by gradients",
    ),
    "walk": (
        lambda: dc.release(
            {"visits": [1], "age": [2]},
            model_of("age"),
            mechanism=dc.mechanisms.Langevin(epsilon=1, delta="1e-6", steps=20, samples=2, clip=1),
            missing="none",
        ),
        "not fitted by gradients",
    ),
    "step by groups": (
        lambda: dc.release(
            {"visits": [1], "age": [2], "g": ["a"]},
            model_of("age", start=[1, 0], dispersion=1, mean=1),
            epsilon=1,
            by="g",
            groups=["a", "b"],
        ),
        "not released by groups",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_in_one_line(case: str) -> None:
    call, match = REFUSED[case]
    with pytest.raises(UsageError, match=match) as caught:
        call()
    assert "\n" not in caught.value.message


def test_linear_posteriors_are_no_start(rng: np.random.Generator) -> None:
    rows = rows_of(200, rng)
    linear = dc.models.LinearRegression("visits", ["age", "s"], bounds=BOUNDS)
    posterior = dc.infer(dc.release(rows, linear, epsilon=5), draws=200, rng=1)
    with pytest.raises(UsageError, match="posterior of the same regression"):
        model_of("age", "s").refined(posterior)
    with pytest.raises(UsageError, match="a poisson regression takes no prior but its own"):
        dc.infer(dc.release(rows, model_of("age", "s"), epsilon=5), prior=1.0)
