"""How many posterior draws an answer needs, before any is bought."""

from __future__ import annotations

from math import ceil, log

from discreet.arguments import numbers, positive, probability, whole
from discreet.errors import UsageError


def draws_for_answers(
    loss: float,
    *,
    candidates: int = 2,
    questions: int = 1,
    confidence: float = 0.95,
    utility_range: tuple[float, float] = (0.0, 1.0),
) -> int:
    r"""Return the least number of independent posterior draws by which answers lose at most ``loss`` of utility.

    With N draws, every average utility of every candidate is within w sqrt(ln(2 Q R / (1 - confidence)) / (2 N)) of its
    expectation, where w is the width of the utility's range, so the best-looking of R candidates to each of Q questions
    is worth at most twice that less than the best one. Solved for N:

        N = 2 (w / loss)^2 ln(2 Q R / (1 - confidence)).

    Expectations are under the posterior that the draws come from; for private samples every draw costs budget.

    References
    ----------
    Dimitrakakis et al. (2017), Lemma 11, with the union over candidates and questions that its proof leaves out.
    """
    low, high = (float(end) for end in numbers(utility_range, "utility_range", ndim=1))
    if not low < high:
        raise UsageError(f"utility_range must be (low, high), got {(low, high)}.")
    wanted, chance = positive(loss, "loss"), 1 - probability(confidence, "confidence")
    many = 2 * whole(candidates, "candidates", least=1) * whole(questions, "questions", least=1)
    return max(1, ceil(2 * ((high - low) / wanted) ** 2 * log(many / chance)))
