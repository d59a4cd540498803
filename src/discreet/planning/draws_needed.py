"""How many posterior draws an answer needs, and what answers lose, before any draw is bought."""

from __future__ import annotations

from math import ceil, isfinite, log, sqrt
from typing import Any

from discreet.arguments import numbers, positive, probability, real, shown, whole
from discreet.errors import UsageError


def draws_for_answers(
    loss: float,
    *,
    candidates: int = 2,
    questions: int = 1,
    confidence: float = 0.95,
    utility_range: tuple[float, float] = (0.0, 1.0),
    left_out: float = 0.0,
) -> int:
    r"""Return the least number of independent posterior draws by which answers lose at most ``loss`` of utility.

    With N draws, every average utility of every candidate is within w sqrt(ln(2 Q R / (1 - confidence)) / (2 N)) of its
    expectation, where w is the width of the utility's range, so the best-looking of R candidates to each of Q questions
    is worth at most twice that less than the best one. A private prior may be a preferred one restricted to parameters
    for which the likelihood is smooth; if it leaves out a share b of the preferred posterior, answers lose another
    2 b w. Solved for N:

        N = 2 (w / (loss - 2 b w))^2 ln(2 Q R / (1 - confidence)).

    Parameters
    ----------
    loss
        How much less than the best answer's the expected utility of an answer may be, under the preferred posterior.
    candidates, questions
        Answers to choose from, and questions that the same draws are to answer.
    confidence
        Probability with which all answers are as good as that.
    utility_range
        The least and the largest utility.
    left_out
        Share of the preferred posterior that the support of the private one leaves out, b. On average over tables it
        is the share of the preferred prior.

    References
    ----------
    Dimitrakakis et al. (2017), Lemma 11, with the union over candidates and questions that its proof leaves out;
    Lemma 14, where the distance itself suffices instead of twice it; Theorem 17, whose distance between the two
    priors is that between the posteriors on average.
    """
    width, many, chance, outside = _read(candidates, questions, confidence, utility_range, left_out)
    wanted = positive(loss, "loss") - 2 * outside * width
    if wanted <= 0:
        raise UsageError(
            f"no number of draws loses at most {loss:g}: what the private prior leaves out may cost "
            f"{2 * outside * width:g} alone.",
            hint="leave out less, or allow a larger loss",
        )
    needed = 2 * (width / wanted) * (width / wanted) * log(many / chance)
    if not isfinite(needed):
        raise UsageError(
            f"no number of draws that can be made loses at most {loss:g}.", hint="allow a larger loss"
        )
    return max(1, ceil(needed))


def loss_of_answers(
    draws: int,
    *,
    candidates: int = 2,
    questions: int = 1,
    confidence: float = 0.95,
    utility_range: tuple[float, float] = (0.0, 1.0),
    left_out: float = 0.0,
) -> float:
    r"""Return how much utility answers lose at most with so many posterior draws.

    The other way round of :func:`draws_for_answers`, with the same arguments: w (2 b + 2 sqrt(ln(2 Q R /
    (1 - confidence)) / (2 N))). N draws of a posterior whose log-likelihood ratios are at most L per record cost
    epsilon = 2 L N, so this is what a budget buys in utility.

    References
    ----------
    Dimitrakakis et al. (2017), Lemmas 11 and 14, Theorem 17.
    """
    width, many, chance, outside = _read(candidates, questions, confidence, utility_range, left_out)
    return width * (2 * outside + 2 * sqrt(log(many / chance) / (2 * whole(draws, "draws", least=1))))


def _read(
    candidates: Any, questions: Any, confidence: Any, utility_range: Any, left_out: Any
) -> tuple[float, int, float, float]:
    """Return the width of the utility's range, how many deviations there are, their chance, and what is left out."""
    ends = numbers(utility_range, "utility_range", ndim=1).tolist()
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise UsageError(f"utility_range must be (low, high), got {shown(utility_range)}.")
    low, high = ends
    outside = real(left_out, "left_out")
    if not 0 <= outside < 1:
        raise UsageError(f"left_out must be a probability from 0 to below 1, got left_out={outside:g}.")
    many = 2 * whole(candidates, "candidates", least=1) * whole(questions, "questions", least=1)
    return high - low, many, 1 - probability(confidence, "confidence"), outside
