r"""Hockey-stick divergence and total variation of conjugate posteriors, exactly, and at worst over neighboring tables.

    H_epsilon(P || Q) = sup over events E of P(E) - e^epsilon Q(E)

is the least delta that goes with epsilon for the pair; at epsilon = 0 it is the total variation. For two beta, gamma or
normal distributions the log-ratio of the densities rises or falls, or turns once. So the best event is an interval or
the outside of one, found by bisection, and H follows from distribution functions.

Worst neighbors. The posteriors of all tables of n records form a family with monotone likelihood ratio in the sum of
the statistic, so that for both ends of a step the divergence grows as the other moves away: only whole steps count.
Where the step starts:

==========================================  =====================================================================
exponential, gamma, Laplace, normal(mean=)  at the lowest sum: only the ratio of the two rates matters
normal(variance=)                           anywhere: only the step over the standard deviation matters
Bernoulli, Poisson, geometric               every count that n records can have is tried
==========================================  =====================================================================

References
----------
Dimitrakakis et al. (2017), theorem 8.2 and lemmas 19 to 22, where the printed delta is above 1. Balle and Wang (2018),
Improving the Gaussian mechanism for differential privacy: theorem 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet.checked import checked
from discreet.errors import UsageError
from discreet.families import Bernoulli, Family, Geometric, Poisson
from discreet.priors import Normal, Prior
from discreet.privacy.costs.posterior_neighbors import NeighboringPosteriors
from discreet.privacy.costs.posterior_pairs import Reach
from discreet.privacy.guarantees import ApproxDP, meaningful
from discreet.privacy.metric.events import DISTRIBUTIONS, Distribution, bracket
from discreet.privacy.metric_dp import MetricDP
from discreet.privacy.rounding import float_result_up
from discreet.rational import Number, exact

# More tables than this are not tried one by one.
_MOST_TABLES = 100_000


@dataclass(frozen=True)
class Bracket:
    """Two numbers that the true one lies between; they differ by what rounding can do."""

    low: float
    high: float


@checked
def hockey_stick(p: Prior, q: Prior, epsilon: float = 0.0) -> Bracket:
    """Return H_epsilon(P || Q) of two beta, gamma or normal distributions; at epsilon = 0 their total variation.

    Parameters
    ----------
    p, q
        Two priors of the same type, or two conjugate posteriors. A gamma distribution may as well be that of a
        precision.
    epsilon
        Not negative.

    Returns
    -------
    Bracket
        ``high`` is safe to promise.
    """
    if type(p) is not type(q) or type(p) not in DISTRIBUTIONS:
        raise UsageError(
            f"two beta, gamma or normal distributions are needed, got {type(p).__name__} and {type(q).__name__}."
        )
    if isinstance(p, Normal) and isinstance(q, Normal):
        precision = (p.sd / q.sd) ** 2
        first, second = np.array([0.0, 1.0]), np.array([(q.mean - p.mean) / p.sd * precision, precision])
    else:
        first, second = p.natural(), q.natural()
    low, high = bracket(DISTRIBUTIONS[type(p)], first, second, epsilon)
    return Bracket(float(low), float(high))


@checked
def worst_hockey_stick(
    family: Family, prior: Prior, n_records: int, epsilon: float = 0.0, bounds: Any = None
) -> Bracket:
    """Return the largest H_epsilon between the conjugate posteriors of two neighboring tables of ``n_records`` records.

    Parameters
    ----------
    family, prior
        A family with one parameter from the table above, and its conjugate prior.
    n_records
        How many records there are; public.
    epsilon
        Not negative; 0 for the total variation.
    bounds
        What records lie in; None for yes or no.
    """
    distribution, first, second = _neighbors(family, prior, n_records, bounds)
    pairs = bracket(distribution, first, second, epsilon), bracket(distribution, second, first, epsilon)
    return Bracket(*(max(float(np.max(pair[end])) for pair in pairs) for end in (0, 1)))


@checked
def posterior_guarantee(
    family: Family, prior: Prior, n_records: int, epsilon: Number, bounds: Any = None
) -> ApproxDP | MetricDP:
    """Return what one draw from the conjugate posterior promises as it is: the exact delta at this epsilon, rounded up.

    Privacy
    -------
    Neighbors replace one record and ``n_records`` is public. The delta is the largest hockey-stick divergence over all
    neighboring tables, so it holds whatever the table. No truncation and no temperature: the prior alone protects. With
    ``epsilon=0`` the result is a :class:`MetricDP` of delta, the total variation, per differing record. It takes the
    place of theorem 8.2 of Dimitrakakis et al. (2017), whose delta says nothing. It is about the distribution itself: a
    sampler that only comes close to it adds to delta
    (:func:`~discreet.privacy.costs.sampler_costs.approximate_sampler`).
    """
    budget = exact(epsilon, "epsilon")
    found = worst_hockey_stick(family, prior, n_records, float(budget), bounds)
    delta = meaningful(float_result_up(found.high))
    return MetricDP(0, delta, "hamming") if budget == 0 else ApproxDP(budget, delta)


def _neighbors(
    family: Family, prior: Prior, n_records: int, bounds: Any
) -> tuple[Distribution, np.ndarray, np.ndarray]:
    """Return both ends of every step that can be worst, as natural parameters."""
    pairs_of = bounds if bounds is None else family.parse_bounds(bounds)
    near = NeighboringPosteriors(family, prior, n_records, pairs_of)
    distribution = DISTRIBUTIONS.get(type(prior))
    if distribution is None or not family.is_likelihood:
        raise UsageError(f"the posteriors of {family.name} have no exact divergence here.")
    start = prior.natural()
    every_count = family.closed_form(_EVERY_COUNT)
    if every_count is not None:
        return distribution, *every_count(Reach(family, n_records, pairs_of), start)
    pair = near.pairs()[0]
    if isinstance(prior, Normal):
        first = np.array([[0.0, 1.0]])
        return distribution, first, first + np.array([[pair.step[0] / math.sqrt(pair.place[1]), 0.0]])
    place = np.array([pair.place])
    return distribution, place, place + np.array([pair.step])


def _yes_counts(reach: Reach, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    k = np.arange(float(_countable(reach.n_records)))
    low = start + np.stack([k, reach.n_records - k], axis=-1)
    return low, low + np.array([1.0, -1.0])


def _sums(reach: Reach, start: np.ndarray, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps from every sum of counts, which moves the hyperparameter at ``place``."""
    n_records, width = reach.n_records, int(reach.width)
    sums = n_records * reach.lowest + np.arange(float(_countable((n_records - 1) * width + 1)))
    low = np.empty((len(sums), 2))
    low[:, place], low[:, 1 - place] = start[place] + sums, start[1 - place] + n_records
    return low, low + np.eye(2)[place] * width


# Families for which every count that the records can have is tried.
_EVERY_COUNT: dict[type[Family], Callable[[Reach, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    Bernoulli: _yes_counts,
    Poisson: partial(_sums, place=0),
    Geometric: partial(_sums, place=1),
}


def _countable(tables: int) -> int:
    if tables > _MOST_TABLES:
        raise UsageError(f"this takes trying {tables:,} tables; the most is {_MOST_TABLES:,}.")
    return tables
