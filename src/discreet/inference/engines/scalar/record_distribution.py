"""Which transform a family has: in closed form where there is one, by exact sums for counts, else by quadrature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtr

from discreet.artifact import Release
from discreet.families import Exponential, Geometric, Laplace
from discreet.families.base import Family, Theta
from discreet.families.normal import NormalKnownMean, NormalKnownVariance
from discreet.inference.engines.scalar.quadrature import LogDensity, nodes, upper_tail
from discreet.inference.engines.scalar.transforms import (
    ExponentialRecords,
    GeometricRecords,
    NodeRecords,
    NormalRecords,
    RecordTransform,
    SquareRecords,
)

#: Counts inside the bounds, and below them if clipped, are summed one by one up to this many.
MOST_COUNTS = 20_000


def counts_to_sum(release: Release) -> float:
    """Return how many values of a record must be summed over; 0 if none."""
    family, bounds = release.conjugate_family, release.domain.bounds
    if bounds is None or not family.support.discrete or family.closed_form(_CLOSED) is not None:
        return 0.0
    low = family.support.low if release.domain.outside == "clip" else float(bounds[0][0])
    return float(bounds[0][1]) - low + 1


@dataclass(frozen=True)
class RecordDistribution:
    """How one usable record's z is distributed under the declarations of a release."""

    family: Family
    low: float
    high: float
    shift: float
    half: float
    clips: bool
    few: bool

    @classmethod
    def of(cls, release: Release, *, few: bool = False) -> RecordDistribution:
        """Return the distribution behind a release of one bounded statistic; ``few`` records need high frequencies."""
        layout, bounds = release.layout, release.domain.bounds
        assert bounds is not None
        assert layout.shift is not None
        assert layout.half is not None
        low, high = (float(v) for v in bounds[0])
        clips = release.domain.outside == "clip"
        return cls(
            release.conjugate_family, low, high, float(layout.shift[0]), float(layout.half[0]), clips, few
        )

    @cached_property
    def lattice(self) -> float | None:
        """The step of the lattice on which sums of z lie, if records are counts; it divides 1 and contains 0."""
        if not self.family.support.discrete or not self.family.sums_values:
            return None
        width = round(self.high - self.low)
        return 2 / width if width % 2 == 0 else 1 / width

    def at(self, theta: Theta) -> RecordTransform:
        """Return the distribution given each of several parameter values."""
        make = self.family.closed_form(_CLOSED)
        if make is not None:
            return make(self, theta)
        return self._counts(theta) if self.family.support.discrete else self._smooth(theta)

    def z(self, x: np.ndarray | float) -> np.ndarray:
        """Return the mapped statistic of values inside the bounds."""
        measured = np.asarray(self.family.measure(np.asarray(x, dtype=float)))
        return np.clip((measured - self.shift) / self.half, -1.0, 1.0)

    def distances(self, center: float) -> tuple[tuple[float, float], ...]:
        """Return the distances from ``center`` of values inside the bounds: one arm, or two if it is inside."""
        if self.low < center < self.high:
            return (0.0, center - self.low), (0.0, self.high - center)
        near, far = sorted((abs(self.low - center), abs(self.high - center)))
        return ((near, far),)

    def gone(self, below: np.ndarray, above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where records outside the bounds go, and how likely each is."""
        if self.clips:
            ends = self.z(np.array([self.low, self.high]))
            # the ends of the range map to -1 and 1, whatever rounding made of that
            ends = np.where(np.abs(ends - np.round(ends)) < 1e-12, np.round(ends), ends)
            return ends, np.stack([below, above], axis=1)
        return np.zeros(1), (below + above)[:, None]

    def closed_form(
        self, kind: Callable[..., RecordTransform], below: np.ndarray, above: np.ndarray, *own: Any
    ) -> RecordTransform:
        """Return the transform of a kind, given the probabilities of either side of the bounds and what is its own."""
        return kind(*self.gone(below, above), self.shift, self.half, *own)

    def _counts(self, theta: Theta) -> RecordTransform:
        size = len(next(iter(theta.values())))

        def masses(x: np.ndarray) -> np.ndarray:
            return np.exp(self.family.log_densities(np.broadcast_to(x, (size, x.size)), theta))

        x = np.arange(self.low, self.high + 1)
        inside = masses(x)
        below = (
            masses(np.arange(self.family.support.low, self.low)).sum(axis=1) if self.clips else np.zeros(size)
        )
        above = np.clip(1 - inside.sum(axis=1) - below, 0.0, 1.0)
        kept = inside.max(axis=0) > 1e-20
        z = np.broadcast_to(self.z(x[kept]), (size, int(kept.sum())))
        return NodeRecords(*self.gone(below, above), z, inside[:, kept], exact=True)

    def _tail(self, log_density: LogDensity, start: float, end: float, size: int) -> np.ndarray:
        """Return the mass from ``start`` up to ``end``."""
        if end <= start:
            return np.zeros(size)
        if np.isfinite(end):
            return nodes(log_density, start, end, size)[1].sum(axis=1)
        return upper_tail(log_density, start, self.high - self.low, size)

    @cached_property
    def _turns(self) -> list[float]:
        """The bounds, and between them where the measured statistic turns, if it does: there may be a kink there."""
        low, high = self.low, self.high
        x = np.linspace(low, high, 257)
        z = self.z(x)
        inner = np.flatnonzero((z[1:-1] - z[:-2]) * (z[2:] - z[1:-1]) < 0) + 1
        if inner.size != 1:
            return [low, high]
        # a single turn is located by trisection of its neighborhood
        a, b = x[inner[0] - 1], x[inner[0] + 1]
        sign = 1.0 if z[inner[0]] < z[inner[0] - 1] else -1.0
        for _ in range(100):
            c, d = (2 * a + b) / 3, (a + 2 * b) / 3
            a, b = (a, d) if sign * float(self.z(c)) < sign * float(self.z(d)) else (c, b)
        return [low, float((a + b) / 2), high]

    def _smooth(self, theta: Theta) -> RecordTransform:
        log_density = partial(self.family.log_densities, theta=theta)
        size = len(next(iter(theta.values())))
        arms = [nodes(log_density, a, b, size, oscillating=self.few) for a, b in pairwise(self._turns)]
        x, inside = (np.concatenate(part, axis=1) for part in zip(*arms, strict=True))
        support = self.family.support
        below = self._tail(lambda v: log_density(-v), -self.low, -support.low, size)
        above = self._tail(log_density, self.high, support.high, size)
        # what quadrature misses of a spike at an end of the range belongs to the node next to it
        missed = 1 - inside.sum(axis=1) - below - above
        inside[np.arange(size), np.where(inside[:, 0] >= inside[:, -1], 0, -1)] += np.maximum(missed, 0.0)
        total = 1 + np.maximum(-missed, 0.0)
        gone = self.gone(below / total, above / total)
        return NodeRecords(*gone, self.z(x), inside / total[:, None], exact=False)


def _exponential(distribution: RecordDistribution, theta: Theta) -> RecordTransform:
    rate, low, high = theta["rate"], distribution.low, distribution.high
    below, above = -np.expm1(-rate * low), np.exp(-rate * high)
    return distribution.closed_form(ExponentialRecords, below, above, rate, ((low, high, 1.0),))


def _laplace(distribution: RecordDistribution, theta: Theta) -> RecordTransform:
    rate = theta["rate"]
    center = distribution.family.require(Laplace, "distances from a known location are needed").location

    def beyond(distance: float) -> np.ndarray:
        """Probability of lying further than a signed distance, in one direction."""
        tail = np.exp(-rate * abs(distance)) / 2
        return tail if distance >= 0 else 1 - tail

    below, above = beyond(center - distribution.low), beyond(distribution.high - center)
    arms = tuple((start, stop, 0.5) for start, stop in distribution.distances(center))
    return distribution.closed_form(ExponentialRecords, below, above, rate, arms)


def _normal(distribution: RecordDistribution, theta: Theta) -> RecordTransform:
    mean, low, high = theta["mean"], distribution.low, distribution.high
    sd = distribution.family.require(NormalKnownVariance, "a known variance is needed").variance ** 0.5
    below, above = ndtr((low - mean) / sd), ndtr((mean - high) / sd)
    return distribution.closed_form(NormalRecords, below, above, mean, sd, low, high)


def _square(distribution: RecordDistribution, theta: Theta) -> RecordTransform:
    variance = theta["variance"]
    mean, sd = distribution.family.require(NormalKnownMean, "a known mean is needed").mean, np.sqrt(variance)
    below, above = ndtr((distribution.low - mean) / sd), ndtr((mean - distribution.high) / sd)
    return distribution.closed_form(SquareRecords, below, above, variance, distribution.distances(mean))


def _geometric(distribution: RecordDistribution, theta: Theta) -> RecordTransform:
    p, low, high = theta["p"], distribution.low, distribution.high
    below, above = -np.expm1(low * np.log1p(-p)), np.exp((high + 1) * np.log1p(-p))
    return distribution.closed_form(GeometricRecords, below, above, p, low, high)


# Subclasses may change the density, so only these very types.
_CLOSED: dict[type[Family], Callable[[RecordDistribution, Theta], RecordTransform]] = {
    Exponential: _exponential,
    Laplace: _laplace,
    NormalKnownVariance: _normal,
    NormalKnownMean: _square,
    Geometric: _geometric,
}
