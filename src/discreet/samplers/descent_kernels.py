"""The steps of noisy descent on losses of the margin, compiled: one after the other, each of the same cost."""

from __future__ import annotations

import numpy as np

from discreet.compiled import njit


@njit(cache=True, nogil=True, error_model="numpy")
def linear_steps(
    logistic: bool,
    features: np.ndarray,
    targets: np.ndarray,
    ridge: float,
    step_size: float,
    radius: float,
    noise: np.ndarray,
    states: np.ndarray,
) -> None:
    """Take one projected step for each row of ``features``; ``states`` are changed in place.

    ``noise`` is what is added to each gradient: rows times runs times dimension.
    """
    for i in range(features.shape[0]):
        for run in range(states.shape[0]):
            margin = 0.0
            for j in range(states.shape[1]):
                margin += states[run, j] * features[i, j]
            slope = -targets[i] / (1.0 + np.exp(targets[i] * margin)) if logistic else margin - targets[i]
            square = 0.0
            for j in range(states.shape[1]):
                gradient = slope * features[i, j] + ridge * states[run, j] + noise[i, run, j]
                states[run, j] -= step_size * gradient
                square += states[run, j] * states[run, j]
            inside = radius / max(np.sqrt(square), radius)
            for j in range(states.shape[1]):
                states[run, j] *= inside
