"""Arguments of this room, read once: probabilities, orders."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import numbers
from discreet.errors import UsageError

# Rows written with ten digits still count as probabilities.
_SUM_SLACK = 1e-9


def orders(values: ArrayLike) -> np.ndarray:
    """Return Rényi orders as floats; each is above 1, and may be infinite."""
    array = numbers(values, "order", finite=False)
    if array.size == 0 or not np.all(array > 1):
        raise UsageError("Rényi orders must be above 1.", hint="numpy.inf is the order of pure privacy")
    return array


def finite_orders(values: ArrayLike) -> np.ndarray:
    """Return finite Rényi orders above 1."""
    array = orders(values)
    if not np.all(np.isfinite(array)):
        raise UsageError("Rényi orders must be finite here.")
    return array


def probabilities(values: ArrayLike, name: str) -> np.ndarray:
    """Return an array whose last axis holds distributions, their sums made 1, or say which argument does not."""
    array = numbers(values, name)
    if array.ndim == 0 or array.shape[-1] == 0 or not np.all(array >= 0):
        raise UsageError(f"{name} must hold probabilities.")
    sums = array.sum(axis=-1, keepdims=True)
    if not np.max(np.abs(sums - 1)) <= _SUM_SLACK:
        raise UsageError(f"{name} must sum to 1 along its last axis.")
    return array / sums
