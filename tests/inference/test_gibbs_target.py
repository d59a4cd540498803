"""The density that the gibbs engine samples, against brute force, and the steps it is sampled with."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import kstest, multivariate_normal

import discreet as dc
from discreet.curator.publish import release_with
from discreet.inference.engine import Question
from discreet.inference.engines.gibbs.marginal import log_marginal
from discreet.inference.engines.gibbs.target import Place, Target, draw_noise, laplace_variances
from discreet.inference.engines.gibbs.unconstrain import TRANSFORMS
from discreet.inference.engines.gibbs.walkers import nested_r_hat
from discreet.inference.record_prior import record_prior
from discreet.priors import Beta, Dirichlet, Gamma, Normal, NormalInverseGamma, NormalInverseWishart

PRIORS: list[Any] = [
    Beta(0.4, 3),
    Gamma(2.5, 4),
    Normal(1, 3),
    NormalInverseGamma(1, 0.5, 2, 3),
    Dirichlet([0.5, 2, 3]),
    NormalInverseWishart([1, -1], 0.5, 5, [[2, 0.5], [0.5, 1]]),
]


def free(prior: Any, value: Any) -> np.ndarray:
    """The prior's value as independent numbers."""
    if isinstance(prior, Dirichlet):
        return value[0, :-1]
    if isinstance(prior, NormalInverseWishart):
        return np.concatenate([value[0][0], value[1][0][np.tril_indices(prior.dim)]])
    return np.concatenate(
        [np.atleast_1d(part[0]) for part in (value if isinstance(value, tuple) else (value,))]
    )


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
def test_chart_density_is_the_prior_times_the_volume(prior: Any, rng: np.random.Generator) -> None:
    coordinates = TRANSFORMS[type(prior)](prior)
    x = coordinates.sample(6, rng)
    for point in x:
        columns = []
        for i in range(coordinates.dim):
            step = np.zeros(coordinates.dim)
            step[i] = 1e-5
            up, down = (free(prior, coordinates.values((point + s * step)[None])) for s in (1, -1))
            columns.append((up - down) / 2e-5)
        log_volume = np.linalg.slogdet(np.array(columns))[1]
        want = float(np.squeeze(prior.log_density(coordinates.values(point[None])))) + log_volume
        # central differences of step 1e-5 are right to about 1e-8, more for the steep ones
        assert coordinates.log_density(point[None])[0] == pytest.approx(want, abs=1e-5)


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.name)
def test_chart_draws_are_the_priors(prior: Any, rng: np.random.Generator) -> None:
    n = 20_000
    coordinates = TRANSFORMS[type(prior)](prior)
    ours, theirs = coordinates.values(coordinates.sample(n, rng)), prior.sample(n, rng)
    for a, b in zip(*((v if isinstance(v, tuple) else (v,)) for v in (ours, theirs)), strict=True):
        a, b = a.reshape(n, -1), b.reshape(n, -1)
        for j in range(a.shape[1]):
            # 30 comparisons over the priors, each at 1e-5
            assert kstest(a[:, j], b[:, j]).pvalue > 1e-5


@pytest.mark.parametrize("s", [1e-9, 0.05, 1.0, 20.0, 3000.0])
@pytest.mark.parametrize("r", [0.0, 0.7, -3.0, 60.0])
def test_one_reading_by_integrating_over_the_sum(r: float, s: float) -> None:
    def log_p(g: np.ndarray) -> np.ndarray:
        return -0.5 * (g / s) ** 2 - np.log(s * np.sqrt(2 * np.pi)) - np.abs(r - g) - np.log(2)

    t, w = np.polynomial.legendre.leggauss(10)
    cuts = np.unique(
        np.concatenate(
            [s * np.linspace(-45, 45, 2001), r + np.outer([-1, 1], np.geomspace(1e-4, 60, 200)).ravel(), [r]]
        )
    )
    cuts = cuts[np.abs(cuts) <= 45 * s + 1e-12]
    g = cuts[:-1, None] + np.diff(cuts)[:, None] * (t + 1) / 2
    want = logsumexp(log_p(g), b=np.diff(cuts)[:, None] / 2 * w)
    assert log_marginal(np.array([[r]]), np.array([[[s * s]]]))[0] == pytest.approx(want, abs=1e-6)


def test_two_readings_by_integrating_over_both_variances(rng: np.random.Generator) -> None:
    """The mixture of normals itself: the density of two readings averaged over exponential variances."""
    t, weight = np.polynomial.legendre.leggauss(40)
    cuts = np.concatenate([[0], np.geomspace(1e-8, 120, 24)])
    w = (cuts[:-1, None] + np.diff(cuts)[:, None] * (t + 1) / 2).ravel()
    mass = (np.diff(cuts)[:, None] / 2 * weight).ravel() * 0.5 * np.exp(-w / 2)
    for _ in range(12):
        s, correlation = np.exp(rng.uniform(-1.5, 2, 2)), rng.uniform(-0.95, 0.95)
        c = np.array([[s[0] ** 2, correlation * s[0] * s[1]], [correlation * s[0] * s[1], s[1] ** 2]])
        r = rng.standard_normal(2) * np.sqrt(np.diag(c) + 2) * 1.5
        a, d = c[0, 0] + w[:, None], c[1, 1] + w
        det = a * d - c[0, 1] ** 2
        density = np.exp(-(d * r[0] ** 2 - 2 * c[0, 1] * r[0] * r[1] + a * r[1] ** 2) / (2 * det)) / np.sqrt(
            det
        )
        want = np.log(mass @ density @ mass / (2 * np.pi))
        assert log_marginal(r[:, None], c[:, :, None])[0] == pytest.approx(want, abs=2e-4)
        assert log_marginal(r[::-1, None], c[::-1, ::-1, None])[0] == pytest.approx(want, abs=2e-4)


def test_two_readings_of_one_sum(rng: np.random.Generator) -> None:
    """A singular covariance, as for cells that add up: one integral over the only sum."""
    for _ in range(10):
        s, a, b = np.exp(rng.uniform(-2, 2)), 1.0, rng.choice([-1.0, 0.5, 2.0])
        r = rng.standard_normal(2) * (s + 1)
        c = s * s * np.outer([a, b], [a, b])

        def p(g: float, r: np.ndarray = r, s: float = s, b: float = b) -> float:
            noise = np.exp(-abs(r[0] - g) - abs(r[1] - b * g)) / 4
            return float(noise * np.exp(-0.5 * (g / s) ** 2) / (s * np.sqrt(2 * np.pi)))

        ends = sorted({-12 * s, 12 * s, *(k for k in (r[0], r[1] / b, 0.0) if abs(k) < 12 * s)})
        want = sum(quad(p, u, v, limit=200)[0] for u, v in pairwise(ends))
        assert log_marginal(r[:, None], c[:, :, None])[0] == pytest.approx(np.log(want), abs=2e-4)


def question(
    family: Any, prior: Any, data: Any, mechanism: Any = None, *, records: Any = None, **how: Any
) -> Question:
    rng = np.random.default_rng(0)
    release = release_with(
        lambda noise: int(noise.sample(1, rng)[0]),
        data,
        family,
        mechanism or dc.mechanisms.Laplace(0.5),
        **how,
    )
    return Question(release, prior, record_prior(records), 4000, 4, rng)


def test_likelihood_given_variances_is_multivariate_normal(rng: np.random.Generator) -> None:
    asked = question(
        dc.Normal(), NormalInverseGamma(0, 1, 3, 3), rng.normal(size=300), bounds=(-2, 3), missing="count"
    )
    target = Target(asked)
    x = target.reference(5, rng)
    place, w = target.place(x), rng.exponential(2, (3, 5))
    theta, u = target.theta(x), target.usable(x)
    m, v = target.moments(theta)
    scale = [float(s) for s in asked.release.noise_record.scale]
    y = np.array(
        [float(a * g) for a, g in zip(asked.release.totals.values, asked.release.totals.grid, strict=True)]
    )
    for i in range(5):
        mean = np.array([u[i] * m[i, 0], u[i] * m[i, 1], u[i]])
        covariance = np.zeros((3, 3))
        covariance[:2, :2] = u[i] * v[i]
        covariance += np.diag(w[:, i] * np.square(scale))
        # the target reads in units of the noise: a constant per reading
        want = multivariate_normal(mean, covariance).logpdf(y) + np.log(scale).sum()  # pyright: ignore[reportArgumentType]
        assert target.log_likelihood(place, w)[i] == pytest.approx(want, rel=1e-9)


def test_collapsing_agrees_with_averaging_over_the_variances(rng: np.random.Generator) -> None:
    asked = question(
        dc.Exponential(), Gamma(4, 4), rng.exponential(size=300), bounds=(0.1, 3), missing="count"
    )
    target = Target(asked)
    place = target.place(target.reference(4000, rng))
    # far from the readings a mean over 200,000 variances has no accuracy: keep the eight nearest
    place = place.take(np.argsort(np.abs(place.residual).max(axis=0))[:8])
    n = 200_000
    w = target.readings.draw_variances(n, rng)
    for i in range(8):
        one = place.take(np.full(n, i))
        p = np.exp(target.log_likelihood(one, w) - target.log_collapsed(place, w)[i])
        # a mean of 1 within five Monte Carlo standard errors
        assert p.mean() == pytest.approx(1, abs=5 * p.std() / np.sqrt(n))


def test_variances_given_the_noise(rng: np.random.Generator) -> None:
    for distance in (1e-12, 0.3, 4.0, 300.0):
        w = laplace_variances(np.full(40_000, distance), rng)
        # the distribution has density proportional to w^(-1/2) exp(-w/2 - e^2 / 2w); its inverse is inverse Gaussian
        if distance > 0.01:
            from scipy.stats import invgauss

            assert kstest(1 / w, invgauss(1 / distance, scale=1).cdf).pvalue > 1e-5
        else:
            from scipy.stats import chi2

            assert kstest(w, chi2(1).cdf).pvalue > 1e-5
    assert np.isfinite(laplace_variances(np.zeros(1000), rng)).all()


def test_noise_given_the_residual_with_a_singular_covariance(rng: np.random.Generator) -> None:
    """Counts that sum to n: the drawn counts still do, and noise has its conditional mean and covariance."""
    p, n, size = np.array([0.2, 0.3, 0.5]), 50.0, 100_000
    c = n * (np.diag(p) - np.outer(p, p))
    d, r = np.array([4.0, 1.0, 9.0]), np.array([3.0, -2.0, 5.0])
    place = Place(np.zeros(size), np.repeat(r[:, None], size, 1), np.repeat(c[:, :, None], size, 2))
    e = draw_noise(place, np.repeat(d[:, None], size, 1), rng)
    assert np.abs((r[:, None] - e).sum(axis=0)).max() < 1e-9
    inverse = np.linalg.inv(c + np.diag(d))
    want = np.diag(d) @ inverse @ r
    covariance = np.diag(d) - np.diag(d) @ inverse @ np.diag(d)
    assert e.mean(axis=1) == pytest.approx(want, abs=5 * np.sqrt(np.diag(covariance).max() / size))
    assert np.cov(e) == pytest.approx(covariance, abs=5 * 2 * np.diag(covariance).max() / np.sqrt(size))


def test_count_range_holds_the_posterior() -> None:
    """A latent count is narrowed to where its posterior can be, whatever the reading says."""
    data = np.r_[np.ones(300), np.zeros(700)]
    how = {"missing": "none", "neighbors": "add_remove"}
    base = question(dc.Bernoulli(), Beta(1, 1), data, **how)
    count = Target(base).count
    assert count is not None
    assert count.low < 990
    assert count.high > 1010
    assert count.high < 3000
    far = Target(replace(base, records=record_prior((5000, 6000)))).count
    assert far is not None
    assert far.low == 4999.5
    assert far.high > 5100
    weights = np.zeros(2001)
    weights[[900, 1100]] = 1
    some = Target(replace(base, records=record_prior(weights))).count
    assert some is not None
    assert (some.low, some.high) == (899.5, 1100.5)
    assert np.isfinite(some.log_prior(np.array([900.2, 1099.7]))).all()
    assert np.isneginf(some.log_prior(np.array([1000.0])))


def test_nested_r_hat_sees_populations_apart(rng: np.random.Generator) -> None:
    draws = rng.standard_normal((6, 512, 1))
    assert nested_r_hat(draws)[0] < 1.01
    draws[:, 128:256] += 0.5
    assert nested_r_hat(draws)[0] > 1.01
