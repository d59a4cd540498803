"""Logistic regressions from noise: each route against greatest likelihood, what is said, and hard tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.errors import UsageError
from discreet.inference.models.logistic_table import greatest
from discreet.inference.regression.logistic_maps import OFF, discriminant, made_up, steepness
from discreet.inference.regression.map_off import Features
from discreet.inference.regression.shaped_points import Shape
from discreet.mechanisms.base import RandomSource

BOUNDS: dict[str, Any] = {"ill": ["no", "yes"], "age": (0, 100), "dose": (-1, 3), "s": ["a", "b", "c"]}
WEIGHTS = np.array([-2.0, 0.05, -0.8, 0.5, 1.0])


def model_of(*features: str, **more: Any) -> dc.models.LogisticRegression:
    bounds = {name: BOUNDS[name] for name in ("ill", *features) if name in BOUNDS}
    return dc.models.LogisticRegression("ill", list(features), bounds=bounds, **more)


def rows_of(n: int, rng: np.random.Generator) -> dict[str, Any]:
    rows: dict[str, Any] = {"age": rng.uniform(5, 95, n), "dose": rng.uniform(-1, 3, n)}
    rows["s"] = rng.choice(["a", "b", "c"], n)
    rows["ill"] = np.where(rng.random(n) < expit(terms_of(rows) @ WEIGHTS), "yes", "no")
    return rows


def terms_of(rows: dict[str, Any]) -> np.ndarray:
    s = rows["s"]
    return np.column_stack([np.ones(len(s)), rows["age"], rows["dose"], s == "b", s == "c"]).astype(float)


def fitted(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of greatest likelihood and their standard errors."""
    found = np.zeros(x.shape[1])
    for _ in range(30):
        chance = expit(x @ found)
        curve = (x * (chance * (1 - chance))[:, None]).T @ x
        found = found + np.linalg.solve(curve, x.T @ (y - chance))
    return found, np.sqrt(np.diag(np.linalg.inv(curve)))


def drawn(posterior: Any) -> np.ndarray:
    return np.column_stack([posterior.draws["intercept"], posterior.draws["coefficients"]])


def test_with_hardly_any_noise_a_step_is_greatest_likelihood(rng: np.random.Generator) -> None:
    rows = rows_of(4000, rng)
    aim, errors = fitted(terms_of(rows), rows["ill"] == "yes")
    # weights that a first release might find, three standard errors off
    start = [f"{one:.6g}" for one in aim + 3 * errors * np.array([1, -1, 1, -1, 1])]
    release = dc.release(rows, model_of("age", "dose", "s", start=start), epsilon=10_000)
    posterior = dc.infer(release, rng=1)
    found = drawn(posterior)
    assert (np.abs(found.mean(axis=0) - aim) < 0.25 * errors).all()
    assert (found.std(axis=0) > 0.95 * errors).all()
    # a model that may not hold makes them 7% wider, what a step so long may be off by as much again and more
    assert (found.std(axis=0) < 1.35 * errors).all()
    assert not posterior.diagnostics.headline
    chances = posterior.predict({"age": [10, 90], "dose": [0, 0], "s": ["a", "c"]}, interval=0.95)
    true = expit(np.array([[1, 10, 0, 0, 0], [1, 90, 0, 0, 1]]) @ WEIGHTS)
    assert (chances.low < true).all()
    assert (true < chances.high).all()
    assert (chances.high - chances.low < 0.1).all()


def test_a_step_from_far_away_says_so(rng: np.random.Generator) -> None:
    far = model_of("age", "dose", "s", start=[0, 0, 0, 0, 0])
    posterior = dc.infer(dc.release(rows_of(4000, rng), far, epsilon=10_000), rng=1, draws=400)
    assert any("release again" in said for said in posterior.diagnostics.warnings)


def test_the_discriminant_map_is_exact_for_normal_classes(rng: np.random.Generator) -> None:
    share, spread = 0.3, np.array([[0.05, 0.01], [0.01, 0.04]])
    zero, one = np.array([0.1, -0.1]), np.array([0.3, 0.05])
    slopes = np.linalg.solve(spread, one - zero)
    intercept = np.log(share / (1 - share)) - 0.5 * (
        one @ np.linalg.solve(spread, one) - zero @ np.linalg.solve(spread, zero)
    )
    mean = np.append(share * one + (1 - share) * zero, share)
    v = share * (1 - share)
    covariance = np.zeros((3, 3))
    covariance[:2, :2] = spread + v * np.outer(one - zero, one - zero)
    covariance[:2, 2] = covariance[2, :2] = v * (one - zero)
    covariance[2, 2] = v
    found, residual, r_squared = discriminant(mean[None], covariance[None])
    assert found[0] == pytest.approx([intercept, *slopes])
    assert residual[0] == pytest.approx(v * (1 - r_squared[0]))


def moments_of(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the moments of features on mapped bounds and the indicator, of one draw."""
    both = np.column_stack([x, y])
    return both.mean(axis=0)[None], np.atleast_2d(np.cov(both.T, bias=True))[None]


def test_made_up_points_have_the_moments_and_the_shape_of_their_columns(rng: np.random.Generator) -> None:
    """A column of two labels has its two values, one near a bound is skewed, one far from both is not."""
    rows = np.column_stack(
        [rng.normal(0.1, 0.1, 5000), np.where(rng.random(5000) < 0.2, 1, -1), rng.beta(1, 5, 5000) * 2 - 1]
    )
    mean, covariance = rows.mean(axis=0), np.cov(rows.T, bias=True)
    means, spread = np.repeat(mean[None, None], 3, axis=0), np.repeat(covariance[None], 3, axis=0)
    points = Shape.of(means, np.ones((3, 1)), spread, np.full(3, -1.0)).points(means, spread)[..., 1:]
    # clipping to the bounds, and what two values cannot follow of a normal copula
    assert points[0].mean(axis=0) == pytest.approx(mean, abs=0.02)
    assert np.cov(points[0].T, bias=True) == pytest.approx(covariance, rel=0.05, abs=0.002)
    third = (((points[0] - mean) / points[0].std(axis=0)) ** 3).mean(axis=0)
    true = (((rows - mean) / rows.std(axis=0)) ** 3).mean(axis=0)
    assert third == pytest.approx(true, abs=0.15)
    assert true[1:].min() > 1


@pytest.mark.parametrize("chances", [(0.1, 0.02), (0.05, 0.4), (0.9, 0.05)])
def test_the_map_is_nearly_exact_for_one_feature_of_two_labels(chances: tuple[float, float]) -> None:
    """Its coefficient is the log of the odds ratio, as 256 points say it; the discriminant's, the control, is not."""
    rare, odds = 0.3, np.log(np.array(chances) / (1 - np.array(chances)))
    n = 1_000_000
    ill = [round(n * rare * chances[1]), round(n * (1 - rare) * chances[0])]
    y = np.concatenate([np.arange(round(n * rare)) < ill[0], np.arange(round(n * (1 - rare))) < ill[1]])
    x = np.repeat([1.0, -1.0], [round(n * rare), round(n * (1 - rare))])
    aim = (odds[1] - odds[0]) / 2
    moments = moments_of(x, y)
    assert made_up(*moments, np.full(1, -1.0))[0, 1] == pytest.approx(aim, rel=0.05)
    assert abs(discriminant(*moments)[0][0, 1] / aim - 1) > 0.06


def test_indicators_of_three_labels_are_points_of_0_and_1() -> None:
    """The control takes them for features between -1 and 1, as numbers are."""
    n, odds = 1_000_000, np.array([-2.0, 0.0, -1.0])
    counts = np.round(n * np.array([0.6, 0.1, 0.3])).astype(int)
    s = np.repeat([0, 1, 2], counts)
    y = np.concatenate([np.arange(k) < round(k * expit(one)) for k, one in zip(counts, odds, strict=True)])
    moments = moments_of(np.column_stack([s == 1, s == 2]).astype(float), y)
    off, control = (
        np.abs(made_up(*moments, lows)[0, 1:] - [2, 1]) for lows in (np.zeros(2), np.full(2, -1.0))
    )
    assert off.max() < 0.25
    assert control.max() > 0.5


def test_a_label_that_few_records_have_is_read_as_if_it_were_normal(rng: np.random.Generator) -> None:
    """There are too few points for it."""
    n = 1_000_000
    x = np.column_stack([np.where(np.arange(n) < 0.003 * n, 1.0, -1.0), rng.uniform(-1, 1, n)])
    y = rng.random(n) < expit(-1 + 0.5 * x[:, 0] + x[:, 1])
    moments = moments_of(x, y)
    found, near = made_up(*moments, np.full(2, -1.0))[0, 1:], discriminant(*moments)[0][0, 1:]
    assert found == pytest.approx(near, abs=0.1)


def test_more_features_have_more_points(rng: np.random.Generator) -> None:
    x = rng.uniform(-1, 1, (5000, 140))
    y = rng.random(5000) < expit(x[:, 0])
    found = made_up(*moments_of(x, y), np.full(140, -1.0))
    near = discriminant(*moments_of(x, y))[0]
    assert found == pytest.approx(near, abs=0.1)


def test_the_map_is_the_discriminant_where_features_are_far_from_their_bounds(
    rng: np.random.Generator,
) -> None:
    y = rng.random(200_000) < 0.3
    x = rng.normal([0.0, 0.1], 0.05, (200_000, 2)) + np.outer(y, [0.04, -0.05])
    mean, covariance = moments_of(x, y)
    near, residual, _ = discriminant(mean, covariance)
    errors = np.sqrt(np.diag(np.linalg.inv(covariance[0, :2, :2])) / residual)
    apart = (made_up(mean, covariance, np.full(2, -1.0)) - near)[0, 1:] / errors
    # shares of the standard error of one record
    assert np.abs(apart).max() < 0.02


def test_a_skewed_feature_is_read_nearer_and_what_is_left_is_allowed_for(rng: np.random.Generator) -> None:
    """An exponential feature, of which the discriminant is further off."""
    x = np.minimum(rng.exponential(0.25, 400_000), 2) - 1
    y = rng.random(400_000) < expit(-1.5 + 3 * (x + 1))
    mean, covariance = moments_of(x[:, None], y)
    aim = fitted(np.column_stack([np.ones(len(x)), x]), y)[0][1]
    near, residual, r_squared = discriminant(mean, covariance)
    low = np.full(1, -1.0)
    found = made_up(mean, covariance, low)[0, 1]
    one = 1 / np.sqrt(covariance[0, 0, 0] * residual[0])
    steep = steepness(np.sqrt(r_squared / (residual * (1 - r_squared))))
    features = Features(mean[:, :1], covariance[:, :1, :1], 1 / residual, low)
    sd = one * OFF.sds(features.reach, steep, features.apart(np.array([[found]]), near[:, 1:]))[0, 0]
    assert abs(near[0, 1] - aim) > 1.3 * abs(found - aim)
    assert abs(found - aim) < 2 * sd


def test_two_releases_hold_what_one_may_be_off_by(rng: np.random.Generator) -> None:
    rows = rows_of(4000, rng)
    model = model_of("age", "dose", "s")
    assert model.released == "products"
    first = dc.infer(dc.release(rows, model, epsilon=10_000), rng=1, draws=1000)
    assert any("refined" in said for said in first.diagnostics.warnings)
    refined = model.refined(first)
    assert refined.released == "step"
    second = dc.infer(dc.release(rows, refined, mechanism="gaussian", rho=1000), rng=1, draws=1000)
    aim, errors = fitted(terms_of(rows), rows["ill"] == "yes")
    assert (np.abs(drawn(second).mean(axis=0) - aim) < 0.3 * errors).all()
    assert (drawn(second).std(axis=0) < drawn(first).std(axis=0)).all()
    chances = second.predict_proba(rows)
    density = chances[np.arange(4000), (rows["ill"] == "yes").astype(int)]
    assert second.log_likelihood(rows) == pytest.approx(np.log(density), abs=1e-9)
    assert second.predict(rows).tolist() == np.where(chances[:, 1] > 0.5, "yes", "no").tolist()


def test_labels_are_read_from_one_table(rng: np.random.Generator) -> None:
    rows = rows_of(3000, rng)
    rows["t"] = rng.choice(["u", "v"], 3000)
    model = dc.models.LogisticRegression(
        "ill", ["s", "t", "s * t"], bounds={**{k: BOUNDS[k] for k in ("ill", "s")}, "t": ["u", "v"]}
    )
    assert model.released == "table"
    posterior = dc.infer(dc.release(rows, model, epsilon=10_000), rng=1)
    s, t = rows["s"], rows["t"] == "v"
    x = np.column_stack([np.ones(3000), s == "b", s == "c", t, (s == "b") & t, (s == "c") & t]).astype(float)
    aim, errors = fitted(x, rows["ill"] == "yes")
    assert (np.abs(drawn(posterior).mean(axis=0) - aim) < 0.25 * errors).all()
    assert drawn(posterior).std(axis=0) == pytest.approx(errors, rel=0.08)
    assert posterior.diagnostics.engine == "exact"
    assert "no approximation" in str(posterior.summary())


def test_greatest_likelihood_of_cells(rng: np.random.Generator) -> None:
    x = np.column_stack([np.ones(4), [0, 0, 1, 1], [0, 1, 0, 1]])
    p = rng.dirichlet(np.full(8, 0.3), 50).reshape(50, 2, 4)
    found = greatest(x, p)
    slope = np.einsum("nc,ci->ni", p[:, 1] - p.sum(axis=1) * expit(found @ x.T), x)
    assert np.abs(slope).max() < 1e-6


HARD: dict[str, Any] = {
    "constant": lambda rows: rows | {"age": np.full(500, 5.0)},
    "one class": lambda rows: rows | {"ill": np.full(500, "no")},
    "separated": lambda rows: rows | {"ill": np.where(rows["age"] > 50, "yes", "no")},
    "nothing usable": lambda rows: rows | {"age": np.full(500, np.nan), "s": np.full(500, "?")},
    "fewer rows than terms": lambda rows: {name: column[:2] for name, column in rows.items()},
}


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("more", [{}, {"start": [0, "0.1", 1, 1]}, None])
def test_hard_tables_give_draws_and_no_error(case: str, more: Any, rng: np.random.Generator) -> None:
    model = model_of("s") if more is None else model_of("age", "s", **more)
    made = sample_with(
        RandomSource.seeded(rng), HARD[case](rows_of(500, rng)), model, dc.mechanisms.Laplace(1)
    )
    for engine in ("auto", "naive"):
        posterior = dc.infer(made, engine=engine, rng=1, draws=200, chains=2)  # pyright: ignore
        assert all(np.isfinite(values).all() for values in posterior.draws.values())
        assert str(posterior.summary())


def test_what_is_refused(rng: np.random.Generator) -> None:
    release = dc.release(rows_of(100, rng), model_of("s"), epsilon=1)
    with pytest.raises(UsageError, match="no prior but its own"):
        dc.infer(release, prior=1.0)
    posterior = dc.infer(release, draws=400, rng=1)
    with pytest.raises(UsageError, match="posterior of the same regression"):
        model_of("age").refined(posterior)


def test_only_a_posterior_of_the_same_model_is_a_start(rng: np.random.Generator) -> None:
    rows = rows_of(300, rng)
    posterior = dc.infer(dc.release(rows, model_of("age"), epsilon=5), draws=400, rng=1)
    assert model_of("age").refined(posterior).start is not None
    wider = dc.models.LogisticRegression("ill", ["age"], bounds={"ill": BOUNDS["ill"], "age": (0, 200)})
    linear = dc.models.LinearRegression("dose", ["age"], bounds={n: BOUNDS[n] for n in ("dose", "age")})
    of_linear = dc.infer(dc.release(rows, linear, epsilon=5), draws=400, rng=1)
    for model, start in ((model_of("dose"), posterior), (wider, posterior), (model_of("age"), of_linear)):
        with pytest.raises(UsageError, match="posterior of the same regression"):
            model.refined(start)
