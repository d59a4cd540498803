"""The privacy loss as a random variable, against definitions and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.privacy import DiscreteGaussian, DiscreteLaplace
from discreet.privacy.gaussian import discrete_gaussian_delta
from discreet.privacy.loss import PrivacyLoss
from tests.privacy.oracles import (
    gaussian_delta,
    hockey_stick,
    random_distributions,
    renyi_divergence,
    response_losses,
)


def test_discrete_laplace_with_one_step_is_randomized_response_in_disguise() -> None:
    """A shift by 1 at scale b has losses +-1/b only, like randomized response, and the same delta everywhere."""
    noise = PrivacyLoss.of_noise(DiscreteLaplace(2.0))
    coin = PrivacyLoss.of_randomized_response(0.5)
    assert noise.values == pytest.approx([-0.5, 0.5])
    assert noise.mass == pytest.approx(coin.mass, rel=1e-12)
    epsilons = np.linspace(0, 0.6, 20)
    assert noise.delta(epsilons) == pytest.approx(coin.delta(epsilons), abs=1e-12)
    assert noise.delta(0.5) == pytest.approx(0, abs=1e-12)


def test_a_longer_shift_has_a_loss_for_each_step_between() -> None:
    loss = PrivacyLoss.of_noise(DiscreteLaplace(4.0), 3)
    assert loss.values == pytest.approx([-0.75, -0.25, 0.25, 0.75])
    assert loss.mass.sum() + loss.infinite == pytest.approx(1, abs=1e-12)
    p = np.tanh(1 / 8)
    # outputs 1 and 2 of the noise around 0, seen from 3
    assert loss.mass[1:3] == pytest.approx([p * np.exp(-2 / 4), p * np.exp(-1 / 4)], rel=1e-9)


@pytest.mark.parametrize(("sigma", "shift"), [(0.7, 1), (5.0, 2)])
def test_discrete_gaussian(sigma: float, shift: int) -> None:
    loss = PrivacyLoss.of_noise(DiscreteGaussian(sigma), shift)
    for epsilon in (0.0, 0.3, 2.0):
        one_shift = loss.delta(epsilon)
        assert one_shift <= discrete_gaussian_delta(sigma, shift, epsilon) + 1e-14
    assert loss.delta(0.3) == pytest.approx(discrete_gaussian_delta(sigma, shift, 0.3), rel=1e-9)
    # rho-zCDP with rho = shift^2 / 2 sigma^2, and for integer shifts exactly so
    assert loss.renyi(3.0) == np.inf or loss.renyi(3.0) <= 3 * shift**2 / (2 * sigma**2) + 1e-9
    wide = PrivacyLoss.of_noise(DiscreteGaussian(30.0), 30)
    assert wide.delta(1.0) == pytest.approx(gaussian_delta(1.0, np.array(1.0)), rel=0.02)


def test_against_the_definitions(rng: np.random.Generator) -> None:
    for p, q in zip(
        random_distributions(rng, 20, 6, 0.8), random_distributions(rng, 20, 6, 0.8), strict=True
    ):
        loss = PrivacyLoss.between(p, q)
        for epsilon in (-0.5, 0.0, 0.7):
            assert loss.delta(epsilon) == pytest.approx(hockey_stick(p, q, epsilon), abs=1e-11)
            assert loss.cdf(epsilon) == pytest.approx(p[np.log(p / q) <= epsilon].sum(), abs=1e-12)
        assert loss.renyi(2.5) == pytest.approx(renyi_divergence(p, q, 2.5), rel=1e-9)
        assert loss.mean == pytest.approx((p * np.log(p / q)).sum(), rel=1e-9)


def test_large_losses_are_not_the_same_as_delta() -> None:
    """P[loss > epsilon] <= delta is sufficient, not necessary."""
    loss = PrivacyLoss.of_noise(DiscreteGaussian(3.0))
    assert 1 - loss.cdf(0.5) > 2 * loss.delta(0.5)


def test_impossible_outputs_are_an_infinite_loss() -> None:
    loss = PrivacyLoss.between(np.array([0.1, 0.9, 0.0]), np.array([0.0, 0.8, 0.2]))
    assert loss.infinite == pytest.approx(0.1)
    assert loss.delta(100.0) == pytest.approx(0.1)
    assert loss.renyi(2.0) == loss.mean == np.inf
    assert PrivacyLoss.of_randomized_response(1.0, 0.1).delta(1.0) == pytest.approx(0.1)


def test_losses_add() -> None:
    coin = PrivacyLoss.of_randomized_response(0.25)
    four = coin.compose(coin).compose(coin.compose(coin))
    losses, mass = response_losses([dc.PureDP("0.25").epsilon] * 4)
    kept = mass > 0
    assert four.values == pytest.approx(losses[kept], abs=1e-11)
    assert four.mass == pytest.approx(mass[kept], rel=1e-12)
    failing = PrivacyLoss.of_randomized_response(1.0, 0.1)
    assert failing.compose(failing).infinite == pytest.approx(0.19)


def test_nonsense() -> None:
    for p, q in (([0.5, 0.5], [1.0]), ([0.5, 0.6], [0.5, 0.5]), ([1.5, -0.5], [0.5, 0.5])):
        with pytest.raises(dc.errors.UsageError):
            PrivacyLoss.between(np.array(p), np.array(q))
    with pytest.raises(dc.errors.UsageError, match="too wide"):
        PrivacyLoss.of_noise(DiscreteLaplace(1e9))
