"""Robustness, distinguishability and utility: exact numbers on small cases, with the printed constants as controls."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, digamma

import discreet as dc
from discreet.inference.answering.bound import sampling_bound
from discreet.privacy.metric import (
    StochasticLipschitz,
    advantage_bound,
    beta_constants,
    distinguishing_distance,
    draws_for_loss,
    empirical_distance,
    estimation_error,
    exponential_constants,
    kl_bound,
    laplace_constants,
    le_cam_error,
    precision_constants,
    prior_change_bound,
    regret_bound,
    restriction_loss,
    sampling_half_width,
    stochastic_kl_bound,
    total_variation_bound,
)

from .oracles import random_laws, response

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    return float((p * np.log(p / q)).sum())


def trimmed(low: float, high: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and masses of an exponential prior on an interval."""
    theta = low + (high - low) * (_NODES + 1) / 2
    mass = _WEIGHTS * np.exp(-rate * theta)
    return theta, mass / mass.sum()


def test_divergence_under_a_lipschitz_constant(rng: np.random.Generator) -> None:
    """Theorem 7.1, sharpened: never exceeded, and attained by two parameters."""
    most = 0.0
    for _ in range(500):
        constant = rng.uniform(0.01, 3)
        prior = random_laws(rng, 1, 4, 3.0)[0]
        change = constant * rng.uniform(-1, 1, size=4)
        p_x = rng.uniform(0.1, 1, size=4)
        x, y = prior * p_x, prior * p_x * np.exp(change)
        found = divergence(x / x.sum(), y / y.sum())
        bound = kl_bound(constant, 1)
        assert found <= bound <= 2 * constant
        most = max(most, found / bound)
    assert most > 0.05
    p, q = response(2 * 0.7)
    assert divergence(p, q) == pytest.approx(kl_bound(0.7, 1))
    assert kl_bound(0, 3) == 0
    with pytest.raises(dc.UsageError, match="distance"):
        kl_bound(1, -1)


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
        assert printed < 1


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
        found = divergence(p / p.sum(), q / q.sum())
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
        with pytest.raises(dc.UsageError):
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


def product_error(epsilon: float, n: int) -> float:
    """Return the least largest error probability of a test between n draws of either law of randomized response."""
    p = 1 / (1 + np.exp(-epsilon))
    k = np.arange(n + 1)
    mass = np.array([comb(n, i) for i in k], dtype=float) * p**k * (1 - p) ** (n - k)
    # by symmetry the two errors are equal for the majority; a tie is broken by a coin
    return float(mass[k < n / 2].sum() + 0.5 * mass[k == n / 2].sum())


def test_what_an_adversary_can_tell() -> None:
    """Theorem 13: nobody beats the bound; the printed distance is not needed, nor is it enough."""
    for reach, n in product((0.01, 0.1, 0.5, 2.0, 5.0), (1, 2, 7, 30)):
        error = product_error(2 * reach, n)
        assert 1 - 2 * error <= advantage_bound(reach, 1, n) * (1 + 1e-9)
        if 1e-300 < error < 0.5:
            assert distinguishing_distance(reach, n, error) <= 1 + 1e-9
            assert (
                distinguishing_distance(reach, n, error) >= np.log(1 / (4 * error)) / (2 * n * reach) - 1e-12
            )
    # one draw at log-ratio 2 L rho is the worst case, and the bound is exact there
    assert distinguishing_distance(5.0, 1, product_error(10.0, 1)) == pytest.approx(1.0, rel=1e-9)
    # needed, says print: L rho >= 7.5 for this error; it was reached at 5
    error = product_error(10.0, 1)
    assert error == pytest.approx(4.5e-5, rel=0.01)
    assert 0.75 * np.log(1 / error) > 1.45 * 5
    # enough, says print: L rho = 10 for an error of 0.01 from one draw. But two rates that are nearly the same stay so
    theta, apart = np.array([1.999, 2.0]), 5.0
    x, y = np.exp(-theta * 0), np.exp(-theta * apart)
    advantage = float(np.abs(x / x.sum() - y / y.sum()).sum() / 2)
    assert theta.max() * apart >= 0.75 * np.log(1 / 0.01)
    assert (1 - advantage) / 2 > 0.49
    for wrong in (0, 0.5, 1):
        with pytest.raises(dc.UsageError, match="error"):
            distinguishing_distance(1, 1, wrong)
    with pytest.raises(dc.UsageError, match="draws"):
        advantage_bound(1, 1, 0)


def test_nobody_guesses_better_than_le_cam_says() -> None:
    """Lemma 18, by trying every estimator of three tables from one draw among four outcomes."""
    laws = np.array([[0.4, 0.3, 0.2, 0.1], [0.3, 0.3, 0.2, 0.2], [0.1, 0.2, 0.3, 0.4]])
    place = np.array([0.0, 1.0, 3.0])
    best = min(
        max(float(law @ np.abs(place[list(guess)] - at)) for law, at in zip(laws, place, strict=True))
        for guess in product(range(3), repeat=4)
    )
    bounds = [
        le_cam_error(abs(place[i] - place[j]), float(np.minimum(laws[i], laws[j]).sum()))
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    assert max(bounds) <= best
    assert 2 * max(bounds) > 0.9 * best  # without the half it would be no bound
    constant = (
        max(
            float(np.abs(np.log(laws[i] / laws[j])).max()) / abs(place[i] - place[j])
            for i, j in ((0, 1), (0, 2), (1, 2))
        )
        / 2
    )
    assert estimation_error(constant, 3) <= le_cam_error(3, float(np.minimum(laws[0], laws[2]).sum()))
    with pytest.raises(dc.UsageError, match="overlap"):
        le_cam_error(1, 1.5)


def test_empirical_laws_are_close() -> None:
    """Lemma 12 by the exact binomial and trinomial laws."""
    for n, failure in product((5, 20), (0.3, 0.05)):
        k = np.arange(n + 1)
        far = np.abs(k / n - 0.5) * 2 >= empirical_distance(n, 2, failure)
        assert stats.binom.pmf(k, n, 0.5)[far].sum() <= failure
        counts = np.array([(i, j, n - i - j) for i in k for j in k if i + j <= n])
        law = np.array([0.5, 0.3, 0.2])
        far = np.abs(counts / n - law).sum(1) >= empirical_distance(n, 3, failure)
        assert stats.multinomial.pmf(counts, n, law)[far].sum() <= failure
        # a distance of a third of it is exceeded too often
        near = np.abs(counts / n - law).sum(1) >= empirical_distance(n, 3, failure) / 3
        assert stats.multinomial.pmf(counts, n, law)[near].sum() > failure
    assert empirical_distance(100, 4, 1e-6) <= np.sqrt(3 / 100 * np.log(1e6))
    assert empirical_distance(10, 1, 0.5) == 0


def test_utility(rng: np.random.Generator) -> None:
    """Lemmas 11, 14 and 15, exactly."""
    bound = sampling_bound((0, 1), n_draws=50, n_candidates=7, n_questions=3, confidence=0.9, posterior="it")
    assert bound.half_width == sampling_half_width(50, 1 - 0.9, responses=7, questions=3)
    n = draws_for_loss(0.1, 0.05, responses=20)
    assert (
        2 * sampling_half_width(n, 0.05, responses=20)
        <= 0.1
        < 2 * sampling_half_width(n - 1, 0.05, responses=20)
    )
    most, informed = 0.0, 0.0
    for _ in range(2000):
        p, q = random_laws(rng, 2, 3, 1.0)
        utility = (rng.random((2, 3)) < 0.5) * 1.0
        chosen = int(np.argmax(utility @ q))
        regret = float((utility @ p).max() - (utility @ p)[chosen])
        allowed = regret_bound(float(np.abs(p - q).sum() / 2))
        assert regret <= allowed + 1e-12
        most = max(most, regret / allowed)
        eta = float(np.abs(np.log(p / q)).max())
        likelihood = random_laws(rng, 3, 4, 2.0)
        joint_p, joint_q = p[:, None] * likelihood, q[:, None] * likelihood
        expected = float((joint_p * np.log((joint_p / joint_p.sum(0)) / (joint_q / joint_q.sum(0)))).sum())
        assert expected <= prior_change_bound(eta) <= 2 * eta
        informed = max(informed, expected / prior_change_bound(eta))
    assert most > 0.9  # the printed bound is twice as large
    assert informed > 0.5
    for wrong in (-0.1, 1.1):
        with pytest.raises(dc.UsageError, match="total_variation"):
            regret_bound(wrong)
    with pytest.raises(dc.UsageError, match="loss"):
        draws_for_loss(0, 0.5)


def test_a_restricted_prior_costs_the_posterior_outside() -> None:
    """Theorem 17 (b): the prior's mass outside of Theta_L is right on average over tables only."""
    alpha, n, low = 2.0, 5, 0.1
    prior_tail = 2 * stats.beta.cdf(low, alpha, alpha)
    tails, weights = [], []
    for k in range(n + 1):
        law = stats.beta(alpha + k, alpha + n - k)
        tails.append(law.cdf(low) + law.sf(1 - low))
        weights.append(comb(n, k) * np.exp(betaln(alpha + k, alpha + n - k) - betaln(alpha, alpha)))
    assert np.dot(tails, weights) == pytest.approx(prior_tail, rel=1e-9)
    assert max(tails) > 3 * prior_tail
    half = sampling_half_width(10_000, 0.05)
    assert restriction_loss(float(tails[0]), 10_000, 0.05) == pytest.approx(2 * tails[0] + 2 * half)
    assert restriction_loss(0.9, 10, 0.05) == 1
