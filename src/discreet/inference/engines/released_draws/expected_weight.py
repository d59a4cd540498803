r"""E[q(F)] over the sum F of n records given theta, where q is smooth and the records' distribution is anything.

On a window of half-width X around c, where F lies but for a negligible probability under a tilt t,

    q(F) e^(-t (F - c)) = sum over k of a_k e^(i w_k (F - c)),    w_k = pi k / X,

so that, with M(s) = E[e^(s z)] of one record,

    E[q(F)] = sum over k of a_k e^(-(t + i w_k) c) M(t + i w_k)^n.

Nothing is assumed of the records but M: lattices, atoms at the bounds and densities are alike. The sum needs some
dozens of terms, because q is at least as wide as the distribution of F: what one draw of a posterior says of F is less
than what n records say. Of a posterior on a few points q bends more sharply, and takes as many terms as that needs. The
tilt brings the mean of F to where q(F) p(F) is largest, which keeps the relative accuracy
far out in the tails.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfc

from discreet.inference.engine import spend
from discreet.inference.engines.released_draws.sum_weights import SumWeight
from discreet.inference.engines.scalar.transforms import RecordTransform

# Points of a window, of few records and of many; sums of few may lie at the end of what is possible.
_FEW_RECORDS, _POINTS_OF_FEW, _POINTS_OF_MANY = 1000, 256, 128
# Half-width of a window in standard deviations of F; within the first part of it nothing is cut off.
_WIDE, _PLATEAU = 16.0, 0.65
# And as many records more, at least, however rarely one moves the sum.
_FEW = 24.0
# A step of the imaginary part for mean and variance of z, and halvings that find the tilt.
_SMALL, _HALVINGS = 1e-4, 36
_SECONDS = 2e-7
# Terms are summed until they are e^-20 of the first one, where a bound of how fast they fall is known.
_DIGITS = 20.0


def log_expected(records: RecordTransform, weight: SumWeight) -> np.ndarray:
    """Return log E[q(F)] for each parameter value of ``records``."""
    n, size = weight.n_records, records.size
    center, tilt, sd = _saddle(records, weight)
    # no sum lies beyond n, so no window need be wider than from one end to the other
    half = np.minimum(_WIDE * sd + _FEW, 2.2 * n / _PLATEAU)
    points = _n_points(n, weight.spread * float(half.max()))
    spend(_SECONDS * size * points * max(records.nodes, 1))
    place = 2 * np.arange(points) / points - 1
    sums = center[:, None] + half[:, None] * place
    log_q = weight(sums)
    level = weight(center[:, None])[:, 0]
    with np.errstate(over="ignore", under="ignore"):
        values = np.exp(np.minimum(log_q - level[:, None] - tilt[:, None] * (sums - center[:, None]), 700.0))
    values *= _taper(np.abs(place))
    # cosines and sines around the center: the first point is at -1
    terms = np.fft.rfft(values, axis=1) / points * (-1.0) ** np.arange(points // 2 + 1)
    k = np.arange(points // 2)
    s = tilt[:, None] + 1j * np.pi * k / half[:, None]
    log_m = records.log_transform(s)
    at_tilt = np.real(log_m[:, :1])
    waves = np.exp(n * (log_m - at_tilt) - 1j * np.imag(s) * center[:, None])
    total = np.real(terms[:, :1] * waves[:, :1])[:, 0] + 2 * np.real(terms[:, 1:-1] * waves[:, 1:]).sum(
        axis=1
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        log_total = np.where(total > 0, np.log(np.where(total > 0, total, 1.0)), -np.inf)
    return log_total + level + n * at_tilt[:, 0] - tilt * center


def _n_points(n: int, bends: float) -> int:
    """Return how many points a window takes; ``bends`` is its half-width times the spread of q.

    q is analytic within pi / spread of the real line, so that its k-th term falls by exp(-pi^2 k / bends).
    """
    points = _POINTS_OF_FEW if n < _FEW_RECORDS else _POINTS_OF_MANY
    return max(points, 1 << int(np.ceil(np.log2(max(2 * _DIGITS * bends / np.pi**2, 1.0)))))


def _saddle(records: RecordTransform, weight: SumWeight) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where q(F) p(F) is largest, the tilt that moves the mean of F there, and the tilted standard deviation.

    log q is concave and log M convex, so what the tilt by q's slope at F makes of the mean falls as F grows: where it
    meets F is found by halving.
    """
    n, size = float(weight.n_records), records.size
    low, high = np.full(size, -n), np.full(size, n)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        mean, _ = _moments(records, weight.slope(middle))
        above = n * mean > middle
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    tilt = weight.slope((low + high) / 2)
    mean, variance = _moments(records, tilt)
    return n * mean, tilt, np.sqrt(n * variance)


def _moments(records: RecordTransform, tilt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of z under each tilt."""
    s = tilt[:, None] + 1j * np.array([0.0, _SMALL])
    log_m = records.log_transform(s)
    moved = log_m[:, 1] - log_m[:, 0]
    return np.imag(moved) / _SMALL, np.maximum(-2 * np.real(moved) / _SMALL**2, 1e-12)


def _taper(distance: np.ndarray) -> np.ndarray:
    """Return 1 up to the plateau's end and 0 at the window's, with all derivatives small in between."""
    middle, slope = (1 + _PLATEAU) / 2, 12 / (1 - _PLATEAU)
    return 0.5 * erfc(slope * (distance - middle))
