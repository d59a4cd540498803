"""Mixing coefficients against their definitions, and theorem 15 against divergences of the composed kernels."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import laplace, norm

from discreet.errors import UsageError
from discreet.privacy.amplification import (
    FiniteKernel,
    GaussianKernel,
    LaplaceKernel,
    MarkovKernel,
    ProjectedGaussianKernel,
    RandomizedResponseKernel,
    after_dobrushin,
    after_doeblin,
    after_kernel,
    after_pure_ultra_mixing,
    after_ultra_mixing,
    amplifications,
    hockey_stick_divergence,
    hockey_stick_level,
    renyi_divergence,
)
from discreet.privacy.guarantees import ApproxDP, PureDP

# Sums of at most ten products of probabilities are exact to a few units in the last place.
ROUNDING = 1e-14
FLIP = FiniteKernel([[0.6, 0.4], [0.4, 0.6]])


def random_rows(rng: np.random.Generator, inputs: int, outputs: int) -> np.ndarray:
    """Distributions from nearly uniform to nearly fixed, some with exact zeros."""
    rows = rng.dirichlet(np.full(outputs, rng.choice([0.2, 1.0, 5.0])), size=inputs)
    if rng.random() < 0.3:
        rows[rows < 0.1] = 0.0
        rows[np.arange(inputs), rows.argmax(axis=1)] += 1 - rows.sum(axis=1)
    return rows


def erasure(n: int, gamma: float) -> FiniteKernel:
    """Keeps its input with probability gamma and else says that it is gone."""
    return FiniteKernel(np.hstack([gamma * np.eye(n), np.full((n, 1), 1 - gamma)]))


# -- divergences -----------------------------------------------------------------------------------------------------


def test_divergences_are_their_definitions(rng: np.random.Generator) -> None:
    for _ in range(50):
        p, q = rng.dirichlet(np.ones(5), size=2)
        events = [np.array(e) for e in itertools.product([0.0, 1.0], repeat=5)]
        for epsilon in (0.0, 0.4, 2.0):
            by_events = max(float(e @ (p - np.exp(epsilon) * q)) for e in events)
            assert hockey_stick_divergence(p, q, epsilon) == pytest.approx(by_events, abs=ROUNDING)
        assert renyi_divergence(p, q, 3.0) == pytest.approx(0.5 * np.log((p**3 / q**2).sum()), abs=1e-13)
        assert renyi_divergence(p, q, 1.0) == pytest.approx((p * np.log(p / q)).sum(), abs=1e-13)
        assert renyi_divergence(p, q, np.inf) == pytest.approx(np.log((p / q).max()), abs=1e-13)


def test_mass_where_the_other_has_none() -> None:
    p, q = np.array([0.3, 0.7, 0.0]), np.array([0.0, 0.5, 0.5])
    assert hockey_stick_divergence(p, q, np.inf) == 0.3
    assert hockey_stick_divergence(p, q, 1e4) == 0.3
    for order in (1.0, 2.0, np.inf):
        assert renyi_divergence(p, q, order) == np.inf
        assert renyi_divergence(q[1:], q[1:], order) == 0.0


# -- coefficients ----------------------------------------------------------------------------------------------------


def test_finite_coefficients_are_their_definitions(rng: np.random.Generator) -> None:
    for _ in range(200):
        rows = random_rows(rng, int(rng.integers(2, 6)), int(rng.integers(2, 6)))
        kernel, pairs = FiniteKernel(rows), list(itertools.permutations(rows, 2))
        for epsilon in (0.0, 0.3, 2.0):
            worst = max(float(np.maximum(0, p - np.exp(epsilon) * q).sum()) for p, q in pairs)
            assert kernel.dobrushin(epsilon) == pytest.approx(worst, abs=ROUNDING)
        least = min(p[y] / q[y] for p, q in pairs for y in range(rows.shape[1]) if q[y] > 0)
        assert kernel.ultra_mixing() == pytest.approx(1 - least, abs=ROUNDING)
        # the witness of Doeblin's condition, and no larger one
        gamma = kernel.doeblin()
        floor = kernel.matrix.min(axis=0)
        assert floor.sum() == pytest.approx(1 - gamma, abs=ROUNDING)


def test_conditions_imply_one_another_in_this_order_only(rng: np.random.Generator) -> None:
    for _ in range(300):
        kernel = FiniteKernel(random_rows(rng, int(rng.integers(2, 6)), int(rng.integers(2, 6))))
        ladder = [kernel.dobrushin(1.0), kernel.dobrushin(), kernel.doeblin(), kernel.ultra_mixing()]
        assert np.all(np.diff(ladder) >= -ROUNDING)
    # figure 6.1 prints the first step in the other direction
    assert FLIP.dobrushin(0.3) == pytest.approx(0.6 - 0.4 * np.exp(0.3))
    assert FLIP.dobrushin(0.3) < 0.061
    assert FLIP.dobrushin() == pytest.approx(0.2)


def test_the_implication_as_printed_would_break_a_guarantee() -> None:
    """If (0.06, 0.3)-Dobrushin implied 0.06-Dobrushin, the identity on two points would come out at delta = 0.06."""
    claimed = after_dobrushin(0.0, 1.0, FLIP.dobrushin(0.3))[1]
    actual = float(hockey_stick_divergence(FLIP.matrix[0], FLIP.matrix[1], 0.0))
    assert actual > 3 * claimed
    assert actual <= after_dobrushin(0.0, 1.0, FLIP.dobrushin())[1] + ROUNDING


def binned(rows: list[np.ndarray]) -> FiniteKernel:
    """A kernel from distribution functions at the edges of bins: post-processing, so coefficients can only fall."""
    full = [np.concatenate([[0.0], row, [1.0]]) for row in rows]
    mass = np.array([np.diff(row) for row in full])
    return FiniteKernel(mass[:, mass.max(axis=0) > 1e-13])


@pytest.mark.parametrize("ratio", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_noise_kernels_agree_with_binned_ones(kind: str, ratio: float) -> None:
    edges, inputs = np.linspace(-14, 14 + ratio, 4001), np.linspace(0, ratio, 9)
    distribution = laplace if kind == "laplace" else norm
    fine = binned([distribution.cdf(edges - x) for x in inputs])
    closed: MarkovKernel = LaplaceKernel(1.0, ratio) if kind == "laplace" else GaussianKernel(1.0, ratio / 2)
    # a bin's width is 0.008, and a density of at most 0.5 with slope at most 0.5 is replaced by its mean over it
    for epsilon in (0.0, 0.05, 0.5, 2.0):
        assert closed.dobrushin(epsilon) == pytest.approx(fine.dobrushin(epsilon), abs=1e-4)
        assert closed.dobrushin(epsilon) >= fine.dobrushin(epsilon) - 1e-12
    assert closed.doeblin() == pytest.approx(fine.doeblin(), abs=1e-4)
    assert closed.doeblin() >= fine.doeblin() - 1e-12
    if kind == "laplace":
        # mass of 1e-13 in a bin is known to about 1e-4 of itself
        assert closed.ultra_mixing() == pytest.approx(fine.ultra_mixing(), abs=2e-3)
    else:
        assert closed.ultra_mixing() == 1.0


@pytest.mark.parametrize("ratio", [0.1, 1.0, 3.0])
def test_projection_makes_gaussian_noise_ultra_mixing(ratio: float) -> None:
    edges, inputs = np.linspace(0, ratio, 3001)[1:-1], np.linspace(0, ratio, 7)
    # everything beyond the first and last bin's inner edge but the bin itself is the end's own mass
    rows = []
    for x in inputs:
        inner = np.diff(norm.cdf(np.concatenate([[0.0], edges, [ratio]]) - x))
        rows.append(np.concatenate([[norm.cdf(-x)], inner, [norm.sf(ratio - x)]]))
    fine, closed = FiniteKernel(rows), ProjectedGaussianKernel(1.0, ratio)
    assert closed.ultra_mixing() == pytest.approx(fine.ultra_mixing(), abs=1e-12)
    assert closed.doeblin() == pytest.approx(fine.doeblin(), abs=1e-5)
    for epsilon in (0.0, 0.004, 0.05, 0.5, 2.0, 6.0):
        assert closed.dobrushin(epsilon) == pytest.approx(fine.dobrushin(epsilon), abs=1e-5)
        assert closed.dobrushin(epsilon) >= fine.dobrushin(epsilon) - 1e-12
    assert closed.dobrushin(np.inf) == 0.0


def test_doeblin_of_gaussian_noise_in_a_disk() -> None:
    """Least density over the disk by brute force, its integral by the trapezoidal rule."""
    radius = 0.8
    angle = np.linspace(0, 2 * np.pi, 721)[:-1]
    rim = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    y = np.array([[0.7, -0.2], [0.0, 0.0], [2.0, 1.0], [-3.0, 0.3]])
    least = np.exp(-0.5 * ((y[:, None] - rim) ** 2).sum(axis=2)).min(axis=1)
    # the rim is sampled every half degree
    assert least == pytest.approx(np.exp(-0.5 * (np.linalg.norm(y, axis=1) + radius) ** 2), rel=1e-4)
    grid = np.linspace(-9, 9, 1801)
    distance = np.hypot(*np.meshgrid(grid, grid))
    kept = np.exp(-0.5 * (distance + radius) ** 2).sum() * 0.01**2 / (2 * np.pi)
    # the integrand has a kink at the center only: an error of the order of h^3
    assert GaussianKernel(1.0, radius, 2).doeblin() == pytest.approx(1 - kept, abs=1e-6)


def test_doeblin_of_gaussian_noise_in_other_dimensions() -> None:
    # in three dimensions the integral is elementary: (1 + r^2) erfc(r / sqrt 2) - r sqrt(2 / pi) e^(-r^2 / 2)
    for r in (0.01, 0.5, 2.0):
        kept = (1 + r * r) * 2 * norm.sf(r) - 2 * r * norm.pdf(r)
        assert GaussianKernel(2.0, 2 * r, 3).doeblin() == pytest.approx(1 - kept, abs=1e-12)
    values = [GaussianKernel(1.0, 0.3, d).doeblin() for d in (1, 2, 3, 10, 100, 10_000)]
    assert np.all(np.diff(values) > 0)
    assert GaussianKernel(1.0, 0.0, 7).doeblin() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("n_labels", "budget"), [(2, 0.3), (5, 1.0), (40, 4.0)])
def test_randomized_response_agrees_with_its_matrix(n_labels: int, budget: float) -> None:
    closed = RandomizedResponseKernel(n_labels, budget)
    matrix = FiniteKernel(closed.matrix)
    for epsilon in (0.0, 0.1, 0.9, 3.9, 5.0):
        assert closed.dobrushin(epsilon) == pytest.approx(matrix.dobrushin(epsilon), abs=1e-13)
    assert closed.doeblin() == pytest.approx(matrix.doeblin(), abs=1e-13)
    assert closed.ultra_mixing() == pytest.approx(matrix.ultra_mixing(), abs=1e-13)


# -- theorem 15 ------------------------------------------------------------------------------------------------------


def test_amplified_guarantees_hold_for_random_kernels(rng: np.random.Generator) -> None:
    gains = dict.fromkeys(("dobrushin", "hockey_stick", "doeblin", "ultra_mixing", "pure_ultra_mixing"), 0)
    for _ in range(3000):
        n = int(rng.integers(2, 6))
        kernel = FiniteKernel(random_rows(rng, n, int(rng.integers(2, 6))))
        mu, nu = random_rows(rng, 2, n)
        epsilon = rng.choice([0.0, 0.1, 0.7, 2.0, 5.0])
        if rng.random() < 0.3 and mu.min() > 0 and nu.min() > 0:
            epsilon = float(np.abs(np.log(mu / nu)).max())
        # the guarantee that the pair has, exactly, in both directions
        delta = max(float(hockey_stick_divergence(*pair, epsilon)) for pair in ((mu, nu), (nu, mu)))
        delta = 0.0 if delta < ROUNDING else delta
        for name, found in amplifications(epsilon, delta, kernel).items():
            after = hockey_stick_divergence(mu @ kernel.matrix, nu @ kernel.matrix, found.epsilon)
            assert after <= found.delta + ROUNDING, name
            assert found.epsilon <= epsilon + ROUNDING
            gains[name] += found.epsilon < epsilon or found.delta < delta
    # each of them did something
    assert min(gains.values()) > 100


def test_dobrushin_bounds_are_attained_by_erasure(rng: np.random.Generator) -> None:
    for gamma in (0.1, 0.5, 0.9):
        kernel, (mu, nu) = erasure(4, gamma), rng.dirichlet(np.ones(4), size=2)
        for epsilon in (0.0, 0.2):
            delta = float(hockey_stick_divergence(mu, nu, epsilon))
            assert kernel.dobrushin() == pytest.approx(gamma)
            assert kernel.dobrushin(hockey_stick_level(epsilon, delta)) == pytest.approx(gamma)
            after = float(hockey_stick_divergence(mu @ kernel.matrix, nu @ kernel.matrix, epsilon))
            assert after == pytest.approx(after_dobrushin(epsilon, delta, gamma)[1], abs=ROUNDING)
            assert after > after_dobrushin(epsilon, delta, 0.99 * gamma)[1]


def test_hockey_stick_bound_is_attained_for_every_kernel(rng: np.random.Generator) -> None:
    for _ in range(100):
        kernel = FiniteKernel(rng.dirichlet(np.ones(4), size=3))
        epsilon, delta = rng.choice([0.0, 0.3, 1.0]), rng.choice([0.1, 0.5, 0.9])
        claimed = delta * kernel.dobrushin(hockey_stick_level(epsilon, delta))
        share, omega = (1 - delta) * np.exp(-epsilon), rng.dirichlet(np.ones(3))
        attained = 0.0
        for a, b in itertools.permutations(np.eye(3), 2):
            mu, nu = (1 - delta) * omega + delta * a, share * omega + (1 - share) * b
            assert hockey_stick_divergence(mu, nu, epsilon) == pytest.approx(delta, abs=ROUNDING)
            after = hockey_stick_divergence(mu @ kernel.matrix, nu @ kernel.matrix, epsilon)
            attained = max(attained, float(after))
        assert attained == pytest.approx(claimed, abs=ROUNDING)


def test_doeblin_bound_is_attained_by_erasure() -> None:
    epsilon, delta, gamma = 1.0, 0.05, 0.3
    mu = np.array([delta, 1 - delta, 0.0])
    nu = np.array([0.0, (1 - delta) * np.exp(-epsilon), 1 - (1 - delta) * np.exp(-epsilon)])
    assert hockey_stick_divergence(mu, nu, epsilon) == pytest.approx(delta)
    kernel = erasure(3, gamma)
    assert kernel.doeblin() == pytest.approx(gamma)
    new_epsilon, new_delta = after_doeblin(epsilon, delta, gamma)
    after = float(hockey_stick_divergence(mu @ kernel.matrix, nu @ kernel.matrix, new_epsilon))
    assert after == pytest.approx(new_delta, abs=ROUNDING)
    assert after > after_doeblin(epsilon, delta, 0.99 * gamma)[1]


def test_doeblin_improves_delta_only_below_a_threshold() -> None:
    for epsilon, delta in ((1.0, 0.05), (0.2, 0.01), (3.0, 0.3)):
        threshold = delta * np.exp(epsilon) / ((1 - delta) * np.expm1(epsilon))
        assert after_doeblin(epsilon, delta, 0.99 * threshold)[1] < delta
        assert after_doeblin(epsilon, delta, 1.01 * threshold)[1] > delta
    assert after_doeblin(1.0, 0.0, 0.5)[1] > 0


def test_pure_guarantee_after_ultra_mixing_is_two_randomized_responses() -> None:
    for epsilon, own in itertools.product((1e-6, 0.01, 0.5, 1.0, 3.0), repeat=2):
        first, second = (FiniteKernel(RandomizedResponseKernel(2, e).matrix) for e in (epsilon, own))
        # for tiny budgets the matrix itself is known to 1e-16 only
        exact = float(np.log(first.then(second).matrix).T @ [1, -1] @ [1, 0])
        value = after_pure_ultra_mixing(epsilon, second.ultra_mixing())
        assert value == pytest.approx(exact, rel=1e-9, abs=1e-15)
        assert value <= after_ultra_mixing(epsilon, 0.0, second.ultra_mixing())[0] * (1 + 1e-9)
        assert value <= min(epsilon, own)
    # theorem 15 (4) is not tight: log(1 + gamma (e^epsilon - 1)) at epsilon = 1 through randomized response at 1
    gamma = -np.expm1(-1.0)
    assert after_pure_ultra_mixing(1.0, gamma) == pytest.approx(np.log(np.cosh(1.0)))
    assert after_ultra_mixing(1.0, 0.0, gamma)[0] > 1.6 * after_pure_ultra_mixing(1.0, gamma)


def test_ultra_mixing_counts_all_pairs_of_inputs() -> None:
    """Inputs next to each other are not enough: the coefficient over those alone would break the guarantee."""
    kernel = FiniteKernel([[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]])
    nearby = max(FiniteKernel(kernel.matrix[i : i + 2]).ultra_mixing() for i in (0, 1))
    # a mechanism that moves mass between the first and the last input
    epsilon = 1.0
    mu, nu = (np.array([a, 0.0, 1 - a]) for a in (np.e / (1 + np.e), 1 / (1 + np.e)))
    after = float(renyi_divergence(mu @ kernel.matrix, nu @ kernel.matrix, np.inf))
    assert after <= after_pure_ultra_mixing(epsilon, kernel.ultra_mixing()) + ROUNDING
    assert after > after_pure_ultra_mixing(epsilon, nearby)


def test_extreme_budgets() -> None:
    for epsilon in (0.0, 1e-12, 700.0, 1e5):
        for gamma in (0.0, 1e-12, 0.5, 1.0):
            for delta in (0.0, 1e-20, 0.5, 1.0):
                for new_epsilon, new_delta in (
                    after_doeblin(epsilon, delta, gamma),
                    after_ultra_mixing(epsilon, delta, gamma),
                ):
                    assert 0 <= new_epsilon <= epsilon * (1 + 1e-15)
                    assert 0 <= new_delta <= 1
            assert 0 <= after_pure_ultra_mixing(epsilon, gamma) <= epsilon
    assert after_doeblin(700.0, 0.0, 0.5)[0] == pytest.approx(700 - np.log(2))
    assert hockey_stick_level(1.0, 0.0) == np.inf
    assert hockey_stick_level(0.0, 0.0) == 0.0
    assert hockey_stick_level(1e4, 0.1) == pytest.approx(1e4 + np.log(10))


def test_guarantees_keep_their_neighbors() -> None:
    kernel = RandomizedResponseKernel(3, 0.5)
    pure = after_kernel(PureDP("1", neighbors="add_remove", unit="person"), kernel, "pure_ultra_mixing")
    assert isinstance(pure, PureDP)
    assert (pure.neighbors, pure.unit) == ("add_remove", "person")
    # rounded up, and by no more than rounding asks for
    assert 1 < float(pure.epsilon) / after_pure_ultra_mixing(1.0, kernel.ultra_mixing()) < 1 + 1e-9
    approx = after_kernel(ApproxDP("1", "1e-6"), kernel, "doeblin")
    assert isinstance(approx, ApproxDP)
    assert float(approx.epsilon) == pytest.approx(np.log1p(kernel.doeblin() * np.expm1(1)), rel=1e-9)
    assert isinstance(after_kernel(PureDP(1), kernel, "doeblin"), ApproxDP)
    # a kernel that forgets everything: the least epsilon that is ever stated
    assert after_kernel(PureDP(1), GaussianKernel(1.0, 0.0), "ultra_mixing").epsilon <= Fraction(1, 10**12)
    # too small to be stated, so a larger one is
    tiny = after_kernel(ApproxDP("1", "1e-30"), kernel, "ultra_mixing")
    assert isinstance(tiny, ApproxDP)
    assert tiny.delta >= ApproxDP(1, "1e-30").delta


@pytest.mark.parametrize(
    "call",
    [
        lambda: FiniteKernel([[0.5, 0.6]]),
        lambda: FiniteKernel([[1.5, -0.5]]),
        lambda: FiniteKernel([0.5, 0.5]),
        lambda: FiniteKernel([[np.nan, 1.0]]),
        lambda: FiniteKernel([[0.5, 0.5]]).then(FiniteKernel([[1.0]])),
        lambda: GaussianKernel(0.0, 1.0),
        lambda: GaussianKernel(1.0, np.inf),
        lambda: GaussianKernel(1.0, 1.0, 0),
        lambda: LaplaceKernel(1.0, -1.0),
        lambda: RandomizedResponseKernel(1, 1.0),
        lambda: after_doeblin(-1.0, 0.0, 0.5),
        lambda: after_doeblin(1.0, 0.0, 1.5),
        lambda: after_doeblin(np.nan, 0.0, 0.5),
        lambda: after_doeblin(1.0, "much", 0.5),  # type: ignore[arg-type]
        lambda: after_kernel(ApproxDP(1, "1e-6"), FLIP, "pure_ultra_mixing"),
        lambda: after_kernel(PureDP(1), FLIP, "mixing"),  # type: ignore[arg-type]
        lambda: hockey_stick_divergence([1.0], [1.0], -1.0),
        lambda: renyi_divergence([1.0], [1.0], 0.5),
    ],
)
def test_meaningless_arguments_are_refused(call) -> None:
    with pytest.raises(UsageError):
        call()
