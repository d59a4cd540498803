r"""How far one record can move a log-likelihood: the number behind every released posterior sample.

Replace record x by x'. The log-likelihood at theta changes by d(theta) = log p(x' | theta) - log p(x | theta), and the
posterior's log-density by d(theta) minus the change of its normalizing constant, which lies between the least and the
largest d(theta). So no log-ratio of the two posteriors exceeds

    range = sup over x, x' of [ sup over theta - inf over theta ] d(theta),

for any prior, and a posterior whose likelihood is raised to the power 1/T loses range / T. The supremum is over a
parameter set and data bounds that everybody knows. Whatever does not depend on theta cancels, the base measure h(x)
above all. What matters is eta(theta) . t(x), as long as *every* record counts once: a record that is left out takes its
log-partition A(theta) along, and then the supremum is a larger one.

The printed forms bound the range from above: 2C if the log-likelihoods of any two records differ by at most C
(:func:`from_difference`), 4B if each is at most B in size (:func:`from_likelihood`). With [0.01, 0.5] for a
probability the range is 4.6 and 2C is 9.2: C looks at one theta at a time, while a shift that is the same for all of
them is lost in the normalizing constant.

References
----------
Foulds, Geumlek, Welling and Chaudhuri (2016), On the theory and practice of privacy-preserving Bayesian data analysis,
theorems 2 and 3, equations 10 and 13 (whose log h(x') - log h(x) can be dropped). Dimitrakakis, Nelson, Zhang,
Mitrokotsa and Rubinstein (2017), Differential privacy for Bayesian inference through posterior sampling, theorem 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.errors import UsageError
from discreet.models.layout import FINE
from discreet.models.shapes import Quadratic
from discreet.privacy.guarantees import positive_budget
from discreet.privacy.rounding import decimal, float_result_up, log_up, rational_up
from discreet.rational import Number, plain

#: The least epsilon for one sample. Below it, rounding of 2^-51 is no longer nothing beside what the data say.
LEAST_EACH = Fraction(1, 10**9)
#: Features are rounded to the grid, which can carry a record this far beyond its exact statistic.
GRID_STEP = float(FINE) * (1 + 2.0**-20)


def from_difference(bound: Number) -> Fraction:
    """Return the range that follows if the log-likelihoods of any two records differ by at most ``bound``.

    At every theta, that is. Foulds et al. (2016), theorem 2: twice the bound. Valid, and never below the range itself.
    """
    return 2 * positive_budget(bound, "bound")


def from_likelihood(bound: Number, *, discrete: bool = False) -> Fraction:
    """Return the range that follows if no log-likelihood of one record is larger than ``bound`` in size.

    Foulds et al. (2016), theorem 3: four times the bound. A ``discrete`` likelihood is a probability, its logarithm
    between minus the bound and 0, and twice the bound will do.
    """
    return (2 if discrete else 4) * positive_budget(bound, "bound")


def interval_range(slopes: np.ndarray) -> float:
    """Return the range for one statistic: log p = slope(theta) z + (a function of theta), z in [-1, 1].

    d(theta) = slope(theta) (z' - z), and abs(z' - z) is at most 2.
    """
    return 2.0 * float(np.ptp(slopes))


def quadratic_range(slopes: np.ndarray) -> float:
    r"""Return the range for z and z^2: log p = a(theta) z + b(theta) z^2 + (a function of theta), z in [-1, 1].

    ``slopes`` has one row (a, b) for each corner of a set of parameters whose (a, b) lie in the corners' convex hull.

    For two parameters with differences A and B of a and b, and z' - z = u, z' + z = s, abs(u) <= 2 - abs(s), the
    difference of d is u (A + B s), so that its largest value is that of (2 - s)(abs(A) + abs(B) s) over s in [0, 2]:

        2 abs(A)                              if abs(A) >= 2 abs(B),
        (abs(A) + 2 abs(B))^2 / (4 abs(B))    otherwise.

    As a supremum of linear functions it is convex in (A, B), hence largest between two corners. Rounding the statistics
    to the grid adds at most one step of each, and rounding the slopes to float64 at most 2^-50 of the largest.
    """
    pairs = (slopes[:, None] - slopes[None, :]).reshape(-1, 2)
    return largest_change(pairs) + float(2.0**-49 * np.abs(slopes).max())


def largest_change(slopes: np.ndarray) -> float:
    """Return by how much a z + b z^2 can differ between two records, z in [-1, 1], at most over all rows (a, b).

    :func:`quadratic_range` has the proof, for differences of rows. With one column it is 2 abs(a).
    """
    if slopes.shape[1] == 1:
        return 2.0 * float(np.abs(slopes).max())
    rounding = GRID_STEP * np.abs(slopes).max(axis=0).sum()
    return float(Quadratic(1).largest_difference(slopes).max() + rounding)


def steepest_quadratic(slopes: np.ndarray) -> float:
    r"""Return the range for z and z^2 per distance of two records, times the largest distance, 2.

    On the grid, records at a distance of t differ by at most t in z and 2 t in z^2, so that the difference of d between
    two parameters is at most t (abs(A) + 2 abs(B)), which is convex in (A, B) and reached as z and z' near a bound.
    ``slopes`` are as for :func:`quadratic_range`, and their rounding is covered alike.
    """
    a, b = (np.abs(column[:, None] - column[None, :]) for column in slopes.T)
    return float(2 * (a + 2 * b).max() + 2.0**-48 * np.abs(slopes).max())


def simplex_range(n_labels: int, least: Fraction) -> Fraction:
    """Return the range for labels whose probabilities are all at least ``least``, rounded up.

    d = log(p_j / p_i), whose two extremes are plus and minus log((1 - (K - 1) least) / least).
    """
    if not 0 < n_labels * least < 1:
        raise UsageError(
            f"the least probability must be above 0 and below 1/{n_labels}, one over the number of labels, "
            f"got support={float(least):g}."
        )
    return labels_range((least,) * n_labels)


def labels_range(least: Sequence[Fraction]) -> Fraction:
    """Return the range for labels whose probabilities are at least these, one for each, rounded up.

    With M_i = 1 - sum over k != i of least_k, the most that p_i can be, d = log(p_i / p_j) goes up to log(M_i /
    least_j) and down to -log(M_j / least_i): both where all other labels are at their least. The range is the largest
    log(M_i M_j / (least_i least_j)) over pairs, and that of the two labels with the largest M / least.
    """
    if len(least) < 2 or min(least) <= 0 or not sum(least) < 1:
        raise UsageError(
            "the least probabilities must be above 0, one for each label, and sum to less than 1.",
            hint="for example support={'a': 0.01, 'b': 0.05}",
        )
    taken = sum(least)
    odds = sorted((1 - taken + one) / one for one in least)
    return log_up(odds[-1] * odds[-2])


def range_up(value: float) -> Fraction:
    """Return a short rational above a range that was computed in float64."""
    if not np.isfinite(value):
        raise UsageError("the range of the log-likelihood is not finite on this support.")
    return float_result_up(value)


def temperature_for(needed: Fraction, epsilon: Fraction, samples: int, slack: Fraction) -> Fraction:
    """Return the least temperature, at least 1, at which ``samples`` draws cost at most ``epsilon``, rounded up.

    Each draw costs range / T + slack; ``slack`` is what rounding the distribution to integers adds.
    """
    if epsilon < samples * LEAST_EACH:
        raise UsageError(
            f"epsilon is too small: under {float(LEAST_EACH):g} for each sample, rounding would drown the data, "
            f"got epsilon={plain(epsilon)}."
        )
    left = epsilon - samples * slack
    return max(Fraction(1), rational_up(decimal(samples * needed / left), 15))
