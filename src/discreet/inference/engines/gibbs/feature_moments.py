r"""Mean and covariance of what one usable record adds to the released features, given theta.

With f(x) the features of a record under the curator's rule (redacted: 0; clipped: those of the nearest bound),
m(theta) = E f(x) and V(theta) = Cov f(x). Given u usable records their sum is taken to be normal with mean u m and
covariance u V. That is Bernstein and Sheldon's random-sum limit (2018, proposition 1): a redacted record is a zero, so
the number of records inside needs no term of its own.

The moments of (z, z^2) of the two families that are asked for most are compiled. For the normal, the recursion of
closed-form moments to order 4 takes 50 ns a parameter, 28 quadrature nodes 470 ns. But the recursion loses digits as
the fourth power of mean and standard deviation in half-widths of the bounds (at a standard deviation of 1000 none is
left), so it is used up to 8 half-widths, where it is right to 1e-10, and the nodes beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.artifact import Release
from discreet.compiled import njit
from discreet.families import Exponential, MultivariateNormal, Normal
from discreet.families.likelihood import Likelihood, Theta
from discreet.families.normal import NormalKnownVariance
from discreet.inference.engines.gibbs.box import box_moments, node, window
from discreet.inference.engines.gibbs.nodes import CUT, SMOOTH, how_many, nodes, rule

# parameters whose points are held at the same time
_BLOCK = 4096
_T, _W = rule(SMOOTH)
_ROOT_2PI = math.sqrt(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
# mean and standard deviation, in half-widths of the bounds, up to which the recursion keeps ten digits
_NEAR = 8.0

#: m and V, with parameters first and features last.
MeanCovariance = tuple[np.ndarray, np.ndarray]
Moments = Callable[[Theta], MeanCovariance]


def feature_moments(release: Release) -> Moments:
    """Return the function from parameters to the mean and covariance of one usable record's features."""
    family = release.family
    if family.vocabulary is not None:
        return _cells if len(family.geometry.feature_names) > 1 else _binary
    make = family.closed_form(MOMENTS)
    return _column(release) if make is None else make(release)


def _binary(theta: Theta) -> MeanCovariance:
    p = theta["p"][:, None]
    return 2 * p - 1, 4 * (p * (1 - p))[:, :, None]


def _cells(theta: Theta) -> MeanCovariance:
    p = theta["p"]
    return p, p[:, :, None] * (np.eye(p.shape[1]) - p[:, None, :])


def _normal(release: Release) -> Moments:
    family: Any = release.family
    shift, half = affine_map(release)
    clip = release.domain.outside == "clip"

    def moments(theta: Theta) -> MeanCovariance:
        mean = theta["mean"]
        unknown = "variance" in theta
        variance = theta["variance"] if unknown else np.full(mean.shape, family.variance)
        m, v = normal_moments((mean - shift) / half, np.sqrt(variance) / half, clip=clip)
        size = 1 + unknown  # sums of squares are released where the variance is unknown
        return m[:, :size], v[:, :size, :size]

    return moments


def _exponential(release: Release) -> Moments:
    low, high = column_bounds(release)
    clip = release.domain.outside == "clip"

    def moments(theta: Theta) -> MeanCovariance:
        m, v = _exponential_kernel(np.ascontiguousarray(theta["rate"]), low, high, clip, _T, _W)
        return m[:, :1], v[:, :1, :1]

    return moments


def column_bounds(release: Release) -> tuple[float, float]:
    """Return the bounds of the only column."""
    assert release.domain.bounds is not None
    low, high = release.domain.bounds[0]
    return float(low), float(high)


def column_records(release: Release) -> Callable[[Theta], tuple[np.ndarray, np.ndarray]]:
    """Return theta to (features of points, their probabilities) for a family of one column.

    Features are (parameters, points, features). What the probabilities lack to 1 belongs to redacted records.
    """
    family = release.family
    low, high = column_bounds(release)

    def records(theta: Theta) -> tuple[np.ndarray, np.ndarray]:
        x, probability = nodes(family, theta, low, high)
        if release.domain.outside == "clip":
            below = _tail(family, theta, family.support.low, low)
            above = np.clip(1 - below - probability.sum(axis=1), 0.0, 1.0)
            if not family.support.discrete:
                # a tail of its own keeps its digits; integers have no other end to sum from
                above = _tail(family, theta, high, family.support.high)
            ends = np.broadcast_to([low, high], (len(x), 2))
            x = np.concatenate([x, ends], axis=1)
            probability = np.concatenate([probability, below[:, None], above[:, None]], axis=1)
        return mapped_features(release, x), probability

    return records


def mapped_features(release: Release, x: np.ndarray) -> np.ndarray:
    """Return the features of values within the bounds, on a new last axis."""
    shift, half = affine_map(release)
    z = np.clip((np.asarray(release.family.measure(x), dtype=float) - shift) / half, -1.0, 1.0)
    return np.stack(release.family.geometry.features([z]), axis=-1)


def affine_map(release: Release) -> tuple[np.ndarray, np.ndarray]:
    """Return shift and half of the map of each column onto [-1, 1]."""
    assert release.layout.shift is not None
    assert release.layout.half is not None
    return np.array(release.layout.shift, dtype=float), np.array(release.layout.half, dtype=float)


def _tail(family: Likelihood, theta: Theta, low: float, high: float) -> np.ndarray:
    if not low < high:
        return np.zeros(how_many(theta))
    if family.tails_by_cdf:
        ends = family.cdf(np.array([x for x in (low, high) if np.isfinite(x)]), theta)
        below = ends[:, 0] if np.isfinite(low) else 0.0
        return np.maximum((ends[:, -1] if np.isfinite(high) else 1.0) - below, 0.0)
    if family.support.discrete:
        high = high - 1 if high == np.floor(high) else high
    return nodes(family, theta, low, high)[1].sum(axis=1)


def _column(release: Release) -> Moments:
    records = column_records(release)

    def moments(theta: Theta) -> MeanCovariance:
        n = how_many(theta)
        if n <= _BLOCK:
            return weighted_moments(*records(theta))
        # several hundred points for each parameter, so not for all of them at once
        parts = [
            weighted_moments(*records({name: values[at : at + _BLOCK] for name, values in theta.items()}))
            for at in range(0, n, _BLOCK)
        ]
        return np.concatenate([mean for mean, _ in parts]), np.concatenate([cov for _, cov in parts])

    return moments


def weighted_moments(features: np.ndarray, probability: np.ndarray) -> MeanCovariance:
    """Return mean and covariance of points with these probabilities, the rest of the mass sitting at zero."""
    mean = (probability[:, None, :] @ features)[:, 0]
    rest = np.maximum(1 - probability.sum(axis=1), 0.0)
    centered = features - mean[:, None, :]
    covariance = (centered * probability[:, :, None]).transpose(0, 2, 1) @ centered
    covariance += rest[:, None, None] * mean[:, :, None] * mean[:, None, :]
    return mean, covariance


def _box(release: Release) -> Moments:
    shift, half = affine_map(release)
    clip = release.domain.outside == "clip"

    def moments(theta: Theta) -> MeanCovariance:
        mean = (theta["normal_mean"] - shift) / half
        covariance = theta["covariance"] / (half[:, None] * half)
        lost = ~np.isfinite(covariance).all(axis=(1, 2)) | (
            np.linalg.eigvalsh(np.nan_to_num(covariance))[:, 0] <= 0
        )
        covariance[lost] = np.eye(len(half))
        m, v = box_moments(mean, covariance, clip=clip)
        # a matrix that is singular in floating point has no density: the target drops what is not finite
        m[lost] = np.nan
        return m, v

    return moments


# -- compiled -----------------------------------------------------------------------------------------


@njit(cache=True, error_model="numpy")
def _moments(z: np.ndarray, p: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> None:
    """Fill mean and covariance of (z, z^2) for points z with probabilities p, the rest of the mass at zero."""
    total = first = second = 0.0
    for i in range(z.size):
        total += p[i]
        first += p[i] * z[i]
        second += p[i] * z[i] * z[i]
    rest = max(1.0 - total, 0.0)
    c11, c12, c22 = rest * first * first, rest * first * second, rest * second * second
    for i in range(z.size):
        a, b = z[i] - first, z[i] * z[i] - second
        c11 += p[i] * a * a
        c12 += p[i] * a * b
        c22 += p[i] * b * b
    mean[0], mean[1] = first, second
    covariance[0, 0], covariance[0, 1], covariance[1, 0], covariance[1, 1] = c11, c12, c12, c22


@njit(cache=True, error_model="numpy")
def _recursion(m: float, s: float, clip: bool, raw: np.ndarray) -> None:
    """Fill the moments of order 0 to 4 of a normal variable within [-1, 1], or clipped to it."""
    a, b = (-1.0 - m) / s, (1.0 - m) / s
    below, above = 0.5 * math.erfc(-a * _ROOT_HALF), 0.5 * math.erfc(b * _ROOT_HALF)
    if a > 0:
        raw[0] = 0.5 * math.erfc(a * _ROOT_HALF) - above
    elif b < 0:
        raw[0] = 0.5 * math.erfc(-b * _ROOT_HALF) - below
    else:
        raw[0] = 1.0 - below - above
    at_low, at_high = math.exp(-0.5 * a * a) * s / _ROOT_2PI, math.exp(-0.5 * b * b) * s / _ROOT_2PI
    sign = 1.0
    raw[1] = m * raw[0] - at_high + at_low
    for k in range(2, 5):
        sign = -sign
        raw[k] = m * raw[k - 1] + (k - 1) * s * s * raw[k - 2] - at_high + sign * at_low
    if clip:
        for k in range(5):
            raw[k] += above + (below if k % 2 == 0 else -below)


@njit(cache=True, nogil=True, error_model="numpy")
def _normal_kernel(
    mu: np.ndarray, sd: np.ndarray, clip: bool, t: np.ndarray, w: np.ndarray
) -> MeanCovariance:
    n, q = mu.size, t.size
    mean, covariance = np.empty((n, 2)), np.empty((n, 2, 2))
    z, p = np.zeros(q + 2), np.zeros(q + 2)
    z[q], z[q + 1] = -1.0, 1.0
    raw = np.empty(5)
    for k in range(n):
        m, s = mu[k], sd[k]
        if abs(m) + s < _NEAR:
            _recursion(m, s, clip, raw)
            mean[k, 0], mean[k, 1] = raw[1], raw[2]
            covariance[k, 0, 0] = raw[2] - raw[1] * raw[1]
            covariance[k, 0, 1] = covariance[k, 1, 0] = raw[3] - raw[1] * raw[2]
            covariance[k, 1, 1] = raw[4] - raw[2] * raw[2]
            continue
        left, right = window(m, s, -1.0, 1.0, CUT)
        for i in range(q):
            z[i], p[i] = node(m, s, left, right, t[i], w[i])
        if clip:
            p[q] = 0.5 * math.erfc((m + 1.0) / s * _ROOT_HALF)
            p[q + 1] = 0.5 * math.erfc((1.0 - m) / s * _ROOT_HALF)
        _moments(z, p, mean[k], covariance[k])
    return mean, covariance


@njit(cache=True, nogil=True, error_model="numpy")
def _exponential_kernel(
    rate: np.ndarray, low: float, high: float, clip: bool, t: np.ndarray, w: np.ndarray
) -> MeanCovariance:
    """Return mean and covariance of (z, z^2) for exponential x, z mapping [low, high] to [-1, 1]."""
    n, q = rate.size, t.size
    mean, covariance = np.empty((n, 2)), np.empty((n, 2, 2))
    z, p = np.zeros(q + 2), np.zeros(q + 2)
    z[q], z[q + 1] = -1.0, 1.0
    for k in range(n):
        width = min(high - low, CUT / rate[k])
        steps, inside = rate[k] * width, math.exp(-rate[k] * low)
        for i in range(q):
            z[i] = -1.0 + 2.0 * (width / (high - low)) * t[i]
            p[i] = inside * math.exp(-steps * t[i]) * steps * w[i]
        if clip:
            p[q], p[q + 1] = -math.expm1(-rate[k] * low), math.exp(-rate[k] * high)
        _moments(z, p, mean[k], covariance[k])
    return mean, covariance


def normal_moments(mu: np.ndarray, sd: np.ndarray, *, clip: bool) -> MeanCovariance:
    """Return mean and covariance of (z, z^2) for normal z, redacted or clipped to [-1, 1]."""
    return _normal_kernel(np.ascontiguousarray(mu), np.ascontiguousarray(sd), clip, _T, _W)


#: Closed forms; moments of other families of one column are integrated, of several columns they are not.
MOMENTS: dict[type[Likelihood], Callable[[Release], Moments]] = {
    Exponential: _exponential,
    MultivariateNormal: _box,
    Normal: _normal,
    NormalKnownVariance: _normal,
}
