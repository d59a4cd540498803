"""How much expected utility is lost because a response was chosen by few draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.arguments import numbers, probability, shown, whole
from discreet.errors import UsageError
from discreet.privacy.metric.utility_bounds import sampling_half_width


@dataclass(frozen=True)
class SamplingBound:
    r"""A bound on the loss from choosing a response by N independent draws instead of by their whole posterior.

    Hoeffding's inequality for each candidate of each question, and a union over all of them: with probability at least
    ``confidence`` over the draws, every average utility is within

        half_width = (high - low) sqrt(ln(2 Q R / (1 - confidence)) / (2 N))

    of its expectation, so the chosen response is worth at most ``loss`` = 2 ``half_width`` less than the best
    candidate. The printed proof has ln(2 / (1 - confidence)) for all candidates at once, which is wrong: it holds for
    one candidate, not for the one that was picked *because* its average was high.

    Expectations are under the posterior that the draws come from, whatever it is: for a release of samples that is the
    tempered, diffused or concentrated one, not the posterior without privacy. Candidates, bounds and questions must
    have been fixed without looking at the draws.

    Parameters
    ----------
    loss
        At most so much expected utility is lost against the best candidate. Never more than the range of the utility:
        a bound that large says nothing.
    half_width
        All average utilities of the candidates are this close to their expectations.
    confidence
        Probability, over the draws, that it holds.
    n_draws, n_candidates, n_questions
        N, R (of this question) and Q. If a question depends on answers to earlier ones, Q counts all that could
        have been asked.
    utility_range
        What the utility never leaves: (low, high).
    posterior
        Which posterior the expectations are under.

    References
    ----------
    Dimitrakakis et al. (2017), Lemma 11.
    """

    loss: float
    half_width: float
    confidence: float
    n_draws: int
    n_candidates: int
    n_questions: int
    utility_range: tuple[float, float]
    posterior: str

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound says no more than that utilities stay in their range."""
        low, high = self.utility_range
        return self.loss >= high - low > 0

    def describe(self) -> str:
        """Say what is bounded, how surely, and under which posterior."""
        draws = "1 draw" if self.n_draws == 1 else f"{self.n_draws:,} independent draws"
        together = "" if self.n_questions == 1 else f", for {self.n_questions:,} questions at once,"
        if self.is_vacuous:
            verb = "bounds" if self.n_draws == 1 else "bound"
            return (
                f"{draws} {verb} nothing: the answer may lose the whole range of the utility, {self.loss:.3g}, "
                f"against the best of {self.n_candidates:,} candidates."
            )
        return (
            f"With probability {100 * self.confidence:.6g}% over the {draws}{together} the answer loses at most "
            f"{self.loss:.3g} of expected utility against the best of {self.n_candidates:,} candidates, "
            f"both under {self.posterior}, if the candidates were fixed without looking at the draws."
        )


def sampling_bound(
    utility_range: tuple[float, float],
    *,
    n_draws: int,
    n_candidates: int,
    n_questions: int,
    confidence: float,
    posterior: str,
) -> SamplingBound:
    """Return the bound of Lemma 11, with the union over candidates and questions."""
    low, high = utility_range
    half_width = (high - low) * sampling_half_width(
        n_draws, 1 - confidence, responses=n_candidates, questions=n_questions
    )
    return SamplingBound(
        min(2 * half_width, high - low),
        min(half_width, high - low),
        confidence,
        n_draws,
        n_candidates,
        n_questions,
        utility_range,
        posterior,
    )


def check_confidence(confidence: Any, n_questions: Any) -> None:
    """Raise unless the two make sense."""
    probability(confidence, "confidence")
    whole(n_questions, "questions")


def check_bounds(bounds: Any) -> tuple[float, float]:
    """Return declared bounds of a utility as two numbers."""
    ends = numbers(bounds, "bounds")
    if ends.shape != (2,) or not ends[0] <= ends[1]:
        raise UsageError(f"bounds must be two finite numbers, low and high, got bounds={shown(bounds)}.")
    return float(ends[0]), float(ends[1])
