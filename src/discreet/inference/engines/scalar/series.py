"""Power series in the number of usable records, whose weights are exponential in it, or a table."""

from __future__ import annotations

import numpy as np

from discreet.inference.record_prior import RecordPrior, capped

# Closer to x = 1 than this, 1 - x is computed without cancellation, which takes longer.
_NEAR = 1e-3
# Powers of so many numbers at a time, which fit into the cache.
_CHUNK = 1024


def flat_sum(log_x: np.ndarray, log_c: np.ndarray | float, low: int, high: int) -> np.ndarray:
    """Return c times the sum of x^u over u = low, ..., high, elementwise, without overflow on the way."""
    if low == high:
        return np.exp(log_c + low * log_x)
    growing = np.real(log_x) > 0
    start = np.exp(log_c + np.where(growing, high, low) * log_x)
    return start * _geometric(np.where(growing, -log_x, log_x), high - low + 1)


def _geometric(log_x: np.ndarray, n: int) -> np.ndarray:
    """Return 1 + x + ... + x^(n - 1) for abs(x) <= 1."""
    if np.iscomplexobj(log_x):
        # x is what it is modulo 2 pi i, and what follows needs the representative nearest to 0
        turns = np.round(np.imag(log_x) / (2 * np.pi))
        if turns.any():
            log_x = log_x - 2j * np.pi * turns
    with np.errstate(under="ignore", over="ignore", divide="ignore", invalid="ignore"):
        total = (1 - np.exp(n * log_x)) / (1 - np.exp(log_x))
    near = np.abs(log_x) < _NEAR
    if near.any():
        x = log_x[near]
        one = np.abs(x) < 1e-100
        total[near] = np.where(one, float(n), np.expm1(n * x) / np.where(one, 1.0, np.expm1(x)))
    return total


def table_sum(log_x: np.ndarray, log_c: np.ndarray | float, low: int, log_weights: np.ndarray) -> np.ndarray:
    """Return c times the sum of weights[j] x^(low + j), elementwise."""
    # growth goes into the table, so that powers only decay; so does decay, lest the largest weight overflow
    growth = float(np.real(log_x).max())
    table = log_weights + growth * np.arange(log_weights.size)
    peak = table.max()
    if not np.isfinite(peak):
        return np.zeros(log_x.shape, dtype=log_x.dtype)
    weights = np.exp(table - peak)
    with np.errstate(under="ignore"):
        x = np.exp(log_x - growth)
        return np.exp(log_c + low * log_x + peak) * _polynomial(x, weights)


def _polynomial(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the sum of weights[j] x^j, elementwise, abs(x) <= 1."""
    # j = i + short k: sums over i are products with a small matrix, those over k a polynomial in x^short
    short = max(int(np.sqrt(weights.size)), 1)
    padded = np.zeros(-(-weights.size // short) * short)
    padded[: weights.size] = weights
    matrix = padded.reshape(-1, short)
    flat, out = x.ravel(), np.empty(x.size, dtype=x.dtype)
    for start in range(0, flat.size, _CHUNK):
        base = flat[start : start + _CHUNK]
        powers = np.empty((short, base.size), dtype=x.dtype)
        powers[0] = 1.0
        for i in range(1, short):
            np.multiply(powers[i - 1], base, out=powers[i])
        jump = powers[-1] * base
        # real and imaginary parts side by side: the matrix is real
        small = (matrix @ powers.view(float)).view(x.dtype)
        total = small[-1]
        for part in small[-2::-1]:
            total *= jump
            total += part
        out[start : start + _CHUNK] = total
    return out.reshape(x.shape)


def power_sum(
    records: RecordPrior, log_x: np.ndarray, log_c: np.ndarray | float, low: int, high: int, origin: int = 0
) -> np.ndarray:
    """Return c times the sum over u = low, ..., high of x^(u - origin) and the prior on u, elementwise."""
    low, high = max(low, records.low), capped(records, high)
    if high < low:
        return np.zeros(log_x.shape, dtype=log_x.dtype)
    if records.weights is None:
        return flat_sum(log_x, log_c, low - origin, high - origin)
    return table_sum(log_x, log_c, low - origin, records.log_mass(np.arange(low, high + 1)))
