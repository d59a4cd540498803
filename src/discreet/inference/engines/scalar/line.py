"""A density on the line, known by its logarithm at points of our choosing: refined until a spline reproduces it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from discreet.errors import OutOfReachError

# Points this far below the peak, in logs, carry nothing.
_DEPTH = 34.0
# Neighbors of a maximum are brought within this of it before anything else is judged.
_CLOSE = 2.0
# How much the curve may err at a new point, times the density relative to its peak there. The point then joins
# the curve, whose error falls by a factor of 16.
_ACCURACY = 3e-6
# Errors need not be smaller than what this depth, in logs, makes of them.
_CARELESS = 8.0
_FIRST = 33
_MOST_POINTS = 4000
_RATIO = 3.0
# An interval of this share of the density's extent misplaces little, whatever happens inside it.
_NARROW = 0.05
_MOST_ROUNDS = 200
_HALF, _QUARTERS = np.array([0.5]), np.array([0.25, 0.5, 0.75])
# Points of the inverse distribution function per interval of the spline.
_FINE = 16


LogDensity = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class LineDensity:
    """Points, log density at them up to a constant, and the spline through both."""

    points: np.ndarray
    log_density: np.ndarray

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """Return the normalized density at points of the line."""
        fine, _, mass = self._table()
        inside = (t >= fine[0]) & (t <= fine[-1])
        log_d = curve(self.points, self.log_density)(np.clip(t, fine[0], fine[-1]))
        return np.where(inside, np.exp(log_d - self.log_density.max()), 0.0) / mass[-1]

    def _table(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return fine points, the density there, and the mass below them."""
        t = self.points
        share = np.arange(_FINE) / _FINE
        fine = np.append((t[:-1, None] + np.diff(t)[:, None] * share).ravel(), t[-1])
        joined = curve(t, self.log_density)
        density = np.exp(joined(fine) - self.log_density.max())
        step = np.diff(fine)
        # the trapezoidal rule with its correction by the slopes at both ends
        bend = np.diff(density * joined(fine, 1)) * step / 12
        cells = step * np.maximum((density[1:] + density[:-1]) / 2 - bend, 0.0)
        return fine, density, np.concatenate([[0.0], np.cumsum(cells)])

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw independently, by inversion; between fine points the density is linear."""
        fine, density, mass = self._table()
        target = rng.random(size) * mass[-1]
        i = np.clip(np.searchsorted(mass, target, side="right") - 1, 0, fine.size - 2)
        left, right = density[i], density[i + 1]
        share = np.clip((target - mass[i]) / np.maximum(mass[i + 1] - mass[i], 1e-300), 0.0, 1.0)
        # solve left x + (right - left) x^2 / 2 = rest for x in [0, 1], in the form without cancellation
        rest = share * (left + right) / 2
        root = np.sqrt(np.maximum(left**2 + 2 * (right - left) * rest, 0.0))
        return fine[i] + (fine[i + 1] - fine[i]) * np.minimum(2 * rest / np.maximum(left + root, 1e-300), 1.0)


def line_density(
    log_density: LogDensity, low: float, high: float, lowest: float, highest: float
) -> LineDensity:
    """Return the density on [low, high], extended towards [lowest, highest] as long as there is mass at an end.

    ``log_density`` takes points and how many times the usual error it may make at each. Every local maximum that is
    seen is kept; a density with several modes is as good as any other.
    """

    def asked(at: np.ndarray, depth: np.ndarray | float) -> np.ndarray:
        """Ask for the log density, so far below the peak; what is no number, or minus infinity, is something low."""
        found = log_density(at, _slack(np.broadcast_to(depth, at.shape)))
        return np.where(np.isfinite(found), found, -1e15)

    t = np.linspace(low, high, _FIRST)
    t, y = _extended(asked, t, asked(t, np.inf), lowest, highest)
    sketched, checked = np.ones(t.size, dtype=bool), np.zeros(t.size - 1, dtype=bool)
    for _ in range(_MOST_ROUNDS):
        intervals, judged = _wanted(t, y, checked)
        # sketches only serve to find where the density may lie: there, they are replaced
        again = sketched & _ends(intervals)
        if again.any():
            y[again] = asked(t[again], y.max() - y[again])
            sketched &= ~again
            continue
        if not intervals.any():
            break
        share = _HALF if judged else _QUARTERS
        inside = np.repeat(np.flatnonzero(intervals), share.size)
        width = np.diff(t)[inside]
        new = t[inside] + width * np.tile(share, intervals.sum())
        if t.size + new.size > _MOST_POINTS:
            raise OutOfReachError("the posterior is too rough to integrate.")
        predicted = curve(t, y)(new)
        value = asked(new, y.max() - predicted)
        weight = np.exp(np.minimum(np.maximum(value, predicted) - max(y.max(), value.max()), 0.0))
        error = np.abs(np.expm1(np.clip(predicted - value, -50, 50))) * weight
        # narrow intervals may err by more: what counts is how much mass is misplaced
        extent = np.trapezoid(np.exp(y - y.max()), t)
        fine = (error * np.minimum(width / extent / _NARROW, 1.0) < _ACCURACY) & judged
        # both halves of an interval inherit the verdict on its middle
        checked[inside[fine]] = True
        checked = np.insert(checked, inside, checked[inside])
        t, y = np.insert(t, inside + 1, new), np.insert(y, inside + 1, value)
        sketched = np.insert(sketched, inside + 1, False)
    peak = y.max()
    kept = np.flatnonzero(y > peak - _DEPTH)
    first, last = max(kept[0] - 1, 0), min(kept[-1] + 1, t.size - 1)
    return LineDensity(t[first : last + 1], np.maximum(y[first : last + 1], peak - 2 * _DEPTH))


def _slack(depth: np.ndarray) -> np.ndarray:
    """Return how many times the usual error is tolerable so far below the peak; infinitely far, a sketch will do."""
    return np.exp(np.where(np.isinf(depth), _CARELESS, np.clip(depth, 0.0, _CARELESS - 1)))


def curve(t: np.ndarray, y: np.ndarray) -> CubicHermiteSpline:
    """Return a cubic curve through all points; slopes are those of the quartic through each point and its neighbors.

    Unlike a spline it is local: what the density does far down in a tail does not ripple into its bulk.
    """
    y = np.maximum(y, y.max() - 2 * _DEPTH)
    width = min(5, t.size)
    start = np.clip(np.arange(t.size) - width // 2, 0, t.size - width)
    near = start[:, None] + np.arange(width)
    x, v = t[near], y[near]
    apart = x[:, :, None] - x[:, None, :] + np.eye(width)
    # barycentric weights, and from them the derivative at the middle point of the interpolating polynomial
    weight = 1 / apart.prod(axis=2)
    rows = np.arange(t.size)
    own = rows - start
    gap = t[:, None] - x
    gap[rows, own] = 1.0
    slope = weight / weight[rows, own][:, None] / gap * (v - y[:, None])
    slope[rows, own] = 0.0
    return CubicHermiteSpline(t, y, slope.sum(axis=1))


def _extended(
    asked: Callable[[np.ndarray, float], np.ndarray],
    t: np.ndarray,
    y: np.ndarray,
    lowest: float,
    highest: float,
) -> tuple[np.ndarray, np.ndarray]:
    step = t[1] - t[0]
    for _ in range(_MOST_ROUNDS):
        below = y[0] > y.max() - _DEPTH and t[0] > lowest
        above = y[-1] > y.max() - _DEPTH and t[-1] < highest
        if not (below or above):
            break
        new = np.concatenate(
            [
                np.maximum(t[0] - step * 2.0 ** np.arange(4)[::-1], lowest) if below else [],
                np.minimum(t[-1] + step * 2.0 ** np.arange(4), highest) if above else [],
            ]
        )
        new = np.setdiff1d(new, t)
        step *= 2
        place = np.searchsorted(t, new)
        t, y = np.insert(t, place, new), np.insert(y, place, asked(new, np.inf))
    return t, y


def _ends(intervals: np.ndarray) -> np.ndarray:
    """Tell for each point whether it ends one of these intervals."""
    return np.concatenate([[False], intervals]) | np.concatenate([intervals, [False]])


def _wanted(t: np.ndarray, y: np.ndarray, checked: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return in which intervals to look next, and whether the curve is to be judged there."""
    peak, width = y.max(), np.diff(t)
    top = np.maximum(y[1:], y[:-1])
    wide = width > 1e-13 * np.maximum(np.abs(t[1:]), 1.0)
    bound = _bounds(t, y)
    search = (bound > top + _CLOSE) & (bound > peak - _DEPTH) & wide
    if search.any():
        return search, False
    # the middle of an interval may agree by chance: one that is much wider than its neighbor is looked at again
    around = np.concatenate([[np.inf], width, [np.inf]])
    coarse = width > _RATIO * np.minimum(around[:-2], around[2:])
    judge = (~checked | coarse) & (top > peak - _DEPTH) & wide
    return judge, True


def _bounds(t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return how high the log density may rise inside each interval, if it is concave around there.

    Lines through the neighboring intervals lie above it; their intersection bounds a maximum hidden between two points.
    """
    width, rise = np.diff(t), np.diff(y)
    slope = rise / width
    before, after = np.concatenate([[np.inf], slope[:-1]]), np.concatenate([slope[1:], [-np.inf]])
    # where both lines meet, as a distance from the left point; a missing neighbor bounds nothing
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        meet = np.clip((rise - after * width) / (before - after), 0.0, width)
        meet = np.where(np.isinf(before), 0.0, np.where(np.isinf(after), width, meet))
        left = np.where(np.isinf(before), np.inf, y[:-1] + before * meet)
        right = np.where(np.isinf(after), np.inf, y[1:] - after * (width - meet))
    return np.where(before > after, np.minimum(left, right), np.maximum(y[1:], y[:-1]))
