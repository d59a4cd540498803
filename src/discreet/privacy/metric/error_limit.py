r"""How often any test between two distributions must err: what a guarantee says to somebody who looks at many draws.

Somebody sees n independent draws from P, or from Q, and says which. Call the two chances of being wrong alpha and beta.
The *advantage* 1 - alpha - beta of the best test is the total variation between the two distributions of all n draws,
and the larger of alpha and beta is at least (1 - advantage) / 2. With D the Kullback-Leibler divergence of one draw,

    advantage <= sqrt(n D / 2)                  (Pinsker),
    advantage <= sqrt(1 - e^(-n D))             (Bretagnolle and Huber),

because divergences of independent draws add up. So both errors can be at most delta only if n D >= log(1 / (4 delta)).
With D <= 2 L rho, for posteriors of tables at distance rho under a log-likelihood that is L-Lipschitz in the table,
this becomes

    rho >= log(1 / (4 delta)) / (2 n L)   and   advantage <= sqrt(n L rho),

the rigorous form of theorem 13 of Dimitrakakis et al.; how that is printed, and why it is neither needed nor enough, is
said at :func:`discreet.privacy.metric.distinguishing_distance`.

References
----------
Dimitrakakis, Nelson, Zhang, Mitrokotsa and Rubinstein (2017), Differential privacy for Bayesian inference through
posterior sampling: theorems 7 and 13. Bretagnolle and Huber (1979), Estimation des densités: risque minimax. Kairouz,
Oh and Viswanath (2015), The composition theorem for differential privacy. Dong, Durfee and Rogers (2020), Optimal
differential privacy composition for exponential mechanisms.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.arguments import positive, real, shown
from discreet.errors import UsageError
from discreet.privacy.guarantees import ApproxDP, Guarantee, PureDP, ZeroConcentratedDP
from discreet.privacy.metric_dp import MetricDP
from discreet.privacy.renyi import RenyiDP

#: Nobody is followed for more draws than this.
MOST_DRAWS = 10**12


@dataclass(frozen=True)
class ErrorLimit:
    """What is known about the two distributions of one draw, and so about every test between them.

    Parameters
    ----------
    divergence
        Kullback-Leibler divergence, at most, in one of the two directions at least; ``inf`` if nothing is known.
    epsilon, failure
        The two distributions are (epsilon, failure)-indistinguishable; ``inf`` if nothing is known.
    span
        The log-ratio takes values in an interval of this length that holds 0; ``inf`` if nothing is known.
    """

    divergence: float = math.inf
    epsilon: float = math.inf
    failure: float = 0.0
    span: float = math.inf

    @classmethod
    def of_epsilon(cls, epsilon: float, failure: float = 0.0) -> ErrorLimit:
        """Return the limit for two distributions of which neither exceeds e^epsilon times the other plus ``failure``.

        Without failure the divergence is at most epsilon tanh(epsilon / 2), that of randomized response.
        """
        divergence = epsilon * math.tanh(epsilon / 2) if failure == 0 else math.inf
        return cls(divergence, epsilon, failure, 2 * epsilon if failure == 0 else math.inf)

    @classmethod
    def of_lipschitz(cls, lipschitz: float, distance: float) -> ErrorLimit:
        """Return the limit for posteriors of two tables, theorem 8.1 of Dimitrakakis et al.: epsilon = 2 L rho."""
        return cls.of_epsilon(2 * positive(lipschitz, "lipschitz") * positive(distance, "distance"))

    @classmethod
    def of_range(cls, span: float) -> ErrorLimit:
        r"""Return the limit for two distributions whose log-ratio takes values in an interval of length ``span``.

        This is what posterior samples promise (:mod:`discreet.privacy.costs.likelihood_range`), and is worth twice as
        much as epsilon = span. The divergence is largest for a distribution on two points: g - 1 - log g with g = span
        / (1 - e^-span), which is span^2 / 8 where span is small.
        """
        g = span / -math.expm1(-span) if span > 0 else 1.0
        return cls(max(g - 1 - math.log(g), 0.0), span, 0.0, span)

    @classmethod
    def of_guarantee(cls, guarantee: Guarantee, distance: Any = 1) -> ErrorLimit:
        """Return the limit for two tables at a distance, when each draw has this guarantee.

        ``distance`` is in the metric of a :class:`MetricDP`, and otherwise the number of steps between neighbors.
        """
        far = positive(distance, "distance")
        if isinstance(guarantee, MetricDP):
            return cls.of_epsilon(float(guarantee.epsilon) * far, min(float(guarantee.delta) * far, 1.0))
        if far != round(far):
            raise UsageError(f"distance is a whole number of records, got distance={distance!r:.40}.")
        if isinstance(guarantee, PureDP):
            return cls.of_epsilon(float(guarantee.epsilon) * far)
        if isinstance(guarantee, ZeroConcentratedDP):
            # a divergence of every order a is at most a rho, and the steps of a group add up in its square root
            return cls(divergence=float(guarantee.rho) * far**2)
        if far != 1:
            raise UsageError(
                f"{type(guarantee).__name__} says nothing simple about distance={distance!r:.40}."
            )
        if isinstance(guarantee, ApproxDP):
            return cls.of_epsilon(float(guarantee.epsilon), float(guarantee.delta))
        if isinstance(guarantee, RenyiDP):
            # divergences grow with the order, and the order 1 is that of Kullback and Leibler
            return cls(divergence=float(min(guarantee.epsilons)))
        raise UsageError(f"no limit is known for {type(guarantee).__name__}.")

    def errors(self, n_draws: int) -> float:
        """Return what alpha + beta is at least after ``n_draws`` draws: the largest of all bounds that hold."""
        total, reach = n_draws * self.divergence, n_draws * self.span
        # n draws have a log-ratio within n times the span, for which two points are the worst case: 1 - tanh(reach/4).
        # Written without a difference from 1, because the errors of many draws are tiny.
        bounds = [
            1 - math.sqrt(total / 2),
            math.exp(-total) / (1 + math.sqrt(-math.expm1(-total))),
            2 * math.exp(-reach / 2) / (1 + math.exp(-reach / 2)),
        ]
        if math.isfinite(self.epsilon):
            bounds.append(_response_errors(self.epsilon, self.failure, n_draws))
        return max(*bounds, 0.0)

    def advantage(self, n_draws: int) -> float:
        """Return what 1 - alpha - beta is at most after ``n_draws`` draws."""
        return 1 - self.errors(n_draws)

    def error(self, n_draws: int) -> float:
        """Return what the larger of alpha and beta is at least after ``n_draws`` draws, whatever the test."""
        return self.errors(n_draws) / 2

    def least_draws(self, delta: float) -> int | None:
        """Return how many draws are needed at least to have both errors at ``delta`` or below; None if no end is seen.

        It is necessary, not sufficient: the two distributions may be closer than what is known about them.
        """
        check_error(delta)
        return least_number(lambda n: self.error(n) <= delta, MOST_DRAWS)


def least_number(done: Callable[[int], bool], most: int) -> int | None:
    """Return the least number for which something that stays true is true, small ones tried first; None beyond most."""
    few, many = 0, 1
    while not done(many):
        if many == most:
            return None
        few, many = many, min(2 * many, most)
    return bisect_left(range(many), True, few + 1, key=done)


def check_error(delta: float) -> None:
    """Raise unless ``delta`` is an error that guessing does not reach."""
    if not 0 < real(delta, "delta") < 0.5:
        raise UsageError(f"delta is an error below that of guessing, in (0, 0.5), got delta={shown(delta)}.")


def _response_errors(epsilon: float, failure: float, n: int) -> float:
    """Return alpha + beta of the best test between n randomized responses, the worst case of all such distributions."""
    from scipy.special import expit
    from scipy.stats import binom

    wrong = float(expit(-epsilon))
    # the majority decides, and a coin where there is none; a failure gives everything away
    below, tie = binom.sf(n // 2, n, wrong), binom.pmf(n // 2, n, wrong) if n % 2 == 0 else 0.0
    return float(2 * below + tie) * (1 - failure) ** n
