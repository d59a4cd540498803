"""Quadrature of densities that may be narrow, or singular at an end: double exponential nodes that zoom in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Nodes run to exp(-pi sinh(4)) = 1e-37 of the range from either end; 0.05 apart, a normal density that fills the range
# is integrated to 1e-9.
_REACH, _STEP = 4.0, 0.05
_COARSE = 4
# What is this far below the peak, in logs, does not matter.
_DEPTH = 42.0
# Zoom in as long as that leaves less than this share of the range.
_WORTHWHILE = 0.7
_MOST_ZOOMS = 60

LogDensity = Callable[[np.ndarray], np.ndarray]


def _nodes(step: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return distances from the left end and from the right end of [0, 1], and log weights."""
    t = np.arange(-round(_REACH / step), round(_REACH / step) + 1) * step
    u = np.pi * np.sinh(t)
    left, right = np.exp(-np.logaddexp(0, -u)), np.exp(-np.logaddexp(0, u))
    log_weight = np.log(np.pi * np.cosh(t) * step) - np.logaddexp(0, -u) - np.logaddexp(0, u)
    return left, right, log_weight


_RULE = _nodes(_STEP)
_SEARCH_RULE = _nodes(_STEP * _COARSE)
# Four times as many nodes, for integrands that oscillate.
_OSCILLATING_RULE = _nodes(_STEP / 4)


def nodes(
    log_density: LogDensity, low: float, high: float, size: int, *, oscillating: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes in [low, high] and their masses under each of ``size`` densities, one row each.

    ``log_density`` takes an array with one row of points per density. Each row's range shrinks to where its density
    lies; a peak between two nodes is found because log densities fall off smoothly on both sides of it.
    """
    left, right = np.full(size, low), np.full(size, high)
    active = np.ones(size, dtype=bool)
    for _ in range(_MOST_ZOOMS):
        x, log_mass = _place(log_density, left, right, _SEARCH_RULE)
        # an infinite value at a singular end is as high as its neighbor, for the purpose of finding where to look
        log_mass = np.where(np.isnan(log_mass), -np.inf, np.minimum(log_mass, 1e300))
        matters = log_mass >= log_mass.max(axis=1, keepdims=True) - _DEPTH
        first = np.maximum(matters.argmax(axis=1) - 1, 0)
        last = np.minimum(x.shape[1] - matters[:, ::-1].argmax(axis=1), x.shape[1] - 1)
        rows = np.arange(size)
        new_left = np.where(first == 0, left, x[rows, first])
        new_right = np.where(last == x.shape[1] - 1, right, x[rows, last])
        active &= (new_right - new_left) < _WORTHWHILE * (right - left)
        if not active.any():
            break
        left, right = np.where(active, new_left, left), np.where(active, new_right, right)
    x, log_mass = _place(log_density, left, right, _OSCILLATING_RULE if oscillating else _RULE)
    mass = np.exp(np.minimum(log_mass, 700.0))
    return x, np.where(np.isfinite(mass), mass, 0.0)


def upper_tail(log_density: LogDensity, start: float, scale: float, size: int) -> np.ndarray:
    """Return the mass above ``start``, by the map x = start + scale v / (1 - v)."""

    def folded(v: np.ndarray) -> np.ndarray:
        rest = np.maximum(1 - v, 1e-300)
        return np.where(v < 1, log_density(start + scale * v / rest) - 2 * np.log(rest), -np.inf)

    return scale * nodes(folded, 0.0, 1.0, size)[1].sum(axis=1)


def _place(
    log_density: LogDensity,
    left: np.ndarray,
    right: np.ndarray,
    rule: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    from_left, from_right, log_weight = rule
    width = (right - left)[:, None]
    near = from_left < from_right
    x = np.where(near, left[:, None] + width * from_left, right[:, None] - width * from_right)
    return x, log_density(x) + log_weight + np.log(width)
