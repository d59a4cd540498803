r"""How steep a log-likelihood is in a record: the Lipschitz constant l(theta) under a distance between records.

l(theta) is the least number with abs(log p(x | theta) - log p(y | theta)) <= l(theta) rho(x, y) for all records x, y.
It is the same for tables, whose distance is the sum over records (lemma 5). What does not depend on theta cancels in
every posterior, so the base measure h(x) is left out: for a family with one statistic, log p = eta(theta) t(x) + ...,

    l(theta) = abs(eta(theta)) K,      K = sup over x, y of abs(t(x) - t(y)) / rho(x, y).

===========================  ===================  =========================  =========================
family                       ``hamming``          ``absolute``               ``quadratic``
===========================  ===================  =========================  =========================
Bernoulli                    abs(logit p)         the same                   a third of it
exponential, gamma, Laplace  rate times width     rate (lemmas 19 and 20)
Poisson                      width times that     abs(log rate)
geometric                    width times that     abs(log(1 - p))
normal with known variance   width times that     abs(mean) / variance
normal with known mean m     range of (x - m)^2   max abs(x - m) / variance  at most max(abs(m), 1)
                             over 2 variance                                 / (2 variance) (lemma 22)
labels                       largest minus least
                             log p
===========================  ===================  =========================  =========================

Under ``quadratic`` a statistic that is the record itself has K = 1 / (2 + the least abs(x + y)).

Under ``outer_product`` a multivariate normal with mean m and precision matrix A has at most norm(A) max(1, norm(m)) / 2
in Frobenius's norm, without the maximum if m = 0 is known and the distance is centered (lemma 23).

Any other family, or distance: :func:`lipschitz_by_pairs`, which tries all pairs of the records it is given. That is
the constant itself if they are all the records there are, and a lower bound otherwise.

References
----------
Dimitrakakis et al. (2017), equations 2 to 4, lemmas 5 and 19 to 24.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.arguments import numbers, shown
from discreet.checked import checked
from discreet.errors import UsageError
from discreet.families import (
    Bernoulli,
    Categorical,
    Exponential,
    Gamma,
    Geometric,
    Laplace,
    MultivariateNormal,
    Poisson,
)
from discreet.families.base import Family, Theta
from discreet.families.normal import NormalKnownMean, NormalKnownVariance
from discreet.privacy.guarantees import positive_budget
from discreet.privacy.metric.distances import RecordDistance
from discreet.privacy.rounding import exp_up, log_up
from discreet.rational import Number, exact

#: An interval of parameters; None is an end without limit.
Ends = tuple[Fraction | None, Fraction | None]


@dataclass(frozen=True)
class _OneStatistic:
    """What is known in closed form of a family with one statistic: the record itself, or its distance from a center.

    ``smooth`` returns the parameters with abs(eta) up to a level, and ``width`` how far eta ranges between two ends.
    ``whole`` is the lowest parameter, whether an interval may reach it, the highest, and likewise; None is infinity.
    ``center`` is what the statistic is the square of the distance from, if it is one.
    """

    smooth: Callable[[Any, Fraction], Ends]
    width: Callable[[Any, Fraction, Any], Fraction]
    whole: tuple[int | None, bool, int | None, bool]
    center: Callable[[Any], Fraction | None] = lambda family: None


@checked
def statistic_slope(family: Family, distance: RecordDistance) -> Fraction:
    """Return K = sup abs(t(x) - t(y)) / rho(x, y) over records in the distance's bounds, an exact rational.

    For counts under ``quadratic`` it is the supremum over all numbers in the bounds, which is an upper bound.
    """
    pair = None if distance.bounds is None else distance.bounds[0]
    known = family.closed_form(_ONE_STATISTIC)
    if known is None:
        raise UsageError(
            f"no closed form is known for {family.name} under this distance.",
            hint="lipschitz_by_pairs tries all pairs of records",
        )
    if family.vocabulary is not None and distance.kind != "outer_product":
        # records are 0 and 1, at distance 1, or 3 under the quadratic distance
        return Fraction(1, 3) if distance.kind == "quadratic" else Fraction(1)
    family.check_bounds(distance.bounds)
    assert pair is not None
    low, high = pair
    if distance.kind == "hamming":
        bottom, top = family.measure_range(low, high)
        return top - bottom
    if distance.kind == "absolute":
        center = known.center(family)
        return Fraction(1) if center is None else 2 * max(abs(low - center), abs(high - center))
    if distance.kind == "quadratic":
        return _quadratic_slope(known.center(family), low, high)
    raise UsageError(f"{family.name} has one column; this distance is for vectors.")


def _quadratic_slope(center: Fraction | None, low: Fraction, high: Fraction) -> Fraction:
    """With s = x + y it is sup abs(s - 2 m) / (abs(s) + 2), or sup 1 / (abs(s) + 2) for a linear statistic.

    Both are monotone on either side of s = 0, so that an end of the bounds or 0 is worst.
    """
    sums = [2 * low, 2 * high, *([Fraction(0)] if low < 0 < high else [])]
    return max((1 if center is None else abs(s - 2 * center)) / (abs(s) + 2) for s in sums)


@checked
def lipschitz(family: Family, theta: Theta, distance: RecordDistance) -> np.ndarray:
    """Return l(theta) in closed form, for each parameter value.

    Parameters
    ----------
    family
        One of those in the table above.
    theta
        Parameter values by draw name.
    distance
        Between records, with the bounds that records lie in.

    Returns
    -------
    numpy.ndarray
        The supremum itself, except under ``outer_product``, where it is an upper bound.
    """
    theta = _read_theta(family, theta)
    several = family.closed_form(_SEVERAL_STATISTICS)
    if several is not None:
        return several(family, theta, distance)
    slope = float(statistic_slope(family, distance))
    return np.abs(np.asarray(family.natural(theta), dtype=float)[..., 0]) * slope


def _labels(family: Family, theta: Theta, distance: RecordDistance) -> np.ndarray:
    if distance.kind != "hamming":
        raise UsageError("labels have the Hamming distance only.")
    log_p = family.natural(theta)
    return log_p.max(axis=-1) - log_p.min(axis=-1)


def _multivariate(family: Family, theta: Theta, distance: RecordDistance) -> np.ndarray:
    if distance.kind != "outer_product":
        raise UsageError("a multivariate normal has a closed form under the distance of outer products only.")
    mean = np.linalg.norm(theta["normal_mean"], axis=-1)
    if distance.centered and mean.any():
        raise UsageError("the centered distance is for a mean that is known to be zero.")
    precision = np.linalg.norm(np.linalg.inv(theta["covariance"]), axis=(-2, -1))
    return precision / 2 * np.maximum(mean, 1.0)


@checked
def lipschitz_by_pairs(
    family: Family, theta: Theta, distance: RecordDistance, records: Any, *, base_measure: bool = False
) -> np.ndarray:
    """Return the largest abs(log p(x) - log p(y)) / rho(x, y) over all pairs of ``records``, for any family.

    Parameters
    ----------
    family
        Any family; only its likelihood is used.
    theta
        Parameter values by draw name, one or many.
    distance
        Between records.
    records
        What to try. If they are all the records that there can be, the result is l(theta). If not, as for numbers on
        a line, it is a *lower bound*, which closes in as they get dense but never becomes a guarantee.
    base_measure
        Whether h(x) counts, as in the printed definition. It cancels in the posterior.
    """
    x = numbers(records, "records") if family.labels is None else np.asarray(records)
    table = log_likelihoods(family, theta, x, base_measure=base_measure)
    pairs = np.triu_indices(len(x), k=1)
    rho = np.asarray(distance.between(*(x[i] for i in pairs)), dtype=float)
    change = np.abs(np.subtract(*(table[..., i] for i in pairs)))
    # records at distance 0 must be alike
    undefined = np.any(change[..., rho == 0] > 0, axis=-1)
    largest = np.max(change[..., rho > 0] / rho[rho > 0], axis=-1, initial=0.0)
    return np.where(undefined, math.inf, largest)


def log_likelihoods(family: Family, theta: Theta, records: Any, *, base_measure: bool = False) -> np.ndarray:
    """Return log p(x | theta) of every record, records last, with or without what does not depend on theta."""
    x = numbers(records, "records") if family.labels is None else np.asarray(records)
    if x.ndim != (1 if family.n_columns == 1 else 2) or len(x) < 2:
        # without a pair of them nothing changes, and nothing is learned about what could
        raise UsageError("give at least two records: what counts is how the likelihood differs between them.")
    values = _read_theta(family, theta)
    shape = np.broadcast_shapes(*(v.shape[: v.ndim - family.draw_axes.get(k, 0)] for k, v in values.items()))
    table = np.empty((*shape, len(x)))
    for index in np.ndindex(*shape):
        table[index] = family.log_density(x, {name: value[index] for name, value in values.items()})
    return table if base_measure else table - family.log_base_measure(x)


def _read_theta(family: Family, theta: Theta) -> dict[str, np.ndarray]:
    """Read parameter values by draw name."""
    if set(theta) != set(family.draw_names):
        known, given = (
            ", ".join(family.draw_names),
            ", ".join(name for name in theta if isinstance(name, str)),
        )
        raise UsageError(f"the parameters of {family.name} are {known}, got {shown(given)}.")
    return {name: numbers(value, name) for name, value in theta.items()}


@checked
def smooth_set(family: Family, level: Number, distance: RecordDistance) -> Ends:
    """Return Theta_L = {theta: l(theta) <= level}, an interval of the family's parameter, rounded inwards.

    None is an end without limit, and the low end of a rate or probability may be 0, which itself is left out.
    """
    eta = positive_budget(level, "level") / statistic_slope(family, distance)
    return _one_statistic(family).smooth(family, eta)


def natural_width(family: Family, ends: Ends) -> Fraction:
    """Return how far eta(theta) ranges over an interval of the parameter, rounded up."""
    low, high = ends
    known = _one_statistic(family)
    assert low is not None
    assert high is not None or known.whole[3]
    return known.width(family, low, high)


def _one_statistic(family: Family) -> _OneStatistic:
    known = family.closed_form(_ONE_STATISTIC)
    if known is None:
        raise UsageError(f"{family.name} has no interval of one parameter.")
    return known


@checked
def finite_bernoulli(step: Number) -> tuple[tuple[Fraction, ...], Fraction]:
    """Return the parameters step, 2 step, ... strictly between 0 and 1, and the Lipschitz constant of the family.

    Example 1 of Dimitrakakis et al. (2017). In print the parameter 1 belongs to it, and the constant is log(1/step).
    With 0 or 1 it is infinite; without, it is the largest abs(logit), log((1 - step)/step) if 1/step is a
    whole number. The constant is rounded up.
    """
    delta = positive_budget(step, "step")
    if not Fraction(1, 10**6) <= delta < Fraction(1, 2):
        raise UsageError(f"step must be between 1e-6 and 1/2, got step={step}.")
    points = tuple(delta * k for k in range(1, math.ceil(1 / delta)))
    odds = max((1 - points[0]) / points[0], points[-1] / (1 - points[-1]))
    return points, log_up(odds)


def check_ends(family: Family, support: Sequence[Number | None]) -> Ends:
    """Read an interval of the family's parameter, or say why the likelihood is not Lipschitz on it."""
    lowest, with_lowest, highest, with_highest = _one_statistic(family).whole
    if len(support) != 2:
        raise UsageError(f"support must be a pair (low, high), got {len(support)} number(s).")
    low, high = (None if end is None else exact(end, "support") for end in support)
    name = family.draw_names[0]
    if low is not None and high is not None and not low < high:
        raise UsageError(f"the support of {name} must have its lower end first.")
    below = low is None or (lowest is not None and (low < lowest or (low == lowest and not with_lowest)))
    above = (high is None and not with_highest) or (
        highest is not None and high is not None and high >= highest
    )
    if below or above:
        raise UsageError(
            f"the log-likelihood is not Lipschitz on this support of {name}.",
            hint=f"keep its {'lower' if below else 'upper'} end away from the end of all values",
        )
    return low, high


def _falling(eta: Fraction) -> Fraction:
    """Return e^-eta, rounded up."""
    return exp_up(-eta) or Fraction(1)


def _smooth_probability(_: Any, eta: Fraction) -> Ends:
    """Return the probabilities with abs(logit) <= eta."""
    falling = _falling(eta)
    return falling / (1 + falling), 1 / (1 + falling)


def _smooth_mean(family: Any, eta: Fraction) -> Ends:
    reach = eta * exact(family.variance, "variance")
    return -reach, reach


_RATE = _OneStatistic(
    lambda _, eta: (Fraction(0), eta), lambda _, low, high: high - low, (0, True, None, False)
)
_ONE_STATISTIC: dict[type[Family], _OneStatistic] = {
    Bernoulli: _OneStatistic(
        _smooth_probability,
        lambda _, low, high: log_up(high * (1 - low) / (low * (1 - high))),
        (0, False, 1, False),
    ),
    Geometric: _OneStatistic(
        lambda _, eta: (Fraction(0), 1 - _falling(eta)),
        lambda _, low, high: log_up((1 - low) / (1 - high)),
        (0, True, 1, False),
    ),
    Poisson: _OneStatistic(
        lambda _, eta: (_falling(eta), 1 / _falling(eta)),
        lambda _, low, high: log_up(high / low),
        (0, False, None, False),
    ),
    Exponential: _RATE,
    Gamma: _RATE,
    Laplace: _RATE,
    NormalKnownMean: _OneStatistic(
        lambda _, eta: (1 / (2 * eta), None),
        lambda _, low, high: (1 / low - (0 if high is None else 1 / high)) / 2,
        (0, False, None, True),
        lambda family: exact(family.mean, "mean"),
    ),
    NormalKnownVariance: _OneStatistic(
        _smooth_mean,
        lambda family, low, high: (high - low) / exact(family.variance, "variance"),
        (None, False, None, False),
    ),
}
_SEVERAL_STATISTICS: dict[type[Family], Callable[[Family, Theta, RecordDistance], np.ndarray]] = {
    Categorical: _labels,
    MultivariateNormal: _multivariate,
}
