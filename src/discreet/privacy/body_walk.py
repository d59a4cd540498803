"""A compiled chain over the body in which an L1 norm and linear forms are at most 1: one coordinate at a time."""

from __future__ import annotations

import numpy as np

from discreet.compiled import njit


@njit(cache=True)
def body_walk(weights, forms, n_warm, n_draws, thin, rng):
    """Return points of a chain whose distribution is uniform in sum_j weights_j |x_j| <= 1, forms x <= 1."""
    d, n_forms = weights.size, forms.shape[0]
    x, values = np.zeros(d), np.zeros(n_forms)
    out = np.zeros((n_draws, d))
    # coordinate by coordinate, so that one of them is contiguous
    turned = forms.T.copy()
    for sweep in range(n_warm + n_draws * thin):
        l1 = 0.0
        for j in range(d):
            l1 += weights[j] * abs(x[j])
        for j in range(d):
            room = (1.0 - l1 + weights[j] * abs(x[j])) / weights[j]
            low, high = -room - x[j], room - x[j]
            for f in range(n_forms):
                slope = turned[j, f]
                if slope > 0:
                    high = min(high, (1.0 - values[f]) / slope)
                elif slope < 0:
                    low = max(low, (1.0 - values[f]) / slope)
            step = low + (high - low) * rng.random()
            l1 -= weights[j] * abs(x[j])
            x[j] += step
            l1 += weights[j] * abs(x[j])
            for f in range(n_forms):
                values[f] += turned[j, f] * step
        at = sweep - n_warm
        if at >= 0 and at % thin == thin - 1:
            for j in range(d):
                out[at // thin, j] = x[j]
    return out
