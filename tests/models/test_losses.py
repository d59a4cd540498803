"""The constants of the regression losses: proved in words, checked by search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import pdist

from discreet.errors import UsageError
from discreet.models.losses import LinearLoss, LogisticLoss, LossConstants, SquaredLoss

LOSSES: list[type[LinearLoss]] = [LogisticLoss, SquaredLoss]


def targets(loss: type[LinearLoss], rng: np.random.Generator, n: int) -> np.ndarray:
    signs = rng.choice([-1.0, 1.0], size=n)
    return signs if loss is LogisticLoss else np.where(rng.random(n) < 0.5, signs, rng.uniform(-1, 1, size=n))


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_within_the_distance_and_reach_it(
    loss: type[LinearLoss], rng: np.random.Generator
) -> None:
    for radius in (0.01, 0.5, 2.0, 20.0):
        allowed = 2 * loss.constants(radius, 0.1).gradient_bound
        for _ in range(30):
            w = rng.normal(size=3)
            w *= radius * rng.random() ** 0.3 / np.linalg.norm(w)
            rows = rng.normal(size=(300, 3))
            rows *= (rng.random((300, 1)) ** 0.1) / np.linalg.norm(rows, axis=1, keepdims=True)
            gradients = loss.slope(rows @ w, targets(loss, rng, 300))[:, None] * rows + 0.1 * w
            assert pdist(gradients).max() <= allowed
        # the pair of mirror images
        t = np.linspace(0, 1, 20_001)
        v = np.stack([t, np.sqrt(1 - t**2)], axis=1)
        one = loss.slope(v @ [-radius, 0.0], np.ones(t.size))[:, None] * v
        two = loss.slope((v * [1, -1]) @ [-radius, 0.0], np.ones(t.size))[:, None] * (v * [1, -1])
        assert np.linalg.norm(one - two, axis=1).max() == pytest.approx(allowed, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_ball_holds_all_gradients(loss: type[LinearLoss]) -> None:
    """The last step of the proof, for every radius that anybody declares: no gradient is outside the ball."""
    t = np.linspace(-1, 1, 4001)
    for radius in np.geomspace(1e-3, 1e4, 200):
        size = loss.size(radius * t)
        best: Any = minimize_scalar(
            lambda x, r=radius: -np.sqrt(1 - x**2) * loss.size(r * x),
            bounds=(0.0, 1.0),
            method="bounded",
            options={"xatol": 1e-13},
        )
        center = best["x"] * loss.size(radius * best["x"])
        distance = np.sqrt((t * size - center) ** 2 + (1 - t**2) * size**2)
        # the search for the center is good to 1e-8, and distances are flat there
        assert distance.max() <= loss.constants(radius, 0.0).gradient_bound * (1 + 1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_curvature_is_between_the_constants(loss: type[LinearLoss], rng: np.random.Generator) -> None:
    given = loss.constants(3.0, 0.2)
    y = targets(loss, rng, 50)
    for _ in range(50):
        rows = rng.normal(size=(50, 4))
        rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
        w, v = rng.normal(size=(2, 4))

        def gradient(x: np.ndarray, rows: np.ndarray = rows) -> np.ndarray:
            return loss.slope(rows @ x, y)[:, None] * rows + 0.2 * x

        change, step = gradient(w) - gradient(v), w - v
        assert np.all(np.linalg.norm(change, axis=1) <= given.smoothness * np.linalg.norm(step) * (1 + 1e-9))
        assert np.all(change @ step >= given.strong_convexity * step @ step * (1 - 1e-9))
    assert (given.smoothness, given.strong_convexity) == (loss.curvature + 0.2, 0.2)
    assert given.largest_step == pytest.approx(2 / (given.smoothness + 0.2))


@pytest.mark.parametrize(
    ("constants", "words"),
    [
        ((0.0, 1.0, 0.0), "gradient_bound must be positive"),
        ((1.0, 0.0, 0.0), "smoothness must be positive"),
        ((1.0, 1.0, -0.1), "strong_convexity must be at least 0"),
        ((1.0, 1.0, 2.0), "strong_convexity must not exceed smoothness"),
        ((float("nan"), 1.0, 0.0), "gradient_bound must be a finite number"),
        ((1.0, float("inf"), 0.0), "smoothness must be a finite number"),
        ((1.0, None, 0.0), "smoothness must be a finite number"),
        ((True, 1.0, 0.0), "gradient_bound must be a finite number"),
    ],
)
def test_constants_that_are_missing_or_inconsistent(constants, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        LossConstants(*constants)
