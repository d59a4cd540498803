r"""How likely the released draws are, given the sum of the records' statistic that the mechanism saw.

A released draw comes from a posterior that reads the records through the sum F of their mapped statistics alone,

    q(draw | F) = base(draw) exp(F slope(draw) + n level(draw)) / Z(F),

on a public grid or set (:class:`~discreet.privacy.costs.scored_points.ScoredPoints`, a tempered likelihood), or in
continuous form (a conjugate posterior with weights r and m). Several draws of one release share F. Everything here is
public: the declarations, the mechanism's record and the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.interpolate import BPoly

from discreet.artifact import Release
from discreet.families.base import Family
from discreet.privacy.costs.parameter_grid import prior_values
from discreet.privacy.costs.posterior_pairs import increment

# Numbers held at once while the grid is summed over.
_MOST_NUMBERS = 1 << 22
# Points of the curve of normalizing constants: at first, per standard deviation, and at most.
_FIRST_POINTS, _PER_SD, _MOST_POINTS = 129, 8, 20_000
# Of more records than this, sums are tabled as far as this many standard deviations from the likeliest one.
_FEW_RECORDS, _FAR = 10**5, 60.0
# Sums around a bend of log Z at which it is seen first, in units of its width.
_AROUND = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
# A step of this share of n, for slopes; and for how a curve goes on beyond the ends of what sums can be.
_STEP = 1e-5


@dataclass(frozen=True)
class SumWeight:
    """log q(draws | F) up to a constant, for sums F of the one mapped statistic of n records.

    ``low`` and ``high`` are -n and n, or nearer ends outside which the draws rule every sum out. ``spread`` is how far
    apart the slopes of a few points are, which say how sharply q may bend: Z has no zero within pi / spread of the real
    line, because there all of its terms lie in one half of the plane. Of points that lie densely it is 0.
    """

    n_records: int
    low: float
    high: float
    inside: Callable[[np.ndarray], np.ndarray]
    spread: float = 0.0

    def __call__(self, sums: np.ndarray) -> np.ndarray:
        """Return it at any F; beyond the ends, where no sum is, a parabola goes on."""
        near = np.clip(sums, self.low, self.high)
        value = self.inside(near)
        if (sums != near).any():
            first, second, more = self._beyond(sums, near)
            value = value + first * more + 0.5 * second * more**2
        return value

    def slope(self, sums: np.ndarray) -> np.ndarray:
        """Return its derivative at F, by a difference; beyond the ends, that of the parabola."""
        near = np.clip(sums, self.low, self.high)
        h = _STEP * (self.high - self.low)
        middle = np.clip(sums, self.low + h, self.high - h)
        value = (self.inside(middle + h) - self.inside(middle - h)) / (2 * h)
        if (sums != near).any():
            first, second, more = self._beyond(sums, near)
            value = np.where(more == 0, value, first + second * more)
        return value

    def _beyond(self, sums: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the slope and the curvature at the end that each F lies beyond, and how far beyond it is."""
        edges, h = np.array([self.low, self.high]), 5e-4 * (self.high - self.low)
        sign = np.array([1.0, -1.0])
        at = self.inside(np.concatenate([edges, edges + h * sign, edges + 2 * h * sign])).reshape(3, 2)
        first = sign * (4 * at[1] - 3 * at[0] - at[2]) / (2 * h)
        second = np.minimum((at[0] - 2 * at[1] + at[2]) / h**2, 0.0)
        which = (sums > near).astype(int)
        return first[which], second[which], sums - near


def sum_weight(release: Release) -> SumWeight:
    """Return how likely the draws of a release of one statistic are, as a function of the sum behind them."""
    return _KINDS[release.sampling_record.name](release)


def n_records(release: Release) -> int:
    """Return the public number of records: no samples of a family hide it."""
    assert release.records is not None
    return release.records


def _tempered(release: Release) -> SumWeight:
    record, n, family = release.sampling_record, n_records(release), release.conjugate_family
    points = record.scored_points(family, release.domain)
    assert points is not None
    assert release.samples is not None
    temperature = float(record.parameters["temperature"])
    slopes, levels = points.tables
    slope, base = slopes[:, 0] / temperature, points.log_base + n * levels / temperature
    name = family.draw_names[0]
    chosen = np.abs(points.points[name][:, None] - release.samples.arrays()[name]).argmin(axis=0)
    pull, count = slope[chosen].sum(), len(chosen)

    low, high = _ends(base, slope, float(n), pull / count) if points.dense else (-float(n), float(n))
    bends = np.empty(0) if points.dense else _bends(base, slope)
    log_z = _log_normalizer(base, slope, low, high, bends)
    spread = 0.0 if points.dense else float(np.ptp(slope))
    return SumWeight(n, low, high, lambda sums: pull * sums - count * log_z(sums), spread)


def _bends(base: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return sums about which the largest of base + F slope changes, and some around each: log Z may bend there alone.

    The lines that are largest somewhere are a convex chain, found in the order of their slopes.
    """
    chain: list[tuple[float, float]] = []
    for s, b in sorted(zip(slope, base, strict=True)):
        if chain and chain[-1][0] == s:
            chain.pop()
        while len(chain) > 1 and _crossing(chain[-1], (s, b)) <= _crossing(chain[-2], chain[-1]):
            chain.pop()
        chain.append((s, b))
    around = np.array([*-_AROUND[::-1], 0.0, *_AROUND])
    found = [_crossing(one, other) + around / (other[0] - one[0]) for one, other in pairwise(chain)]
    return np.concatenate(found) if found else np.empty(0)


def _crossing(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return at which F two lines (slope, base) cross."""
    return (one[1] - other[1]) / (other[0] - one[0])


def _ends(base: np.ndarray, slope: np.ndarray, n: float, wanted: float) -> tuple[float, float]:
    """Return between which sums log q is to be tabled: all, or, of very many, those that the draws allow.

    The draws are likeliest at the sum under which the mean of the slope is that of the draws.
    """
    if n <= _FEW_RECORDS:
        return -n, n
    low, high = -n, n
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _cumulants(base, slope, np.array([middle]))[1, 0] < wanted else (low, middle)
        )
    reach = _FAR / np.sqrt(max(float(_cumulants(base, slope, np.array([low]))[2, 0]), 1e-300))
    return max(low - reach, -n), min(low + reach, n)


def _log_normalizer(
    base: np.ndarray, slope: np.ndarray, start: float, stop: float, bends: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return F to log sum of exp(base + F slope) between two ends, by a curve through points with two derivatives.

    They are equally far apart in standard deviations of the slope, by which the curve bends: first all over the range
    and where it is known to bend, then, twice, where the ones before saw it bend.
    """
    inside = bends[(bends > start) & (bends < stop)]
    points = np.unique(np.concatenate([np.linspace(start, stop, _FIRST_POINTS), inside]))
    for last in (False, False, True):
        value, first, second = _cumulants(base, slope, points)
        if last:
            break
        bend = np.sqrt(np.maximum(second, 0.0))
        length = np.concatenate([[0.0], np.cumsum(np.diff(points) * (bend[1:] + bend[:-1]) / 2)])
        # a little by distance alone, so that places increase
        length += (length[-1] + 1) * (points - start) / (stop - start)
        size = min(_FIRST_POINTS + int(_PER_SD * length[-1]), _MOST_POINTS)
        points = np.interp(np.linspace(0.0, length[-1], size), length, points)
    return BPoly.from_derivatives(points, np.stack([value, first, second], axis=1))


def _cumulants(base: np.ndarray, slope: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return log Z at each sum, and its first two derivatives: mean and variance of the slope."""
    out, step = np.empty((3, sums.size)), max(_MOST_NUMBERS // slope.size, 1)
    for at in range(0, sums.size, step):
        part = slice(at, at + step)
        weights = base + sums[part, None] * slope
        peak = weights.max(axis=1, keepdims=True)
        np.exp(weights - peak, out=weights)
        total = weights.sum(axis=1)
        mean = weights @ slope / total
        out[:, part] = np.log(total) + peak[:, 0], mean, weights @ slope**2 / total - mean**2
    return out


def _rebalanced(release: Release) -> SumWeight:
    record, n, family = release.sampling_record, n_records(release), release.conjugate_family
    assert release.samples is not None
    prior = record.conjugate
    r, m = (float(record.parameters[name]) for name in "rm")
    intercept, slope = natural_line(family, release)
    start, step = prior.natural() / m + r * intercept, r * slope
    drawn = prior_values(family, release.samples.arrays()[family.draw_names[0]])
    statistics = prior_statistics(prior, drawn)
    pull, count = float(statistics.sum(axis=0) @ step), len(drawn)
    kind = type(prior)

    def inside(sums: np.ndarray) -> np.ndarray:
        eta = start + sums[..., None] * step
        return pull * sums - count * kind.log_partition(eta)

    return SumWeight(n, -float(n), float(n), inside)


def natural_line(family: Family, release: Release) -> tuple[np.ndarray, np.ndarray]:
    """Return (a, b): n records whose mapped statistic sums to F add a + b F to a prior's natural parameters."""
    n = n_records(release)
    ends = [increment(family, _unmapped(family, release, Fraction(total)), n) for total in (0, 1)]
    first, second = (np.array([float(v) for v in end]) for end in ends)
    return first, second - first


def _unmapped(family: Family, release: Release, total: Fraction) -> list[Fraction]:
    layout, ones = release.layout, [Fraction(1)]
    shift, half, features = (
        np.array(v, dtype=object) for v in (layout.shift or ones, layout.half or ones, [total])
    )
    return list(
        family.geometry.unmap(np.array(Fraction(n_records(release)), dtype=object), features, shift, half)
    )


def prior_statistics(prior: Any, values: np.ndarray) -> np.ndarray:
    """Return T(value) of a prior exp(eta . T - C(eta)) at values of its variable, components last.

    The log density plus C is linear in eta, so differences of it are the components.
    """
    kind, eta = type(prior), prior.natural()

    def linear(eta: np.ndarray) -> np.ndarray:
        made = kind.from_natural(eta)
        return made.log_density(values) + kind.log_partition(made.natural())

    size = np.maximum(np.abs(eta), 1.0)
    at = linear(eta)
    return np.stack([(linear(eta + step) - at) / step.max() for step in np.diag(size)], axis=-1)


_KINDS: dict[str, Callable[[Release], SumWeight]] = {
    "posterior_sample": _tempered,
    "finite_posterior": _tempered,
    "direct_posterior": _rebalanced,
    "diffused_posterior": _rebalanced,
    "concentrated_posterior": _rebalanced,
}
