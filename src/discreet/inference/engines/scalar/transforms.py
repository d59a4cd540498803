"""The distribution of one record's mapped statistic z, through its transform M(s) = E[exp(s z)] at complex s.

Sums of records need nothing else: a characteristic function is M on the imaginary axis, and a real part of s tilts the
distribution towards readings that are far from anything likely. Everything here is for many parameter values at once,
one per row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from scipy.special import wofz

from discreet.inference.engine import spend

_ROOT2 = np.sqrt(2.0)
# From this many terms on, a comb of frequencies is made of products of two shorter ones.
_SHORT_COMB = 12
# Numbers, of 16 bytes each, that a sum over nodes holds at once; seconds for the exponential of one of them.
_MOST_NUMBERS, _POWER_SECONDS = 1_000_000, 4e-8


@dataclass(frozen=True)
class RecordTransform(ABC):
    """One record given each of several parameter values.

    Parameters
    ----------
    ends
        Where records outside the bounds go: their z, one per kind of record.
    outside
        Probabilities of going there, one row per parameter value.
    """

    ends: np.ndarray
    outside: np.ndarray

    @property
    def size(self) -> int:
        """How many parameter values."""
        return self.outside.shape[0]

    @property
    def nodes(self) -> int:
        """How many points the transform sums over, for each parameter value."""
        return self.ends.size

    @property
    def atoms(self) -> Atoms:
        """The part of the distribution that sits on whole numbers: records outside the bounds, but for odd cases."""
        whole = self.ends == np.round(self.ends)
        return Atoms(self.ends[whole], self.outside[:, whole])

    @property
    def top_frequency(self) -> np.ndarray | None:
        """Up to which frequency the transform can be relied on, if there is a limit."""
        return None

    def transform(self, s: np.ndarray) -> np.ndarray:
        """Return E[exp(s z)] exp(-|Re s|), one row per parameter value; the factor keeps it below 1."""
        scale = np.abs(np.real(s))
        return self._with_ends(self.inside(s, scale), s, scale)

    def _with_ends(self, total: np.ndarray, s: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Add the part of E[exp(s z - scale)] that comes from records outside the bounds."""
        for j, z in enumerate(self.ends):
            total = total + self.outside[:, j, None] * np.exp(s * z - scale)
        return total

    def log_transform(self, s: np.ndarray) -> np.ndarray:
        """Return log E[exp(s z)], of real or complex ``s``."""
        value = self.transform(s)
        if not np.iscomplexobj(s):
            value = np.real(value)
        return np.log(np.where(np.abs(value) > 1e-300, value, 1e-300)) + np.abs(np.real(s))

    def comb(self, tilt: np.ndarray, spacing: np.ndarray, first: int, last: int) -> np.ndarray:
        """Return the transform at s = tilt + i k spacing for k = first, ..., last - 1."""
        return self.transform(tilt[:, None] + 1j * spacing[:, None] * np.arange(first, last))

    @abstractmethod
    def inside(self, s: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return the part of E[exp(s z - scale)] that comes from records inside the bounds."""

    def rows(self, index: np.ndarray) -> Self:
        """Return the same for some of the parameter values."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "ends"}
        changed = {name: value[index] for name, value in own.items() if isinstance(value, np.ndarray)}
        return replace(self, **changed)


@dataclass(frozen=True)
class Atoms(RecordTransform):
    """Only what is outside the bounds: a distribution of total mass below 1."""

    def inside(self, s: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return np.zeros(s.shape)


@dataclass(frozen=True)
class NodeRecords(RecordTransform):
    """Records whose distribution inside the bounds is a sum over nodes: counts themselves, or a quadrature."""

    z: np.ndarray
    mass: np.ndarray
    exact: bool

    @property
    def nodes(self) -> int:
        return self.z.shape[1]

    @property
    def top_frequency(self) -> np.ndarray | None:
        # quadrature errs once exp(i w z) turns by more than about two radians from node to node
        return None if self.exact else 2 / np.abs(np.diff(self.z, axis=1)).max(axis=1)

    def inside(self, s: np.ndarray, scale: np.ndarray) -> np.ndarray:
        step = max(_MOST_NUMBERS // max(s.shape[1] * self.nodes, 1), 1)
        if step < len(s):
            # thousands of counts, at many frequencies, for many parameter values: some of the latter at a time
            parts = [np.arange(i, min(i + step, len(s))) for i in range(0, len(s), step)]
            return np.concatenate([self.rows(at).inside(s[at], scale[at]) for at in parts])
        spend(_POWER_SECONDS * s.size * self.nodes)
        powers = np.exp(s[:, :, None] * self.z[:, None, :] - scale[:, :, None])
        return (powers @ self.mass[:, :, None])[..., 0]

    def comb(self, tilt: np.ndarray, spacing: np.ndarray, first: int, last: int) -> np.ndarray:
        n = last - first
        if n < _SHORT_COMB:
            return super().comb(tilt, spacing, first, last)
        # exp(i k w z) with k = first + i + short j is a product: n exponentials a node become 2 sqrt(n)
        short = int(np.sqrt(n)) + 1
        angle = 1j * spacing[:, None] * self.z
        start = self.mass * np.exp(tilt[:, None] * self.z - np.abs(tilt)[:, None] + first * angle)
        small = start[:, None, :] * np.exp(np.arange(short)[:, None] * angle[:, None, :])
        large = np.exp(np.arange(0, n, short)[:, None] * angle[:, None, :])
        inside = (large @ np.swapaxes(small, 1, 2)).reshape(self.size, -1)[:, :n]
        s = tilt[:, None] + 1j * spacing[:, None] * np.arange(first, last)
        return self._with_ends(inside, s, np.abs(tilt)[:, None])


@dataclass(frozen=True)
class _MappedRecords(RecordTransform):
    """Records whose transform has a closed form in the measured statistic t, with z = (t - shift) / half."""

    shift: float
    half: float

    def _z(self, t: np.ndarray | float) -> np.ndarray | float:
        return (t - self.shift) / self.half


@dataclass(frozen=True)
class ExponentialRecords(_MappedRecords):
    """Density rate exp(-rate t) in the measured statistic t, on one or two arms [start, stop] of given weight.

    Each arm contributes weight rate exp(-rate start + s z(start)) times the integral of exp(-(rate - s / half) t)
    over its length.
    """

    rate: np.ndarray
    arms: tuple[tuple[float, float, float], ...]

    def inside(self, s: np.ndarray, scale: np.ndarray) -> np.ndarray:
        rate = self.rate[:, None]
        total = np.zeros(s.shape, dtype=complex)
        for start, stop, weight in self.arms:
            fall = (rate - s / self.half) * (stop - start)
            # from the end where the integrand is larger
            rising = fall.real < 0
            t = np.where(rising, stop, start)
            height = np.exp(s * self._z(t) - rate * t - scale)
            total += weight * rate * (stop - start) * height * _mean_power(np.where(rising, -fall, fall))
        return total


@dataclass(frozen=True)
class NormalRecords(_MappedRecords):
    """x is normal and is itself the statistic: total less two tails, or the difference of two tails."""

    mean: np.ndarray
    sd: float
    low: float
    high: float

    def inside(self, s: np.ndarray, scale: np.ndarray) -> np.ndarray:
        mean = self.mean[:, None]
        spread = self.sd / self.half
        a, b = (self.low - mean) / self.sd, (self.high - mean) / self.sd
        tilted = np.real(s) * spread
        below, above = b < tilted, a > tilted
        # tails on the side away from the (tilted) mean never cancel: upward if the bounds are above it
        low = _tail(s, scale, self._z(self.low), a, spread, up=above)
        high = _tail(s, scale, self._z(self.high), b, spread, up=~below)
        middle = ~(below | above)
        center = np.where(middle, s * self._z(mean) + (s * spread) ** 2 / 2 - scale, -np.inf)
        return np.where(middle, np.exp(center) - low - high, np.where(above, low - high, high - low))


@dataclass(frozen=True)
class SquareRecords(_MappedRecords):
    """x is normal about a known mean, and the statistic is the square of its distance from there.

    With k = 1 / (2 variance) - s / half, the integral of exp(-k r^2) over an arm [start, stop] of distances r is
    sqrt(pi / 4k) (erf(sqrt(k) stop) - erf(sqrt(k) start)); the error functions are scaled so that neither overflows.
    """

    variance: np.ndarray
    arms: tuple[tuple[float, float], ...]

    def inside(self, s: np.ndarray, scale: np.ndarray) -> np.ndarray:
        variance = self.variance[:, None]
        k = 1 / (2 * variance) - s / self.half
        root = np.sqrt(k.astype(complex))
        total = np.zeros(s.shape, dtype=complex)
        for start, stop in self.arms:
            first, last = (self._height(s, scale, r) for r in (start, stop))
            curved = np.abs(k) * stop**2 > 1e-7
            safe = np.where(curved, root, 1.0)
            tails = (first * wofz(1j * safe * start) - last * wofz(1j * safe * stop)) / (2 * safe)
            # where the integrand is nearly flat: Simpson's rule, exact to the third order in k
            middle = self._height(s, scale, (start + stop) / 2)
            flat = (stop - start) / 6 * (first + 4 * middle + last) / np.sqrt(np.pi)
            total += np.where(curved, tails, flat) / np.sqrt(2 * variance)
        return total

    def _height(self, s: np.ndarray, scale: np.ndarray, r: float) -> np.ndarray:
        return np.exp(s * self._z(r * r) - r * r / (2 * self.variance[:, None]) - scale)


@dataclass(frozen=True)
class GeometricRecords(_MappedRecords):
    """Counts low, ..., high with weights p (1 - p)^x: a geometric series."""

    p: np.ndarray
    low: float
    high: float

    def inside(self, s: np.ndarray, scale: np.ndarray) -> np.ndarray:
        p = self.p[:, None]
        log_miss = np.log1p(-p)
        ratio = log_miss + s / self.half
        rising = ratio.real > 0
        x = np.where(rising, self.high, self.low)
        start = np.exp(s * self._z(x) + x * log_miss - scale)
        ratio = np.where(rising, -ratio, ratio)
        n = self.high - self.low + 1
        near = np.abs(np.expm1(ratio)) < 1e-12
        series = np.where(near, n, np.expm1(n * ratio) / np.where(near, 1.0, np.expm1(ratio)))
        return p * start * series


def _mean_power(x: np.ndarray) -> np.ndarray:
    """Return the mean of exp(-x t) over t in [0, 1]."""
    near = np.abs(x) < 1e-12
    return np.where(near, 1.0, -np.expm1(-x) / np.where(near, 1.0, x))


def _tail(
    s: np.ndarray,
    scale: np.ndarray,
    z: np.ndarray | float,
    bound: np.ndarray,
    spread: float,
    *,
    up: np.ndarray,
) -> np.ndarray:
    """Return E[exp(s z - scale)] of a standard normal beyond a bound, upward or downward."""
    root = (bound - s * spread) / _ROOT2
    return np.exp(s * z - bound**2 / 2 - scale) * wofz(1j * np.where(up, root, -root)) / 2
