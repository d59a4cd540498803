"""Noisy gradient steps on records in memory. Private: nothing here decides what is released.

States are arrays of ``runs`` times ``dimension``: a release has one run, a simulation has as many as it likes, and they
take the same steps. Every step costs the same whatever the records hold.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from discreet.models.losses import LinearLoss, LogisticLoss, SquaredLoss

#: The gradient of one record's loss at each state: (place of the record, states) to an array like the states.
Gradient = Callable[[int, np.ndarray], np.ndarray]

# Normal variables are drawn for this many steps at a time.
_CHUNK = 4096


def clipped(gradient: Gradient, bound: float) -> Gradient:
    """Return a gradient of length at most ``bound``: longer ones are shortened, and what is no number is 0."""

    def safe(place: int, states: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            found = np.nan_to_num(gradient(place, states), nan=0.0, posinf=0.0, neginf=0.0)
            # divided first, so that the length cannot overflow
            largest = np.maximum(np.abs(found).max(axis=1, keepdims=True), 1e-300)
            length = largest * np.linalg.norm(found / largest, axis=1, keepdims=True)
            return found * np.minimum(1.0, bound / length)

    return safe


def projected(states: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest points of the ball around 0."""
    lengths = np.sqrt(np.einsum("rd,rd->r", states, states))
    return states * (radius / np.maximum(lengths, radius))[:, None]


def descend(
    gradient: Gradient,
    places: np.ndarray,
    states: np.ndarray,
    *,
    step_size: float,
    sigma: float,
    radius: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Take one noisy projected step for each of the ``places``, in this order, and return the last states.

    x_i = projection of x_{i-1} - step_size (gradient + N(0, sigma^2 I)) onto the ball of this radius (Geumlek 2020,
    algorithm 5, whose loop body is missing in print).
    """
    for first in range(0, places.size, _CHUNK):
        some = places[first : first + _CHUNK]
        noise = sigma * rng.standard_normal((some.size, *states.shape))
        for place, z in zip(some, noise, strict=True):
            states = projected(states - step_size * (gradient(int(place), states) + z), radius)
    return states


def descend_linear(
    loss: type[LinearLoss],
    features: np.ndarray,
    targets: np.ndarray,
    states: np.ndarray,
    *,
    ridge: float,
    step_size: float,
    sigma: float,
    radius: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Do what :func:`descend` does for a loss of the margin with a ridge, row by row, compiled."""
    # half a second of imports that only this needs
    from discreet.samplers.descent_kernels import linear_steps

    states = np.array(states, dtype=float)
    for first in range(0, targets.size, _CHUNK):
        rows = slice(first, first + _CHUNK)
        noise = sigma * rng.standard_normal((targets[rows].size, *states.shape))
        linear_steps(
            loss is LogisticLoss, features[rows], targets[rows], ridge, step_size, radius, noise, states
        )
    return states


def only_noise(
    states: np.ndarray, steps: int, *, step_size: float, sigma: float, radius: float, rng: np.random.Generator
) -> np.ndarray:
    """Take steps of :func:`descend` on a loss that is 0: they add noise and project."""
    for first in range(0, steps, _CHUNK):
        some = min(_CHUNK, steps - first)
        nothing = np.zeros((some, states.shape[1])), np.zeros(some)
        states = descend_linear(
            SquaredLoss, *nothing, states, ridge=0.0, step_size=step_size, sigma=sigma, radius=radius, rng=rng
        )
    return states


def langevin(
    loss: type[LinearLoss],
    features: np.ndarray,
    targets: np.ndarray,
    states: np.ndarray,
    sample: Callable[[np.random.Generator], np.ndarray],
    *,
    steps: int,
    kept: np.ndarray,
    step_size: float,
    temperature: float,
    precision: float,
    scale: float,
    weight: float,
    clip: float,
    radius: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Take Langevin steps on samples of the records, and return the states after those steps that are ``kept``.

    x <- x - step_size / 2 (precision x + weight G) + N(0, step_size temperature I), projected onto the ball, where G is
    the sum over the sample of ``scale`` times the gradient, shortened to length ``clip`` if it is longer. ``kept``
    holds step numbers, increasing, the last one at most ``steps``.
    """
    trace = np.empty((kept.size, *states.shape))
    wanted = {int(step): place for place, step in enumerate(kept)}
    lengths = np.sqrt(np.einsum("nd,nd->n", features, features))
    spread = sqrt(step_size * temperature)
    for first in range(0, steps, _CHUNK):
        noise = spread * rng.standard_normal((min(_CHUNK, steps - first), *states.shape))
        for step, z in enumerate(noise, start=first + 1):
            chosen = sample(rng)
            rows = features[chosen]
            slopes = scale * loss.slope(states @ rows.T, targets[chosen])
            reach = np.maximum(np.abs(slopes) * lengths[chosen], 1e-300)
            total = (slopes * np.minimum(1.0, clip / reach)) @ rows
            drift = precision * states + weight * total
            states = projected(states - 0.5 * step_size * drift + z, radius)
            if step in wanted:
                trace[wanted[step]] = states
    return trace
