"""Quadrature over one record: points of the column and their probabilities, for many parameters at once.

Each parameter gets its own window, the part of an interval where the density is within exp(-24.5) of its largest value
there, so that a narrow density and a far tail are resolved as well as a broad one. A rule with positive weights gives
covariance matrices that are positive semidefinite by construction, which differences of closed forms do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.families import Exponential, Gamma, NegativeBinomial, Normal
from discreet.families.likelihood import Likelihood, Theta
from discreet.families.normal import NormalKnownMean, NormalKnownVariance

#: A density this many nats under its peak is left out: 7 standard deviations of a normal.
CUT = 24.5
#: Points for a smooth density.
SMOOTH = 28
_ROUGH, _COARSE = 64, 40
# more integers than this are first narrowed to a window, and a wide window is integrated, not summed
_MOST_INTEGERS = 512
# integers that are always summed, of a distribution that is steep near its lower end
_HEAD = 256

Nodes = tuple[np.ndarray, np.ndarray]


@cache
def rule(n: int) -> Nodes:
    """Return the Gauss-Legendre points and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(n)
    return (x + 1) / 2, w / 2


@cache
def _panels(n: int) -> Nodes:
    """Return the points and weights of n panels of 64 points each on [0, 1]."""
    x, w = rule(_ROUGH)
    return ((np.arange(n)[:, None] + x) / n).ravel(), np.tile(w / n, n)


def how_many(theta: Theta) -> int:
    """Return how many parameters there are."""
    return len(next(iter(theta.values())))


def nodes(family: Likelihood, theta: Theta, low: float, high: float) -> Nodes:
    """Return points x in [low, high] and their probabilities, both (parameters, points).

    The sum of the probabilities is that of the interval, up to the accuracy of the rule. Either end may be infinite.
    """
    low, high = max(low, family.support.low), min(high, family.support.high)
    if not low <= high:
        nothing = np.zeros((how_many(theta), 1))
        return nothing, nothing
    if family.support.discrete:
        return _integers(family, theta, math.ceil(low), high)
    known = family.closed_form(_KNOWN)
    if known is not None:
        return known(family, theta, low, high)
    edges = [low, *(kink for kink in family.kinks if low < kink < high), high]
    parts = [_generic(family, theta, a, b) for a, b in pairwise(edges)]
    return np.concatenate([x for x, _ in parts], axis=1), np.concatenate([p for _, p in parts], axis=1)


def normal_window(mean: np.ndarray, sd: np.ndarray, low: float, high: float) -> Nodes:
    """Return the ends of the part of [low, high] where a normal density is within exp(-CUT) of its largest value."""
    near = np.clip(mean, low, high)
    away = np.abs(near - mean)
    # the solution of (away + reach)^2 = away^2 + 2 CUT sd^2 without cancellation
    reach = 2 * CUT * sd**2 / (np.hypot(away, math.sqrt(2 * CUT) * sd) + away)
    return np.maximum(low, near - reach), np.minimum(high, near + reach)


def _normal(family: Any, theta: Theta, low: float, high: float) -> Nodes:
    size = (how_many(theta), 1)
    mean = theta["mean"][:, None] if "mean" in theta else np.full(size, family.mean)
    sd = np.sqrt(theta["variance"][:, None] if "variance" in theta else np.full(size, family.variance))
    left, right = normal_window(mean, sd, low, high)
    t, w = rule(SMOOTH)
    width = right - left
    x = left + width * t
    standard = (x - mean) / sd
    return x, np.exp(-0.5 * standard * standard) * w * (width / (sd * math.sqrt(2 * math.pi)))


def _exponential(family: Any, theta: Theta, low: float, high: float) -> Nodes:
    rate = theta["rate"][:, None]
    t, w = rule(SMOOTH)
    width = np.minimum(high - low, CUT / rate)
    steps = rate * width
    return low + width * t, np.exp(-rate * low) * np.exp(-steps * t) * steps * w


def _generic(family: Likelihood, theta: Theta, low: float, high: float) -> Nodes:
    """Integrate any density: find its window on [low, high] by three rounds on a coarse grid, then 64 points."""
    back, log_slope, start, end = _chart(family, low, high)
    size = (how_many(theta), 1)

    def log_p(s: np.ndarray) -> np.ndarray:
        return family.log_densities(back(s), theta) + log_slope(s)

    left, right = np.full(size, start), np.full(size, end)
    grid = (np.arange(_COARSE) + 0.5) / _COARSE
    for _ in range(3):
        width = right - left
        log_values = log_p(left + width * grid)
        kept = log_values >= log_values.max(axis=1, keepdims=True) - CUT
        first = kept.argmax(axis=1, keepdims=True)
        last = _COARSE - 1 - kept[:, ::-1].argmax(axis=1, keepdims=True)
        # half a cell beyond the outermost points that count, on either side
        left, right = (
            left + width * np.maximum(first - 0.5, 0) / _COARSE,
            left + width * np.minimum(last + 1.5, _COARSE) / _COARSE,
        )
    t, w = rule(_ROUGH)
    width = right - left
    s = left + width * t
    return back(s), np.exp(log_p(s)) * w * width


def _chart(
    family: Likelihood, low: float, high: float
) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray], float, float]:
    """Return a change of variable x(s), its log slope, and the range of s that covers [low, high]."""
    rises_as = family.closed_form(_AT_ZERO)
    power = 1.0 if rises_as is None else rises_as(family)
    if power < 1 and low < 1:
        # s = x^power takes away the infinite density at zero
        top = high if math.isfinite(high) else max(low, 1.0) * 1e9

        def log_slope(s: np.ndarray) -> np.ndarray:
            with np.errstate(divide="ignore"):
                return (1 / power - 1) * np.log(s) - math.log(power)

        return (lambda s: s ** (1 / power)), log_slope, low**power, top**power
    if math.isfinite(low) and math.isfinite(high):
        return (lambda s: s), np.zeros_like, low, high
    # s in [0, 1) for a tail; the middle of the scale lies one unit from the finite end
    anchor, sign = (low, 1.0) if math.isfinite(low) else (high, -1.0)
    if not math.isfinite(anchor):
        return (lambda s: np.tan(math.pi * (s - 0.5))), _log_slope_of_tan, 0.0, 1.0
    unit = max(abs(anchor), 1.0)
    return (
        lambda s: anchor + sign * unit * s / (1 - s),
        lambda s: math.log(unit) - 2 * np.log1p(-s),
        0.0,
        1.0,
    )


def _log_slope_of_tan(s: np.ndarray) -> np.ndarray:
    return math.log(math.pi) - 2 * np.log(np.cos(math.pi * (s - 0.5)))


def _integers(family: Likelihood, theta: Theta, low: int, high: float) -> Nodes:
    """Sum a mass function over the integers in [low, high]; far ranges are narrowed to the window of each parameter."""
    if math.isfinite(high) and high - low < _MOST_INTEGERS:
        integers = np.arange(low, math.floor(high) + 1.0)
        x = np.broadcast_to(integers, (how_many(theta), integers.size))
        return x, np.exp(family.log_densities(x, theta))
    known = family.closed_form(_COUNTS)
    if known is not None:
        return known(family, theta, low, high)
    mean = family.statistic_mean(theta)[:, :1]
    sd = np.sqrt(family.statistic_covariance(theta)[:, :1, 0])
    # exp(-24.5) of the peak for tails at least as light as those of a geometric distribution with this standard
    # deviation
    left = np.maximum(low, np.floor(mean - 8 * sd - 8))
    right = np.minimum(high, np.ceil(mean + 26 * sd + 26))
    left = np.minimum(left, right)
    count = right - left + 1
    summed = left + np.arange(_MOST_INTEGERS)
    # beyond that many integers the mass function is smooth from one to the next: the midpoint rule read backwards
    t, w = _panels(_MOST_INTEGERS // _ROUGH)
    few = count <= _MOST_INTEGERS
    x = np.where(few, summed, left - 0.5 + count * t)
    weight = np.where(few, summed <= right, count * w)
    return x, np.exp(_between_integers(family, theta, x)) * weight


def _between_integers(family: Likelihood, theta: Theta, x: np.ndarray) -> np.ndarray:
    """Log mass at any x: the parabola through the nearest integer and its neighbors."""
    nearest = np.rint(x)
    part = x - nearest
    before, here, after = (family.log_densities(nearest + k, theta) for k in (-1, 0, 1))
    # before the first integer there is nothing: the line through the next two
    before = np.where(np.isfinite(before), before, 2 * here - np.where(np.isfinite(after), after, here))
    with np.errstate(invalid="ignore"):
        bend = part * (after - before) / 2 + part**2 * (after - 2 * here + before) / 2
    return here + np.where(part == 0, 0.0, bend)


def _overdispersed(family: Likelihood, theta: Theta, low: int, high: float) -> Nodes:
    """Sum a negative binomial's mass from its first integers on, and integrate the rest on a scale of logarithms.

    Near zero it may be as steep as x^(1/dispersion - 1); far out it is smooth, and falls as slowly as a geometric.
    """
    mean, dispersion = (theta[name][:, None] for name in ("mean", "dispersion"))
    sd = np.sqrt(mean + dispersion * mean**2)
    left = np.clip(np.floor(mean - 8 * sd - 8), low, high)
    right = np.minimum(high, np.ceil(mean + np.maximum(26 * sd, 30 * dispersion * mean) + 26))
    first = left + np.arange(_HEAD)
    # beyond them, the midpoint rule read backwards, from the end of the head to that of the window
    spread = np.log(np.maximum((right + 0.5 - left) / (_HEAD - 0.5), 1.0))
    t, w = _panels(4)
    reach = np.exp(spread * t) * (_HEAD - 0.5)
    x = np.concatenate([first, left + reach], axis=1)
    weight = np.concatenate([first <= right, reach * spread * w], axis=1)
    return x, np.exp(_between_integers(family, theta, x)) * weight


# Points and probabilities of counts within wide bounds, where the general rule is not good enough.
_COUNTS: dict[type[Likelihood], Callable[[Any, Theta, int, float], Nodes]] = {
    NegativeBinomial: _overdispersed
}
# Points and probabilities without a search for the window.
_KNOWN: dict[type[Likelihood], Callable[[Any, Theta, float, float], Nodes]] = {
    Exponential: _exponential,
    Normal: _normal,
    NormalKnownMean: _normal,
    NormalKnownVariance: _normal,
}
# The power p of a density that behaves as x^(p - 1) at zero.
_AT_ZERO: dict[type[Likelihood], Callable[[Any], float]] = {Gamma: lambda family: family.shape}
