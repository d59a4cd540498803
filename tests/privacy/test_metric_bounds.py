"""Robustness, distinguishability and utility: exact numbers on small cases, with the printed constants as controls."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

import discreet as dc
from discreet.decisions.regret_bound import sampling_bound
from discreet.privacy.metric import (
    advantage_bound,
    distinguishing_distance,
    draws_for_loss,
    draws_to_distinguish,
    empirical_distance,
    estimation_error,
    kl_bound,
    le_cam_error,
    prior_change_bound,
    regret_bound,
    restriction_loss,
    sampling_half_width,
)

from .oracles import random_distributions, response


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    return float((p * np.log(p / q)).sum())


def test_divergence_under_a_lipschitz_constant(rng: np.random.Generator) -> None:
    """Theorem 7.1, sharpened: never exceeded, and attained by two parameters."""
    most = 0.0
    for _ in range(500):
        constant = rng.uniform(0.01, 3)
        prior = random_distributions(rng, 1, 4, 3.0)[0]
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
    with pytest.raises(dc.errors.UsageError, match="distance"):
        kl_bound(1, -1)


def product_error(epsilon: float, n: int) -> float:
    """Return the least largest error probability of a test between n draws by either row of randomized response."""
    p = 1 / (1 + np.exp(-epsilon))
    k = np.arange(n + 1)
    mass = np.array([comb(n, i) for i in k], dtype=float) * p**k * (1 - p) ** (n - k)
    # by symmetry the two errors are equal for the majority; a tie is broken by a coin
    return float(mass[k < n / 2].sum() + 0.5 * mass[k == n / 2].sum())


def test_what_an_adversary_can_tell() -> None:
    """Theorem 13: nobody beats the bound; the printed distance is not needed, nor is it enough."""
    for reach, n in product((0.01, 0.1, 0.5, 2.0, 5.0), (1, 2, 7, 30)):
        error = product_error(2 * reach, n)
        # randomized response attains it
        assert advantage_bound(reach, 1, n) == pytest.approx(1 - 2 * error, abs=1e-12)
        if 1e-300 < error < 0.5:
            assert distinguishing_distance(reach, n, error) <= 1 + 1e-9
            assert (
                distinguishing_distance(reach, n, error) >= np.log(1 / (4 * error)) / (2 * n * reach) - 1e-12
            )
        for fewer in range(1, n):
            # with fewer draws than this many, nobody reaches the error that n draws reach
            if draws_to_distinguish(kl_bound(reach, 1), error) > fewer:
                assert product_error(2 * reach, fewer) > error
        assert draws_to_distinguish(kl_bound(reach, 1), error) <= n
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
        with pytest.raises(dc.errors.UsageError, match="error"):
            distinguishing_distance(1, 1, wrong)
    with pytest.raises(dc.errors.UsageError, match="draws"):
        advantage_bound(1, 1, 0)
    with pytest.raises(dc.errors.UsageError, match="divergence"):
        draws_to_distinguish(0, 0.1)


def test_nobody_guesses_better_than_le_cam_says() -> None:
    """Lemma 18, by trying every estimator of three tables from one draw among four outcomes."""
    distributions = np.array([[0.4, 0.3, 0.2, 0.1], [0.3, 0.3, 0.2, 0.2], [0.1, 0.2, 0.3, 0.4]])
    place = np.array([0.0, 1.0, 3.0])
    best = min(
        max(
            float(distribution @ np.abs(place[list(guess)] - at))
            for distribution, at in zip(distributions, place, strict=True)
        )
        for guess in product(range(3), repeat=4)
    )
    bounds = [
        le_cam_error(abs(place[i] - place[j]), float(np.minimum(distributions[i], distributions[j]).sum()))
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    assert max(bounds) <= best
    assert 2 * max(bounds) > 0.9 * best  # without the half it would be no bound
    constant = (
        max(
            float(np.abs(np.log(distributions[i] / distributions[j])).max()) / abs(place[i] - place[j])
            for i, j in ((0, 1), (0, 2), (1, 2))
        )
        / 2
    )
    assert estimation_error(constant, 3) <= le_cam_error(
        3, float(np.minimum(distributions[0], distributions[2]).sum())
    )
    with pytest.raises(dc.errors.UsageError, match="overlap"):
        le_cam_error(1, 1.5)


def test_empirical_distributions_are_close() -> None:
    """Lemma 12 by the exact binomial and trinomial distributions."""
    for n, failure in product((5, 20), (0.3, 0.05)):
        k = np.arange(n + 1)
        far = np.abs(k / n - 0.5) * 2 >= empirical_distance(n, 2, failure)
        assert stats.binom.pmf(k, n, 0.5)[far].sum() <= failure
        counts = np.array([(i, j, n - i - j) for i in k for j in k if i + j <= n])
        distribution = np.array([0.5, 0.3, 0.2])
        far = np.abs(counts / n - distribution).sum(1) >= empirical_distance(n, 3, failure)
        assert stats.multinomial.pmf(counts, n, distribution)[far].sum() <= failure
        # a distance of a third of it is exceeded too often
        near = np.abs(counts / n - distribution).sum(1) >= empirical_distance(n, 3, failure) / 3
        assert stats.multinomial.pmf(counts, n, distribution)[near].sum() > failure
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
        p, q = random_distributions(rng, 2, 3, 1.0)
        utility = (rng.random((2, 3)) < 0.5) * 1.0
        chosen = int(np.argmax(utility @ q))
        regret = float((utility @ p).max() - (utility @ p)[chosen])
        allowed = regret_bound(float(np.abs(p - q).sum() / 2))
        assert regret <= allowed + 1e-12
        most = max(most, regret / allowed)
        eta = float(np.abs(np.log(p / q)).max())
        likelihood = random_distributions(rng, 3, 4, 2.0)
        joint_p, joint_q = p[:, None] * likelihood, q[:, None] * likelihood
        expected = float((joint_p * np.log((joint_p / joint_p.sum(0)) / (joint_q / joint_q.sum(0)))).sum())
        assert expected <= prior_change_bound(eta) <= 2 * eta
        informed = max(informed, expected / prior_change_bound(eta))
    assert most > 0.9  # the printed bound is twice as large
    assert informed > 0.5
    for wrong in (-0.1, 1.1):
        with pytest.raises(dc.errors.UsageError, match="total_variation"):
            regret_bound(wrong)
    with pytest.raises(dc.errors.UsageError, match="loss"):
        draws_for_loss(0, 0.5)


def test_a_restricted_prior_costs_the_posterior_outside() -> None:
    """Theorem 17 (b): the prior's mass outside of Theta_L is right on average over tables only."""
    alpha, n, low = 2.0, 5, 0.1
    prior_tail = 2 * stats.beta.cdf(low, alpha, alpha)
    tails, weights = [], []
    for k in range(n + 1):
        distribution = stats.beta(alpha + k, alpha + n - k)
        tails.append(distribution.cdf(low) + distribution.sf(1 - low))
        weights.append(comb(n, k) * np.exp(betaln(alpha + k, alpha + n - k) - betaln(alpha, alpha)))
    assert np.dot(tails, weights) == pytest.approx(prior_tail, rel=1e-9)
    assert max(tails) > 3 * prior_tail
    half = sampling_half_width(10_000, 0.05)
    assert restriction_loss(float(tails[0]), 10_000, 0.05) == pytest.approx(2 * tails[0] + 2 * half)
    assert restriction_loss(0.9, 10, 0.05) == 1
