"""The Ornstein-Uhlenbeck mechanism against its own differential equation."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.privacy.amplification import OrnsteinUhlenbeck, iteration_rho


@pytest.mark.parametrize(
    ("pull", "spread", "time"), [(1.0, 0.5, 2.0), (0.01, 2.0, 1.0), (3.0, 1.0, 0.1), (0.0, 1.0, 2.0)]
)
def test_distribution_is_that_of_the_differential_equation(pull: float, spread: float, time: float) -> None:
    """Moments of the Euler scheme, which are exact recursions, converge to it at rate one in the step."""
    distribution = OrnsteinUhlenbeck(pull, spread, time)
    errors = []
    for n in (2000, 4000):
        h, mean, variance = time / n, 1.0, 0.0
        for _ in range(n):
            mean, variance = (1 - pull * h) * mean, (1 - pull * h) ** 2 * variance + 2 * spread**2 * h
        errors.append((mean - distribution.shrink, variance - distribution.sd**2))
    coarse, fine = np.array(errors)
    # the step halves the error; what that extrapolates to is zero up to the square of the step
    assert 2 * fine - coarse == pytest.approx([0.0, 0.0], abs=20 * (max(pull, 1) * time / 2000) ** 2)
    assert fine == pytest.approx([0.0, 0.0], abs=20 * max(pull, 1) * time / 4000)


def test_cost_is_the_divergence_of_two_normal_distributions() -> None:
    for pull, spread, time in ((1.0, 0.5, 2.0), (0.3, 2.0, 0.7)):
        distribution, sensitivity = OrnsteinUhlenbeck(pull, spread, time), 1.4
        # theta Delta^2 / (2 rho^2 (e^(2 theta t) - 1)) in the letters of the literature
        expected = pull * sensitivity**2 / (2 * spread**2 * np.expm1(2 * pull * time))
        assert distribution.rho(sensitivity) == pytest.approx(expected, rel=1e-12)
        assert distribution.rho(sensitivity) == pytest.approx(
            (distribution.shrink * sensitivity / distribution.sd) ** 2 / 2, rel=1e-12
        )
    still = OrnsteinUhlenbeck(0.0, 0.8, 2.0)
    assert still.rho(1.0) == pytest.approx(1 / (4 * 0.8**2 * 2.0))
    assert OrnsteinUhlenbeck(1e-9, 0.8, 2.0).rho(1.0) == pytest.approx(still.rho(1.0), rel=1e-8)


def test_diffusing_on_is_diffusing_longer() -> None:
    first = OrnsteinUhlenbeck(0.6, 1.1, 0.5)
    more = OrnsteinUhlenbeck(0.6, 1.1, 0.9)
    whole = first.later(0.9)
    assert whole.shrink == pytest.approx(first.shrink * more.shrink)
    assert whole.sd**2 == pytest.approx(more.shrink**2 * first.sd**2 + more.sd**2)
    assert whole.rho(1.0) < first.rho(1.0)


def test_diffusion_is_noisy_iteration_in_small_steps() -> None:
    """Theorem 21 is exact for linear maps, so any number of steps gives the same."""
    whole = OrnsteinUhlenbeck(0.7, 1.3, 2.0)
    for n in (1, 3, 100):
        step = OrnsteinUhlenbeck(0.7, 1.3, 2.0 / n)
        assert iteration_rho(1.5, step.shrink, step.sd, n) == pytest.approx(whole.rho(1.5), rel=1e-10)


@pytest.mark.parametrize(("rho", "radius", "dimension"), [(0.5, 1.0, 1), (0.01, 1.0, 50), (2.0, 10.0, 3)])
def test_calibration_keeps_the_guarantee_and_beats_gaussian_noise(
    rho: float, radius: float, dimension: int
) -> None:
    sensitivity = 0.8
    distribution = OrnsteinUhlenbeck.calibrated(rho, sensitivity, radius, dimension)
    assert distribution.rho(sensitivity) == pytest.approx(rho, rel=1e-12)
    gaussian = dimension * sensitivity**2 / (2 * rho)
    assert dimension * distribution.equivalent_sigma**2 == pytest.approx(gaussian)
    error = distribution.mean_squared_error(radius, dimension)
    assert error == pytest.approx(gaussian / (1 + gaussian / radius**2))
    assert error < min(gaussian, radius**2)
    # no other pull with the same guarantee does better
    for shrink in np.linspace(0.01, 0.99, 99):
        pull = -np.log(shrink)
        spread = np.sqrt(sensitivity**2 / (2 * rho) * pull / np.expm1(2 * pull))
        other = OrnsteinUhlenbeck(pull, spread, 1.0)
        assert other.rho(sensitivity) == pytest.approx(rho)
        assert other.mean_squared_error(radius, dimension) >= error * (1 - 1e-12)


def test_the_cost_as_a_guarantee() -> None:
    distribution = OrnsteinUhlenbeck.calibrated(0.25, 1.0, 2.0, 3)
    stated = distribution.guarantee(1.0, neighbors="add_remove", unit="person")
    assert (stated.neighbors, stated.unit) == ("add_remove", "person")
    assert 1 < float(stated.rho) / distribution.rho(1.0) < 1 + 1e-9


def test_error_is_that_of_simulated_outputs(rng: np.random.Generator) -> None:
    distribution, f = OrnsteinUhlenbeck.calibrated(0.1, 1.0, 2.0, 3), np.array([2.0, 0.0, 0.0])
    n_draws = 40_000
    outputs = distribution.shrink * f + distribution.sd * rng.standard_normal((n_draws, 3))
    squared = ((outputs - f) ** 2).sum(axis=1)
    # 3.3 standard errors: a false alarm once in a thousand
    tolerance = 3.3 * squared.std() / np.sqrt(n_draws)
    assert squared.mean() == pytest.approx(distribution.mean_squared_error(2.0, 3), abs=tolerance)
    assert abs(squared.mean() - 1.1 * distribution.mean_squared_error(2.0, 3)) > tolerance


@pytest.mark.parametrize(
    "call",
    [
        lambda: OrnsteinUhlenbeck(-1.0, 1.0, 1.0),
        lambda: OrnsteinUhlenbeck(1.0, 0.0, 1.0),
        lambda: OrnsteinUhlenbeck(1.0, 1.0, np.inf),
        lambda: OrnsteinUhlenbeck(1.0, 1.0, 1.0).rho(0.0),
        lambda: OrnsteinUhlenbeck(1.0, 1.0, 1.0).later(-1.0),
        lambda: OrnsteinUhlenbeck(1.0, 1.0, 1.0).mean_squared_error(-1.0, 2),
        lambda: OrnsteinUhlenbeck.calibrated(0.1, 1.0, 1.0, 0),
    ],
)
def test_meaningless_arguments_are_refused(call) -> None:
    with pytest.raises(UsageError):
        call()
