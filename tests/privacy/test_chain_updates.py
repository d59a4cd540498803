"""The distribution of one update of a private chain, exactly, over all small tables and all their neighbors."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import discreet as dc
from discreet.errors import UsageError
from discreet.families.base import Family
from discreet.priors import parse
from discreet.privacy.costs.chain_updates import (
    WorstCaseRejection,
    concentrated_update,
    gibbs_distribution,
    simplex_sensitivity,
)
from discreet.privacy.costs.gibbs_costs import SweepCosts
from discreet.privacy.costs.grid_walk import GridWalk
from discreet.privacy.costs.likelihood_range import simplex_range
from discreet.privacy.costs.parameter_grid import SLACK, ParameterGrid
from discreet.samplers.mixture_chain import (
    MixtureChain,
    assignment_log_weights,
    label_counts,
    label_parameters,
)
from tests.privacy.oracles import hockey_stick, renyi_divergence

ROUND = 1e-10
SIZES, LEAST, TEMPERATURE = (2, 3), (0.1, 0.05), 2.5
CHAIN = MixtureChain(2, SIZES, LEAST, TEMPERATURE)
RANGES = tuple(simplex_range(k, Fraction(str(a))) for k, a in zip(SIZES, LEAST, strict=True))


def corners(size: int, least: float) -> list[np.ndarray]:
    """Points of the truncated simplex where one label has all that the others leave."""
    return [np.where(np.arange(size) == k, 1 - (size - 1) * least, least) for k in range(size)]


def states(rng: np.random.Generator) -> list[tuple[np.ndarray, list[np.ndarray]]]:
    """Weights, nearly all on one component or not, and tables at corners of the support or inside."""
    tables = [
        [np.array(pair) for pair in product(corners(k, a), repeat=2)]
        for k, a in zip(SIZES, LEAST, strict=True)
    ]
    inside = [
        a + (1 - k * a) * rng.dirichlet(np.ones(k), size=(40, 2)) for k, a in zip(SIZES, LEAST, strict=True)
    ]
    every = [*product(*tables), *zip(*inside, strict=True)]
    weights = [np.array([w, 1 - w]) for w in (0.5, 1e-8, 1 - 1e-8)]
    return [(w, list(t)) for w in weights for t in every]


RECORDS = np.array(list(product(range(2), range(3))))


def worst_assignment(chain: MixtureChain, rng: np.random.Generator) -> float:
    worst = 0.0
    for weights, tables in states(rng):
        log_distribution = np.log(gibbs_distribution(assignment_log_weights(chain, weights, tables, RECORDS)))
        # over all pairs of records, for every component
        worst = max(worst, float(np.ptp(log_distribution, axis=0).max()))
    return worst


class TestAssignments:
    claim = float(sum(RANGES)) / TEMPERATURE

    def test_no_pair_of_records_exceeds_the_claim_and_some_attain_it(self, rng: np.random.Generator) -> None:
        worst = worst_assignment(CHAIN, rng)
        # weights of 1e-8 leave 2e-8 e^claim of the claim unattained
        assert self.claim - 1e-5 <= worst <= self.claim + ROUND

    def test_the_range_at_one_state_is_no_bound_for_another(self, rng: np.random.Generator) -> None:
        # control: half the claim fails, and so does the chain at half the temperature
        assert worst_assignment(CHAIN, rng) > self.claim / 2 + 0.1
        hotter = MixtureChain(2, SIZES, LEAST, TEMPERATURE / 2)
        assert worst_assignment(hotter, rng) > self.claim + 0.1

    @pytest.mark.parametrize("n", [1, 2, 3, 4])
    def test_a_whole_pass_costs_one_assignment(self, n: int) -> None:
        """All tables of n records of one column, all neighbors, all assignments of all records."""
        chain = MixtureChain(2, (2,), (0.1,), TEMPERATURE)
        claim = float(simplex_range(2, Fraction(1, 10))) / TEMPERATURE
        weights, table = np.array([1e-8, 1 - 1e-8]), np.array([[0.9, 0.1], [0.1, 0.9]])
        worst = 0.0
        for rows in product(range(2), repeat=n):
            for i in range(n):
                other = (*rows[:i], 1 - rows[i], *rows[i + 1 :])
                distributions = [
                    np.log(
                        gibbs_distribution(
                            assignment_log_weights(chain, weights, [table], np.array(t)[:, None])
                        )
                    )
                    for t in (rows, other)
                ]
                for z in product(range(2), repeat=n):
                    first, second = (
                        distribution[np.arange(n), list(z)].sum() for distribution in distributions
                    )
                    worst = max(worst, abs(float(first - second)))
        assert claim - 1e-5 <= worst <= claim + ROUND


class TestLabels:
    """The update of one component's probabilities of two labels: a truncated beta distribution."""

    chain = MixtureChain(2, (2,), (0.1,), TEMPERATURE)
    claim = float(simplex_range(2, Fraction(1, 10))) / TEMPERATURE
    # the log-ratio is largest at an end; between them the trapezoidal rule is good to 1e-6
    p = np.linspace(0.1, 0.9, 4001)

    def log_density(self, counts: np.ndarray) -> np.ndarray:
        alpha = label_parameters(self.chain, [counts[None, :]])[0][0]
        log = (alpha[0] - 1) * np.log(self.p) + (alpha[1] - 1) * np.log1p(-self.p)
        ends = np.where(np.isin(np.arange(self.p.size), (0, self.p.size - 1)), -np.log(2), 0.0)
        return log - logsumexp(log + ends)

    def worst(self, n: int) -> float:
        distributions = [self.log_density(np.array([c, n - c])) for c in range(n + 1)]
        return max(float(np.abs(a - b).max()) for a, b in pairwise(distributions))

    def test_no_table_exceeds_the_claim_and_large_ones_attain_it(self) -> None:
        small = [self.worst(n) for n in (1, 2, 3, 4)]
        assert max(small) <= self.claim + 1e-6
        assert 0.97 * self.claim <= self.worst(400) <= self.claim + 1e-6
        # control: half of it is not enough
        assert self.worst(400) > self.claim / 2 + 0.1

    def test_a_record_reaches_one_component(self) -> None:
        codes, other = np.array([[0], [1], [1]]), np.array([[0], [0], [1]])
        for assigned in map(np.array, product(range(2), repeat=3)):
            a, b = (label_counts(self.chain, x, assigned)[0] for x in (codes, other))
            assert (a != b).any(axis=1).sum() == 1


class TestRandomScan:
    """One of N assignments, chosen at random and seen by everybody."""

    n = 8

    def distributions(self) -> tuple[np.ndarray, np.ndarray]:
        """The distribution of (which record, which component) for two neighboring tables."""
        chain = MixtureChain(2, (2,), (0.3,), 1.0)
        weights, table = np.array([1e-6, 1 - 1e-6]), np.array([[0.7, 0.3], [0.3, 0.7]])
        codes = np.zeros((self.n, 1), dtype=int)
        other = codes.copy()
        other[0] = 1
        first, second = (
            gibbs_distribution(assignment_log_weights(chain, weights, [table], x)).ravel() / self.n
            for x in (codes, other)
        )
        return first, second

    def test_the_printed_cost_fails_and_a_whole_update_is_attained(self) -> None:
        p, q = self.distributions()
        update = float(simplex_range(2, Fraction(3, 10)))
        worst = float(np.abs(np.log(p / q)).max())
        costs = SweepCosts((simplex_range(2, Fraction(3, 10)),), Fraction(1, self.n))
        # a sweep's pure cost is the whole assignment and the labels' update
        assert float(costs.pure(Fraction(1), 1).epsilon) == pytest.approx(2 * update)
        assert update - 1e-5 <= worst <= update + ROUND
        printed = 4 * (update / 2) * 1 / self.n
        assert worst > 3 * printed

    @pytest.mark.parametrize("order", [2, 4, 16])
    def test_the_divergence_is_that_of_the_mixture(self, order: int) -> None:
        p, q = self.distributions()
        alone = max(
            renyi_divergence(a * self.n, b * self.n, order) for a, b in ((p[:2], q[:2]), (q[:2], p[:2]))
        )
        mixed = np.log1p(np.expm1((order - 1) * alone) / self.n) / (order - 1)
        found = max(renyi_divergence(p, q, order), renyi_divergence(q, p, order))
        assert found == pytest.approx(mixed, rel=1e-9)
        # control: the divergence in proportion to the share is not enough, at orders where the rare outcome counts
        assert order < 16 or found > alone / self.n * 1.5


@pytest.mark.parametrize("spread", [0.1, 1.0, 4.0])
def test_a_choice_of_this_range_is_an_eighth_of_its_square_concentrated(spread: float) -> None:
    rho = float(concentrated_update(Fraction(str(spread))).rho)
    worst = 0.0
    for m in np.linspace(0.001, 0.999, 999):
        p = np.array([m, 1 - m])
        q = p * np.exp([spread, 0.0])
        q /= q.sum()
        worst = max(worst, *(renyi_divergence(p, q, a) / (a * rho) for a in (1.001, 2, 8)))
    assert worst <= 1 + 1e-9
    if spread < 1:
        assert worst > 0.99  # and a tenth of the square would be too little


# -- walks on a grid -----------------------------------------------------------------------------------

#: Family, prior, data bounds, support, and the values of one record on the mapped scale.
WALKS: dict[str, tuple[Family, str, Any, Any, tuple[Fraction, ...]]] = {
    "bernoulli": (dc.Bernoulli(), "beta:1,1", None, ((0.2, 0.9),), (Fraction(-1), Fraction(1))),
    "bernoulli-steep": (dc.Bernoulli(), "beta:1,60", None, ((0.2, 0.9),), (Fraction(-1), Fraction(1))),
    "poisson": (dc.Poisson(), "gamma:60,1", (0, 2), ((0.5, 20),), (Fraction(-1), Fraction(0), Fraction(1))),
}


def walk_for(name: str, width: int = 3, cells: int = 9) -> tuple[GridWalk, tuple[Fraction, ...]]:
    family, prior, bounds, support, records = WALKS[name]
    domain = family.read_domain(bounds, "clip", "none")
    exact = tuple((Fraction(str(a)), Fraction(str(b))) for a, b in support)
    return GridWalk(ParameterGrid(family, domain, parse(prior), exact, cells), width), records


def update_distributions(name: str, n: int, temperature: Fraction, rule: str) -> dict[Fraction, np.ndarray]:
    """Return, for every sum that n records can have, the distribution of one update from every point."""
    walk, records = walk_for(name)
    sums = {sum(table, Fraction(0)) for table in product(records, repeat=n)}
    distributions = {}
    for total in sums:
        scores = walk.grid.scores([total], n, 1 / temperature)
        distributions[total] = np.array(
            [walk.distribution(scores, at, rule=rule) for at in range(walk.grid.cells)]
        )
    return distributions


def neighbors(name: str, sums: Any) -> list[tuple[Fraction, Fraction]]:
    records = WALKS[name][-1]
    steps = {b - a for a, b in product(records, repeat=2)}
    return [(s, s + d) for s in sums for d in steps if s + d in sums]


@pytest.mark.parametrize("name", WALKS)
def test_barker_never_exceeds_the_claim_whether_it_accepts_or_rejects(name: str) -> None:
    walk, _ = walk_for(name)
    temperature = Fraction(3, 2)
    claim = float(walk.range() / temperature + SLACK)
    worst = {0: 0.0, 1: 0.0}
    for n in (1, 2, 3, 4):
        distributions = update_distributions(name, n, temperature, "barker")
        for a, b in neighbors(name, distributions):
            on_grid = distributions[a][..., 0] > 0
            for outcome in worst:
                ratio = np.abs(
                    np.log(distributions[a][..., outcome][on_grid] / distributions[b][..., outcome][on_grid])
                )
                worst[outcome] = max(worst[outcome], float(ratio.max()))
    assert max(worst.values()) <= claim + ROUND
    if name != "bernoulli":
        # a steep prior makes one outcome rare, and there the logistic function is exponential
        assert max(worst.values()) >= 0.999 * claim
    # control: half the claim fails
    assert max(worst.values()) > claim / 2


def rejected(distributions: dict[Fraction, np.ndarray]) -> dict[Fraction, np.ndarray]:
    """Return the probability of a rejection on the grid, from every point."""
    inside = np.any([distribution[..., 0] > 0 for distribution in distributions.values()], axis=0)
    return {
        total: np.where(inside, distribution[..., 1], 0.0).sum(axis=1)
        for total, distribution in distributions.items()
    }


def because_of_records(distributions: dict[Fraction, np.ndarray]) -> float:
    """Return the largest probability of a rejection beyond what all tables share."""
    shared = np.min([distribution[..., 1] for distribution in distributions.values()], axis=0)
    return max(
        float((distribution[..., 1] - shared).sum(axis=1).max()) for distribution in distributions.values()
    )


@pytest.mark.parametrize("name", WALKS)
def test_metropolis_keeps_to_a_proven_delta(name: str) -> None:
    walk, _ = walk_for(name)
    temperature = Fraction(3, 2)
    epsilon = float(walk.range() / temperature + SLACK)
    for n in (1, 2, 3, 4):
        distributions = update_distributions(name, n, temperature, "metropolis")
        proven = walk.worst_rejection(n, temperature)
        assert because_of_records(distributions) <= proven
        for a, b in neighbors(name, distributions):
            for first, second in zip(distributions[a], distributions[b], strict=True):
                assert hockey_stick(first.ravel(), second.ravel(), epsilon) <= proven + ROUND
                accepted = first[:, 0] > 0
                ratio = np.log(first[accepted, 0] / second[accepted, 0])
                assert np.abs(ratio).max() <= epsilon + ROUND


def test_metropolis_has_no_epsilon_and_an_observed_rate_is_no_delta() -> None:
    """The control: a rejection rate of one table promises nothing about the table next to it."""
    walk, _ = walk_for("bernoulli")
    temperature = Fraction(3, 2)
    epsilon = float(walk.range() / temperature + SLACK)
    worst, unlimited = 0.0, False
    for n in (1, 2, 3, 4):
        distributions = update_distributions("bernoulli", n, temperature, "metropolis")
        observed = rejected(distributions)
        for a, b in neighbors("bernoulli", distributions):
            unlimited |= bool(((distributions[b][..., 1] > 0) & (distributions[a][..., 1] == 0)).any())
            for at in range(walk.grid.cells):
                needed = hockey_stick(distributions[b][at].ravel(), distributions[a][at].ravel(), epsilon)
                worst = max(worst, needed - float(observed[a][at]))
    assert unlimited
    assert worst > 0.02


def test_the_worst_rejection_is_hardly_above_the_true_one() -> None:
    walk, _ = walk_for("bernoulli")
    temperature, n = Fraction(20), 4
    distributions = update_distributions("bernoulli", n, temperature, "metropolis")
    found = because_of_records(distributions)
    assert found <= walk.worst_rejection(n, temperature) <= found * 1.02


def test_the_range_of_a_step_is_that_of_the_pairs_it_joins() -> None:
    walk, _ = walk_for("poisson", width=2)
    slopes = walk.grid.tables[0][:, 0]
    pairs = [2 * abs(slopes[i] - slopes[j]) for i in range(9) for j in range(9) if abs(i - j) <= 2]
    assert float(walk.range()) == pytest.approx(max(pairs), rel=1e-9)
    assert walk.range() < walk.grid.range() / 3


@pytest.mark.parametrize("gap", ["0.05", "1", "6"])
def test_normalized_weights_move_by_the_hyperbolic_tangent(gap: str) -> None:
    g = float(gap)
    claimed = float(simplex_sensitivity(Fraction(gap)))
    worst = 0.0
    for m in np.linspace(0.0005, 0.9995, 1999):
        w = np.array([m, 1 - m])
        moved = w * np.exp([g, 0.0])
        worst = max(worst, float(np.abs(w - moved / moved.sum()).sum()))
    assert 0.999 * claimed <= worst <= claimed
    # control: for small gaps 2, the diameter, is far more than is needed, and half of the claim too little
    assert worst > claimed / 2


def test_a_worst_case_needs_words() -> None:
    assert WorstCaseRejection("0.1", "from the support").bound == Fraction(1, 10)
    for bound, proof in (("0.1", " "), ("1", "x"), ("0", "x")):
        with pytest.raises(UsageError):
            WorstCaseRejection(bound, proof)
