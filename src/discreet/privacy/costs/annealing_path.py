r"""A path of temperatures in epsilon, and what walking along it costs.

Level j of a path of n + 1 levels is f_j(theta) = prior(theta) likelihood(theta)^{epsilon_j / R}: an exact draw from it
costs epsilon_j, where R is the range of the log-likelihood difference
(:mod:`discreet.privacy.costs.likelihood_range`). Here a path is written in the order in which it is walked, from the
flattest distribution, epsilon_n, to the target, epsilon_0.

One trajectory is an exact draw from f_n, then for j = n - 1, ..., 1 one or more updates that leave f_j alone; each
update at level j costs epsilon_j times its own range over R. Its importance weight multiplies f_j / f_{j+1} at the
state *before* the updates of level j, which was drawn under f_{j+1}. The printed formula leaves open which state is
meant; with the state after them the weights are biased.

On a path that never decreases, one record moves the logarithms of all weights within an interval of length
epsilon_0 - epsilon_n, so that choosing a trajectory in proportion to its weight costs that much and no noise.

References
----------
Foulds, Geumlek, Welling and Chaudhuri (2016), supplement C.2, equations 43 to 46. Neal (2001), Annealed importance
sampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from discreet.errors import UsageError
from discreet.privacy.costs.chain_updates import simplex_sensitivity
from discreet.privacy.costs.scored_points import SLACK
from discreet.rational import exact

#: Normalized weights are whole numbers of these steps before noise is added.
WEIGHT_STEPS = 1 << 20
_MOST_LEVELS = 1000


@dataclass(frozen=True)
class AnnealingPath:
    """Epsilons of the levels, from the flattest to the target; at least two, never decreasing, the last above 0."""

    epsilons: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        e = self.epsilons
        if not 2 <= len(e) <= _MOST_LEVELS:
            raise UsageError(f"a path has 2 to {_MOST_LEVELS} levels, got {len(e)}.")
        if any(low > high for low, high in pairwise(e)):
            raise UsageError(
                "a path of temperatures must not go back: its epsilons must increase from the first to the last.",
                hint="only then do the weights of all trajectories move together when one record changes",
            )
        if e[0] < 0 or e[-1] <= 0:
            raise UsageError("the epsilons of a path must not be negative, and the last must be above 0.")

    @classmethod
    def linear(cls, levels: int, top: Fraction) -> AnnealingPath:
        """Return equal steps from the prior, 0, up to ``top``."""
        return cls(tuple(top * i / (levels - 1) for i in range(levels)))

    @classmethod
    def doubling(cls, levels: int, top: Fraction) -> AnnealingPath:
        """Return 0 and then levels of which each is twice the one before it, up to ``top``."""
        return cls((Fraction(0), *(top / 2**i for i in reversed(range(levels - 1)))))

    @property
    def gap(self) -> Fraction:
        """What choosing a trajectory by its weight costs: epsilon_0 - epsilon_n."""
        return self.epsilons[-1] - self.epsilons[0]

    def powers(self, full_range: Fraction) -> tuple[Fraction, ...]:
        """Return the power of the likelihood at each level."""
        return tuple(epsilon / full_range for epsilon in self.epsilons)

    def trajectory_cost(self, share: Fraction, moves: int) -> Fraction:
        """Return the cost of one trajectory.

        ``share`` is the range of one update over the full one: 1 if it may go anywhere. The first draw and the updates
        at every level between the ends are paid; updates at the target itself are not made.
        """
        first = self.epsilons[0] + SLACK if self.epsilons[0] > 0 else Fraction(0)
        return first + sum(
            (moves * (share * epsilon + SLACK) for epsilon in self.epsilons[1:-1]), start=Fraction(0)
        )

    def resampling_cost(self) -> Fraction:
        """Return the cost of choosing one trajectory by its weight, with the rounding of its scores."""
        return self.gap + 2 * len(self.epsilons) * SLACK

    def cost(
        self,
        share: Fraction,
        *,
        trajectories: int,
        moves: int,
        samples: int,
        weights_epsilon: Fraction | None,
        evidence_epsilon: Fraction | None = None,
    ) -> Fraction:
        """Return what a release costs: trajectories, ``samples`` choices or the noise on the weights, the evidence."""
        chosen = samples * self.resampling_cost() if weights_epsilon is None else weights_epsilon
        return trajectories * self.trajectory_cost(share, moves) + chosen + (evidence_epsilon or 0)

    def evidence_sensitivity(self, change: Fraction, full_range: Fraction) -> Fraction:
        """Return how much one record moves the logarithm of the mean weight, in :data:`WEIGHT_STEPS`, with rounding.

        ``change`` is the most that one record moves the log-likelihood at any parameter. The logarithm of a weight is a
        sum over levels of what the likelihood's power grows by, times the log-likelihood at a state; it moves by at
        most ``change`` times the last power, all of them do, and so does the logarithm of their mean. Scores and the
        result are rounded to at most two steps.
        """
        return WEIGHT_STEPS * change * self.epsilons[-1] / full_range + 3

    def weight_sensitivity(self, trajectories: int) -> Fraction:
        """Return the L1 sensitivity of the normalized weights, in :data:`WEIGHT_STEPS`, with their rounding."""
        rounding = trajectories * (1 + Fraction(1, 1 << 10))
        return WEIGHT_STEPS * simplex_sensitivity(self.resampling_cost()) + rounding


def read_path(path: Any) -> AnnealingPath:
    """Read a path that a caller gave."""
    if isinstance(path, str) or not isinstance(path, Sequence):
        raise UsageError("path must be a list of epsilons, such as [0, 0.1, 0.2, 0.4].")
    return AnnealingPath(tuple(exact(epsilon, "path") for epsilon in path))
