"""The grid of :mod:`discreet.families.overdispersion`, compiled where there is a compiler."""

from __future__ import annotations

import math

import numpy as np

from discreet.compiled import short_loop


@short_loop
def interpolated(rises: np.ndarray, first: float, spacing: float, u: float) -> float:
    """Return H at log d = u: eight-point interpolation, proportional to d below the grid, linear in u above it."""
    if u <= first:
        return rises[0] * math.exp(u - first)
    at = (u - first) / spacing
    last = rises.size - 1
    if at >= last:
        return rises[last] + (at - last) * (rises[last] - rises[last - 1])
    start = min(max(int(at) - 3, 0), last - 7)
    above = 0.0
    below = 0.0
    weight = 1.0
    for k in range(8):
        # barycentric weights of equally spaced points: binomial coefficients, signs alternating
        off = at - (start + k)
        if abs(off) < 1e-12:
            return rises[start + k]
        above += weight / off * rises[start + k]
        below += weight / off
        weight = -weight * (7 - k) / (k + 1)
    return above / below


@short_loop
def log_height(prior: np.ndarray, total: float, n: float, log_m: float, log_d: float) -> float:
    """Return the log density of log m given d, without what depends on d alone."""
    m, d = math.exp(min(log_m, 700.0)), math.exp(log_d)
    y = m * d
    # as d vanishes, n m
    loss = n * m * (1.0 - 0.5 * y) if y < 1e-8 else n / d * math.log1p(y)
    return (total + prior[0]) * log_m - total * math.log1p(y) - loss - prior[1] * m


@short_loop
def mode(prior: np.ndarray, total: float, n: float, log_d: float) -> tuple[float, float]:
    """Return the mode of log m given d, and the standard deviation that the curvature there says."""
    d = math.exp(log_d)
    slope = n + prior[1] - prior[0] * d
    # the positive root of rate d m^2 + slope m = total + shape, without cancellation
    both = total + prior[0]
    root = math.sqrt(slope * slope + 4 * prior[1] * d * both)
    m = 2 * both / (slope + root) if slope > 0 else (root - slope) / (2 * prior[1] * d)
    y = m * d
    curvature = (total * y + n * m) / ((1 + y) * (1 + y)) + prior[1] * m
    return math.log(m), 1.0 / math.sqrt(max(curvature, 1e-12))


@short_loop
def _of_dispersion(
    prior: np.ndarray, n: float, rises: np.ndarray, first: float, spacing: float, u: float
) -> float:
    return interpolated(rises, first, spacing, u) + prior[2] * u - prior[3] * math.exp(min(u, 700.0))


@short_loop
def build(
    prior: np.ndarray,
    total: float,
    n: float,
    rises: np.ndarray,
    first: float,
    spacing: float,
    coarse: np.ndarray,
    points: int,
    far: float,
    near: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return points of log d, their masses, and for each the grid of log m: start, step and cumulated masses."""
    u = coarse
    for depth in (far, near, near):
        height = np.empty(u.size)
        for i in range(u.size):
            log_m, sd = mode(prior, total, n, u[i])
            height[i] = (
                log_height(prior, total, n, log_m, u[i])
                + math.log(sd)
                + _of_dispersion(prior, n, rises, first, spacing, u[i])
            )
        top = height.max()
        low = 0
        while height[low] < top - depth:
            low += 1
        high = u.size - 1
        while height[high] < top - depth:
            high -= 1
        step = u[1] - u[0]
        u = np.linspace(u[low] - 0.5 * step, u[high] + 0.5 * step, points)
    size = points
    start, steps, mass = np.empty(u.size), np.empty(u.size), np.empty(u.size)
    cumulative = np.empty((u.size, size))
    log_scale = np.empty(u.size)
    for i in range(u.size):
        log_m, sd = mode(prior, total, n, u[i])
        peak = log_height(prior, total, n, log_m, u[i])
        left, right = 3.0 * sd, 3.0 * sd
        for _ in range(60):
            if log_height(prior, total, n, log_m - left, u[i]) <= peak - near:
                break
            left *= 1.25
        for _ in range(60):
            if log_height(prior, total, n, log_m + right, u[i]) <= peak - near:
                break
            right *= 1.25
        steps[i] = (left + right) / (size - 1)
        start[i] = log_m - left
        running = 0.0
        for k in range(size):
            running += math.exp(log_height(prior, total, n, start[i] + k * steps[i], u[i]) - peak)
            cumulative[i, k] = running
        log_scale[i] = (
            math.log(running * steps[i]) + peak + _of_dispersion(prior, n, rises, first, spacing, u[i])
        )
    largest = log_scale.max()
    for i in range(u.size):
        mass[i] = math.exp(log_scale[i] - largest)
    return u, mass, start, steps, cumulative


@short_loop
def pick(
    u: np.ndarray,
    mass: np.ndarray,
    start: np.ndarray,
    steps: np.ndarray,
    cumulative: np.ndarray,
    uniform: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return draws of log m and log d from such a grid, by four uniform numbers each."""
    size = uniform.shape[0]
    log_m, log_d = np.empty(size), np.empty(size)
    below = np.cumsum(mass)
    width = u[1] - u[0]
    for i in range(size):
        row = min(np.searchsorted(below, uniform[i, 0] * below[-1], side="right"), u.size - 1)
        level = uniform[i, 1] * cumulative[row, -1]
        cell = min(np.searchsorted(cumulative[row], level, side="right"), cumulative.shape[1] - 1)
        log_m[i] = start[row] + steps[row] * (cell + uniform[i, 2] - 0.5)
        log_d[i] = u[row] + width * (uniform[i, 3] - 0.5)
    return log_m, log_d
