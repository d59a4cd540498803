"""The steps of noisy descent and of Langevin walks: against plain code, and against distributions in closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from discreet.models.losses import LinearLoss, LogisticLoss, SquaredLoss
from discreet.samplers.descent import clipped, descend, descend_linear, langevin, only_noise, projected

# False alarms of the whole suite are at most 1e-3; this is the share of one assertion here.
FALSE_ALARM = 1e-3 / 50
KNOWN = {"step_size": 0.3, "sigma": 0.5, "radius": 0.9}


def records(rng: np.random.Generator, n: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    rows = rng.normal(size=(n, dimension))
    return rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True)), rng.choice([-1.0, 1.0], n)


@pytest.mark.parametrize("loss", [LogisticLoss, SquaredLoss])
def test_compiled_steps_are_the_plain_ones(loss: type[LinearLoss], rng: np.random.Generator) -> None:
    rows, aims = records(rng, 40, 3)
    start, ridge = 0.1 * rng.normal(size=(5, 3)), 0.2

    def gradient(place: int, states: np.ndarray) -> np.ndarray:
        return loss.slope(states @ rows[place], aims[place])[:, None] * rows[place] + ridge * states

    seed = int(rng.integers(2**32))
    compiled = descend_linear(loss, rows, aims, start, ridge=ridge, rng=np.random.default_rng(seed), **KNOWN)
    plain = descend(gradient, np.arange(40), start, rng=np.random.default_rng(seed), **KNOWN)
    assert compiled == pytest.approx(plain, rel=1e-12)
    assert np.linalg.norm(plain, axis=1).max() <= 0.9 * (1 + 1e-12)
    # another order of the records is another descent
    other = descend(gradient, np.arange(40)[::-1], start, rng=np.random.default_rng(seed), **KNOWN)
    assert np.abs(other - plain).max() > 1e-3


def normal_p_value(draws: np.ndarray, mean: float, sd: float) -> float:
    """Return the least p-value of a test of the mean and one of the variance of a normal distribution, twice."""
    n = draws.size
    z = (draws.mean() - mean) / (sd / np.sqrt(n))
    chi = float(np.sum((draws - mean) ** 2) / sd**2)
    variance = 2 * min(stats.chi2.cdf(chi, n), stats.chi2.sf(chi, n))
    return float(min(2 * stats.norm.sf(abs(z)), variance, 1.0)) * 2


def accepts(test: Callable[[float], float]) -> None:
    """The right noise passes; a fifth less or more is rejected."""
    assert test(1.0) > FALSE_ALARM
    assert test(0.8) < 1e-6
    assert test(1.2) < 1e-6


def test_the_distribution_of_the_last_iterate_of_a_quadratic_loss(rng: np.random.Generator) -> None:
    curvature, aims, eta, sigma = np.array([0.5, 2.0, 1.0]), np.array([1.0, -0.4, 0.3]), 0.4, 0.7

    def gradient(place: int, states: np.ndarray) -> np.ndarray:
        return curvature[place] * (states - aims[place])

    mean = variance = 0.0
    for c, aim in zip(curvature, aims, strict=True):
        mean, variance = mean - eta * c * (mean - aim), (1 - eta * c) ** 2 * variance + (eta * sigma) ** 2

    def test(factor: float) -> float:
        last = descend(
            gradient,
            np.arange(3),
            np.zeros((20_000, 1)),
            step_size=eta,
            sigma=factor * sigma,
            radius=100.0,
            rng=rng,
        )
        return normal_p_value(last[:, 0], mean, float(np.sqrt(variance)))

    accepts(test)


def test_the_distribution_of_steps_that_only_add_noise(rng: np.random.Generator) -> None:
    def test(factor: float) -> float:
        last = only_noise(
            np.full((2400, 1), 0.5), 5000, step_size=0.1, sigma=0.05 * factor, radius=50.0, rng=rng
        )
        return normal_p_value(last[:, 0], 0.5, 0.1 * 0.05 * np.sqrt(5000))

    accepts(test)
    inside = only_noise(np.zeros((100, 2)), 50, step_size=1.0, sigma=3.0, radius=0.5, rng=rng)
    assert np.linalg.norm(inside, axis=1).max() <= 0.5 * (1 + 1e-12)
    assert only_noise(np.ones((1, 2)), 0, step_size=1.0, sigma=3.0, radius=5.0, rng=rng).tolist() == [[1, 1]]


def test_the_distribution_of_a_langevin_walk_on_a_quadratic_loss(rng: np.random.Generator) -> None:
    rows, aims = records(rng, 30, 1)
    steps, eta, temperature, precision, scale = 12, 0.02, 1.7, 2.0, 3.0
    hessian, pull = precision + scale * float(rows[:, 0] @ rows[:, 0]), scale * float(rows[:, 0] @ aims)
    mean = variance = 0.0
    for _ in range(steps):
        mean = mean - eta / 2 * (hessian * mean - pull)
        variance = (1 - eta / 2 * hessian) ** 2 * variance + eta * temperature

    def test(factor: float) -> float:
        trace = langevin(
            SquaredLoss,
            rows,
            aims,
            np.zeros((20_000, 1)),
            lambda _: np.arange(30),
            steps=steps,
            kept=np.array([6, 12]),
            step_size=eta,
            temperature=temperature * factor**2,
            precision=precision,
            scale=scale,
            weight=1.0,
            clip=1e6,
            radius=100.0,
            rng=rng,
        )
        assert trace.shape == (2, 20_000, 1)
        return normal_p_value(trace[1, :, 0], mean, float(np.sqrt(variance)))

    accepts(test)


def test_a_record_moves_a_langevin_step_by_at_most_the_clip(rng: np.random.Generator) -> None:
    """With the noise taken out, one step on two tables that differ in one record ends no further apart than said."""
    rows, aims = records(rng, 20, 4)

    def step(rows: np.ndarray, aims: np.ndarray, clip: float) -> np.ndarray:
        return langevin(
            SquaredLoss,
            rows,
            aims,
            np.full((1, 4), 3.0),
            lambda _: np.arange(len(rows)),
            steps=1,
            kept=np.array([1]),
            step_size=0.1,
            temperature=0.0,
            precision=0.5,
            scale=5.0,
            weight=2.0,
            clip=clip,
            radius=1e9,
            rng=np.random.default_rng(0),
        )[0, 0]

    for clip in (0.5, 3.0):
        moved = 0.0
        for _ in range(200):
            other, aim = records(rng, 1, 4)
            changed = np.concatenate([other, rows[1:]]), np.concatenate([aim, aims[1:]])
            # in units of the sum: a step is 0.1 / 2 times weight 2 times it
            apart = np.linalg.norm(step(rows, aims, clip) - step(*changed, clip)) / 0.1
            gone = np.linalg.norm(step(rows, aims, clip) - step(rows[1:], aims[1:], clip)) / 0.1
            assert apart <= 2 * clip * (1 + 1e-9)
            assert gone <= clip * (1 + 1e-9)
            moved = max(moved, float(apart))
        assert moved > 1.2 * clip


def test_gradients_are_shortened_and_made_finite() -> None:
    found = {
        0: [3.0, 4.0],
        1: [np.nan, 1.0],
        2: [np.inf, 0.0],
        3: [0.0, 0.0],
        4: [1e200, 1e200],
        5: [0.3, 0.4],
    }
    safe = clipped(lambda place, states: np.array([found[place]]), 2.0)
    states = np.zeros((1, 2))
    assert safe(0, states) == pytest.approx(np.array([[1.2, 1.6]]))
    assert safe(1, states).tolist() == [[0.0, 1.0]]
    assert safe(2, states).tolist() == [[0.0, 0.0]]
    assert safe(3, states).tolist() == [[0.0, 0.0]]
    assert safe(4, states) == pytest.approx(np.full((1, 2), np.sqrt(2)))
    assert safe(5, states) == pytest.approx(np.array([[0.3, 0.4]]))
    assert projected(np.array([[3.0, 4.0], [0.1, 0.0]]), 1.0) == pytest.approx(
        np.array([[0.6, 0.8], [0.1, 0.0]])
    )


def test_shortened_gradients_do_not_contract() -> None:
    """Why a declared bound on gradients must be true: a step on a convex quadratic, and the same one shortened."""
    curvature, step = np.diag([1.0, 0.01]), 1.0

    def gradient(place: int, states: np.ndarray) -> np.ndarray:
        return states @ curvature

    near = 1e-6
    states = np.array([[1.0, 30.0], [1.0 + 0.4 * near, 30.0 + near]])
    apart = np.linalg.norm(np.diff(states, axis=0))
    whole = states - step * gradient(0, states)
    short = states - step * clipped(gradient, 0.6)(0, states)
    assert np.linalg.norm(np.diff(whole, axis=0)) < apart
    assert np.linalg.norm(np.diff(short, axis=0)) > apart
