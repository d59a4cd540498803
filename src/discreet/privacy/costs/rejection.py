r"""What a rejection sampler costs that stops after a fixed number of proposals.

A sampler that proposes until a proposal is accepted draws from exactly the distribution it should, and takes as long as
the data make it. One that makes k proposals whatever happens, and returns a fixed public point if none was accepted,
takes as long for every table. If a proposal is accepted with probability a, for the table at hand, its distribution is

    (1 - (1 - a)^k) P + (1 - a)^k (the point),

which is within total variation (1 - a)^k of P. With a lower bound of a *that holds for every table*, this is the proven
bound that proposition 3 of Foulds et al. (2016), as corrected, turns into a failure probability:
delta = (1 + e^epsilon) times it (:func:`~discreet.privacy.costs.sampler_costs.approximate_sampler`). Several draws add
up: a product of distributions is within the sum of their total variations.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import UsageError
from discreet.privacy.costs.sampler_costs import approximate_sampler
from discreet.privacy.guarantees import ApproxDP, PureDP
from discreet.privacy.rounding import rational_up

_ALL_HEAVY = 1 / (math.e * math.sqrt(12))
_SOME_HEAVY = 6 / (5.6 * 5**2.5)
#: More proposals for one draw than a release should wait for.
MOST_TRIES = 100_000
# far more than float64 can be wrong about a power, and about an acceptance
_ROOM = 1e-9
# nothing smaller is stated
_LEAST_MISSED = 1e-30


def acceptance_bound(base: ArrayLike, added: float) -> float:
    """Return a probability of acceptance that no data set undercuts, from public facts only.

    Of the truncated Dirichlet sampler (:mod:`discreet.samplers.truncated_dirichlet` has the proof). A posterior's
    parameters are ``base`` plus what the records add, at least 0 in each cell and ``added`` in all: for n records at
    temperature T, n / T. The bound holds for every way of adding it, and for all lower bounds.

    Parameters
    ----------
    base
        What the prior contributes to each cell, as it enters the (tempered) posterior.
    added
        What all records together add.

    Returns
    -------
    0.106 / sqrt(K) if no cell can end up below 1; 0.0191 / sqrt(K) if some cell cannot, because of its prior or because
    the fullest cell gets at least ``added`` / K; otherwise 0, which means that nothing is promised, and a release
    should be refused.
    """
    prior = np.asarray(base, dtype=float)
    if prior.min() >= 1:
        return _ALL_HEAVY / math.sqrt(prior.size)
    if prior.max() >= 1 or prior.min() + added / prior.size >= 1:
        return _SOME_HEAVY / math.sqrt(prior.size)
    return 0.0


def bounded_tries(epsilon: Fraction, *, acceptance: float, tries: int, draws: int) -> ApproxDP:
    """Return what ``draws`` draws promise, of ``tries`` proposals each, that would be epsilon-DP without this limit.

    Privacy
    -------
    ``acceptance`` must be a lower bound for every table that could have been, as :func:`acceptance_bound` is.
    """
    missed = math.exp(tries * math.log1p(-acceptance * (1 - _ROOM))) * (1 + _ROOM)
    error = draws * rational_up(Decimal(max(missed, _LEAST_MISSED)))
    return approximate_sampler(PureDP(epsilon), total_variation=min(error, Fraction(1)))


def tries_for(epsilon: Fraction, delta: Fraction, *, acceptance: float, draws: int) -> int:
    """Return the least number of proposals for each draw at which ``delta`` pays for those that are never accepted."""
    if acceptance <= 0:
        raise UsageError(
            "with this prior no number of proposals is enough for every table.",
            hint="use a prior of which some entry is at least 1, or leave out delta",
        )

    def enough(tries: int) -> bool:
        try:
            return bounded_tries(epsilon, acceptance=acceptance, tries=tries, draws=draws).delta <= delta
        except UsageError:  # not below 1
            return False

    if not enough(MOST_TRIES):
        raise UsageError(
            f"delta is too small: not even {MOST_TRIES:,} proposals for each draw are enough, got "
            f"delta={float(delta):g}.",
            hint="leave out delta: proposals are then made until one is accepted",
        )
    return 1 + bisect_left(range(1, MOST_TRIES), True, key=enough)
