"""Exact divergences of conjugate posteriors: against quadrature with 40 digits, closed forms and all tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, logit

import discreet as dc
from discreet.priors import Beta, Gamma, Normal, Prior
from discreet.privacy.metric import (
    Bracket,
    beta_constants,
    hockey_stick,
    posterior_guarantee,
    total_variation_bound,
    worst_hockey_stick,
)

from .oracles import gaussian_delta

#: Near and far, small and large, with a log-ratio that is monotone, has a maximum or a minimum.
PAIRS: list[tuple[Prior, Prior]] = [
    (Beta(3, 5), Beta(4, 4)),
    (Beta(3, 5), Beta(5, 9)),
    (Beta(0.5, 0.5), Beta(1, 1)),
    (Beta(2, 1), Beta(1, 1)),
    (Beta(1e4, 3e6), Beta(1e4 + 1, 3e6 - 1)),
    (Beta(40, 0.1), Beta(39, 1.1)),
    (Gamma(3, 2), Gamma(3, 2.5)),
    (Gamma(5, 3), Gamma(3, 2)),
    (Gamma(0.2, 7), Gamma(4.2, 7)),
    (Gamma(2e5, 1e-1), Gamma(2e5 + 1, 1e-1)),
    (Normal(0, 1), Normal(0.3, 1)),
    (Normal(2, 3), Normal(1, 0.5)),
    (Normal(2, 0.5), Normal(1, 3)),
]


def reference(p: Prior, q: Prior, epsilon: float) -> float:
    """Integrate the positive part of p - e^epsilon q in extended precision, cut where it changes sign."""
    wide = np.longdouble
    # coordinate without bounds, log-density there up to its constant, and where all mass is
    if isinstance(p, Beta):
        inside = [stats.beta(*distribution.numbers()) for distribution in (p, q)]
        ends = (
            [logit(max(d.ppf(1e-19), 1e-300)) for d in inside],
            [-logit(max(_mirror(d), 1e-300)) for d in inside],
        )
    elif isinstance(p, Gamma):
        inside = [
            stats.gamma(shape, scale=1 / rate)
            for shape, rate in (distribution.numbers() for distribution in (p, q))
        ]
        ends = [np.log(max(d.ppf(1e-19), 1e-300)) for d in inside], [np.log(d.isf(1e-19)) for d in inside]
    else:
        inside = [stats.norm(*distribution.numbers()) for distribution in (p, q)]
        ends = [d.ppf(1e-19) for d in inside], [d.isf(1e-19) for d in inside]

    def log_density(distribution: Prior, u: np.ndarray) -> np.ndarray:
        first, second = (wide(v) for v in distribution.numbers())
        with mpmath.workdps(40):
            if isinstance(distribution, Beta):
                log_c = (
                    mpmath.loggamma(distribution.a)
                    + mpmath.loggamma(distribution.b)
                    - mpmath.loggamma(mpmath.mpf(distribution.a) + distribution.b)
                )
                value = -first * np.logaddexp(wide(0), -u) - second * np.logaddexp(wide(0), u)
            elif isinstance(distribution, Gamma):
                log_c = mpmath.loggamma(distribution.shape) - distribution.shape * mpmath.log(
                    distribution.rate
                )
                value = first * u - second * np.exp(u)
            else:
                log_c = mpmath.log(second) + mpmath.log(2 * mpmath.pi) / 2
                value = -(((u - first) / second) ** 2) / 2
            return value - wide(mpmath.nstr(log_c, 30))

    def gap(u: np.ndarray) -> np.ndarray:
        return log_density(p, u) - log_density(q, u) - wide(epsilon)

    edges = np.linspace(wide(min(ends[0])), wide(max(ends[1])), 4001)
    signs = gap(edges) > 0
    for i in np.flatnonzero(signs[1:] != signs[:-1])[::-1]:
        low, high = edges[i], edges[i + 1]
        for _ in range(70):
            middle = (low + high) / 2
            low, high = (middle, high) if (gap(middle) > 0) == signs[i] else (low, middle)
        edges = np.insert(edges, i + 1, middle)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    u = edges[:-1, None] + np.diff(edges)[:, None] * wide(0.5) * (nodes + 1)
    excess = np.exp(log_density(p, u)) - np.exp(log_density(q, u) + wide(epsilon))
    return float((np.maximum(excess, 0) * weights * np.diff(edges)[:, None] / 2).sum())


def _mirror(distribution: Any) -> float:
    """Return 1 - x at the upper tail of a beta distribution."""
    return float(stats.beta(distribution.args[1], distribution.args[0]).ppf(1e-19))


@pytest.mark.parametrize("index", range(len(PAIRS)))
def test_brackets_hold_the_true_divergence(index: int) -> None:
    p, q = PAIRS[index]
    for epsilon in (0.0, 0.4):
        found = hockey_stick(p, q, epsilon)
        true = reference(p, q, epsilon)
        # quadrature is good to 1e-13
        assert found.low - 1e-13 <= true <= found.high + 1e-13
        # the log-ratio of distributions with parameters in the millions is a difference of numbers in the millions
        loose = 1e-4 if max(p.numbers()) > 1e4 else 1e-6
        assert found.high - found.low <= loose * max(true, 1e-4)


@pytest.mark.slow
def test_brackets_hold_on_many_pairs(rng: np.random.Generator) -> None:
    """Random distributions, near and far, with hyperparameters over seven orders of magnitude."""
    for _ in range(1500):
        kind = [Beta, Gamma, Normal][int(rng.integers(3))]
        place = np.exp(rng.uniform(np.log(0.1), np.log(1e6), size=2))
        near = place * np.exp(rng.normal(size=2) * rng.choice([1e-6, 1e-3, 0.1, 1]))
        if kind is Normal:
            p, q = Normal(rng.normal(), 1.0), Normal(rng.normal(), float(np.exp(rng.normal())))
        else:
            p, q = kind(*place), kind(*np.clip(near, 0.06, 9e6))
        epsilon = float(rng.choice([0.0, 0.1, 1.0, 3.0]))
        found, true = hockey_stick(p, q, epsilon), reference(p, q, epsilon)
        assert found.low - 1e-12 <= true <= found.high + 1e-12, (p, q, epsilon)


def test_small_deltas_keep_their_digits() -> None:
    for distance, epsilon in product((0.1, 1.0, 3.0), (0.0, 0.5, 4.0)):
        found = hockey_stick(Normal(5 + distance * 2, 2), Normal(5, 2), epsilon)
        true = float(gaussian_delta(distance, np.array(epsilon)))
        assert found.low * (1 - 1e-9) <= true <= found.high * (1 + 1e-9)
        assert found.high <= true * (1 + 1e-7) + 1e-300


def test_units_do_not_matter() -> None:
    same = [hockey_stick(Gamma(3, 2 * unit), Gamma(3, 2.5 * unit), 0.2) for unit in (1, 1e-6, 1e9)]
    assert [b.high for b in same] == pytest.approx([same[0].high] * 3, rel=1e-9)


def test_equal_distributions_and_wrong_ones() -> None:
    same = hockey_stick(Beta(2, 3), Beta(2, 3))
    assert same.low == 0 <= same.high < 1e-9
    with pytest.raises(dc.errors.UsageError, match="beta, gamma or normal"):
        hockey_stick(Beta(1, 1), Gamma(1, 1))
    with pytest.raises(dc.errors.UsageError, match=r"between 0\.05 and 1e"):
        hockey_stick(Beta(0.01, 1), Beta(1, 1))
    for wrong in (-1, float("nan")):
        with pytest.raises(dc.errors.UsageError, match="epsilon"):
            hockey_stick(Beta(1, 1), Beta(2, 1), wrong)


def test_the_worst_neighbors_are_the_worst_of_all_tables() -> None:
    """Every pair of neighboring tables of two records, steps that are not whole included."""
    epsilon = 0.3
    cases: list[tuple[Any, Prior, Any, list[float]]] = [
        (dc.Bernoulli(), Beta(2, 0.7), None, [0, 1]),
        (dc.Poisson(), Gamma(1.5, 2), (1, 4), [1, 2, 3, 4]),
        (dc.Geometric(), Beta(1.5, 2), (0, 3), [0, 1, 2, 3]),
        (dc.Exponential(), Gamma(1.5, 2), (0.5, 3), [0.5, 1, 2, 3]),
        (dc.Laplace(location=0), Gamma(1.5, 2), (-1, 3), [-1, 0, 1, 3]),
        (dc.Normal(mean=1), Gamma(2, 2), (-1, 2), [-1, 1, 1.5, 2]),
        (dc.Normal(variance=3), Normal(0, 2), (-1, 2), [-1, 0, 0.5, 2]),
    ]
    for family, prior, bounds, records in cases:
        worst = worst_hockey_stick(family, prior, 2, epsilon, bounds)
        found = Bracket(0.0, 0.0)
        for rest in records:
            distributions = [family.learn(prior, np.array([rest, x])) for x in records]
            each = (hockey_stick(p, q, epsilon) for p, q in permutations(distributions, 2))
            found = max([found, *each], key=lambda bracket: bracket.low)
        assert found.low <= worst.high
        assert worst.low <= found.high * (1 + 1e-9)


def test_a_draw_from_the_posterior_as_it_is() -> None:
    """Where the printed delta of lemma 21 is 70, the true one is 0.22."""
    alpha, n = 4.0, 10
    found = posterior_guarantee(dc.Bernoulli(), Beta(alpha, alpha), n, 0)
    assert isinstance(found, dc.MetricDP)
    assert float(found.delta) == pytest.approx(0.223, abs=1e-3)
    c = 2 ** (1 - 2 * alpha) / np.exp(betaln(alpha, alpha))
    ratio = np.exp(betaln(alpha, alpha) - betaln((n + 2 * alpha - 1) / 2, (n + 2 * alpha + 1) / 2))
    assert np.sqrt(ratio / 2 * (1 + 2 * np.log(n) + 1 / c)) > 60
    assert total_variation_bound(beta_constants(alpha, n), 1, steps=1) == 1
    approx = posterior_guarantee(dc.Bernoulli(), Beta(alpha, alpha), n, Fraction(1, 2))
    assert isinstance(approx, dc.ApproxDP)
    assert approx.epsilon == Fraction(1, 2)
    assert approx.delta < found.delta
    # the promise is kept by every pair of neighboring counts, and one a hundredth smaller is not
    deltas = [
        hockey_stick(Beta(alpha + k, alpha + n - k), Beta(alpha + j, alpha + n - j), 0.5).low
        for k in range(n + 1)
        for j in (k - 1, k + 1)
        if 0 <= j <= n
    ]
    assert 0.99 * float(approx.delta) < max(deltas) <= float(approx.delta)


def test_what_cannot_be_promised_is_refused() -> None:
    with pytest.raises(dc.errors.UsageError, match="not below 1"):
        posterior_guarantee(dc.Exponential(), Gamma(1, 0.06), 400, 0, (0, 500))
    with pytest.raises(dc.errors.UsageError, match="no exact divergence"):
        posterior_guarantee(dc.Categorical(3), dc.priors.Dirichlet([1, 1, 1]), 5, 0)
    with pytest.raises(dc.errors.UsageError, match="no largest divergence"):
        posterior_guarantee(dc.Normal(), dc.priors.NormalInverseGamma(0, 1, 1, 1), 5, 0, (0, 1))
    with pytest.raises(dc.errors.UsageError, match="tables"):
        worst_hockey_stick(dc.Bernoulli(), Beta(1, 1), 10**6)
