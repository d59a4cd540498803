"""Moments of one record against adaptive quadrature, closed forms and high precision."""

from __future__ import annotations

import runpy
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import discreet as dc
from discreet.artifact import Release
from discreet.curator.publish import release_with
from discreet.families import Family
from discreet.inference.engine import TooLong, allowed, left
from discreet.inference.engines.gibbs.box import box_moments
from discreet.inference.engines.gibbs.feature_moments import feature_moments, normal_moments
from discreet.models.registry import REGISTERED

# the family of the docs, known to this module only
Rayleigh = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "examples" / "rayleigh.py"))["Rayleigh"]
REGISTERED.pop("rayleigh")


CASES: dict[str, tuple[Family, Any, dict[str, list[float]]]] = {
    "poisson": (dc.Poisson(), (1, 9), {"rate": [0.3, 4.0, 30.0]}),
    "wide poisson": (dc.Poisson(), (100, 3000), {"rate": [2.0, 90.0, 1500.0]}),
    "geometric": (dc.Geometric(), (1, 12), {"p": [0.01, 0.3, 0.9]}),
    "exponential": (dc.Exponential(), (0.2, 4.0), {"rate": [0.01, 1.0, 60.0]}),
    "gamma": (dc.Gamma(2.5), (0.2, 4.0), {"rate": [0.05, 1.0, 40.0]}),
    "steep gamma": (dc.Gamma(0.4), (0, 2.0), {"rate": [0.05, 1.0, 40.0]}),
    "laplace": (dc.Laplace(0.5), (-2.0, 2.5), {"rate": [0.05, 1.0, 40.0]}),
    "known variance": (dc.Normal(variance=2.0), (-3.0, 4.0), {"mean": [-9.0, 0.5, 5.0]}),
    "known mean": (dc.Normal(mean=0.3), (-3.0, 4.0), {"variance": [0.01, 1.0, 90.0]}),
    "normal": (dc.Normal(), (-3.0, 4.0), {"mean": [-9.0, 0.5, 3.9], "variance": [9.0, 0.3, 0.001]}),
    "user-defined": (Rayleigh(), (0.1, 3.0), {"rate": [0.05, 1.0, 40.0]}),
}


def blank(family: Family, bounds: Any, outside: Any = "redact", **how: Any) -> Release:
    """A release of nothing in particular."""
    return release_with(
        lambda distribution: 0, np.zeros(8), family, dc.mechanisms.Laplace(1),
        bounds=bounds, outside=outside, missing="none", **how,
    )  # fmt: skip


def expected(release: Release, theta: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the features: 120 panels around every point that matters, or all integers."""
    family = release.family
    low, high = (float(b) for b in release.domain.bounds[0])  # pyright: ignore[reportOptionalSubscript]
    shift, half = float(release.layout.shift[0]), float(release.layout.half[0])  # pyright: ignore[reportOptionalSubscript]
    if family.support.discrete:
        x = np.arange(0.0, 8000.0)
        weight = np.ones(x.size)
    else:
        near = np.geomspace(1e-12, 4000, 120)
        anchors = np.array([low, high, 0.0, 0.3, 0.5, theta.get("mean", 0.0)])
        cuts = np.unique(
            np.concatenate([anchors, (anchors[:, None] + near).ravel(), (anchors[:, None] - near).ravel()])
        )
        cuts = cuts[cuts >= max(family.support.low, -4000)]
        t, w = np.polynomial.legendre.leggauss(12)
        x = (cuts[:-1, None] + np.diff(cuts)[:, None] * (t + 1) / 2).ravel()
        weight = (np.diff(cuts)[:, None] / 2 * w).ravel()
    probability = weight * np.exp(family.log_density(x, {k: np.array(v) for k, v in theta.items()}))
    assert probability.sum() == pytest.approx(1, abs=1e-5)
    z = (np.asarray(family.measure(np.clip(x, low, high))) - shift) / half
    features = np.array(family.geometry.features([z]))
    if release.domain.outside == "redact":
        features = features * ((x >= low) & (x <= high))
    mean = features @ probability
    return mean, (features * probability) @ features.T - np.outer(mean, mean)


@pytest.mark.parametrize("outside", ["redact", "clip"])
@pytest.mark.parametrize("name", CASES)
def test_moments_of_one_column(name: str, outside: str) -> None:
    family, bounds, theta = CASES[name]
    release = blank(family, bounds, outside)
    mean, covariance = feature_moments(release)({k: np.array(v) for k, v in theta.items()})
    # an infinite density at zero costs the reference digits too; whole tails, for clipping, are right to 1e-6
    tolerance = 2e-5 if name == "steep gamma" else 1e-6 if outside == "clip" else 1e-7
    for i in range(3):
        m, v = expected(release, {k: values[i] for k, values in theta.items()})
        assert mean[i] == pytest.approx(m, abs=tolerance)
        assert covariance[i] == pytest.approx(v, abs=tolerance)


def test_labels_have_closed_forms() -> None:
    p = np.array([0.2, 0.9])
    mean, variance = feature_moments(blank(dc.Bernoulli(), None))({"p": p})
    assert np.allclose(mean[:, 0], 2 * p - 1, rtol=1e-15)
    assert np.allclose(variance[:, 0, 0], 4 * p * (1 - p), rtol=1e-15)
    cells = np.array([[0.2, 0.3, 0.5]])
    mean, covariance = feature_moments(blank(dc.Categorical(3), None))({"p": cells})
    assert np.allclose(mean, cells, rtol=1e-15)
    assert np.allclose(covariance[0], np.diag(cells[0]) - np.outer(cells[0], cells[0]), atol=1e-16)


@pytest.mark.parametrize(
    ("mu", "sd"), [(0.2, 1e-4), (0.2, 1e3), (-30.0, 1.0), (5.0, 0.2), (1.0, 0.05), (-1e3, 30.0)]
)
def test_normal_moments_in_the_tails(mu: float, sd: float) -> None:
    """Narrow, broad and far normals in forty digits: every moment keeps its relative accuracy."""
    mpmath.mp.dps = 40
    near = min(max(mu, -1), 1)
    cuts = sorted(
        {
            -1.0,
            1.0,
            *(float(np.clip(near + s * k * sd, -1, 1)) for s in (-1, 1) for k in (0.01, 0.1, 1, 4, 12)),
        }
    )

    def raw(k: int) -> Any:
        def integrand(z: Any) -> Any:
            return z**k * mpmath.exp(-(((z - mu) / sd) ** 2) / 2) / (sd * mpmath.sqrt(2 * mpmath.pi))

        return mpmath.quad(integrand, cuts)

    m1, m2, m3, m4 = (raw(k) for k in (1, 2, 3, 4))
    want_mean = [float(m1), float(m2)]
    want = [float(m2 - m1**2), float(m3 - m1 * m2), float(m4 - m2**2)]
    mean, v = normal_moments(np.array([mu]), np.array([sd]), clip=False)
    assert mean[0] == pytest.approx(want_mean, rel=1e-9, abs=1e-12)
    assert [v[0, 0, 0], v[0, 0, 1], v[0, 1, 1]] == pytest.approx(want, rel=1e-7, abs=1e-12)
    assert np.linalg.eigvalsh(v[0])[0] >= -1e-15


@pytest.mark.parametrize("d", [2, 3])
def test_box_holds_a_normal_that_stays_inside(d: int, rng: np.random.Generator) -> None:
    root = rng.standard_normal((d, d))
    covariance = root @ root.T
    covariance *= 0.02 / np.diag(covariance).max()
    theta = {"normal_mean": rng.uniform(-0.1, 0.1, d), "covariance": covariance}
    family = dc.MultivariateNormal(d)
    for clip in (False, True):
        mean, v = box_moments(theta["normal_mean"][None], covariance[None], clip=clip)
        tolerance = 1e-7 if d == 2 else 1e-4
        assert mean[0] == pytest.approx(family.statistic_mean(theta), abs=tolerance)
        assert v[0] == pytest.approx(family.statistic_covariance(theta), abs=tolerance)


@pytest.mark.parametrize("clip", [False, True])
def test_box_cuts_a_correlated_normal(clip: bool, rng: np.random.Generator) -> None:
    """Two columns against a product of one-column rules, with a correlation of 0.99."""
    sd, correlation, mean = np.array([0.8, 0.6]), 0.99, np.array([0.4, -0.7])
    covariance = np.outer(sd, sd) * np.array([[1, correlation], [correlation, 1]])
    got = box_moments(mean[None], covariance[None], clip=clip)[0][0]
    rest = sd[1] * np.sqrt(1 - correlation**2)

    def given(x: float, k: int) -> float:
        """E z_2^k given the first column, the second redacted or clipped."""
        center = mean[1] + correlation * sd[1] / sd[0] * (x - mean[0])

        def p(z: float) -> float:
            return float(np.exp(-(((z - center) / rest) ** 2) / 2) / (rest * np.sqrt(2 * np.pi)))

        points = [c for c in (center - 3 * rest, center, center + 3 * rest) if -1 < c < 1]
        total = quad(lambda z: z**k * p(z), -1, 1, points=points or None, limit=200)[0]
        if clip:
            from scipy.special import ndtr

            total += (-1) ** k * ndtr((-1 - center) / rest) + ndtr((center - 1) / rest)
        return total

    def outer(a: int, k: int) -> float:
        def integrand(x: float) -> float:
            p = np.exp(-(((x - mean[0]) / sd[0]) ** 2) / 2) / (sd[0] * np.sqrt(2 * np.pi))
            return float(np.clip(x, -1, 1) ** a * p * given(x, k))

        ends = [-6.0, -1.0, 1.0, 6.0] if clip else [-1.0, 1.0]
        return sum(quad(integrand, u, v, limit=200)[0] for u, v in pairwise(ends))

    want = [outer(1, 0), outer(0, 1), outer(2, 0), outer(1, 1), outer(0, 2)]
    assert got == pytest.approx(want, abs=2e-5)


@pytest.mark.parametrize("clip", [False, True])
def test_points_of_a_box_are_counted_as_work(clip: bool) -> None:
    """Three columns of a forged file took over 90 s: nobody counted what a place costs."""
    mean, covariance = np.zeros((1000, 3)), np.tile(np.eye(3), (1000, 1, 1))
    with allowed(10.0):
        box_moments(mean, covariance, clip=clip)
        spent = 10.0 - left()
        assert 0.01 < spent < 1.0
    with pytest.raises(TooLong), allowed(spent / 2):
        box_moments(mean, covariance, clip=clip)


def _weighted(z: float, k: int, mean: float, sd: float) -> float:
    return float(z**k * norm.pdf(z, mean, sd))


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("center", [0.0, 0.9, 3.0])
def test_box_of_three_independent_columns(center: float, clip: bool) -> None:
    """Against one column's rule: products of their moments, for densities narrow, wide and mostly outside."""
    sd = np.array([0.2, 0.7, 3.0])
    mean = np.array([center, center / 2, center])
    got, spread = box_moments(mean[None], np.diag(sd**2)[None], clip=clip)
    first, second, inside = [], [], []
    for m, s in zip(mean, sd, strict=True):
        low, high = norm.cdf((-1 - m) / s), norm.sf((1 - m) / s)
        raw = [quad(_weighted, -1, 1, args=(k, m, s), points=[min(m, 1)])[0] for k in range(3)]
        first.append(raw[1] + (high - low if clip else 0.0))
        second.append(raw[2] + (high + low if clip else 0.0))
        inside.append(1.0 if clip else raw[0])
    others = [inside[1] * inside[2], inside[0] * inside[2], inside[0] * inside[1]]
    want = [a * b for a, b in zip(first, others, strict=True)]
    assert got[0, :3] == pytest.approx(want, abs=2e-5)
    assert got[0, 4] == pytest.approx(first[0] * first[1] * inside[2], abs=2e-5)
    assert got[0, 3] == pytest.approx(second[0] * others[0], abs=2e-5)
    assert np.linalg.eigvalsh(spread[0])[0] > -1e-12
