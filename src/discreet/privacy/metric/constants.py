r"""Priors that make steep log-likelihoods rare: the constants of stochastic Lipschitz continuity.

Where l(theta) is not bounded, a prior may still put little mass on large values:

    prior(l(theta) <= L) >= 1 - exp(-c (L - L0))        for all L >= L0        (assumption 2).

Bounds from it also need C, the largest ratio of the maximal to the marginal likelihood *of a whole table*. Lemma 5 says
that c and L0 for one record are those for any number of them; C is not, and grows with the table. The functions
below say for how many records theirs is.

Corollary 9 of the paper reads assumption 2 as "(2L, 0, exp(-c (L - L0)))-random differential privacy". That is no
guarantee: the event whose probability is bounded there does not depend on theta at all, and for a draw theta that
happens to fall outside of Theta_L the log-ratio of two posteriors has no bound. There is no function for it; restrict
the prior instead (:func:`~discreet.privacy.metric.theorems.restricted_posterior`).

References
----------
Dimitrakakis et al. (2017), assumption 2, corollary 9, lemmas 19 to 22.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, xlog1py, xlogy

from discreet.arguments import positive, real, whole
from discreet.checked import checked
from discreet.errors import UsageError


@dataclass(frozen=True)
class StochasticLipschitz:
    """Assumption 2 and the constant C: the numbers that theorems 7.2 and 8.2 are about.

    Parameters
    ----------
    c
        How fast steep parameters become rare, per unit of 1/distance.
    start
        L0: from where on they do.
    ratio
        C, at least 1: largest maximal over marginal likelihood of a table.
    """

    c: float
    start: float
    ratio: float

    def __post_init__(self) -> None:
        for name, value, least in (
            ("c", self.c, 0.0),
            ("start", self.start, 0.0),
            ("ratio", self.ratio, 1.0),
        ):
            if not (least <= real(value, name) < math.inf) or (name == "c" and value == 0):
                raise UsageError(f"{name} must be finite and at least {least:g}, got {name}={value}.")

    @property
    def mean(self) -> float:
        """At most this is the prior mean of l(theta): L0 + 1/c."""
        return self.start + 1 / self.c

    @checked
    def growth(self, distance: float) -> float:
        """Return a bound on the prior mean of e^(l(theta) distance): e^(L0 distance) c / (c - distance), or inf.

        l is stochastically smaller than L0 plus an exponential variable of rate c, for which this is exact.
        """
        if distance >= self.c:
            return math.inf
        return math.exp(self.start * distance) * self.c / (self.c - distance)


@checked
def exponential_constants(
    prior_rate: float, support: tuple[float, float], largest: float
) -> StochasticLipschitz:
    """Return the constants of one exponential record in [0, largest] under abs(x - y) (lemma 19, as printed).

    The rate has an exponential prior of rate ``prior_rate``, trimmed to ``support``.
    """
    low, high = _support(prior_rate, support)
    return StochasticLipschitz(prior_rate, low, high / _least_density(low, high, largest))


@checked
def laplace_constants(
    prior_rate: float, support: tuple[float, float], largest: float, location: float
) -> StochasticLipschitz:
    """Return the constants of one Laplace record in [-largest, largest] under abs(x - y) (lemma 20, corrected).

    The printed C mixes up rate and scale: it has exp(-R / c1) / c1 for c1 exp(-c1 R), and can be below 1, which no
    ratio of a maximum to an average is.
    """
    low, high = _support(prior_rate, support)
    return StochasticLipschitz(prior_rate, low, high / _least_density(low, high, largest + abs(location)))


@checked
def beta_constants(alpha: float, n_records: int) -> StochasticLipschitz:
    """Return the constants of ``n_records`` yes-or-no records under Hamming's distance (lemma 21, corrected).

    The prior is Beta(alpha, alpha), alpha > 1. In print L0 is log n, which belongs to the binomial distribution of the
    *count*; its binomial coefficient cancels in the posterior, and records themselves have l = abs(logit) and L0 = 0. C
    is exact here, far below the printed one. alpha > 1 does not make c > 1: it takes alpha = 3.4 for that, and 13 for c
    >= 2.
    """
    if not alpha > 1:
        raise UsageError(f"alpha must be above 1, got alpha={alpha}.")
    whole(n_records, "n_records", least=0, most=10**7)
    c = math.exp((1 - 2 * alpha) * math.log(2) - float(betaln(alpha, alpha)))
    k, n = np.arange(n_records + 1), max(n_records, 1)
    best = xlogy(k, k / n) + xlog1py(n_records - k, -k / n)
    average = betaln(alpha + k, alpha + n_records - k) - betaln(alpha, alpha)
    return StochasticLipschitz(c, 0.0, max(1.0, float(np.exp(np.max(best - average)))))


@checked
def precision_constants(
    prior_rate: float, support: tuple[float, float], largest: float, mean: float
) -> StochasticLipschitz:
    """Return the constants of one normal record in [-largest, largest] with known mean (lemma 22, corrected).

    The precision has an exponential prior of rate ``prior_rate``, trimmed to ``support``; the distance is
    abs(x^2 - y^2) + 2 abs(x - y). The printed C takes the smaller of two numbers that must both be covered, and has the
    prior's upper end where the data's bound belongs.
    """
    low, high = _support(prior_rate, support)
    steep, reach = max(abs(mean), 1.0), largest + abs(mean)
    ratio = max(math.sqrt(high / low) * math.exp(low * reach**2 / 2), math.exp(high * reach**2 / 2))
    return StochasticLipschitz(2 * prior_rate / steep, low * steep / 2, ratio)


def _least_density(low: float, high: float, reach: float) -> float:
    """Return the least of theta e^(-theta t) over theta in [low, high] and t up to ``reach``: it is at a corner."""
    return min(low * math.exp(-low * reach), high * math.exp(-high * reach))


def _support(prior_rate: float, support: tuple[float, float]) -> tuple[float, float]:
    low, high = support
    if not 0 < low < high < math.inf:
        raise UsageError(f"the support must be positive with its lower end first, got support={support}.")
    positive(prior_rate, "prior_rate")
    return low, high
