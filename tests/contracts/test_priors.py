"""One contract for every prior.

Each case states the exponential form on its own (statistic T and base measure), so that C(eta) and the density are
checked against quadrature of something they did not produce. Sums are trapezoid sums of analytic integrands that decay
at both ends, exact to rounding.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from discreet import priors
from discreet.errors import UsageError
from discreet.priors import Prior

SUITE_FALSE_ALARM = 1e-3
Nodes = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A prior, nodes over its values, and its exponential form written out again."""

    prior: Prior
    nodes: Callable[[Any], Nodes] = field(repr=False)
    statistic: Callable[[Any], np.ndarray] = field(repr=False)
    log_base: Callable[[Any], np.ndarray] = field(repr=False)
    rounding: float = 1e-11

    def __str__(self) -> str:
        return str(self.prior)


def unit(_: Any) -> Nodes:
    u, step = np.linspace(-60, 60, 4000, retstep=True)
    p = expit(u)
    # 1 - p is computed on its own, or it would round to 0 in the upper half
    return (p, expit(-u)), p * expit(-u) * step


def positive(_: Any) -> Nodes:
    u, step = np.linspace(-80, 12, 3000, retstep=True)
    return np.exp(u), np.exp(u) * step


def real(prior: Any) -> Nodes:
    u, step = np.linspace(-13, 13, 600, retstep=True)
    return prior.mean + prior.sd * u, np.full(u.size, prior.sd * step)


def simplex(_: Any) -> Nodes:
    """Break the stick twice: p_1 = a, p_2 = (1 - a) b, p_3 = (1 - a)(1 - b)."""
    u, step = np.linspace(-45, 45, 700, retstep=True)
    a, b = np.meshgrid(u, u)
    p = np.stack([expit(a), expit(-a) * expit(b), expit(-a) * expit(-b)], axis=-1)
    jacobian = expit(a) * expit(-a) ** 2 * expit(b) * expit(-b)
    return p.reshape(-1, 3), (jacobian * step**2).ravel()


def half_plane(prior: Any) -> Nodes:
    """Scale the mean by its own standard deviation, which makes the nodes fit at every variance."""
    w, log_step = np.linspace(-8, 60, 1000, retstep=True)
    u, step = np.linspace(-13, 13, 200, retstep=True)
    v, u = (axis.ravel() for axis in np.meshgrid(np.exp(w), u))
    sd = np.sqrt(v / prior.kappa)
    return (prior.mean + sd * u, v), v * sd * step * log_step


def cone(prior: Any) -> Nodes:
    r"""Two columns: V = L R R^T L^T with scale = L L^T and R lower triangular, and x = mean + L R u / sqrt(kappa).

    dV = |L|^3 4 r_11^2 r_22 dR, and r_ii = exp(w_i). Three Gauss-Hermite nodes per column integrate x.
    """
    w, dw = np.linspace(-2.3, 4.5, 64, retstep=True)
    # given r_22, the entry below the diagonal is normal with variance r_11^2 r_22^2: scale it likewise
    c, dc = np.linspace(-8, 8, 32, retstep=True)
    g, h = np.polynomial.hermite_e.hermegauss(3)
    w1, w2, below = (axis.ravel() for axis in np.meshgrid(w, w, c))
    r1, r2 = np.exp(w1), np.exp(w2)
    root = np.zeros((w1.size, 2, 2))
    root[:, 0, 0], root[:, 1, 1], root[:, 1, 0] = r1, r2, below * r1 * r2
    chol = np.linalg.cholesky(np.array(prior.scale))
    total = chol @ root
    weight = np.linalg.det(chol) ** 3 * 4 * r1**2 * r2 * (r1 * r2) * (r1 * r2) * dw**2 * dc
    u = np.stack([axis.ravel() for axis in np.meshgrid(g, g)], axis=-1)
    gauss = np.outer(h, h).ravel() * np.exp((u**2).sum(axis=-1) / 2)
    x = np.array(prior.mean) + np.einsum("nij,kj->nki", total, u) / np.sqrt(prior.kappa)
    size = np.linalg.det(total) / prior.kappa
    v = np.broadcast_to((total @ np.swapaxes(total, 1, 2))[:, None], (*x.shape, 2))
    return (x, v), (weight * size)[:, None] * gauss


def quadrant(_: Any) -> Nodes:
    """Two positive numbers, each on a scale of logarithms."""
    u, step = np.linspace(-60, 9, 500, retstep=True)
    m, d = (axis.ravel() for axis in np.meshgrid(np.exp(u), np.exp(u)))
    return (m, d), m * d * step**2


def log_odds(value: Any) -> np.ndarray:
    return np.log(np.stack(value, axis=-1))


def nig_statistic(value: Any) -> np.ndarray:
    x, v = value
    return np.stack([x / v, -0.5 / v, -(x**2) / (2 * v), -np.log(v) / 2], axis=-1)


def niw_statistic(value: Any) -> np.ndarray:
    x, v = value
    det = v[..., 0, 0] * v[..., 1, 1] - v[..., 0, 1] ** 2
    a, b, c = v[..., 1, 1] / det, -v[..., 0, 1] / det, v[..., 0, 0] / det
    x1, x2 = x[..., 0], x[..., 1]
    square = a * x1**2 + 2 * b * x1 * x2 + c * x2**2
    return np.stack(
        [a * x1 + b * x2, b * x1 + c * x2, -a / 2, -b, -c / 2, -square / 2, -np.log(det) / 2], axis=-1
    )


CASES = [
    *(
        Case(prior, unit, log_odds, lambda v: -np.log(v[0]) - np.log(v[1]))
        for prior in (priors.Beta(1, 1), priors.Beta(0.5, 7))
    ),
    *(
        Case(prior, simplex, np.log, lambda v: -np.log(v).sum(axis=-1))
        for prior in (priors.Dirichlet([1, 1, 1]), priors.Dirichlet([0.7, 2, 5]))
    ),
    *(
        Case(prior, positive, lambda v: np.stack([np.log(v), -v], axis=-1), lambda v: -np.log(v))
        for prior in (priors.Gamma(2, 0.5), priors.Gamma(0.5, 30))
    ),
    Case(
        priors.MeanDispersion(2, 0.5, 1.5, 3),
        quadrant,
        lambda v: np.stack([np.log(v[0]), -v[0], np.log(v[1]), -v[1]], axis=-1),
        lambda v: -np.log(v[0]) - np.log(v[1]),
    ),
    *(
        Case(
            prior,
            real,
            lambda v: np.stack([v, -(v**2) / 2], axis=-1),
            lambda v: np.full(v.shape, -np.log(2 * np.pi) / 2),
        )
        for prior in (priors.Normal(0, 10), priors.Normal(-3, 0.2))
    ),
    *(
        Case(prior, half_plane, nig_statistic, lambda v: -1.5 * np.log(v[1]) - np.log(2 * np.pi) / 2)
        for prior in (priors.NormalInverseGamma(0, 1, 2, 3), priors.NormalInverseGamma(-5, 0.3, 0.8, 0.5))
    ),
    *(
        Case(
            prior,
            cone,
            niw_statistic,
            lambda v: -2 * np.log(np.linalg.det(v[1])) - np.log(2 * np.pi),
            rounding=1e-10,  # the box of `cone` cuts off tails of about 1e-12
        )
        for prior in (
            priors.NormalInverseWishart([1, -2], 0.5, 8, [[2, -0.7], [-0.7, 0.5]]),
            priors.NormalInverseWishart([0, 0], 3, 12, [[4, 1], [1, 9]]),
        )
    ),
]
every_prior = pytest.mark.parametrize("case", CASES, ids=str)


def at(case: Case, value: Any) -> np.ndarray:
    """Return the log density at nodes; the nodes of `unit` carry both p and 1 - p."""
    if isinstance(case.prior, priors.Beta):
        p, q = value
        lower = p < 0.5
        mirrored = priors.Beta(case.prior.b, case.prior.a)
        return np.where(lower, case.prior.log_density(p), mirrored.log_density(q))
    return case.prior.log_density(value)


@every_prior
def test_density_integrates_to_one(case):
    value, weight = case.nodes(case.prior)
    assert (np.exp(at(case, value)) * weight).sum() == pytest.approx(1, abs=case.rounding)


@every_prior
def test_log_partition_equals_quadrature(case):
    value, weight = case.nodes(case.prior)
    eta = case.prior.natural()
    unnormalised = np.exp(case.statistic(value) @ eta + case.log_base(value) - case.prior.log_partition(eta))
    assert (unnormalised * weight).sum() == pytest.approx(1, abs=case.rounding)


@every_prior
def test_density_is_its_exponential_form(case, rng):
    value = case.prior.sample(20, rng)
    pair = (value, 1 - value) if isinstance(case.prior, priors.Beta) else value
    eta = case.prior.natural()
    form = case.statistic(pair) @ eta + case.log_base(pair) - case.prior.log_partition(eta)
    np.testing.assert_allclose(case.prior.log_density(value), form, rtol=1e-9, atol=1e-9)


@every_prior
def test_natural_parameters_both_ways(case):
    back = type(case.prior).from_natural(case.prior.natural())
    np.testing.assert_allclose(back.numbers(), case.prior.numbers(), rtol=1e-12)


@every_prior
def test_log_partition_takes_arrays_and_is_infinite_outside(case):
    eta = case.prior.natural()
    outside = np.where(np.arange(eta.size) == eta.size - 1, -1.0, eta)
    several = case.prior.log_partition(np.stack([eta, outside, eta]))
    np.testing.assert_array_equal(
        several, [case.prior.log_partition(eta), np.inf, case.prior.log_partition(eta)]
    )


def test_log_partition_is_infinite_where_a_scale_is_not_positive():
    nig = priors.NormalInverseGamma(2, 1, 2, 3).natural()
    assert priors.NormalInverseGamma.log_partition(nig - [0, 6.1, 0, 0]) == np.inf
    niw = priors.NormalInverseWishart([1, 2], 1, 4, np.eye(2)).natural()
    off_diagonal = np.eye(7)[3]
    assert priors.NormalInverseWishart.log_partition(niw + 1.1 * off_diagonal) == np.inf
    assert np.isfinite(priors.NormalInverseWishart.log_partition(niw + 0.9 * off_diagonal))


def test_one_column_wishart_is_the_gamma():
    """With one column, (df, scale) is (2 alpha, 2 beta): two independent implementations of one density."""
    gamma, wishart = priors.NormalInverseGamma(1, 0.5, 3, 2), priors.NormalInverseWishart([1], 0.5, 6, [[4]])
    np.testing.assert_allclose(gamma.natural(), wishart.natural())
    assert gamma.log_partition(gamma.natural()) == pytest.approx(wishart.log_partition(wishart.natural()))
    x, v = np.array([0.3, 4.0]), np.array([0.2, 9.0])
    expected = gamma.log_density((x, v))
    np.testing.assert_allclose(wishart.log_density((x[:, None], v[:, None, None])), expected)


def test_wishart_density_equals_scipy():
    prior = CASES[-2].prior
    assert isinstance(prior, priors.NormalInverseWishart)
    scale, v, x = np.array(prior.scale), np.array([[1.0, 0.3], [0.3, 2.0]]), np.array([0.5, -1.0])
    expected = stats.invwishart(prior.df, scale).logpdf(v)
    expected += stats.multivariate_normal(prior.mean, v / prior.kappa).logpdf(x)  # pyright: ignore[reportArgumentType]
    assert prior.log_density((x, v)) == pytest.approx(expected)


# -- sampling: every scalar margin against its own distribution -------------------------------------------------------


def margins(prior: Any, value: Any) -> list[tuple[np.ndarray, Any]]:
    """Return scalar functions of the draws with their exact distributions."""
    if isinstance(prior, priors.Beta):
        return [(value, stats.beta(prior.a, prior.b))]
    if isinstance(prior, priors.Dirichlet):
        alpha = np.array(prior.alpha)
        rest = value[:, 1] / (1 - value[:, 0])
        return [
            *((value[:, k], stats.beta(a, alpha.sum() - a)) for k, a in enumerate(alpha)),
            (rest, stats.beta(alpha[1], alpha[2:].sum())),
        ]
    if isinstance(prior, priors.Gamma):
        return [(value, stats.gamma(prior.shape, scale=1 / prior.rate))]
    if isinstance(prior, priors.MeanDispersion):
        return [
            (value[0], stats.gamma(prior.mean_shape, scale=1 / prior.mean_rate)),
            (value[1], stats.gamma(prior.dispersion_shape, scale=1 / prior.dispersion_rate)),
        ]
    if isinstance(prior, priors.Normal):
        return [(value, stats.norm(prior.mean, prior.sd))]
    if isinstance(prior, priors.NormalInverseGamma):
        x, v = value
        return [
            (v, stats.invgamma(prior.alpha, scale=prior.beta)),
            ((x - prior.mean) / np.sqrt(v / prior.kappa), stats.norm()),
        ]
    # for any fixed a: a^T V a is inverse gamma, 1 / (a^T V^-1 a) is inverse chi-squared, x given V is normal
    x, v = value
    d, a, scale = prior.dim, np.array([1.0, -2.0]), np.array(prior.scale)
    off = np.linalg.solve(np.linalg.cholesky(v), (x - np.array(prior.mean))[..., None])[..., 0] * np.sqrt(
        prior.kappa
    )
    inverse = np.linalg.inv(v)
    return [
        (a @ v @ a, stats.invgamma((prior.df - d + 1) / 2, scale=a @ scale @ a / 2)),
        ((inverse @ a) @ a / (np.linalg.solve(scale, a) @ a), stats.chi2(prior.df)),
        (off[:, 0], stats.norm()),
        (off[:, 1], stats.norm()),
    ]


N_DRAWS = 20_000
N_MARGINS = sum(len(margins(case.prior, case.prior.sample(3, np.random.default_rng(0)))) for case in CASES)
FALSE_ALARM = SUITE_FALSE_ALARM / N_MARGINS


@every_prior
def test_samples_follow_the_density(case, rng):
    for draws, distribution in margins(case.prior, case.prior.sample(N_DRAWS, rng)):
        assert draws.shape == (N_DRAWS,)
        assert stats.kstest(draws, distribution.cdf).pvalue > FALSE_ALARM


@every_prior
def test_control_samples_of_a_tenth_more_information_are_noticed(case, rng):
    numbers = np.array(case.prior.numbers())
    if isinstance(case.prior, priors.Normal):
        numbers[1] *= 1.1
    elif isinstance(case.prior, priors.NormalInverseWishart):
        numbers[3] *= 1.1
    elif isinstance(case.prior, priors.NormalInverseGamma):
        numbers[2] *= 1.1
    else:
        numbers *= [1.1, *[1.0] * (len(numbers) - 1)]
    wrong = type(case.prior).from_numbers(numbers.tolist())
    found = margins(case.prior, wrong.sample(5 * N_DRAWS, rng))
    assert min(stats.kstest(draws, distribution.cdf).pvalue for draws, distribution in found) < FALSE_ALARM


# -- text and values that cannot be meant --------------------------------------------------------------------


@every_prior
def test_text_and_pickle_round_trip(case):
    assert priors.parse(str(case.prior)) == case.prior
    assert pickle.loads(pickle.dumps(case.prior)) == case.prior


@pytest.mark.parametrize(
    ("text", "prior"),
    [
        ("beta:1,1", priors.Beta(1, 1)),
        ("dirichlet:1,1,1", priors.Dirichlet([1, 1, 1])),
        ("Gamma: 2, 0.5", priors.Gamma(2, 0.5)),
        ("normal:0,10", priors.Normal(0, 10)),
        ("normal-inverse-gamma:0,1,2,3", priors.NormalInverseGamma(0, 1, 2, 3)),
        (
            "normal_inverse_wishart:1,2,0.5,4,2,-0.5,3",
            priors.NormalInverseWishart([1, 2], 0.5, 4, [[2, -0.5], [-0.5, 3]]),
        ),
    ],
)
def test_command_line_text(text, prior):
    assert priors.parse(text) == prior


def test_prior_prints_as_the_command_line_writes_it():
    assert str(priors.Gamma(2, 0.5)) == "gamma:2,0.5"
    assert str(priors.Dirichlet(np.ones(3))) == "dirichlet:1,1,1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bata:1,1", "unknown prior 'bata'"),
        ("", "unknown prior"),
        ("beta", "takes 2 numbers, got 0"),
        ("beta:1", "takes 2 numbers, got 1"),
        ("beta:1,2,3", "takes 2 numbers, got 3"),
        ("beta:1,x", "cannot read"),
        ("beta:1,", "cannot read"),
        ("beta:0,1", "a must be positive"),
        ("beta:nan,1", "a must be positive and finite"),
        ("gamma:1,inf", "rate must be positive and finite"),
        ("normal:inf,1", "mean must be finite"),
        ("normal:0,-1", "sd must be positive"),
        ("dirichlet:1", "at least two"),
        ("dirichlet:1,-1", "alpha must be positive"),
        ("normal_inverse_gamma:0,1,2,0", "beta must be positive"),
        ("normal_inverse_wishart:1,2,3", "upper triangle"),
        ("normal_inverse_wishart:0,0,1,1,1,0,1", "df must exceed 1"),
        ("normal_inverse_wishart:0,0,1,3,1,2,1", "positive definite"),
    ],
)
def test_command_line_text_that_cannot_be_meant(text, message):
    with pytest.raises(UsageError, match=message) as caught:
        priors.parse(text)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "arguments",
    [
        ([0, 0], 1, 3, np.eye(3)),
        ([[0, 0]], 1, 3, np.eye(2)),
        ([], 1, 3, np.eye(0)),
        ([0, 0], 1, 3, [[1, 0.5], [0.2, 1]]),
        ([0, np.nan], 1, 3, np.eye(2)),
        ([0, 0], 0, 3, np.eye(2)),
        ([0, 0], 1, np.inf, np.eye(2)),
    ],
)
def test_wishart_values_that_cannot_be_meant(arguments):
    with pytest.raises(UsageError):
        priors.NormalInverseWishart(*arguments)
