"""Theorem 20 and its examples against divergences computed directly."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad

from discreet.errors import UsageError
from discreet.privacy.amplification import (
    FiniteKernel,
    coupling_bound,
    iterated_gaussian_rho,
    iterated_laplace_bound,
    iterated_laplace_epsilons,
    laplace_epsilons,
    renyi_divergence,
)
from discreet.privacy.amplification.coupling import log_density_of_two

ORDERS = (1.0, 1.5, 2.0, 8.0, np.inf)


def random_coupling(rng: np.random.Generator, omega: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """A mixture of the independent coupling and one that moves as little as it must, in a random order of points."""
    share = rng.random()
    order = rng.permutation(mu.size)
    moved = np.zeros((mu.size, mu.size))
    left, right = omega[order].copy(), mu[order].copy()
    i = j = 0
    while i < mu.size and j < mu.size:
        mass = min(left[i], right[j])
        moved[order[i], order[j]] += mass
        left[i] -= mass
        right[j] -= mass
        i, j = (i + 1, j) if left[i] <= right[j] else (i, j + 1)
    return share * np.outer(omega, mu) + (1 - share) * moved


# -- the theorem -----------------------------------------------------------------------------------------------------


def test_bound_holds_for_random_couplings(rng: np.random.Generator) -> None:
    useful = without_transport = 0
    for _ in range(1500):
        n = int(rng.integers(2, 6))
        kernel = FiniteKernel(rng.dirichlet(np.full(n, rng.choice([0.5, 2.0, 20.0])), size=n))
        mu, nu = rng.dirichlet(np.ones(n), size=2)
        # on the way from nu to mu, or anywhere
        omega = rng.dirichlet(np.ones(n)) if rng.random() < 0.5 else nu + rng.random() * (mu - nu)
        coupling = random_coupling(rng, omega, mu)
        order = float(rng.choice(ORDERS))
        actual = float(renyi_divergence(mu @ kernel.matrix, nu @ kernel.matrix, order))
        assert actual <= coupling_bound(order, nu, coupling, kernel) + 1e-12
        useful += coupling_bound(order, nu, coupling, kernel) < renyi_divergence(mu, nu, order)
        without_transport += actual > renyi_divergence(omega, nu, order) + 1e-12
    assert useful > 100  # it often beats the data-processing inequality
    assert without_transport > 100  # the second term cannot be left out


def test_the_diagonal_coupling_is_data_processing(rng: np.random.Generator) -> None:
    mu, nu = rng.dirichlet(np.ones(4), size=2)
    kernel = FiniteKernel(rng.dirichlet(np.ones(4), size=4))
    for order in ORDERS:
        expected = float(renyi_divergence(mu, nu, order))
        assert coupling_bound(order, nu, np.diag(mu), kernel) == pytest.approx(expected, abs=1e-13)


def test_a_detour_where_nu_has_no_mass_costs_everything() -> None:
    nu, kernel = np.array([1.0, 0.0]), FiniteKernel([[0.5, 0.5], [0.2, 0.8]])
    assert coupling_bound(2.0, nu, np.array([[0.0, 0.0], [0.5, 0.5]]), kernel) == np.inf
    # omega = nu: only the transport counts, and only from the one point
    expected = float(renyi_divergence(kernel.matrix[1], kernel.matrix[0], 2.0))
    assert coupling_bound(2.0, nu, np.array([[0.0, 1.0], [0.0, 0.0]]), kernel) == pytest.approx(expected)


# -- Gaussian and Lipschitz kernels ----------------------------------------------------------------------------------


def test_iterated_gaussian_is_the_best_split_and_exact() -> None:
    sigma, again, shift = 1.3, 0.7, 2.0
    w = np.linspace(0, shift, 200_001)
    split = (w**2 / sigma**2 + (shift - w) ** 2 / again**2) / 2
    assert iterated_gaussian_rho(shift, sigma, again) == pytest.approx(split.min(), rel=1e-9)
    assert iterated_gaussian_rho(shift, sigma, again) == pytest.approx(shift**2 / (2 * (sigma**2 + again**2)))


def distribution_after(psi, mean: float, sigma: float, again: float, y: np.ndarray) -> np.ndarray:
    """Density at y of psi(N(mean, sigma^2)) + N(0, again^2), by the trapezoidal rule, here exact to rounding."""
    x = mean + sigma * np.linspace(-12, 12, 1601)
    weight = np.exp(-0.5 * ((x - mean) / sigma) ** 2)
    density = np.exp(-0.5 * ((y[:, None] - psi(x)) / again) ** 2) @ weight
    return density / density.sum()


MAPS = {
    "sine": (1.0, np.sin),
    "steep sine": (3.0, lambda x: 1.5 * np.sin(2 * x)),
    "saturating": (0.5, lambda x: 0.5 * np.tanh(x)),
    "linear": (2.0, lambda x: 2 * x),
}


@pytest.mark.parametrize("name", MAPS)
def test_lipschitz_kernels_stay_below_the_bound(name: str) -> None:
    lipschitz, psi = MAPS[name]
    sigma, again, shift = 0.6, 0.8, 0.7
    rho = iterated_gaussian_rho(shift, sigma, again, lipschitz)
    y = np.linspace(-25, 25, 4001)
    for start in (-0.4, 0.0, 0.3, 1.1):
        p, q = (distribution_after(psi, start + s, sigma, again, y) for s in (0.0, shift))
        for order in (1.5, 2.0, 5.0):
            actual = max(float(renyi_divergence(*pair, order)) for pair in ((p, q), (q, p)))
            assert actual <= order * rho * (1 + 1e-9)
            if name == "linear":
                assert actual == pytest.approx(order * rho, rel=1e-6)
                # forgetting that the map stretches would break it
                assert actual > 1.5 * order * iterated_gaussian_rho(shift, sigma, again)


# -- Laplace ---------------------------------------------------------------------------------------------------------


def test_density_of_two_laplace_noises() -> None:
    for first, second in ((1.0, 2.0), (0.3, 0.3), (5.0, 0.2)):
        for x in (0.0, 0.1, 1.0, -4.0):
            # the convolution integral, cut at the kinks
            parts = [-np.inf, *sorted([0.0, x]), np.inf]

            def product(t: float, x: float = x, first: float = first, second: float = second) -> float:
                return float(np.exp(-abs(x - t) / first - abs(t) / second)) / (4 * first * second)

            value = sum(quad(product, a, b, epsabs=1e-13)[0] for a, b in itertools.pairwise(parts))
            assert np.exp(log_density_of_two(x, first, second)) == pytest.approx(value, rel=1e-8)


def test_density_is_exact_for_scales_next_to_each_other() -> None:
    """Equation (6.3) as printed divides rounding errors by their difference."""
    x, first, second = np.linspace(0.5, 5, 40), 1.0, 1.0 + 1e-11
    printed = 0.25 * (
        (1 / (first + second) + 1 / (first - second)) * np.exp(-x / first)
        + (1 / (first + second) - 1 / (first - second)) * np.exp(-x / second)
    )
    equal = np.exp(-x) * (1 + x) / 4
    assert np.exp(log_density_of_two(x, first, second)) == pytest.approx(equal, rel=1e-10)
    # rounding of 1e-16 over a difference of 1e-11
    assert np.abs(printed / equal - 1).max() > 1e-6


def precise(order: float, shift: float, first: float, second: float) -> float:
    """The divergence from equation (6.3) as printed, in 30 digits."""
    with mpmath.workdps(30):
        a, s, b, c = (mpmath.mpf(v) for v in (order, shift, first, second))

        def density(x: mpmath.mpf) -> mpmath.mpf:
            x = abs(x)
            if b == c:
                return mpmath.exp(-x / b) * (b + x) / (4 * b**2)
            plus, minus = 1 / (b + c) + 1 / (b - c), 1 / (b + c) - 1 / (b - c)
            return (plus * mpmath.exp(-x / b) + minus * mpmath.exp(-x / c)) / 4

        reach = 80 * max(b, c)
        cuts = [-reach, -reach / 8, -reach / 64, 0, s / 4, s / 2, 3 * s / 4, 9 * s / 10, s]
        cuts += [s + reach / 64, s + reach / 8, s + reach]
        total = mpmath.quad(lambda x: density(x - s) ** a * density(x) ** (1 - a), cuts)
        return float(mpmath.log(total) / (a - 1))


@pytest.mark.parametrize(
    "case",
    [
        (2, 1, 1, 1),
        (1.1, 1, 1, 2),
        (8, 1, 0.5, 1.7),
        (64, 2, 1, 1.3),
        (300, 1, 1, 1),
        (3, 5, 0.1, 1),
        (1.01, 0.1, 3, 1),
    ],
)
def test_exact_divergence_of_iterated_laplace(case: tuple[float, float, float, float]) -> None:
    order, *rest = case
    assert iterated_laplace_epsilons([order], *rest)[0] == pytest.approx(precise(*case), rel=1e-9)


def test_one_published_example() -> None:
    assert iterated_laplace_epsilons(2.0, 1, 1, 1) == pytest.approx(0.2717, abs=5e-5)
    assert iterated_laplace_bound(2.0, 1, 1, 1) == pytest.approx(0.4006, abs=5e-5)
    assert laplace_epsilons(2.0, 1, 1) == pytest.approx(0.6191, abs=5e-5)


def test_exact_below_bound_below_either_noise_alone(rng: np.random.Generator) -> None:
    orders = np.array([1.01, 1.5, 2.0, 5.0, 32.0, 256.0, np.inf])
    for _ in range(40):
        shift, first, second = np.exp(rng.normal(size=3))
        exact = iterated_laplace_epsilons(orders, shift, first, second)
        bound = iterated_laplace_bound(orders, shift, first, second)
        alone = laplace_epsilons(orders, shift, max(first, second))
        assert np.all(exact <= bound * (1 + 1e-9))
        assert np.all(bound <= alone * (1 + 1e-9))
        # lemma 5: nothing is gained for pure privacy
        assert exact[-1] == bound[-1] == alone[-1] == shift / max(first, second)
        assert np.all(np.diff(exact) >= -1e-9)
        # and the tail of the density says so: its log-ratio approaches that value
        far = 60 * max(first, second) / (1 - min(first, second) / max(first, second) + 1e-2)
        ratio = log_density_of_two(far, first, second) - log_density_of_two(far + shift, first, second)
        assert ratio == pytest.approx(exact[-1], rel=0.05)


def test_the_split_is_the_best_one(rng: np.random.Generator) -> None:
    for _ in range(30):
        shift, first, second = np.exp(rng.normal(size=3))
        order = float(rng.choice([1.05, 2.0, 20.0]))
        w = np.linspace(0, shift, 20_001)
        scan = laplace_epsilons(order, w, first) + laplace_epsilons(order, shift - w, second)
        found = float(iterated_laplace_bound(order, shift, first, second))
        assert found <= scan.min() + 1e-12
        assert found == pytest.approx(scan.min(), rel=1e-6)


def test_laplace_noises_do_not_add_as_variances() -> None:
    """One Laplace noise of the same variance would promise too much at large orders."""
    order = np.array([50.0, 300.0])
    assert np.all(iterated_laplace_epsilons(order, 1, 1, 1) > 1.05 * laplace_epsilons(order, 1, np.sqrt(2)))


def test_a_smaller_shift_does_no_worse() -> None:
    order = np.array([1.2, 3.0, 40.0])
    values = np.array([iterated_laplace_epsilons(order, s, 1.0, 0.4) for s in (0.1, 0.5, 1.0, 1.01, 3.0)])
    assert np.all(np.diff(values, axis=0) > 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: coupling_bound(2.0, [0.5, 0.5], np.eye(3) / 3, FiniteKernel(np.eye(2))),
        lambda: coupling_bound(2.0, [0.5, 0.5], np.eye(2), FiniteKernel(np.eye(2))),
        lambda: iterated_gaussian_rho(1.0, 0.0, 1.0),
        lambda: iterated_gaussian_rho(1.0, 1.0, 1.0, -1.0),
        lambda: iterated_laplace_bound(1.0, 1.0, 1.0, 1.0),
        lambda: iterated_laplace_epsilons([], 1.0, 1.0, 1.0),
        lambda: iterated_laplace_epsilons([np.nan], 1.0, 1.0, 1.0),
        lambda: iterated_laplace_epsilons(2.0, -1.0, 1.0, 1.0),
        lambda: laplace_epsilons(2.0, -1.0, 1.0),
    ],
)
def test_meaningless_arguments_are_refused(call) -> None:
    with pytest.raises(UsageError):
        call()
