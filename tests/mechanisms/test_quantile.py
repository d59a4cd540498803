"""Private quantiles: exact privacy loss over all neighbors, and the secure choice against its distribution."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.artifact import BoundsChoice
from discreet.mechanisms.quantile import quantile_distributions, score_sensitivity
from discreet.privacy import PermuteAndFlip
from discreet.samplers.secure import secure_choose

# the suite's false-alarm rate, split over the assertions on bought bounds that can fail by chance
THRESHOLD = 1e-3 / 10


def how(low: Any = "1/4", high: Any = "3/4", *, cells: int = 4, epsilon: Any = "1/2") -> BoundsChoice:
    quantiles = Fraction(low), Fraction(high)
    return BoundsChoice("permute_and_flip", quantiles, (Fraction(0), Fraction(1)), cells, Fraction(epsilon))


def tables(n_cells: int, most: int) -> list[tuple[int, ...]]:
    """Return every vector of counts with at most so many usable records, and uneven ones with more."""
    small = [c for c in product(range(most + 1), repeat=n_cells) if sum(c) <= most]
    return small + list(product((0, 1, 50), repeat=n_cells))


def neighbors_of(counts: tuple[int, ...], relation: str) -> list[tuple[int, ...]]:
    """Return the counts of every neighboring table; records that are not usable are in no cell."""
    taken = [tuple(c - (i == j) for j, c in enumerate(counts)) for i in range(len(counts)) if counts[i]]
    added = [tuple(c + (i == j) for j, c in enumerate(counts)) for i in range(len(counts))]
    if relation == "add_remove":
        return taken + added
    # a record that becomes missing, one that was missing, and one that moves to another cell
    moved = [tuple(c + (i == j) for j, c in enumerate(fewer)) for fewer in taken for i in range(len(counts))]
    return taken + added + moved


def largest_loss(choice: BoundsChoice, relation: Any, most: int, thinner: float = 1.0) -> float:
    """Return the largest log-ratio of probabilities, for one bound, over all neighbors and outcomes."""
    worst = 0.0
    masses: dict[tuple[int, ...], list[np.ndarray]] = {}

    def mass(counts: tuple[int, ...]) -> list[np.ndarray]:
        if counts not in masses:
            distributions = quantile_distributions(counts, choice, relation)
            masses[counts] = [
                PermuteAndFlip(distribution.scores, thinner * distribution.scale).mass()
                for distribution in distributions
            ]
        return masses[counts]

    for counts in tables(choice.cells, most):
        for other in neighbors_of(counts, relation):
            for here, there in zip(mass(counts), mass(other), strict=True):
                worst = max(worst, float(np.abs(np.log(here / there)).max()))
    return worst


# epsilon only stretches the scores' scale: by default each pair of quantiles has one, and one relation
@pytest.mark.parametrize(
    ("epsilon", "low", "high", "relation"),
    [
        pytest.param(
            epsilon, low, high, relation, marks=[] if (i, k) == (j % 2, (j + 1) % 2) else pytest.mark.slow
        )
        for i, epsilon in enumerate(["1/10", "2"])
        for j, (low, high) in enumerate([("1/4", "3/4"), ("1/40", "39/40"), ("1/2", "2/3")])
        for k, relation in enumerate(["replace", "add_remove"])
    ],
)
def test_the_exact_loss_of_one_bound_is_at_most_half_of_epsilon(relation, low, high, epsilon) -> None:
    """Every table of at most 6 usable records in 4 cells and 81 larger ones, every neighbor, every outcome."""
    choice = how(low, high, epsilon=epsilon)
    share = float(choice.epsilon / 2)
    assert largest_loss(choice, relation, most=6) <= share * (1 + 1e-9)
    # negative control: half the scale is caught
    assert largest_loss(choice, relation, most=6, thinner=0.5) > share


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_the_loss_is_attained(relation) -> None:
    """Some record across the median costs all that was promised: the scale could not be smaller."""
    choice = how("1/2", "2/3", cells=3, epsilon=4)
    assert largest_loss(choice, relation, most=6) >= 2 * (1 - 1e-9)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    counts=st.lists(st.integers(0, 1000), min_size=2, max_size=9),
    numerator=st.integers(1, 39),
    draw=st.data(),
)
def test_scores_move_by_at_most_their_sensitivity(relation, counts, numerator, draw) -> None:
    choice = how(Fraction(numerator, 41), Fraction(40, 41), cells=len(counts))
    other = draw.draw(st.sampled_from(neighbors_of(tuple(counts), relation)))
    for q, here, there in zip(
        choice.quantiles,
        quantile_distributions(counts, choice, relation),
        quantile_distributions(other, choice, relation),
        strict=True,
    ):
        moved = max(abs(a - b) for a, b in zip(here.scores, there.scores, strict=True))
        assert moved <= score_sensitivity(q, relation)
        assert here.scale == there.scale >= 4 * score_sensitivity(q, relation) / choice.epsilon


def test_sensitivity_is_attained() -> None:
    """Control of the test above: in both relations some neighbor moves a score by all of it."""
    for relation in ("replace", "add_remove"):
        choice = how("1/4", "3/4")
        for at, q in enumerate(choice.quantiles):
            moved = max(
                abs(a - b)
                for other in neighbors_of((3, 3, 3, 3), relation)
                for a, b in zip(
                    quantile_distributions((3, 3, 3, 3), choice, relation)[at].scores,  # pyright: ignore[reportArgumentType]
                    quantile_distributions(other, choice, relation)[at].scores,  # pyright: ignore[reportArgumentType]
                    strict=True,
                )
            )
            assert moved == score_sensitivity(q, relation)  # pyright: ignore[reportArgumentType]


def test_the_distribution_against_its_definition() -> None:
    """Walk through all orders of four candidates by hand."""
    from itertools import permutations

    distribution = PermuteAndFlip([0, -1, -4, -1], 1.5)
    p = np.exp(np.array(distribution.scores) / 1.5)
    by_hand = np.zeros(4)
    for order in permutations(range(4)):
        reached = 1 / math.factorial(4)
        for candidate in order:
            by_hand[candidate] += reached * p[candidate]
            reached *= 1 - p[candidate]
    assert np.allclose(distribution.mass(), by_hand, rtol=1e-12)
    wide = PermuteAndFlip([-abs(i - 300) for i in range(1024)], 80.0)
    assert math.isclose(wide.mass().sum(), 1, rel_tol=1e-9)


DISTRIBUTION = PermuteAndFlip([0, -1, -2, -2, -7, 0, -3], 2.0)


def fit(draws: list[int], distribution: PermuteAndFlip) -> float:
    return float(
        chisquare(
            np.bincount(draws, minlength=len(distribution.scores)), distribution.mass() * len(draws)
        ).pvalue
    )


def test_the_secure_choice_follows_the_distribution() -> None:
    """OpenDP has no seed, so this is a fresh sample each time, at the stated false-alarm rate."""
    draws = [secure_choose(DISTRIBUTION) for _ in range(12_000)]
    assert fit(draws, DISTRIBUTION) > THRESHOLD
    # controls: the same draws refute scales 20% off, and the exponential mechanism
    for scale in (1.6, 2.4):
        assert fit(draws, PermuteAndFlip(DISTRIBUTION.scores, scale)) < THRESHOLD
    weights = np.exp(np.array(DISTRIBUTION.scores) / 2.0)
    counts = np.bincount(draws, minlength=7)
    assert chisquare(counts, weights / weights.sum() * len(draws)).pvalue < THRESHOLD


def test_the_seeded_choice_follows_the_distribution(rng: np.random.Generator) -> None:
    draws = [DISTRIBUTION.sample(rng) for _ in range(20_000)]
    assert fit(draws, DISTRIBUTION) > THRESHOLD
    assert fit(draws, PermuteAndFlip(DISTRIBUTION.scores, 1.8)) < THRESHOLD


def test_scores_and_scales_of_any_size_are_chosen_from() -> None:
    assert secure_choose(PermuteAndFlip([-(2**62), 0, -(2**63) + 1], 1e-30)) == 1
    assert secure_choose(PermuteAndFlip([0, -(2**62)], 1e300)) in (0, 1)
