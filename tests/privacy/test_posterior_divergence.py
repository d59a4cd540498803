"""The closed form of the divergence against quadrature, and its digits against 60-digit arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate

from discreet import priors
from discreet.errors import UsageError
from discreet.privacy.costs.posterior_divergence import conjugate_divergence, log_gamma_gap, log_gap

#: What `quad` is asked for, relatively, and a hundred times that for what it may miss.
_ASKED, _QUADRATURE = 1e-10, 1e-8


def integrand(p: priors.Prior, q: priors.Prior, order: float) -> Callable[..., float]:
    def density(*value: float) -> float:
        at = np.array(value[0]) if len(value) == 1 else tuple(np.array(v) for v in value)
        return math.exp(float(order * p.log_density(at) + (1 - order) * q.log_density(at)))

    return density


@pytest.mark.parametrize(
    ("p", "q", "order", "low", "high"),
    [
        (priors.Beta(6, 12), priors.Beta(7, 11), 2.0, 0, 1),
        (priors.Beta(6, 12), priors.Beta(7, 11), 6.5, 0, 1),
        (priors.Beta(3, 2.5), priors.Beta(2.6, 4), 1.3, 0, 1),
        (priors.Gamma(8, 2), priors.Gamma(11, 2), 2.0, 0, np.inf),
        (priors.Gamma(8, 2), priors.Gamma(8, 3), 1.5, 0, np.inf),
        (priors.Gamma(8, 2), priors.Gamma(7, 2.4), 3.0, 0, np.inf),
        (priors.Normal(0.3, 1.2), priors.Normal(1.1, 1.2), 4.0, -np.inf, np.inf),
        (priors.Normal(0.3, 1.2), priors.Normal(1.1, 1.5), 2.5, -np.inf, np.inf),
    ],
    ids=str,
)
def test_scalar_priors_against_quadrature(
    p: priors.Prior, q: priors.Prior, order: float, low: float, high: float
) -> None:
    total, _ = integrate.quad(integrand(p, q, order), low, high, epsabs=0, epsrel=_ASKED, limit=200)
    assert conjugate_divergence(p, q, order) == pytest.approx(
        math.log(total) / (order - 1), rel=_QUADRATURE, abs=_QUADRATURE
    )


def test_dirichlet_against_quadrature() -> None:
    p, q, order = priors.Dirichlet([4, 5, 6]), priors.Dirichlet([3, 6, 6]), 3.0

    def density(y: float, x: float) -> float:
        at = np.array([x, y, 1 - x - y])
        return math.exp(float(order * p.log_density(at) + (1 - order) * q.log_density(at)))

    total, _ = integrate.dblquad(density, 0, 1, 0, lambda x: 1 - x, epsabs=1e-10, epsrel=1e-9)  # pyright: ignore[reportAssignmentType]
    assert conjugate_divergence(p, q, order) == pytest.approx(math.log(total) / (order - 1), rel=1e-6)


def test_two_parameters_against_quadrature() -> None:
    p, q, order = priors.NormalInverseGamma(0, 5, 6, 4), priors.NormalInverseGamma(0.2, 5, 6, 4.5), 1.8

    def density(x: float, v: float) -> float:
        at = np.array(x), np.array(v)
        return math.exp(float(order * p.log_density(at) + (1 - order) * q.log_density(at)))

    total, _ = integrate.dblquad(density, 0.02, 40, -8, 8, epsabs=1e-9, epsrel=1e-8)  # pyright: ignore[reportAssignmentType]
    assert conjugate_divergence(p, q, order) == pytest.approx(math.log(total) / (order - 1), rel=1e-5)


def _gap_of_log_gamma(order: float, at: float, step: float) -> mp.mpf:
    order, at, step = mp.mpf(order), mp.mpf(at), mp.mpf(step)  # pyright: ignore[reportAssignmentType]
    return (mp.loggamma(at + (1 - order) * step) - order * mp.loggamma(at)) / (order - 1) + mp.loggamma(
        at + step
    )


def test_every_digit_of_the_gaps_is_right(rng: np.random.Generator) -> None:
    """Over nine decades of the step: the bound is a hundred times float64's, for sums of some dozens of terms."""
    with mp.workdps(60):
        for _ in range(300):
            at, order = 10 ** rng.uniform(-3, 9), 1 + 10 ** rng.uniform(-6, 4)
            share = 10 ** rng.uniform(-9, -0.001)
            step = at / (order - 1) * share if rng.random() < 0.5 else -at * share
            found = mp.mpf(log_gamma_gap(order, at, step))
            assert abs(found / _gap_of_log_gamma(order, at, step) - 1) < 2e-14
            u, a = mp.mpf(step / at), mp.mpf(order)
            direct = -mp.log(1 + (1 - a) * u) / (a - 1) - mp.log(1 + u)
            assert abs(mp.mpf(log_gap(order, step / at)) / direct - 1) < 2e-14


def test_the_textbook_formula_would_lose_them() -> None:
    """The reason for the integral: differences of log Gamma have no digit left here."""
    from scipy.special import gammaln

    order, at, step = 2.0, 1e6, 1e-3
    textbook = (gammaln(at + (1 - order) * step) - order * gammaln(at)) / (order - 1) + gammaln(at + step)
    with mp.workdps(60):
        true = float(_gap_of_log_gamma(order, at, step))
    assert log_gamma_gap(order, at, step) == pytest.approx(true, rel=1e-13)
    assert abs(textbook / true - 1) > 0.5


def test_infinite_from_the_largest_order_on() -> None:
    """Beta(6, 12) to Beta(7, 11): finite below order 7."""
    p, q = priors.Beta(6, 12), priors.Beta(7, 11)
    assert conjugate_divergence(p, q, 6.999) < math.inf
    assert conjugate_divergence(p, q, 7.0) == math.inf
    assert conjugate_divergence(priors.Gamma(2, 3), priors.Gamma(2, 4), 4.0) == math.inf
    assert conjugate_divergence(priors.Normal(0, 1), priors.Normal(9, 1), 1e6) < math.inf
    assert conjugate_divergence(p, p, 2.0) == 0


@pytest.mark.parametrize("order", [1, 0.5, -2, math.inf, math.nan])
def test_orders_are_above_one(order: float) -> None:
    with pytest.raises(UsageError, match="order must be above 1"):
        conjugate_divergence(priors.Beta(1, 2), priors.Beta(2, 1), order)


def test_members_of_one_family_are_needed() -> None:
    with pytest.raises(UsageError, match="one family"):
        conjugate_divergence(priors.Beta(1, 2), priors.Gamma(1, 2), 2)
    with pytest.raises(UsageError, match="dimensions"):
        conjugate_divergence(priors.Dirichlet([1, 2]), priors.Dirichlet([1, 2, 3]), 2)
