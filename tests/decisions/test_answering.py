"""The response of highest expected utility: against closed forms, tables worked by hand and a plain loop."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.decisions import argmax
from discreet.decisions.base import comparison
from discreet.decisions.utilities import (
    AbsoluteError,
    DecisionTable,
    IntervalScore,
    SquaredError,
    ZeroOne,
)
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics, bulk_ess, mean_ess
from discreet.inference.posterior import Posterior

EXACT = Diagnostics("exact", independent=True)
GRID = np.linspace(0, 1, 201)

# The suite-wide false-alarm rate of 1e-3, split over the statistical assertions of this file.
SIGMAS = float(stats.norm.isf(1e-3 / 10 / 2))


@pytest.fixture
def beta(rng: np.random.Generator) -> Posterior:
    return Posterior({"p": rng.beta(3, 8, 5001)}, EXACT)


@pytest.fixture
def cells(rng: np.random.Generator) -> Posterior:
    draws = {"p": rng.dirichlet([5.0, 3.0, 2.0], 400)}
    return Posterior(draws, EXACT, labels={"p": ["a", "b", "c"]})


def nearest(value: float) -> float:
    return float(GRID[np.abs(GRID - value).argmin()])


# -- closed forms -------------------------------------------------------------------------------------


def test_squared_error_takes_the_candidate_nearest_the_mean(beta: Posterior) -> None:
    draws = beta.draws["p"]
    response = beta.respond(SquaredError("p"), GRID)
    assert response.candidate == nearest(draws.mean())
    # E (p - r)^2 = variance + (mean - r)^2
    closed = -(draws.var() + (draws.mean() - GRID) ** 2)
    assert response.utilities == pytest.approx(closed, rel=1e-9)
    assert response.expected == response.utilities.max()
    # negative control: the median of a skewed posterior is another grid point
    assert response.candidate != nearest(float(np.median(draws)))


def test_absolute_error_takes_the_candidate_nearest_the_median(beta: Posterior) -> None:
    draws = beta.draws["p"]
    response = beta.respond(AbsoluteError("p"), GRID)
    # the expected error is convex, so the best grid point is one of the two around the median
    assert abs(response.candidate - np.median(draws)) <= GRID[1]
    assert response.candidate != nearest(draws.mean())
    distribution = stats.beta(3, 8)
    # the true error's slope is 2 F(r) - 1: Monte Carlo moves the median by sd / sqrt(N) / (2 f), the grid by a step
    moved = SIGMAS / (2 * distribution.pdf(distribution.median()) * np.sqrt(beta.n_draws)) + GRID[1]  # pyright: ignore[reportAttributeAccessIssue]
    assert abs(response.candidate - distribution.median()) <= moved


@pytest.mark.parametrize("prob", [0.5, 0.9])
def test_interval_score_takes_the_quantiles(beta: Posterior, prob: float) -> None:
    coarse = GRID[::4]
    pairs = [(low, high) for low in coarse for high in coarse if low <= high]
    response = beta.respond(IntervalScore("p", prob=prob), pairs)
    ends = np.quantile(beta.draws["p"], [(1 - prob) / 2, (1 + prob) / 2])
    # the score is a sum of two convex functions, one of each end
    assert np.abs(np.array(response.candidate) - ends).max() <= coarse[1]
    other = np.quantile(beta.draws["p"], [(1 - prob) / 4, (3 + prob) / 4])
    assert np.abs(np.array(response.candidate) - other).max() > coarse[1]


@pytest.mark.parametrize(
    ("kind", "n_draws"),
    [
        (kind, n)
        for kind in (SquaredError, AbsoluteError, IntervalScore)
        for n in (1, 2, 5, 40, 101)
        if (kind, n) != (IntervalScore, 1)
    ],
)
def test_without_candidates_an_estimate_is_the_best_of_all(
    rng: np.random.Generator, n_draws: int, kind: type[SquaredError]
) -> None:
    posterior = Posterior({"p": rng.normal(size=n_draws)}, EXACT)
    utility = kind("p")
    response = posterior.respond(utility)
    found = np.atleast_1d(response.candidate)
    # nothing near it is better, up to the rounding of the sums
    around = found + rng.normal(scale=0.3, size=(500, 1)) * rng.normal(size=(500, found.size))
    offered = np.sort(around, axis=1) if found.size == 2 else around[:, 0]
    others = posterior.respond(utility, offered)
    assert response.expected >= others.expected - 1e-13
    assert response.bound is None
    assert "fixed beforehand" in str(response.no_bound)


def test_an_interval_needs_draws_and_sees_ties() -> None:
    with pytest.raises(UsageError, match="one draw has no interval"):
        Posterior({"p": np.zeros(1)}, EXACT).respond(IntervalScore("p"))
    # with 20 draws the ends of a 90% interval are between the first and last two
    twenty = Posterior({"p": np.arange(20.0)}, EXACT)
    assert twenty.respond(IntervalScore("p", prob=0.9)).candidate == (0.5, 18.5)


def test_estimates_without_candidates_are_the_posteriors_own(beta: Posterior) -> None:
    assert beta.respond(SquaredError("p")).candidate == beta.mean()["p"]
    assert beta.respond(AbsoluteError("p")).candidate == beta.quantile(0.5)["p"]


def test_an_event_is_answered_by_its_probability(beta: Posterior) -> None:
    share = float((beta.draws["p"] > 0.3).mean())
    for event in ("p > 0.3", "p>0.3", lambda draws: draws["p"] > 0.3):
        response = beta.respond(ZeroOne(event))
        assert response.candidate is (share > 0.5)
        assert response.utilities == pytest.approx([share, 1 - share], abs=1e-12)
        assert response.standard_error == pytest.approx(np.sqrt(share * (1 - share) / 5000), rel=1e-9)
    within = float(((beta.draws["p"] >= 0.1) & (beta.draws["p"] < 0.4)).mean())
    assert beta.respond(ZeroOne("0.1 <= p < 0.4")).utilities[0] == pytest.approx(within, abs=1e-12)


def test_a_decision_table_by_hand() -> None:
    posterior = Posterior({"rate": np.array([1.0, 1.5, 2.5, 6.0])}, EXACT)
    states = {"low": "rate < 2", "middle": "2 <= rate < 5", "high": "rate >= 5"}
    table = [[4, 1, 0], [0, 3, 1], [-8, 0, 10]]
    wanted = {"wait": 0.0, "watch": 1.25, "act": 2.75}  # (2 x row 1 + row 2 + row 3) / 4
    response = posterior.respond(DecisionTable(states, list(wanted), table))
    assert response.candidate == "act"
    assert response.utilities == pytest.approx(list(wanted.values()), abs=1e-15)
    fewer = posterior.respond(DecisionTable(states, list(wanted), table), ["watch", "wait"])
    assert (fewer.candidate, fewer.index) == ("watch", 0)
    # the transposed table is another question
    assert posterior.respond(DecisionTable(states, list(wanted), np.transpose(table))).candidate == "wait"
    by_number = DecisionTable(lambda draws: np.searchsorted([2, 5], draws["rate"], "right"), [0, 1, 2], table)
    assert posterior.respond(by_number).utilities == pytest.approx(response.utilities, abs=1e-15)


# -- a plain loop -------------------------------------------------------------------------------------


def loop(
    draws: np.ndarray, candidates: list[Any], utility: Callable[[float, Any], float]
) -> tuple[int, list]:
    """Try every candidate on every draw, one by one, and keep the first that is best."""
    sums = [sum(utility(float(theta), r) for theta in draws) for r in candidates]
    best = 0
    for place, total in enumerate(sums):
        if total > sums[best]:
            best = place
    return best, [total / len(draws) for total in sums]


CASES: dict[str, tuple[Any, list[Any], Callable[[float, Any], float]]] = {
    "squared": (SquaredError("p"), [0.0, 0.2, 0.25, 0.9], lambda p, r: -((p - r) ** 2)),
    "absolute": (AbsoluteError("p"), [1.0, 0.3, 0.2], lambda p, r: -abs(p - r)),
    "of a function": (
        SquaredError(lambda draws: draws["p"] / (1 - draws["p"])),
        [0.0, 0.3, 0.5],
        lambda p, r: -((p / (1 - p) - r) ** 2),
    ),
    "interval": (
        IntervalScore("p", prob=0.8),
        [(0.0, 1.0), (0.1, 0.5), (0.2, 0.3), (0.25, 0.25)],
        lambda p, r: -((r[1] - r[0]) + 10 * max(r[0] - p, 0) + 10 * max(p - r[1], 0)),
    ),
    "event": (ZeroOne("p <= 0.25"), [False, True], lambda p, r: float((p <= 0.25) == r)),
    "table": (
        DecisionTable({"low": "p < 0.3", "high": "p >= 0.3"}, ["a", "b"], [[1, 0.5], [0, 0.8]]),
        ["b", "a"],
        lambda p, r: {("a", True): 1, ("b", True): 0.5, ("a", False): 0, ("b", False): 0.8}[r, p < 0.3],
    ),
    "function": (
        lambda draws, r: np.log1p(r * draws["p"]) - r / 8,
        [0, 1, 2, 3, 4],
        lambda p, r: float(np.log1p(r * p) - r / 8),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_utility_agrees_with_a_plain_loop(name: str, rng: np.random.Generator) -> None:
    utility, candidates, one = CASES[name]
    posterior = Posterior({"p": rng.beta(3, 8, 300)}, EXACT)
    response = posterior.respond(utility, candidates)
    best, averages = loop(posterior.draws["p"], candidates, one)
    assert response.index == best
    assert response.candidate == candidates[best]
    assert response.utilities == pytest.approx(averages, rel=1e-12, abs=1e-14)
    spread = np.array([[one(float(p), r) for p in posterior.draws["p"]] for r in candidates])
    assert response.standard_errors == pytest.approx(spread.std(axis=1, ddof=1) / np.sqrt(300), abs=1e-14)


def test_ties_go_to_the_first_candidate() -> None:
    posterior = Posterior({"p": np.array([0.25, 0.75])}, EXACT)
    assert posterior.respond(ZeroOne("p > 0.5")).candidate is True
    assert posterior.respond(ZeroOne("p > 0.5"), [False, True]).candidate is False
    for candidates in ([0.5, 0.25, 0.75], [0.75, 0.5, 0.25]):
        response = posterior.respond(AbsoluteError("p"), candidates)
        assert (response.index, response.candidate) == (0, candidates[0])
    assert posterior.respond(SquaredError("p"), [0.25, 0.5, 0.5]).index == 1


def test_answers_do_not_depend_on_blocks(beta: Posterior, monkeypatch: pytest.MonkeyPatch) -> None:
    utility, offered = AbsoluteError("p"), np.repeat(GRID, 2)
    whole = beta.respond(utility, offered)
    for size in (1, 7 * beta.n_draws, 100 * beta.n_draws + 3):
        monkeypatch.setattr(argmax, "BLOCK", size)
        again = beta.respond(utility, offered)
        assert np.array_equal(again.utilities, whole.utilities)
        assert np.array_equal(again.standard_errors, whole.standard_errors)
        assert again.index == whole.index


def test_many_candidates_need_little_memory(rng: np.random.Generator) -> None:
    posterior = Posterior({"p": rng.beta(3, 8, 4000)}, EXACT)
    candidates = np.linspace(0, 1, 10_000)  # with all draws 320 MB
    tracemalloc.start()
    response = posterior.respond(AbsoluteError("p", within=(0, 1)), candidates)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60e6
    assert abs(response.candidate - np.median(posterior.draws["p"])) < 2e-4


# -- parameters and functions of them -----------------------------------------------------------------


def test_components_are_named_as_in_the_table(cells: Posterior) -> None:
    response = cells.respond(SquaredError("p[b]"))
    assert response.candidate == pytest.approx(cells.draws["p"][:, 1].mean(), rel=1e-12)
    share = (cells.draws["p"][:, 0] > 0.5).mean()
    assert cells.respond(ZeroOne("p[a] > 0.5")).utilities[0] == pytest.approx(share)
    assert cells.respond(ZeroOne(lambda d: d["p"].argmax(axis=1) == 0)).candidate is True


def test_names_may_hold_what_comparisons_are_made_of() -> None:
    labels = ["1 < x", "y > 2"]
    posterior = Posterior({"p": np.array([[0.2, 0.8], [0.3, 0.7]])}, EXACT, labels={"p": labels})
    assert posterior.respond(ZeroOne("p[1 < x] > 0.25")).utilities[0] == 0.5
    assert posterior.respond(ZeroOne("0.1 < p[1 < x] <= 0.2")).utilities[0] == 0.5
    assert posterior.respond(ZeroOne("p[y > 2]>=.7")).utilities[0] == 1
    assert comparison("-1e-3<=mean< +2.") == ("mean", [(">=", -1e-3), ("<", 2.0)])


# -- Markov chains ------------------------------------------------------------------------------------


def chains(rng: np.random.Generator, phi: float, n_chains: int = 4, length: int = 500) -> np.ndarray:
    """Return stationary autoregressive chains with variance 1, chain after chain."""
    x = np.empty((n_chains, length))
    x[:, 0] = rng.normal(size=n_chains)
    noise = rng.normal(size=x.shape) * np.sqrt(1 - phi**2)
    for t in range(1, length):
        x[:, t] = phi * x[:, t - 1] + noise[:, t]
    return x.ravel()


def test_standard_errors_of_chains_count_their_autocorrelation(rng: np.random.Generator) -> None:
    phi, n, trials = 0.8, 2000, 100
    # Var mean = (1 + phi) / (1 - phi) / n, up to a relative 1 / length / (1 - phi)
    truth = np.sqrt((1 + phi) / (1 - phi) / n)
    found = []
    for _ in range(trials):
        posterior = Posterior({"x": chains(rng, phi)}, Diagnostics("gibbs"), n_chains=4)
        found.append(posterior.respond(lambda d, r: d["x"] + r, [0, 1], bounds=(-50, 50)))
    errors = np.array([response.standard_error for response in found])
    # the estimator's own bias at this length is within 5% (Geyer's cut); the average's Monte Carlo error comes on top
    assert errors.mean() == pytest.approx(
        truth, rel=0.05, abs=SIGMAS * errors.std() / np.sqrt(trials) + 0.05 * truth
    )
    # what independent draws would have is a third of that
    assert errors.mean() > 2 * np.sqrt(1 / n)
    assert all(response.bound is None and "Markov" in str(response.no_bound) for response in found)


def test_the_effective_size_of_a_mean_is_that_of_the_values_not_their_ranks(rng: np.random.Generator) -> None:
    assert np.isnan(mean_ess(np.ones((4, 200))))
    slow = chains(rng, 0.9, length=5000).reshape(4, 5000)
    # of the values themselves: tau = (1 + phi) / (1 - phi) = 19; the estimate's own standard deviation is 9% here
    assert mean_ess(slow) == pytest.approx(20_000 / 19, rel=0.09 * SIGMAS)
    # a monotone function keeps the ranks, and with them the bulk ESS; cubes forget faster than values do
    assert bulk_ess(slow**3) == pytest.approx(bulk_ess(slow), rel=1e-9)
    assert mean_ess(slow**3) > mean_ess(slow)


def test_standard_errors_where_there_can_be_none() -> None:
    one = Posterior({"p": np.array([0.3])}, EXACT).respond(ZeroOne("p > 0.2"))
    assert np.isnan(one.standard_errors).all()
    assert (one.candidate, one.expected) == (True, 1.0)
    assert one.to_dict()["standard_error"] is None
    same = Posterior({"p": np.array([0.3, 0.4, 0.3, 0.4])}, Diagnostics("gibbs")).respond(ZeroOne("p > 0.2"))
    assert (same.standard_errors == 0).all()
