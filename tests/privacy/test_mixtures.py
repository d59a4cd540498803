"""Two hundred random lists of guarantees: against the exact delta of the worst mechanisms, dp-accounting, and sums."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

from discreet.privacy import ApproxDP, Guarantee, PureDP, RenyiDP, ZeroConcentratedDP, compose
from tests.privacy.oracles import composed_delta

N_MIXTURES, N_CHUNKS = 200, 8
ORDERS = [Fraction(5, 4), Fraction(3, 2), 2, 3, 4, 6, 8, 12, 16, 32, 64, 128]


@dataclass
class Mixture:
    """Guarantees, and a mechanism for each that spends all of it: a Gaussian for concentrated and Rényi ones."""

    parts: list[Guarantee]
    epsilons: list[Fraction]
    deltas: list[Fraction]
    rho: Fraction
    delta: Fraction


def draw(rng: np.random.Generator) -> Mixture:
    budget = lambda: Fraction(int(rng.integers(1, 400)), 1000)  # noqa: E731
    pure = [PureDP(budget()) for _ in range(rng.integers(0, 4)) for _ in range(rng.integers(1, 8))]
    kinds = rng.integers(0, 2, size=3)
    approx = [
        ApproxDP(budget(), Fraction(1, 10 ** int(rng.integers(9, 12))))
        for _ in range(kinds[0] * rng.integers(1, 4))
    ]
    rhos = [budget() / 10 for _ in range(kinds[1] * rng.integers(1, 3))]
    curves = [budget() / 10 for _ in range(kinds[2])]
    parts: list[Guarantee] = [*pure, *approx, *(ZeroConcentratedDP(rho) for rho in rhos)]
    parts += [RenyiDP(ORDERS, [order * rho for order in ORDERS]) for rho in curves]
    if not parts:
        return draw(rng)
    rng.shuffle(parts)  # pyright: ignore[reportArgumentType]
    return Mixture(
        parts=parts,
        epsilons=[part.epsilon for part in (*pure, *approx)],
        deltas=[part.delta for part in approx],
        rho=sum((*rhos, *curves), Fraction(0)),
        delta=Fraction(1, 10 ** int(rng.integers(2, 9))),
    )


def basic_epsilon(mixture: Mixture) -> float:
    """Return the sum of all epsilons, with the concentrated and Rényi parts converted each on its own."""
    curves = [part for part in mixture.parts if isinstance(part, ZeroConcentratedDP | RenyiDP)]
    total = float(sum(mixture.epsilons))
    if not curves:
        return total
    delta = float(mixture.delta - sum(mixture.deltas)) / len(curves)
    for part in curves:
        if isinstance(part, ZeroConcentratedDP):
            orders = np.array([float(order) for order in ORDERS])
            epsilons = float(part.rho) * orders
        else:
            orders = np.array([float(order) for order in part.orders])
            epsilons = np.array([float(epsilon) for epsilon in part.epsilons])
        # an independent implementation of the same conversion
        total += compute_epsilon(orders, epsilons, delta)[0]  # pyright: ignore[reportArgumentType]
    return total


def accounted_epsilon(mixture: Mixture) -> float:
    """Return what dp-accounting says about the same mechanisms, rounded up on its own grid of losses."""
    step = 1e-3 if mixture.rho else 1e-4
    known = [(float(e), float(d)) for e, d in pairs(mixture)]
    pieces = [pld.from_privacy_parameters(DifferentialPrivacyParameters(e, d), step) for e, d in known]
    if mixture.rho:
        sigma = 1 / np.sqrt(2 * float(mixture.rho))
        pieces.append(pld.from_gaussian_mechanism(sigma, value_discretization_interval=step))
    composed = pieces[0]
    for piece in pieces[1:]:
        composed = composed.compose(piece)
    return composed.get_epsilon_for_delta(float(mixture.delta))


def pairs(mixture: Mixture) -> list[tuple[Fraction, Fraction]]:
    deltas = [Fraction(0)] * (len(mixture.epsilons) - len(mixture.deltas)) + mixture.deltas
    return list(zip(mixture.epsilons, deltas, strict=True))


@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_never_below_the_truth_never_above_the_sum(chunk: int, rng: np.random.Generator) -> None:
    for _ in range(N_MIXTURES // N_CHUNKS):
        mixture = draw(rng)
        found = compose(*mixture.parts).to_approx(mixture.delta)
        epsilon, delta = float(found.epsilon), float(mixture.delta)
        true_delta = composed_delta(mixture.epsilons, mixture.deltas, mixture.rho)
        # a hundred positive masses, each right to 1e-14
        assert true_delta(epsilon) <= delta * (1 + 1e-10)
        assert epsilon <= basic_epsilon(mixture) * (1 + 1e-9)
        if found.method == "basic composition" and not mixture.rho:
            assert found.epsilon == sum(mixture.epsilons)
        if mixture.rho:
            continue
        # pure and approximate lists have an exact answer: nothing is lost but grid and rounding
        if len(mixture.parts) > 1:
            assert epsilon <= accounted_epsilon(mixture) * (1 + 1e-6) + 1e-9
        if epsilon > 1e-9:
            assert true_delta(epsilon * (1 - 1e-5)) > delta


def test_the_check_would_notice_too_small_an_epsilon(rng: np.random.Generator) -> None:
    """Control: two percent less than what is stated is not enough for a list of pure guarantees."""
    caught = 0
    for _ in range(20):
        mixture = draw(rng)
        if mixture.rho or len(mixture.parts) < 3:
            continue
        found = float(compose(*mixture.parts).to_approx(mixture.delta).epsilon)
        true_delta = composed_delta(mixture.epsilons, mixture.deltas, mixture.rho)
        assert true_delta(0.98 * found) > float(mixture.delta) * (1 + 1e-10)
        caught += 1
    assert caught


def test_a_gaussian_beside_responses_is_close_to_its_own_bound() -> None:
    """Concentrated parts lose the gap between a Rényi curve and the Gaussian that has it: under a tenth here."""
    parts = [*[PureDP("0.1")] * 20, ZeroConcentratedDP("0.02")]
    mixture = Mixture(parts, [Fraction(1, 10)] * 20, [], Fraction(1, 50), Fraction(1, 10**6))
    found = compose(*parts).to_approx("1e-6")
    assert found.method == "privacy-loss distribution"
    assert accounted_epsilon(mixture) < float(found.epsilon) < 1.1 * accounted_epsilon(mixture)
