r"""The distribution of one update of a Markov chain over public states, and what it may cost.

The states of the chain are published one after the other, and an update reads the records. Replace one record: the
utility u(theta), the log-likelihood of all records, changes by d(theta). Let R be the range of d over what the update
can reach, a constant that holds for every table and every state, not the one at the current state: costs that follow
the states would need a privacy filter. Then at temperature T

- a Gibbs update, which takes theta' with probability proportional to prior(theta') exp(u(theta') / T), is the
  exponential mechanism: (R / T)-DP, and (R / T)^2 / 8 zero-concentrated;
- Barker's rule accepts a symmetric proposal with probability s(a), a = log prior ratio + (u(theta') - u(theta)) / T and
  s the logistic function. One record moves a by at most R / T, and log s(a) and log s(-a) by no more: accepted or
  rejected, the update is (R / T)-DP. It is the Gibbs update with two candidates;
- the rule of Metropolis accepts with probability min(1, e^a). Accepting is (R / T)-DP as well, but a proposal that is
  uphill is *never* rejected, and may be downhill for a neighbor: no finite epsilon covers a rejection. What is left is
  (R / T, delta), where delta bounds the probability of rejection for **every** table and every state. How often the
  chain was seen to reject is a number about one table, and no delta.

The prior is not tempered: it is the same for all tables, and keeps the flattest of an annealing path a proper
distribution.

References
----------
Foulds, Geumlek, Welling and Chaudhuri (2016), On the theory and practice of privacy-preserving Bayesian data analysis:
equations 18 to 20, theorem C.1 and supplement C.2, where the rejection bound reads as if an observed rate would do, and
2 is given for the sensitivity of normalized weights, which is the diameter of the simplex. Barker (1965), Monte Carlo
calculations of the radial distribution functions for a proton-electron plasma. Cesar and Rogers (2021), Bounding,
concentrating, and truncating: lemma 3.4 (an exponential mechanism of range r is r^2/8 zero-concentrated).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import expit, log_softmax

from discreet.arguments import fill
from discreet.errors import UsageError
from discreet.privacy.guarantees import ZeroConcentratedDP, positive_budget
from discreet.privacy.rounding import float_result_up
from discreet.rational import Number, plain


def gibbs_distribution(log_weights: np.ndarray) -> np.ndarray:
    """Return the probability of every candidate, last axis, from log-weights that are tempered already."""
    return np.exp(log_softmax(log_weights, axis=-1))


def barker_distribution(log_odds: np.ndarray) -> np.ndarray:
    """Return the probabilities of accepting and of rejecting, last axis, by Barker's rule."""
    return np.stack([expit(log_odds), expit(-np.asarray(log_odds))], axis=-1)


def metropolis_distribution(log_odds: np.ndarray) -> np.ndarray:
    """Return the probabilities of accepting and of rejecting, last axis, by the rule of Metropolis."""
    downhill = np.minimum(log_odds, 0.0)
    return np.stack([np.exp(downhill), -np.expm1(downhill)], axis=-1)


def concentrated_update(range_over_temperature: Fraction) -> ZeroConcentratedDP:
    """Return the zero-concentrated guarantee of one exponential mechanism: range^2 / 8."""
    return ZeroConcentratedDP(range_over_temperature**2 / 8)


def simplex_sensitivity(gap: Fraction) -> Fraction:
    r"""Return the L1 sensitivity of normalized importance weights whose logarithms move within ``gap`` of each other.

    Weights w_i become w_i e^{d_i} / sum_j w_j e^{d_j} with all d_i in an interval of this length. The total variation
    is largest for two values of d, at its ends; with mass m on the upper end it is m (1 - m)(e^g - 1) over
    1 - m + m e^g, largest at m = 1 / (1 + e^{g/2}), where it is tanh(g / 4). The L1 distance is twice that. An
    annealing path from epsilon_n up to epsilon_0 has a gap of epsilon_0 - epsilon_n, whatever its length.
    """
    return min(Fraction(2), float_result_up(2 * math.tanh(float(gap) / 4)))


@dataclass(frozen=True)
class WorstCaseRejection:
    """A bound on the probability that a Metropolis update rejects, for every table of this size and every state.

    Parameters
    ----------
    bound
        The bound on the probability of one update, between 0 and 1.
    proof
        Where it comes from, in a few words: who reads the release must be able to check it.

    Notes
    -----
    It is a statement about all tables that could have been, and is checked against the worst of them before anything is
    released; rejections that every table shares, such as those beyond the end of the support, need not be in it. An
    observed rejection rate is not such a bound: it is a function of the records, and the table next to
    this one may reject where this one never does.
    """

    bound: Fraction
    proof: str

    def __init__(self, bound: Number, proof: str) -> None:
        read = positive_budget(bound, "bound")
        if read >= 1:
            raise UsageError(f"a bound on a probability must be below 1, got bound={plain(read)}.")
        if not isinstance(proof, str) or not proof.strip():
            raise UsageError(
                "a worst-case bound needs its proof in words: it must hold for every table and every state.",
                hint="a rejection rate that was observed is neither",
            )
        fill(self, bound=read, proof=proof)
