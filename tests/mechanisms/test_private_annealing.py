"""Annealing: the exact distribution of whole releases on small grids, and a normalizing constant that is known."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError
from discreet.mechanisms.base import RandomSource, Totals
from discreet.mechanisms.grid_walking import barker_walk
from discreet.mechanisms.private_annealing import log_weight, trajectory, weight_choice
from discreet.priors import parse
from discreet.privacy.costs.annealing_path import WEIGHT_STEPS, AnnealingPath
from discreet.privacy.costs.chain_updates import gibbs_distribution
from discreet.privacy.costs.grid_walk import GridWalk
from discreet.privacy.costs.parameter_grid import ParameterGrid
from discreet.privacy.costs.scored_points import SCALE_BITS

ROUND = 1e-10
DOMAIN = dc.Bernoulli().read_domain(None, "clip", "none")
SUPPORT = ((Fraction(1, 5), Fraction(4, 5)),)
STEP = float(1 << SCALE_BITS)


def walk_on(cells: int, width: int, prior: str = "beta:1,1") -> GridWalk:
    return GridWalk(ParameterGrid(dc.Bernoulli(), DOMAIN, parse(prior), SUPPORT, cells), width)


def tables_for(walk: GridWalk, path: AnnealingPath, ones: int, n: int) -> list[list[int]]:
    """Scores of every level for a table with so many ones; a one is +1 on the mapped scale, a zero -1."""
    total = [Fraction(2 * ones - n)]
    return [walk.grid.scores(total, n, power) for power in path.powers(walk.grid.range())]


def normalizer(scores: list[int]) -> float:
    return float(np.exp(np.array(scores) / STEP).sum())


def moved(walk: GridWalk, scores: list[int]) -> np.ndarray:
    """Return the transition matrix of one update."""
    cells, width = walk.grid.cells, walk.width
    matrix = np.zeros((cells, cells))
    offsets = [*range(-width, 0), *range(1, width + 1)]
    for at in range(cells):
        for offset, (accept, reject) in zip(offsets, walk.distribution(scores, at), strict=True):
            matrix[at, at] += reject
            if walk.holds(at + offset):
                matrix[at, at + offset] += accept
    return matrix


def release_distribution(walk: GridWalk, path: AnnealingPath, ones: int, n: int) -> np.ndarray:
    """Return the distribution of two trajectories of three levels, states and all, and of the choice between them."""
    tables = tables_for(walk, path, ones, n)
    first = gibbs_distribution(np.array(tables[0]) / STEP)
    one = first[:, None] * moved(walk, tables[1])
    runs = list(product(range(walk.grid.cells), repeat=2))
    distribution = np.empty((len(runs), len(runs), 2))
    for (i, a), (j, b) in product(enumerate(runs), repeat=2):
        chosen = weight_choice([log_weight(tables, list(a)), log_weight(tables, list(b))]).mass()
        distribution[i, j] = one[a] * one[b] * chosen
    return distribution


@pytest.mark.parametrize("start", ["0", "0.3"])
def test_a_whole_release_costs_no_more_than_it_says(start: str) -> None:
    walk = walk_on(cells=4, width=1)
    path = AnnealingPath((Fraction(start), Fraction(1), Fraction(2)))
    claim = float(
        path.cost(walk.range() / walk.grid.range(), trajectories=2, moves=1, samples=1, weights_epsilon=None)
    )
    worst = 0.0
    for n in (1, 2, 3, 4):
        distributions = [release_distribution(walk, path, ones, n) for ones in range(n + 1)]
        assert all(distribution.sum() == pytest.approx(1) for distribution in distributions)
        possible = distributions[0] > 0  # a step joins neighbors on the grid only, whatever the records are
        logs = [np.log(distribution[possible]) for distribution in distributions]
        worst = max(worst, *(float(np.abs(a - b).max()) for a, b in pairwise(logs)))
    # several updates are at their worst for different tables, so the sum is approached, not attained
    assert 0.5 * claim <= worst <= claim + ROUND
    # control: what the trajectories cost does not cover the choice between them
    assert worst > claim - float(path.gap)


def test_updates_leave_their_distribution_alone() -> None:
    walk = walk_on(cells=6, width=2, prior="beta:2,3")
    scores = walk.grid.scores([Fraction(3)], 7, Fraction(1, 2))
    distribution = gibbs_distribution(np.array(scores) / STEP)
    assert distribution @ moved(walk, scores) == pytest.approx(distribution, rel=1e-12)


def test_a_choice_by_weights_attains_its_price_and_the_tangent_is_attained() -> None:
    """Trajectories that stay at opposite ends, for tables of 61 records: the worst there is."""
    walk = walk_on(cells=5, width=1)
    path = AnnealingPath.linear(5, Fraction(2))
    ends = [[0] * 4, [4] * 4]
    distributions = [
        weight_choice([log_weight(tables_for(walk, path, ones, 61), run) for run in ends]).mass()
        for ones in range(62)
    ]
    pairs = list(pairwise(distributions))
    ratio = max(float(np.abs(np.log(a / b)).max()) for a, b in pairs)
    assert 0.999 * float(path.gap) <= ratio <= float(path.resampling_cost()) + ROUND
    l1 = max(float(np.abs(a - b).sum()) for a, b in pairs)
    claimed = float(path.weight_sensitivity(2)) / WEIGHT_STEPS
    assert 0.999 * claimed <= l1 <= claimed
    assert claimed < 1  # the printed sensitivity is 2


class TestNormalizingConstant:
    """The mean weight estimates the ratio of two normalizing constants, which a sum over the grid gives."""

    walk = walk_on(cells=24, width=8)
    path = AnnealingPath.linear(5, Fraction(4))
    ones, n, trajectories = 30, 40, 3000
    # two-sided, at a false-alarm rate of 1e-5
    sds = 4.42

    def estimates(self, rng: np.random.Generator, *, after: bool) -> tuple[float, np.ndarray]:
        tables = tables_for(self.walk, self.path, self.ones, self.n)
        source, logs = RandomSource.seeded(rng), []
        for _ in range(self.trajectories):
            run = trajectory(self.walk, tables, 2, source)
            if after:
                # the states after the updates of each level, for which one more update is made at the target
                last = barker_walk(self.walk, tables[-1], run[-1], self.walk.propose(2, rng), source)[-1]
                run = [*run[1:], last]
            logs.append(log_weight(tables, run) / STEP)
        return normalizer(tables[-1]) / normalizer(tables[0]), np.exp(logs)

    def test_states_before_the_updates_are_unbiased(self, rng: np.random.Generator) -> None:
        truth, weights = self.estimates(rng, after=False)
        error = float(weights.std(ddof=1) / np.sqrt(len(weights)))
        assert error < 0.05 * truth
        assert abs(float(weights.mean()) - truth) < self.sds * error

    def test_the_expected_weight_is_the_ratio_exactly(self) -> None:
        """By products of transition matrices, before and after the updates of each level."""
        tables = tables_for(self.walk, self.path, self.ones, self.n)
        f = [np.exp(np.array(scores) / STEP) for scores in tables]
        truth = f[-1].sum() / f[0].sum()
        before = after = f[0] / f[0].sum()
        for low, high, scores in zip(f, f[1:], tables[1:], strict=False):
            update = moved(self.walk, scores)
            before = (before * high / low) @ update
            after = (after @ update) * high / low
        assert before.sum() == pytest.approx(truth, rel=1e-9)
        assert after.sum() > 1.2 * truth

    def test_states_after_the_updates_are_not(self, rng: np.random.Generator) -> None:
        truth, weights = self.estimates(rng, after=True)
        error = float(weights.std(ddof=1) / np.sqrt(len(weights)))
        assert float(weights.mean()) - truth > self.sds * error


class TestMechanism:
    def totals(self, ones: int, n: int) -> Totals:
        return Totals(dc.Bernoulli(), DOMAIN, (2 * ones - n,), n)

    @pytest.mark.parametrize("weights", ["resample", "laplace"])
    def test_the_default_path_uses_the_whole_budget(self, weights: str, rng: np.random.Generator) -> None:
        mechanism = dc.mechanisms.PrivateAnnealing(
            "beta:1,1",
            epsilon=1,
            support=(0.05, 0.95),
            cells=64,
            samples=3 if weights == "resample" else 1,
            weights=weights,  # pyright: ignore[reportArgumentType]
        )
        record = mechanism.plan(dc.Bernoulli(), DOMAIN, 500)
        path, numbers = AnnealingPath(record.paths["epsilons"]), record.parameters
        cost = path.cost(
            numbers["step_range"] / numbers["range"],
            trajectories=8,
            moves=1,
            samples=3,
            weights_epsilon=numbers.get("weights_epsilon"),
        )
        assert 1 - 1e-9 < cost <= 1
        draws = mechanism.draw(record, self.totals(150, 500), RandomSource.seeded(rng))
        # all ends are published with noisy weights
        assert draws.count == (8 if weights == "laplace" else 3)
        # the weights that get noise are normalized in float64
        assert draws.arithmetic == ("floating" if weights == "laplace" else "exact")

    def test_many_cheap_trajectories_come_near_the_posterior(self, rng: np.random.Generator) -> None:
        mechanism = dc.mechanisms.PrivateAnnealing(
            "beta:1,1",
            epsilon=400,
            support=(0.05, 0.95),
            cells=128,
            trajectories=200,
            samples=50,
            levels=12,
            width=32,
        )
        record = mechanism.plan(dc.Bernoulli(), DOMAIN, 400)
        draws = mechanism.draw(record, self.totals(100, 400), RandomSource.seeded(rng)).arrays()["p"]
        temperature = float(record.parameters["range"] / record.paths["epsilons"][-1])
        # mean and spread of the tempered posterior, give or take five standard errors of 50 draws
        sd = np.sqrt(0.25 * 0.75 / (400 / temperature))
        assert abs(draws.mean() - 0.25) < 5 * sd / np.sqrt(50) + 0.02

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"path": [0, 0.4, 0.2, 0.5]}, "must not go back"),
            ({"path": [0, 0, 0]}, "above 0"),
            ({"path": [-0.1, 0.2]}, "negative"),
            ({"path": [0.2]}, "2 to"),
            ({"path": "0,1"}, "list of epsilons"),
            ({"levels": 1}, "at least 2 levels"),
            ({"weights": "max"}, "resample"),
            ({"weights_epsilon": 0.1}, "laplace"),
            ({"weights": "laplace", "weights_epsilon": 1}, "leave something"),
            ({"support": None}, "needs support"),
            ({"epsilon": None}, "needs epsilon"),
            ({"trajectories": 0}, "whole number"),
        ],
    )
    def test_bad_arguments(self, arguments: dict[str, object], words: str) -> None:
        given = {"epsilon": 1, "support": (0.05, 0.95), **arguments}
        with pytest.raises(UsageError, match=words):
            dc.mechanisms.PrivateAnnealing("beta:1,1", **given)  # pyright: ignore[reportArgumentType]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"path": [0, 0.5, 1]}, "costs epsilon = "),
            ({"path": [0, 50], "epsilon": 100}, "temperature is below 1"),
            ({"trajectories": 1000, "levels": 1000, "moves": 1000}, "too small for so many updates"),
            ({"support": (0, 0.95)}, "without limit"),
        ],
    )
    def test_more_than_the_budget_pays_for(self, arguments: dict[str, object], words: str) -> None:
        given = {"epsilon": 1, "support": (0.05, 0.95), **arguments}
        mechanism = dc.mechanisms.PrivateAnnealing("beta:1,1", **given)  # pyright: ignore[reportArgumentType]
        with pytest.raises(UsageError, match=words):
            mechanism.check(dc.Bernoulli(), DOMAIN)
