"""Regressions from k-norm noise: its density and slope, walks against weighted draws, and parts of a release."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.inference.regression import Readings
from discreet.inference.regression.moment_draws import moved_moments
from discreet.inference.regression.moment_kernels import log_density
from discreet.inference.regression.moment_prior import draw_prior, draw_priors
from discreet.mechanisms import KNorm
from discreet.privacy.thinned import ThinnedLaplace
from discreet.samplers.secure import RandomSource

BOUNDS: dict[str, Any] = {"y": (0, 10), "x": (-2, 2), "u": (1, 4), "b": ["no", "yes"]}
FEATURES = {"one number": ["x"], "a number and a sign": ["x", "b"], "two numbers": ["x", "u"]}


def model_of(*features: str) -> dc.models.LinearRegression:
    declared = {k: v for k, v in BOUNDS.items() if k in {"y", *features}}
    return dc.models.LinearRegression("y", list(features), bounds=declared)


def rows_of(n: int, rng: np.random.Generator) -> dict[str, Any]:
    x, u, b = rng.uniform(-2, 2, n), rng.uniform(1, 4, n), rng.random(n) < 0.4
    y = np.clip(4 + 1.2 * x - 0.8 * u + b + rng.normal(0, 0.7, n), 0, 10)
    return {"y": y, "x": x, "u": u, "b": np.where(b, "yes", "no")}


def release_of(features: list[str], n: int, epsilon: Any, rng: np.random.Generator) -> dc.Release:
    source = RandomSource.seeded(rng)
    return sample_with(source, rows_of(n, rng), model_of(*features), KNorm(epsilon), missing="none")


def state_of(mean: np.ndarray, root: np.ndarray) -> np.ndarray:
    rows, columns = np.tril_indices(len(mean))
    return np.concatenate([mean, np.where(rows == columns, np.log(np.diag(root))[rows], root[rows, columns])])


def density_at(q: np.ndarray, readings: Readings, n: float) -> tuple[float, np.ndarray]:
    p = readings.size
    slope, work = np.zeros(len(q)), [np.zeros((p, p)) for _ in range(3)]
    return log_density(q, slope, n, *readings.given(n), *work), slope


def norms_at(
    release: dc.Release, readings: Readings, mean: np.ndarray, root: np.ndarray, n: float
) -> tuple[float, float]:
    """Return the L1 norm of what noise would be at a state and its largest form, sum by sum as they are released."""
    design = release.model.require(dc.models.LinearRegression, "a line").released_design
    every = np.eye(len(mean) + 1)
    every[1:, 0] = every[0, 1:] = mean
    every[1:, 1:] = root @ root.T + np.outer(mean, mean)
    noise = release.totals.numbers - n * np.array([every[i, j] for i, j in design.pairs])
    joint = readings.joint
    assert joint is not None
    return float((np.abs(noise) / joint.scales).sum()), float((np.array(joint.forms) @ noise).max())


@pytest.mark.parametrize("name", FEATURES)
def test_the_density_and_its_slope(name: str, rng: np.random.Generator) -> None:
    """Against another formula, and against differences, where the forms are larger and where the L1 norm is."""
    n = 100.0
    release = release_of(FEATURES[name], 100, 1, rng)
    readings = Readings.of(release)
    laplace = replace(readings, joint=None)
    binding = 0
    for _ in range(8):
        mean, root = draw_prior(readings.size - 1, rng)
        q = state_of(mean, root)
        found, slope = density_at(q, readings, n)
        l1, form = norms_at(release, readings, mean, root, n)
        binding += form > l1
        # all else is alike
        assert found - density_at(q, laplace, n)[0] == pytest.approx(l1 - max(l1, form))
        steps = np.eye(len(q)) * 1e-6
        numeric = [
            (density_at(q + h, readings, n)[0] - density_at(q - h, readings, n)[0]) / 2e-6 for h in steps
        ]
        assert slope == pytest.approx(np.array(numeric), rel=1e-4, abs=1e-4 * np.abs(slope).max())
    assert binding > 0
    # forms that never are the larger change nothing
    joint = readings.joint
    assert joint is not None
    small = tuple(tuple(1e-3 * value for value in form) for form in joint.forms)
    loose = replace(readings, joint=ThinnedLaplace(joint.scales, small))
    for _ in range(4):
        q = state_of(*draw_prior(readings.size - 1, rng))
        ours, theirs = density_at(q, loose, n), density_at(q, laplace, n)
        assert ours[0] == pytest.approx(theirs[0], rel=1e-12)
        assert ours[1] == pytest.approx(theirs[1], rel=1e-12)


def test_walks_agree_with_weighted_draws_from_the_prior(rng: np.random.Generator) -> None:
    """Against independent draws from the prior that are weighted by the noise; other noise is told apart."""
    n, size = 100.0, 30_000
    release = release_of(["x"], 100, "0.2", rng)
    readings = Readings.of(release)
    walked = moved_moments(readings, np.array([n]), 4000, 4, rng)
    means, roots = draw_priors(1, size, rng)
    every = [norms_at(release, readings, *state, n) for state in zip(means, roots, strict=True)]
    norms = np.array(every)

    def numbers(mean: np.ndarray, root: np.ndarray) -> np.ndarray:
        sds = np.sqrt(np.einsum("njk,njk->nj", root, root))
        return np.column_stack([mean, sds, root[:, 1, 0] / root[:, 0, 0]])

    ours, theirs = numbers(walked.mean, walked.root), numbers(means, roots)

    def worst(log_weights: np.ndarray) -> float:
        """Return the largest distance of quantiles in standard errors; a walk has at least 400 effective draws."""
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        effective = 1 / (weights**2).sum()
        assert effective > 200
        found = 0.0
        for i in range(ours.shape[1]):
            for level in (0.1, 0.5, 0.9):
                share = weights[theirs[:, i] <= np.quantile(ours[:, i], level)].sum()
                error = np.sqrt(level * (1 - level) * (1 / effective + 1 / 400))
                found = max(found, abs(share - level) / error)
        return found

    limit = float(stats.norm.isf(1e-4 / 2 / 15))
    assert worst(-norms.max(axis=1)) < limit
    # as if it were the Laplace noise of the L1 norm alone, which is wider
    assert worst(-0.5 * norms.max(axis=1)) > limit


def test_other_regressions_from_one_release(rng: np.random.Generator) -> None:
    """With hardly any noise a part of a release says what least squares do; with some, as much as all of it does."""
    rows = rows_of(4000, rng)
    source = RandomSource.seeded(rng)
    release = sample_with(source, rows, model_of("x", "u"), KNorm(10_000))
    for target, features in (("y", ["x"]), ("x", ["y", "u"]), ("u", ["x"])):
        posterior = dc.regress(release, target, features, draws=1000, rng=1)
        design = np.column_stack([np.ones(4000), *(rows[one] for one in features)])
        found, residual = np.linalg.lstsq(design, rows[target], rcond=None)[:2]
        errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * residual[0] / 4000)
        drawn = np.column_stack([posterior.draws["intercept"], posterior.draws["coefficients"]])
        assert (np.abs(drawn.mean(axis=0) - found) < 0.6 * errors).all()
    noisy = sample_with(source, rows, model_of("x", "u"), KNorm(1))
    whole, part = dc.infer(noisy, rng=1), dc.regress(noisy, rng=1)
    for name in ("coefficients", "residual_sd"):
        one, other = (np.asarray(each.draws[name]) for each in (whole, part))
        # of 4,000 draws at least 400 are effective
        assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < 4.5 * one.std(axis=0) / np.sqrt(200)).all()


def test_noise_is_read_and_not_ignored(rng: np.random.Generator) -> None:
    """Intervals are wider than those of the naive engine, and narrower than those under Laplace noise."""
    rows, source = rows_of(400, rng), RandomSource.seeded(rng)
    widths = {
        kind: np.mean(
            [
                dc.infer(sample_with(source, rows, model_of("x"), kind(1)), draws=800, rng=1)
                .draws["coefficients"]
                .std()
                for _ in range(6)
            ]
        )
        for kind in (dc.mechanisms.KNorm, dc.mechanisms.Laplace)
    }
    assert widths[dc.mechanisms.KNorm] < 0.9 * widths[dc.mechanisms.Laplace]
    release = sample_with(source, rows, model_of("x"), KNorm(1))
    naive: Any = dc.infer(release, engine="naive", draws=800, rng=1)
    assert "noise is ignored" in naive.diagnostics.warnings[0]
    assert naive.draws["coefficients"].std() < 0.6 * widths[dc.mechanisms.KNorm]
