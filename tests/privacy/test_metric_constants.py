"""Priors under which steep parameters are rare: their constants, against quadrature and enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, digamma

import discreet as dc
from discreet.privacy.metric import (
    StochasticLipschitz,
    beta_constants,
    exponential_constants,
    laplace_constants,
    precision_constants,
    stochastic_kl_bound,
    total_variation_bound,
)

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def trimmed(low: float, high: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and masses of an exponential prior on an interval."""
    theta = low + (high - low) * (_NODES + 1) / 2
    mass = _WEIGHTS * np.exp(-rate * theta)
    return theta, mass / mass.sum()


#: Constants from the library, printed C, likelihood of one record as a function of theta, records.
LEMMAS = {
    "19": (
        exponential_constants(2, (1, 2), 1),
        None,
        lambda t, x: t * np.exp(-t * x),
        np.linspace(0, 1, 101),
        (1, 2, 2),
    ),
    "20": (
        laplace_constants(2, (0.5, 0.6), 0.05, 0),
        0.6 / (2 * min(1 / 1.2, np.exp(-0.05 / 0.5))),
        lambda t, x: t / 2 * np.exp(-t * abs(x)),
        np.linspace(-0.05, 0.05, 51),
        (0.5, 0.6, 2),
    ),
    "22": (
        precision_constants(2, (0.1, 0.5), 3, 0),
        min(np.sqrt(5) * np.exp(0.1 * 0.25 / 2), np.exp(0.125 / 2)),
        lambda t, x: np.sqrt(t / (2 * np.pi)) * np.exp(-t * x**2 / 2),
        np.linspace(-3, 3, 121),
        (0.1, 0.5, 2),
    ),
}


@pytest.mark.parametrize("lemma", LEMMAS)
def test_the_ratio_of_likelihoods(lemma: str) -> None:
    """C is at least the maximal over the marginal likelihood of every record; not as printed in lemmas 20 and 22."""
    constants, printed, likelihood, records, (low, high, rate) = LEMMAS[lemma]
    theta, mass = trimmed(low, high, rate)
    dense = np.linspace(low, high, 2001)
    true = max(likelihood(dense, x).max() / (likelihood(theta, x) @ mass) for x in records)
    assert true <= constants.ratio
    if printed is not None:
        assert printed < true
    if lemma == "20":
        assert printed < 1  # pyright: ignore[reportOptionalOperand]


@pytest.mark.parametrize("lemma", LEMMAS)
def test_steep_parameters_are_as_rare_as_the_constants_say(lemma: str) -> None:
    constants, *_, (low, high, rate) = LEMMAS[lemma]
    # l = theta for lemmas 19 and 20 and theta / 2 for lemma 22, whose c and L0 do not depend on the upper end
    per_unit = constants.start / low
    level = np.linspace(constants.start, constants.start + 12 / constants.c, 200)
    for top in (high, low + 20 / rate):
        at = np.minimum(level / per_unit, top)
        tail = (np.exp(-rate * (at - low)) - np.exp(-rate * (top - low))) / -np.expm1(-rate * (top - low))
        assert (tail <= np.exp(-constants.c * (level - constants.start)) + 1e-12).all()
        theta, mass = trimmed(low, top, rate)
        assert mass @ theta * per_unit <= constants.mean
    # for a wide support no larger c will do
    assert (tail > np.exp(-1.02 * constants.c * (level - constants.start))).any()


@pytest.mark.parametrize(("alpha", "n"), [(3.0, 10), (13.0, 4), (1.5, 2)])
def test_coins(alpha: float, n: int) -> None:
    """Lemma 21: c is right, L0 is 0 for records, and C is exact, below the printed one."""
    constants = beta_constants(alpha, n)
    assert constants.start == 0
    level = np.linspace(0.01, 20, 400)
    tail = 2 * stats.beta.cdf(1 / (1 + np.exp(level)), alpha, alpha)
    assert (tail <= np.exp(-constants.c * level) * (1 + 1e-9)).all()
    assert (tail > np.exp(-1.05 * constants.c * level)).any()
    printed = np.exp(betaln(alpha, alpha) - betaln((n + 2 * alpha - 1) / 2, (n + 2 * alpha + 1) / 2))
    assert 1 < constants.ratio < printed
    p = np.linspace(0, 1, 4001)
    brute = max(
        (p**k * (1 - p) ** (n - k)).max() / np.exp(betaln(alpha + k, alpha + n - k) - betaln(alpha, alpha))
        for k in range(n + 1)
    )
    assert brute == pytest.approx(constants.ratio, rel=1e-5)


def test_divergence_where_steep_parameters_are_rare() -> None:
    """Theorem 7.2: exact divergences keep to the corrected bounds."""
    constants, _, likelihood, records, (low, high, rate) = LEMMAS["19"]
    theta, mass = trimmed(low, high, rate)
    for x, y in product(records[::20], repeat=2):
        p, q = (mass * likelihood(theta, at) for at in (x, y))
        found = float(p @ np.log(p / q * q.sum() / p.sum())) / float(p.sum())
        assert found <= stochastic_kl_bound(constants, abs(x - y)) + 1e-12
    for alpha, n in ((13.0, 1), (13.0, 5), (30.0, 8)):
        constants = beta_constants(alpha, n)
        for k, j in product(range(n + 1), repeat=2):
            a, b = (np.array([alpha + i, alpha + n - i]) for i in (k, j))
            found = betaln(*b) - betaln(*a) + float(((a - b) * (digamma(a) - digamma(a.sum()))).sum())
            if k != j:
                assert found <= stochastic_kl_bound(constants, abs(k - j), steps=abs(k - j))
                marginal = betaln(*a) - betaln(*b)
                assert marginal <= abs(k - j) * np.log1p(constants.ratio * (constants.growth(1) - 1))


def test_the_printed_step_of_theorem_seven_fails_below_c_of_two() -> None:
    """Under Hamming's distance E e^l <= e^(1 + L0) takes c >= 2; the corrected growth is exact for an exponential l."""
    steep = np.linspace(0, 120, 1_200_001)
    for c in (1.5, 1.9, 2.5, 4.0):
        true = 1 + np.trapezoid(np.exp(steep) * np.exp(-c * steep), steep)  # E e^l by parts
        assert StochasticLipschitz(c, 0, 1).growth(1) == pytest.approx(true, rel=1e-6)
        assert (true > np.e) == (c < 1.58)
    assert StochasticLipschitz(1.5, 0, 1).growth(1) == pytest.approx(3.0)
    assert StochasticLipschitz(1.0, 0, 1).growth(1) == np.inf
    assert stochastic_kl_bound(StochasticLipschitz(0.9, 0, 2), 1, steps=1) == np.inf
    # printed and corrected bound agree in direction where the printed proof is right: steps of at most c - 1
    for c, start, ratio in product((2.0, 3.0), (0.0, 0.5), (1.0, 10.0)):
        constants = StochasticLipschitz(c, start, ratio)
        printed = ratio * (1 + 2 * start + 1 / c)
        assert stochastic_kl_bound(constants, 1, steps=1) <= printed * (1 + 1e-12)
    # halving the distance doubles every l, so that an exponential tail of rate 1.5 is no longer one of that rate
    doubled = 2 * -np.log(np.linspace(1e-4, 1, 10_000)) / 1.5
    assert np.mean(doubled > 1) > np.exp(-1.5 * 1) + 0.2
    for wrong in ({"c": 0}, {"c": -1}, {"start": -1}, {"ratio": 0.36}, {"ratio": np.inf}):
        with pytest.raises(dc.errors.UsageError):
            StochasticLipschitz(**{"c": 1, "start": 0, "ratio": 1, **wrong})


def test_the_printed_delta_never_says_anything() -> None:
    """Theorem 8.2: a bound, clipped at 1; and of several draws it grows like the root."""
    for c, start, ratio in product((1.01, 2, 50), (0.0, 1.0), (1.0, 3.0)):
        assert np.sqrt(ratio / 2 * (1 + 2 * start + 1 / c)) > 0.707
    near = total_variation_bound(StochasticLipschitz(50, 0, 1.0), 1e-4)
    assert 0 < near < 0.01
    assert total_variation_bound(StochasticLipschitz(50, 0, 1.0), 1e-4, samples=100) == pytest.approx(
        10 * near
    )
    assert total_variation_bound(StochasticLipschitz(2, 1, 9), 1) == 1.0
    assert not isinstance(near, dc.MetricDP)
