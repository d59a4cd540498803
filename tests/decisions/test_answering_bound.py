"""The bound on what is lost by choosing from N draws: true at its confidence, and not true without the union.

The posteriors are of independent bits: parameter r of R is 1 with probability ``chances[r]``. The utility of response r
is bit r, so its expectation is known, and average utilities are independent binomials: the hardest case for a union.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from scipy import stats

from discreet.decisions.base import Utility
from discreet.decisions.regret_bound import SamplingBound
from discreet.decisions.response import Response
from discreet.decisions.utilities import (
    AbsoluteError,
    DecisionTable,
    IntervalScore,
    SquaredError,
    ZeroOne,
)
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior

TEMPERED = Diagnostics("samples", "tempered posterior, not noise-aware", independent=True)
FALSE_ALARM = 1e-3 / 10


class Bit(Utility):
    """Response r is worth 1 if bit r is 1, and 0 otherwise."""

    def read(self, posterior: Posterior) -> np.ndarray:
        return posterior.draws["bits"].T

    def accept(self, candidates) -> np.ndarray:
        return np.asarray(candidates)

    def score(self, read: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        return read[candidates]

    def bounds(self, candidates: np.ndarray) -> tuple[float, float]:
        return 0.0, 1.0


def answer(rng: np.random.Generator, chances: np.ndarray, n_draws: int, confidence: float) -> Response:
    bits = (rng.random((n_draws, len(chances))) < chances).astype(float)
    posterior = Posterior({"bits": bits}, TEMPERED)
    return posterior.respond(Bit(), np.arange(len(chances)), confidence=confidence)


def bound_of(response: Response) -> SamplingBound:
    assert response.bound is not None
    return response.bound


def without_union(n_draws: int, confidence: float) -> float:
    """Return the loss that the proof as printed would allow."""
    return 2 * sqrt(log(2 / (1 - confidence)) / (2 * n_draws))


# -- the formula --------------------------------------------------------------------------------------


def test_the_bound_is_hoeffdings_with_a_union() -> None:
    posterior = Posterior({"p": np.linspace(0.1, 0.3, 500)}, TEMPERED)
    bound = bound_of(posterior.respond(ZeroOne("p > 0.2"), confidence=0.99, questions=7))
    assert bound.half_width == pytest.approx(sqrt(log(2 * 2 * 7 / 0.01) / 1000), rel=1e-12)
    assert bound.loss == pytest.approx(2 * bound.half_width, rel=1e-12)
    assert (bound.n_draws, bound.n_candidates, bound.n_questions) == (500, 2, 7)
    assert (bound.confidence, bound.utility_range) == (0.99, (0.0, 1.0))
    # three states of payoffs from -2 to 4: six times as much can be lost
    table = DecisionTable(lambda d: (d["p"] > 0.2).astype(int), ["a", "b"], [[-2, 1], [4, 0]])
    wide = bound_of(posterior.respond(table, confidence=0.99, questions=7))
    assert wide.loss == pytest.approx(6 * bound.loss, rel=1e-12)


def test_ready_utilities_know_their_largest_loss(rng: np.random.Generator) -> None:
    posterior = Posterior({"p": rng.uniform(0.2, 0.8, 50)}, TEMPERED)
    numbers, pairs = [0.0, 0.25, 0.9], [(0.25, 0.5), (0.0, 1.0)]
    dense = np.linspace(0, 1, 1001)
    for kind, candidates in ((SquaredError, numbers), (AbsoluteError, numbers), (IntervalScore, pairs)):
        utility = kind("p", within=(0, 1))
        low, high = bound_of(posterior.respond(utility, candidates)).utility_range
        scores = utility.score(dense, utility.accept(candidates))
        assert low == pytest.approx(scores.min(), rel=1e-12)
        assert high == 0 >= scores.max()
        assert posterior.respond(kind("p"), candidates).bound is None


def test_one_draw_bounds_nothing_and_says_so() -> None:
    response = Posterior({"p": np.array([0.4])}, TEMPERED).respond(ZeroOne("p > 0.2"))
    bound = bound_of(response)
    assert bound.is_vacuous
    assert bound.loss == 1.0
    assert bound.describe().startswith("1 draw bounds nothing: the answer may lose the whole range")


def test_the_bound_says_what_it_speaks_of() -> None:
    posterior = Posterior({"p": np.linspace(0.1, 0.3, 400)}, TEMPERED)
    words = bound_of(posterior.respond(ZeroOne("p > 0.2"), confidence=0.9)).describe()
    for part in (
        "probability 90% over the 400 independent draws",
        "best of 2 candidates",
        "posterior that the draws come from (samples engine, tempered posterior, not noise-aware)",
        "fixed without looking at the draws",
    ):
        assert part in words
    together = bound_of(posterior.respond(ZeroOne("p > 0.2"), questions=20)).describe()
    assert "for 20 questions at once" in together


# -- when there is none -------------------------------------------------------------------------------


def test_chains_and_unbounded_utilities_have_none() -> None:
    draws = {"p": np.linspace(0.1, 0.3, 400)}
    chains = Posterior(draws, Diagnostics("gibbs"), n_chains=4).respond(ZeroOne("p > 0.2"))
    assert chains.bound is None
    assert "Markov chains (gibbs engine)" in str(chains.no_bound)
    assert "no bound: " in str(chains.summary())
    unbounded = Posterior(draws, TEMPERED).respond(SquaredError("p"), [0.1, 0.2])
    assert unbounded.bound is None
    assert "no known bounds" in str(unbounded.no_bound)


def test_declared_bounds_are_used_and_checked() -> None:
    posterior = Posterior({"p": np.linspace(0.1, 0.3, 400)}, TEMPERED)
    made = bound_of(posterior.respond(lambda d, r: r * d["p"], [1, 2], bounds=(0, 2)))
    assert made.utility_range == (0.0, 2.0)
    with pytest.raises(UsageError, match="outside their bounds"):
        posterior.respond(lambda d, r: r * d["p"], [1, 2], bounds=(0, 0.5))
    for bad in ((1, 0), (0, np.inf), (np.nan, 1), 3, "ab"):
        with pytest.raises(UsageError, match="bounds must be"):
            posterior.respond(lambda d, r: r * d["p"], [1, 2], bounds=bad)  # pyright: ignore


@pytest.mark.parametrize("confidence", [0, 1, 95, np.nan, "0.95", None])
def test_confidence_is_a_probability(confidence: object) -> None:
    with pytest.raises(UsageError, match="confidence must"):
        Posterior({"p": np.array([0.4])}, TEMPERED).respond(ZeroOne("p > 0"), confidence=confidence)  # pyright: ignore


@pytest.mark.parametrize("questions", [0, -1, 1.5, True, "2"])
def test_questions_are_counted(questions: object) -> None:
    with pytest.raises(UsageError, match="questions must"):
        Posterior({"p": np.array([0.4])}, TEMPERED).respond(ZeroOne("p > 0"), questions=questions)  # pyright: ignore


# -- by simulation ------------------------------------------------------------------------------------


def test_losses_stay_within_the_bound(rng: np.random.Generator) -> None:
    trials, confidence = 400, 0.8
    chances = np.concatenate([np.full(39, 0.5), [0.9]])
    worst, losses = np.empty(trials), np.empty(trials)
    for trial in range(trials):
        response = answer(rng, chances, 60, confidence)
        worst[trial] = np.abs(response.utilities - chances).max()
        losses[trial] = chances.max() - chances[response.index]
    bound = bound_of(response)
    assert not bound.is_vacuous
    allowed = stats.binom.isf(FALSE_ALARM, trials, 1 - confidence)
    assert (losses > bound.loss).sum() <= allowed
    assert (worst > bound.half_width).sum() <= allowed
    # without the union, averages of all candidates at once are not within the half width: the claim "for all r" fails
    assert (worst > without_union(60, confidence) / 2).sum() > allowed


def test_without_the_union_the_bound_on_the_loss_is_false(rng: np.random.Generator) -> None:
    # the best candidate comes last, so that ties go against it
    n_draws, confidence, trials, others, base = 6, 0.5, 100, 5000, 0.3
    gap = 1.001 * without_union(n_draws, confidence)
    chances = np.concatenate([np.full(others, base), [base + gap]])
    assert chances.max() < 1
    responses = [answer(rng, chances, n_draws, confidence) for _ in range(trials)]
    losses = chances.max() - chances[[response.index for response in responses]]
    beyond = (losses > without_union(n_draws, confidence)).sum()
    # the printed bound promises at most half of the trials; the exact share is this
    k = np.arange(n_draws + 1)
    below = np.concatenate([[0.0], stats.binom.cdf(k[:-1], n_draws, base)])
    share = float(stats.binom.pmf(k, n_draws, base + gap) @ (1 - below**others))
    assert share > 0.95
    assert (
        stats.binom.ppf(FALSE_ALARM, trials, share) <= beyond <= stats.binom.isf(FALSE_ALARM, trials, share)
    )
    assert beyond > stats.binom.isf(FALSE_ALARM, trials, 1 - confidence)
    # ours is not claimed to be less than the whole range here
    assert all(bound_of(response).is_vacuous for response in responses)


def test_losses_of_an_estimate_stay_within_the_bound(rng: np.random.Generator) -> None:
    distribution, grid, trials = stats.beta(2, 5), np.linspace(0, 1, 41), 300
    utility = SquaredError("p", within=(0, 1))
    truth = -(distribution.var() + (distribution.mean() - grid) ** 2)
    losses = np.empty(trials)
    for trial in range(trials):
        posterior = Posterior({"p": distribution.rvs(50, random_state=rng)}, TEMPERED)
        response = posterior.respond(utility, grid, confidence=0.9)
        losses[trial] = truth.max() - truth[response.index]
    assert losses.max() > 0
    assert (losses > bound_of(response).loss).sum() <= stats.binom.isf(FALSE_ALARM, trials, 0.1)


def test_several_questions_at_once(rng: np.random.Generator) -> None:
    # questions about independent bits, all answered yes or no by the same 40 draws
    trials, n_questions, confidence, n_draws = 150, 60, 0.8, 40
    alone = together = 0
    for _ in range(trials):
        bits = rng.random((n_draws, n_questions)) < 0.5
        posterior = Posterior({"bits": bits.astype(float)}, TEMPERED)
        made = [
            posterior.respond(
                ZeroOne(lambda d, q=q: d["bits"][:, q] > 0), confidence=confidence, questions=n_questions
            )
            for q in range(n_questions)
        ]
        worst = max(float(np.abs(response.utilities - 0.5).max()) for response in made)
        alone += worst > sqrt(log(2 * 2 / (1 - confidence)) / (2 * n_draws))
        together += worst > bound_of(made[0]).half_width
    allowed = stats.binom.isf(FALSE_ALARM, trials, 1 - confidence)
    assert together <= allowed < alone
