"""Noisy descent on quadratic losses, whose last iterate is normal: exact divergences against the per-index bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.privacy.amplification import SGDCost, renyi_divergence

ETA, SIGMA, BOUND, WEAK, SMOOTH = 0.5, 0.8, 1.3, 0.1, 2.0


def descent(n: int, extra: int = 0, extra_lipschitz: float | None = None) -> SGDCost:
    return SGDCost(n, BOUND, SMOOTH, WEAK, ETA, SIGMA, extra, extra_lipschitz)


@dataclass(frozen=True)
class Quadratic:
    """A descent on losses x' H_i x / 2 - b_i' x: its last iterate is normal, whatever the b_i."""

    curvatures: list[np.ndarray]
    sigma: float = SIGMA

    def rho(self, place: int, change: np.ndarray) -> float:
        """Return half the squared Mahalanobis length of the change of the mean: the exact R_a / a."""
        dimension = change.size
        moved, covariance = np.zeros(dimension), np.zeros((dimension, dimension))
        for i, curvature in enumerate(self.curvatures):
            step = np.eye(dimension) - ETA * curvature
            moved = step @ moved + (ETA * change if i == place else 0.0)
            covariance = step @ covariance @ step.T + (ETA * self.sigma) ** 2 * np.eye(dimension)
        return float(moved @ np.linalg.solve(covariance, moved)) / 2


def forgetful(n: int, extra: int, place: int, extra_curvature: float = WEAK) -> Quadratic:
    """The worst losses for a place: its own step forgets where it was, all others contract as little as they may."""
    curvatures = [np.array([[1 / ETA if i == place else WEAK]]) for i in range(n)]
    return Quadratic(curvatures + [np.array([[extra_curvature]])] * extra)


@pytest.mark.parametrize(("extra", "extra_lipschitz"), [(0, None), (7, None), (7, 1.0), (1, 0.3)])
def test_every_place_is_attained(extra: int, extra_lipschitz: float | None) -> None:
    n, given = 12, descent(12, extra, extra_lipschitz)
    curvature = WEAK if extra_lipschitz is None else (1 - extra_lipschitz) / ETA
    exact = [forgetful(n, extra, i, curvature).rho(i, np.array([2 * BOUND])) for i in range(n)]
    assert exact == pytest.approx(given.rhos(), rel=1e-10)
    assert given.rho() == pytest.approx(exact[-1])
    for index in (1, 6, 12):
        stated = float(given.guarantee_at(index).rho)
        assert exact[index - 1] <= stated < exact[index - 1] * (1 + 1e-9)


def random_quadratic(rng: np.random.Generator, steps: int, dimension: int) -> Quadratic:
    curvatures = []
    for _ in range(steps):
        basis, _ = np.linalg.qr(rng.normal(size=(dimension, dimension)))
        # half of the curvatures are as extreme as is allowed
        values = np.where(
            rng.random(dimension) < 0.5, rng.choice([WEAK, SMOOTH]), rng.uniform(WEAK, SMOOTH, dimension)
        )
        curvatures.append(basis @ np.diag(values) @ basis.T)
    return Quadratic(curvatures)


def exact_over_claim(rng: np.random.Generator, tries: int, factor: float = 1.0) -> float:
    """Return the largest exact divergence of random losses, as a share of what is claimed, at any index."""
    worst = 0.0
    for attempt in range(tries):
        n, extra, dimension = (int(v) for v in rng.integers([2, 0, 1], [10, 4, 4]))
        losses = random_quadratic(rng, n + extra, dimension)
        if attempt % 2:
            losses = forgetful(n, extra, int(rng.integers(n)))
            dimension = 1
        losses = replace(losses, sigma=factor * SIGMA)
        rhos = descent(n, extra).rhos()
        for i in range(n):
            change = rng.normal(size=dimension)
            change *= 2 * BOUND / np.linalg.norm(change)
            worst = max(worst, losses.rho(i, change) / rhos[i])
    return worst


def test_the_guarantee_at_each_index_is_never_violated(rng: np.random.Generator) -> None:
    assert 0.999 < exact_over_claim(rng, 200) <= 1 + 1e-10
    # half the noise is caught
    assert exact_over_claim(rng, 20, factor=0.5) == pytest.approx(4.0, rel=1e-6)


def test_the_gain_is_exponential() -> None:
    """The log of the exact divergence falls along a line, by 2 log(1 - eta rho) for each record that follows."""
    n, slope = 120, 2 * np.log(1 - ETA * WEAK)
    exact = np.array([forgetful(n, 0, i).rho(i, np.array([2 * BOUND])) for i in range(n)])
    later = n - 1 - np.arange(n)
    far = later >= 60
    # the sum of L^(2j) is within 3e-3 of its limit by then, so that the line bends by less than 1e-4 a step
    assert np.polyfit(later[far], np.log(exact[far]), 1)[0] == pytest.approx(slope, abs=1e-4)
    assert exact[0] < 1e-5 * exact[-1]
    # a convex loss gains in proportion to 1 / (n - i + 1) only
    convex = SGDCost(n, BOUND, SMOOTH, 0.0, ETA, SIGMA).rhos()
    assert convex[0] / convex[-1] == pytest.approx(1 / n)


def secret_place(n: int, order: float, contraction: float, sigma: float) -> tuple[float, SGDCost]:
    """Return the exact divergence for a record at a secret place among records that do not matter, and the claim.

    All losses have the curvature (1 - contraction) / eta; the record asks for +C or -C, all others for 0.
    """
    weak = (1 - contraction) / ETA
    given = SGDCost(n, BOUND, weak, weak, ETA, sigma)
    shifts = ETA * BOUND * contraction ** np.arange(n)
    sd = ETA * sigma * np.sqrt(np.sum(contraction ** (2 * np.arange(n))))
    x = np.linspace(-shifts[0] - 14 * sd, shifts[0] + 14 * sd, 20_001)
    distributions = [np.exp(-0.5 * ((x[:, None] - s * shifts) / sd) ** 2).mean(axis=1) for s in (1, -1)]
    p, q = (distribution / distribution.sum() for distribution in distributions)
    return float(renyi_divergence(p, q, order)), given


def test_the_mean_over_places_is_not_a_guarantee() -> None:
    # in a public order: the last record has far more at stake than the mean
    n = 40
    rhos = descent(n).rhos()
    exact = forgetful(n, 0, n - 1).rho(n - 1, np.array([2 * BOUND]))
    assert exact > 5 * rhos.mean()
    # and in a secret one, where it is said to be the guarantee
    actual, given = secret_place(8, 6.0, 0.1, 0.7)
    assert actual > 1.3 * 6.0 * given.rhos().mean()
    assert actual <= float(given.shuffled_epsilons(6.0))


def test_least_noise_for_a_budget() -> None:
    for extra, each in ((0, None), (25, None), (25, 1.0)):
        found = descent(30, extra, each).with_least_noise(0.2)
        assert found.rho() <= 0.2
        assert replace(found, sigma=found.sigma * (1 - 1e-6)).rho() > 0.2
    orders = [2.0, 4.0, 8.0]
    secret = descent(30).with_least_noise(0.2, orders)
    assert np.all(secret.shuffled_epsilons(orders) <= 0.2 * np.array(orders))
    less = replace(secret, sigma=secret.sigma * (1 - 1e-6))
    assert np.any(less.shuffled_epsilons(orders) > 0.2 * np.array(orders))
    assert secret.sigma < descent(30).with_least_noise(0.2).sigma
    # with as many steps of noise alone as records, each needs the noise of a thousandth of the budget
    n = 1000
    still = SGDCost(n, 1.0, 1.0, 0.0, 0.1, 1.0, extra_steps=n, extra_lipschitz=1.0).with_least_noise(0.5)
    assert still.sigma == pytest.approx(np.sqrt(2 / (0.5 * (n + 1))))


@pytest.mark.parametrize(
    "call",
    [
        lambda: descent(5).guarantee_at(0),
        lambda: descent(5).guarantee_at(6),
        lambda: descent(5, -1),
        lambda: descent(5, 2, -0.5),
        lambda: descent(5).with_least_noise(0.0),
        lambda: descent(5).with_least_noise(1.0, [np.inf]),
    ],
)
def test_meaningless_arguments_are_refused(call) -> None:
    with pytest.raises(UsageError):
        call()
