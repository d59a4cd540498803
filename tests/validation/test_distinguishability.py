"""Telling two tables apart: the best test against enumeration, releases, and the limit that nobody may beat."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.curator.publish import sample_with
from discreet.errors import UsageError
from discreet.mechanisms.base import RandomSource
from discreet.privacy.loss import PrivacyLoss
from discreet.privacy.metric import distinguishing_distance
from discreet.privacy.metric.error_limit import ErrorLimit
from discreet.validation.draw_counts import Played
from discreet.validation.likelihood_ratio import DistributionPair
from discreet.validation.sampled_distribution import PosteriorDistribution
from tests.mechanisms.test_posterior_sampling import CASES

# False alarms of the whole suite are at most 1e-3; this file's share for one assertion about a simulation.
ALARM = 1e-7
# sums of many products of float64, and Fourier transforms of them
ROUNDING = 1e-11

#: Which family, how many records, in how many the tables differ, the budget of a draw.
PAIRS = [
    (name, n, apart, epsilon)
    for name in CASES
    for n, apart, epsilon in [
        (1, 1, 2),
        (5, 1, 0.5),
        (30, 1, 1000),
        (10, 3, 1),
        (25, 25, 0.3),
        *([(60, 7, 3)] if name in ("bernoulli", "poisson", "exponential", "laplace", "normal") else []),
    ]
]
DRAWS = (1, 6, 40)


def drawn(name: str, n: int, apart: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two random tables that differ in so many records: at opposite ends, or at random."""
    model, _, bounds, _, _ = CASES[name]
    low, high = bounds or (0, 1)

    def records(size: int) -> np.ndarray:
        if model.support.discrete:
            return rng.integers(low, high + 1, size).astype(float)
        return rng.uniform(low, high, size)

    shared = records(n - apart) if rng.random() < 0.5 else np.full(n - apart, float(low))
    if rng.random() < 0.5:
        return np.append(shared, np.full(apart, float(low))), np.append(shared, np.full(apart, float(high)))
    first = records(apart)
    # another value for each, so that they do differ
    second = low + (first - low + (1 if model.support.discrete else 0.3 * (high - low))) % (
        high - low + (1 if model.support.discrete else 0)
    )
    return np.append(shared, first), np.append(shared, second)


def told(name: str, n: int, apart: int, epsilon: float, trials: int, rng: np.random.Generator) -> Any:
    model, prior, bounds, support, cells = CASES[name]
    mechanism = dc.mechanisms.PosteriorSampling(prior, epsilon=epsilon, support=support, cells=cells)
    first, second = drawn(name, n, apart, rng)
    return dc.validation.distinguish(
        first, second, model, mechanism=mechanism, bounds=bounds, draws=DRAWS, trials=trials, rng=rng
    )


def test_no_adversary_beats_the_limit_on_fifty_pairs_of_tables(rng: np.random.Generator) -> None:
    """The best test, exactly and in simulation, against the rigorous theorem and the sharper limits."""
    assert len(PAIRS) == 50
    beaten = 0
    for name, n, apart, epsilon in PAIRS:
        found = told(name, n, apart, epsilon, 400, rng)
        span = found.limit.span
        for look in found.by_draws:
            best, k = look.best, look.n_draws
            assert best.advantage <= look.advantage_limit + ROUNDING
            assert best.error >= look.error_limit - ROUNDING
            # theorem 13, with L rho half the range that the tables' distance allows
            assert best.advantage <= math.sqrt(k * span / 2)
            if best.error > 1e-9:
                assert distinguishing_distance(span / 2, k, min(best.error, 0.499)) <= 1 + ROUNDING
            limits = [one.interval(1 - ALARM) for one in (look.first_wrong, look.second_wrong)]
            assert sum(high for _, high in limits) >= 2 * look.error_limit
            # and the simulation is of this test
            assert limits[0][0] <= best.false_second <= limits[0][1]
            assert limits[1][0] <= best.false_first <= limits[1][1]
        beaten += found.by_draws[0].best.advantage > ErrorLimit.of_range(span / 4).advantage(1)
    # negative control: a limit from a quarter of the range would have been beaten
    assert beaten >= 5


def test_a_limit_that_is_too_low_is_beaten_in_simulation(rng: np.random.Generator) -> None:
    """Negative control: randomized response attains its limit, and 10% less epsilon is found out."""
    epsilon, n, trials = 1.0, 5, 20_000
    p = np.array([1.0, math.exp(-epsilon)]) / (1 + math.exp(-epsilon))
    pair = DistributionPair(np.log(p), np.log(p[::-1]))
    best = pair.best_test(n)
    limits = ErrorLimit.of_epsilon(epsilon), ErrorLimit.of_epsilon(0.9 * epsilon)
    assert best.advantage == pytest.approx(limits[0].advantage(n), abs=ROUNDING)
    high = [Played(wrong, trials).interval(1 - ALARM)[1] for wrong in pair.simulate(best, n, trials, rng)]
    assert sum(high) >= limits[0].errors(n)
    assert sum(high) < limits[1].errors(n)


def test_the_printed_condition_is_not_enough_either() -> None:
    """Tables that are as far apart as printed are not told apart: the Lipschitz constant is a worst case."""
    mechanism = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=100, support=(0.01, 0.99), cells=512)
    tables = [0, 1] * 500, [0, 1] * 499 + [1, 1]
    found = dc.validation.distinguish(*tables, dc.Bernoulli(), mechanism=mechanism, draws=[10])
    lipschitz, distance, delta = found.limit.span / 2, 1, 0.05
    assert distance >= 3 * math.log(1 / delta) / (4 * 10 * lipschitz)
    assert found.by_draws[0].best.error > 0.45  # pyright: ignore[reportOptionalMemberAccess]


def roc(p: np.ndarray, q: np.ndarray, n: int) -> tuple[float, float]:
    """The smallest larger error, and the largest advantage, over all tests: from a list of all outcomes."""
    a, b = (
        np.array([math.prod(each) for each in itertools.product(distribution, repeat=n)])
        for distribution in (p, q)
    )
    order = np.argsort(-a / b)
    hit = np.concatenate([[0], np.cumsum(a[order])])
    false = np.concatenate([[0], np.cumsum(b[order])])
    grid = np.linspace(0, 1, 200_001)
    miss = 1 - np.interp(grid, false, hit)
    return float(np.minimum.reduce(np.maximum(grid, miss))), float((hit - false).max())


@pytest.mark.parametrize("n", [1, 2, 5])
def test_errors_on_a_lattice_are_those_of_the_best_test(n: int) -> None:
    ratio = 0.3 * np.arange(5)
    q = np.array([0.3, 0.1, 0.25, 0.2, 0.15])
    p = q * np.exp(ratio) / (q @ np.exp(ratio))
    best = DistributionPair(np.log(p), np.log(q)).best_test(n)
    error, advantage = roc(p, q, n)
    # the list of tests has steps of 1/200,000
    assert best.error == pytest.approx(error, abs=1e-5)
    assert best.false_first == pytest.approx(best.false_second, abs=ROUNDING)
    assert best.advantage == pytest.approx(advantage, abs=ROUNDING)
    assert best.slack < 1e-7


@pytest.mark.parametrize("n", [1, 2, 5])
def test_off_a_lattice_the_best_test_is_within_the_slack(n: int, rng: np.random.Generator) -> None:
    for _ in range(5):
        p, q = rng.dirichlet(np.ones(5), 2).clip(0.01)
        p, q = p / p.sum(), q / q.sum()
        best = DistributionPair(np.log(p), np.log(q)).best_test(n)
        _, advantage = roc(p, q, n)
        assert best.advantage <= advantage + ROUNDING
        assert best.advantage + best.slack >= advantage - ROUNDING


@pytest.mark.parametrize("name", ["bernoulli", "exponential"])
def test_many_draws_agree_with_the_convolution_of_privacy_losses(name: str, rng: np.random.Generator) -> None:
    model, prior, bounds, support, _ = CASES[name]
    mechanism = dc.mechanisms.PosteriorSampling(prior, epsilon=3, support=support, cells=24)
    distribution = PosteriorDistribution.of(model, mechanism, bounds)
    features = [distribution.totals(table).features() for table in drawn(name, 12, 12, rng)]
    distributions = [distribution.distribution(each, 12) for each in features]
    pair = DistributionPair(*(each.log_mass() for each in distributions))
    assert np.exp(pair.log_p) == pytest.approx(distributions[0].mass(), abs=ROUNDING)
    loss = PrivacyLoss.between(*(each.mass() for each in distributions))
    assert pair.divergence() == pytest.approx(loss.mean, abs=1e-9)
    composed = loss
    for _ in range(2):
        composed = composed.compose(loss)
    best = pair.best_test(3)
    # losses are rounded to 12 digits there
    assert best.advantage <= float(composed.delta(0.0)) + 1e-9
    assert best.advantage + best.slack >= float(composed.delta(0.0)) - 1e-9


def test_a_window_of_the_sums_loses_nothing() -> None:
    """With many draws only part of the possible sums is looked at."""
    ratio = 0.02 * np.arange(41)
    q = np.full(41, 1 / 41)
    p = q * np.exp(ratio) / (q @ np.exp(ratio))
    pair = DistributionPair(np.log(p), np.log(q))
    n = 2000
    best = pair.best_test(n)
    _, bins, other = pair.binned(n)
    assert len(bins) == 41
    distribution_p, distribution_q = bins, other
    for _ in range(n.bit_length() - 1):
        distribution_p, distribution_q = (
            np.convolve(distribution_p, distribution_p),
            np.convolve(distribution_q, distribution_q),
        )
    # 1,024 draws by repeated squaring, with the whole line of sums
    whole = float(np.maximum(distribution_p - distribution_q, 0).sum())
    assert pair.best_test(1024).advantage == pytest.approx(whole, abs=1e-10)
    assert best.advantage > whole


def test_the_test_errs_as_often_on_releases(rng: np.random.Generator) -> None:
    """Draws of real releases, through the mechanism, against the errors that were computed."""
    mechanism = dc.mechanisms.PosteriorSampling(
        "beta:1,1", epsilon=9, samples=3, support=(0.1, 0.9), cells=32
    )
    tables = [1] * 3 + [0] * 3, [0] * 6
    distribution = PosteriorDistribution.of(dc.Bernoulli(), mechanism, None)
    pair = DistributionPair(
        *(distribution.distribution(distribution.totals(table).features(), 6).log_mass() for table in tables)
    )
    best = pair.best_test(3)
    place = pair.binned(3)[0]
    points, trials = distribution.grid.points["p"], 120
    for table, error, first in zip(tables, (best.false_second, best.false_first), (True, False), strict=True):
        wrong = 0
        for _ in range(trials):
            made = sample_with(RandomSource.seeded(rng), table, dc.Bernoulli(), mechanism, missing="none")
            assert made.samples is not None
            found = np.searchsorted(points, made.samples.arrays()["p"] - 1e-12)
            total = int(place[found].sum())
            says_second = total < best.threshold or (total == best.threshold and rng.random() < best.coin)
            wrong += says_second == first
        low, high = Played(wrong, trials).interval(1 - ALARM)
        assert low <= error <= high
    # control: nobody errs as often as somebody who guesses
    assert best.error < 0.35


def test_the_number_of_draws_is_the_first_that_is_enough() -> None:
    mechanism = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=100, support=(0.1, 0.9), cells=100)
    tables = [1] * 8 + [0] * 2, [1] * 5 + [0] * 5
    found = dc.validation.distinguish(*tables, dc.Bernoulli(), mechanism=mechanism, delta=0.1)
    assert found.draws is not None
    again = dc.validation.distinguish(
        *tables, dc.Bernoulli(), mechanism=mechanism, draws=[found.draws - 1, found.draws]
    )
    assert again.by_draws[0].best.error > 0.1 >= again.by_draws[1].best.error  # pyright: ignore[reportOptionalMemberAccess]
    assert found.least_draws <= found.draws  # pyright: ignore[reportOptionalOperand]
    assert found.by_draws[-1].n_draws == found.draws


def test_equal_tables_are_never_told_apart() -> None:
    mechanism = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.1, 0.9), cells=50)
    found = dc.validation.distinguish([0, 1], [1, 0], dc.Bernoulli(), mechanism=mechanism)
    assert found.draws is None
    assert found.least_draws is None
    assert all(look.best.error == pytest.approx(0.5) for look in found.by_draws)  # pyright: ignore[reportOptionalMemberAccess]
    assert "no number of draws" in found.verdict
    assert "more than 10,000" in found.verdict


def test_a_guarantee_alone_gives_the_limit() -> None:
    found = dc.validation.distinguish(dc.PureDP("0.5"))
    assert found.least_draws == ErrorLimit.of_epsilon(0.5).least_draws(0.05) == 45
    assert found.draws is None
    assert "at least 45 draws" in found.summary()
    assert "best test" not in found.summary()
    assert "at least 1 draw." in dc.validation.distinguish(dc.PureDP(20)).verdict
    tiny = dc.validation.distinguish(dc.PureDP("1e-9"))
    assert tiny.least_draws is None
    assert "take more than 1,000,000,000,000 draws" in tiny.verdict
    far = dc.validation.distinguish(dc.MetricDP(10, 0, "hamming"), distance=2, draws=[1])
    assert far.by_draws[0].error_limit == pytest.approx(1 / (1 + math.exp(20)))


def test_the_result_prints_and_becomes_plain_numbers() -> None:
    mechanism = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=2, support=(0.1, 0.9), cells=50)
    how: dict[str, Any] = {"mechanism": mechanism, "draws": [1, 7], "trials": 50, "rng": 3}
    found = dc.validation.distinguish(["yes", "yes"], ["no", "yes"], dc.Bernoulli(), **how)
    assert "two tables of 2 records that differ in 1" in repr(found)
    assert "Clopper-Pearson" in found.summary()
    plain = found.to_dict()
    assert [row["n_draws"] for row in plain["table"]] == [1, 7]
    low, share, high = (plain["table"][0]["simulated_first"][i] for i in (1, 0, 2))
    assert 0 <= low <= share <= high <= 1
    assert dc.validation.distinguish(["yes", "yes"], ["no", "yes"], dc.Bernoulli(), **how).to_dict() == plain


COIN = dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.1, 0.9), cells=10)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dc.validation.distinguish([0, 1], [0], dc.Bernoulli(), mechanism=COIN), "equally many"),
        (lambda: dc.validation.distinguish([0, 1]), "two tables and a model"),  # pyright: ignore
        (lambda: dc.validation.distinguish([0], [1], dc.Bernoulli(), mechanism=None), "give mechanism"),  # pyright: ignore
        (lambda: dc.validation.distinguish([0], [1], dc.Bernoulli(), mechanism=COIN, delta=0.5), "guessing"),
        (
            lambda: dc.validation.distinguish([0], [1], dc.Bernoulli(), mechanism=COIN, draws=[0]),
            "draws must be",
        ),
        (
            lambda: dc.validation.distinguish([0], [1], dc.Bernoulli(), mechanism=COIN, trials=-1),
            "trials must be",
        ),
        (
            lambda: dc.validation.distinguish([0], [1], dc.Poisson(), mechanism=COIN, bounds=(0, 9)),
            "Gamma prior",
        ),
        (lambda: dc.validation.distinguish(dc.PureDP(1), [1]), "leave out"),  # pyright: ignore
        (
            lambda: dc.validation.distinguish([0], [1], dc.Bernoulli(), mechanism=COIN, distance=2),  # pyright: ignore
            "is counted",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(call: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        call()
