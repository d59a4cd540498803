r"""Derivatives of a log-partition by extrapolated central differences, for families without closed forms.

Central differences with step h have an error expansion in h^2, so differences at halved steps are combined
(Richardson, Ridders 1982), and the entry of the table with the smallest estimated error wins, element by element.
Steps that leave the natural parameter set give NaN or inf there and lose. The estimate includes the rounding error of
the differences, about 2^-52 max(1, |A|) / h^order, without which a difference that rounds to zero would look perfect.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_LEVELS = 40
_COLUMNS = 5
_FIRST_STEP = 0.25

Function = Callable[[np.ndarray], np.ndarray]


def gradient(function: Function, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (gradient, estimated error) of a function of vectors, components last."""
    at = np.asarray(at, dtype=float)
    parts = [_extrapolate(function, at, (i,)) for i in range(at.shape[-1])]
    value, error = zip(*parts, strict=True)
    return np.stack(value, axis=-1), np.stack(error, axis=-1)


def hessian(function: Function, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (Hessian, estimated error) of a function of vectors, components on the last two axes."""
    at = np.asarray(at, dtype=float)
    m = at.shape[-1]
    value, error = np.empty((2, *at.shape, m))
    for i in range(m):
        for j in range(i + 1):
            value[..., i, j], error[..., i, j] = _extrapolate(function, at, (i, j))
            value[..., j, i], error[..., j, i] = value[..., i, j], error[..., i, j]
    return value, error


def _extrapolate(function: Function, at: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Differentiate once along each of ``axes``."""
    steps = _FIRST_STEP * np.maximum(1.0, np.abs(at))
    signs = np.array(np.meshgrid(*[(1.0, -1.0)] * len(axes))).reshape(len(axes), -1).T
    rows, noise = [], []
    with np.errstate(all="ignore"):
        for level in range(_LEVELS):
            h = steps * 0.5**level
            # A is a logarithm, so 1 is its natural unit: it stands for the rounding of the argument
            total, largest, span = 0.0, 1.0, np.ones(at.shape[:-1])
            for sign in signs:
                moved = at.copy()
                for axis, direction in zip(axes, sign, strict=True):
                    moved[..., axis] += direction * h[..., axis]
                value = np.asarray(function(moved), dtype=float)
                total = total + np.prod(sign) * value
                largest = np.maximum(largest, np.abs(value))
            for axis in axes:
                span = span * 2 * h[..., axis]
            rows.append(total / span)
            noise.append(len(signs) * np.finfo(float).eps * largest / span)
        table, floor = np.stack(rows), np.stack(noise)
        values, errors = [], []
        for column in range(1, _COLUMNS):
            factor = 4.0**column
            finer = (factor * table[1:] - table[:-1]) / (factor - 1)
            floor = floor[1:]
            values.append(finer)
            errors.append(np.maximum(np.abs(finer - table[1:]), np.abs(finer - table[:-1])) + floor)
            table = finer
    value, error = np.concatenate(values), np.concatenate(errors)
    error = np.where(np.isfinite(value) & np.isfinite(error), error, np.inf)
    best = error.argmin(axis=0)[None]
    return np.take_along_axis(value, best, axis=0)[0], np.take_along_axis(error, best, axis=0)[0]
