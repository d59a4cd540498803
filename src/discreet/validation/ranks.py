"""Where the truth falls among posterior draws, and whether it falls everywhere equally often.

If the posterior is right, the truth and the draws are exchangeable, so the rank of the truth among N draws is uniform
on 0, ..., N. A uniform number added to the rank makes it continuous: (rank + u) / (N + 1) is uniform on (0, 1), exactly
and for every N.

References
----------
Cook, Gelman and Rubin (2006), "Validation of software for Bayesian models using posterior quantiles". Talts,
Betancourt, Simpson, Vehtari and Gelman (2018), "Validating Bayesian inference algorithms with simulation-based
calibration".
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

#: Central intervals whose coverage is counted.
PROBS = (0.5, 0.8, 0.9, 0.95)
#: Confidence of the interval around an observed share.
CONFIDENCE = 0.95
# The central interval of the test for width: it sees a posterior that is too wide or too narrow before KS does.
_TESTED = 0.9
_POWER = 0.8


@dataclass(frozen=True)
class Uniformity:
    """Two tests of the same thing, that ranks are uniform, with two-sided p-values.

    Parameters
    ----------
    ks, p_value
        The Kolmogorov-Smirnov statistic, which sees a posterior in the wrong place.
    outside, outside_p_value
        The share of trials whose truth lies outside the central 90% interval, which sees a wrong width; binomial.
    """

    ks: float
    p_value: float
    outside: float
    outside_p_value: float

    @property
    def least_p_value(self) -> float:
        """The smaller p-value of the two tests."""
        return min(self.p_value, self.outside_p_value)


@dataclass(frozen=True)
class Coverage:
    """How often a central interval of probability ``prob`` held the truth, with a Clopper-Pearson interval."""

    prob: float
    share: float
    low: float
    high: float


def rank(truth: float, draws: np.ndarray, rng: np.random.Generator) -> float:
    """Return the rank of ``truth`` among ``draws`` as a number in [0, 1), at random within its step and among ties."""
    below = int((draws < truth).sum())
    equal = int((draws == truth).sum())
    return (below + (equal + 1) * float(rng.random())) / (len(draws) + 1)


def uniformity(ranks: np.ndarray) -> Uniformity:
    """Test ranks in (0, 1) for uniformity."""
    from scipy.stats import binomtest, kstest

    found = kstest(ranks, "uniform")
    beyond = len(ranks) - _held(ranks, _TESTED)
    width = binomtest(beyond, len(ranks), 1 - _TESTED)
    return Uniformity(float(found.statistic), float(found.pvalue), beyond / len(ranks), float(width.pvalue))  # pyright: ignore[reportAttributeAccessIssue]


def noticeable_coverage(trials: int, level: float) -> float | None:
    """Return how rarely 90% intervals must hold the truth for the test of the width to notice it, mostly.

    Mostly is four times in five, of ``trials`` trials, by the test at ``level``; None if nothing could be noticed.
    """
    from scipy.stats import beta, binomtest

    # the fewest truths outside that condemn; p-values fall from the expected number on
    expected = int((1 - _TESTED) * trials)
    fewest = bisect_left(
        range(trials + 1), True, expected + 1, key=lambda k: binomtest(k, trials, 1 - _TESTED).pvalue <= level
    )
    if fewest > trials:
        return None
    # P(at least k of N outside) = _POWER at this share
    return 1 - float(beta.ppf(_POWER, fewest, trials - fewest + 1))


def coverage(ranks: np.ndarray) -> tuple[Coverage, ...]:
    """Count how often each central interval of :data:`PROBS` held the truth."""
    out = []
    for prob in PROBS:
        held = _held(ranks, prob)
        out.append(Coverage(prob, held / len(ranks), *clopper_pearson(held, len(ranks))))
    return tuple(out)


def clopper_pearson(k: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the Clopper-Pearson interval for the share behind ``k`` of ``n``."""
    from scipy.stats import binomtest

    found = binomtest(k, n).proportion_ci(confidence, method="exact")
    return float(found.low), float(found.high)


def _held(ranks: np.ndarray, prob: float) -> int:
    return int((np.abs(ranks - 0.5) <= prob / 2).sum())
