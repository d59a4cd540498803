"""Differences of exponentials and of logarithms, computed without taking a number next to 1 from 1.

A divergence of distributions that are close is the logarithm of a moment next to 1. Rounded to float64, the moment
loses as many digits as it shares with 1, and the bound may come out too small; these forms keep them.
"""

from __future__ import annotations

from math import factorial

import numpy as np

# Terms of a series for arguments up to 1: the first one left out is below 1e-20.
_TERMS = 20
# e^700 is a float, and so is a million times it.
_LARGE = 700.0


def mean_exp(x: np.ndarray) -> np.ndarray:
    """Return (e^x - 1) / x, the mean of e^t over t from 0 to x; 1 at 0."""
    safe = np.where(x == 0, 1.0, x)
    return np.where(x == 0, 1.0, np.expm1(safe) / safe)


def second_difference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    r"""Return the second divided difference of exp at 0, x and y, which is always positive.

    With E(t) = (e^t - 1) / t it is (E(x) - E(y)) / (x - y), so that

        y (e^x - 1) - x (e^y - 1) = x y (x - y) \* second_difference(x, y).

    Near 0 it is sum_k h_k / (k + 2)!, h_k = x^k + x^(k-1) y + ... + y^k. Elsewhere the three points are sorted and the
    outer two divided by, whose distance is then not small.
    """
    low, middle, high = np.sort(np.stack(np.broadcast_arrays(x, y, 0.0)), axis=0)
    series, power, sums = np.zeros_like(low), np.ones_like(low), np.ones_like(low)
    near = high - low < 1
    u, v = (np.where(near, t, 0.0) for t in (x, y))
    for k in range(_TERMS):
        series = series + sums / factorial(k + 2)
        power = power * v
        sums = sums * u + power
    width = np.where(near, 1.0, high - low)
    above = np.exp(middle) * mean_exp(high - middle)
    below = np.exp(low) * mean_exp(middle - low)
    return np.where(near, series, (above - below) / width)


def log_mean_exp(values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the log of the mean of e^values along the last axis; ``weights`` sum to 1, and are equal if left out."""
    top = np.max(values, axis=-1, keepdims=True)
    shift = np.where(top > _LARGE, top, 0.0)
    excess = np.average(np.expm1(values - shift), axis=-1, weights=weights)
    return np.log1p(excess) + shift[..., 0]
