"""Slice sampling of mixture weights, compiled.

The target is prod_k w_k^(alpha_k - 1) prod_y (sum_k w_k Q(k, y))^c_y on the simplex: a Dirichlet prior and counts c of
reports from a mixture with known components Q. Reports hardly tell the components apart, because that is what they were
made for, so drawing the component of each report in turn would move by 1/sqrt(n) of the prior's width in each sweep.
Here the weights move along lines instead: the chord of the simplex through the point, on which the next point is drawn
by slice sampling with shrinkage (Neal 2003) from the whole chord. It costs the same however many reports there are.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.compiled import compiled

# A slice that shrinks for so long has shrunk to the point itself.
_MOST_SHRINKS = 200
# Log-odds beyond which floats end; alpha = 0.05 has less than 1e-13 of its mass there.
_FARTHEST = 600.0


@compiled
def _log_density(w: np.ndarray, s: np.ndarray, powers: np.ndarray, counts: np.ndarray) -> float:
    total = 0.0
    for k in range(w.size):
        if w[k] < 0.0:
            return -math.inf
        if powers[k] != 0.0:
            # also where the density is infinite: there is no way back from exactly 0
            if w[k] <= 0.0:
                return -math.inf
            total += powers[k] * math.log(w[k])
    for y in range(s.size):
        if counts[y] > 0.0:
            if s[y] <= 0.0:
                return -math.inf
            total += counts[y] * math.log(s[y])
    return total


@compiled
def _move(
    w: np.ndarray,
    s: np.ndarray,
    direction: np.ndarray,
    shift: np.ndarray,
    powers: np.ndarray,
    counts: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Move ``w`` along ``direction``, and the mixture ``s`` = w Q along ``shift`` = direction Q, in place."""
    low, high = -math.inf, math.inf
    for k in range(w.size):
        if direction[k] > 0.0:
            low = max(low, -w[k] / direction[k])
        elif direction[k] < 0.0:
            high = min(high, -w[k] / direction[k])
    if not (low < high) or not math.isfinite(low) or not math.isfinite(high):
        return
    level = _log_density(w, s, powers, counts) + math.log(1.0 - rng.random())
    new_w, new_s = np.empty_like(w), np.empty_like(s)
    for _ in range(_MOST_SHRINKS):
        t = low + (high - low) * rng.random()
        for k in range(w.size):
            new_w[k] = w[k] + t * direction[k]
        for y in range(s.size):
            new_s[y] = s[y] + t * shift[y]
        if _log_density(new_w, new_s, powers, counts) > level:
            # element by element: `w[:] = new_w` takes the compiler seconds, for an error about shapes
            for k in range(w.size):
                w[k] = new_w[k]
            for y in range(s.size):
                s[y] = new_s[y]
            return
        if t < 0.0:
            low = t
        else:
            high = t


@compiled
def _share(
    w: np.ndarray,
    s: np.ndarray,
    i: int,
    j: int,
    shift: np.ndarray,
    powers: np.ndarray,
    counts: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Share out w_i + w_j anew, in place, as :func:`_move` does but along the log-odds of the two.

    A prior with alpha < 1 has its mass next to the border, within many orders of magnitude. On the scale of the
    log-odds v the density has one more factor, dw_i/dv, which is in proportion to w_i w_j.
    """
    both = w[i] + w[j]
    new_w, new_s = w.copy(), np.empty_like(s)
    level = (
        _log_density(w, s, powers, counts) + math.log(w[i]) + math.log(w[j]) + math.log(1.0 - rng.random())
    )
    at = math.log(w[i]) - math.log(w[j])
    low, high = -_FARTHEST, _FARTHEST
    for _ in range(_MOST_SHRINKS):
        v = low + (high - low) * rng.random()
        new_w[i], new_w[j] = both / (1.0 + math.exp(-v)), both / (1.0 + math.exp(v))
        for y in range(s.size):
            new_s[y] = s[y] + (new_w[i] - w[i]) * shift[y]
        density = _log_density(new_w, new_s, powers, counts)
        if density > -math.inf and density + math.log(new_w[i]) + math.log(new_w[j]) > level:
            w[i], w[j] = new_w[i], new_w[j]
            for y in range(s.size):
                s[y] = new_s[y]
            return
        if v < at:
            low = v
        else:
            high = v


@compiled
def run(
    start: np.ndarray,
    components: np.ndarray,
    axes: np.ndarray,
    shifts: np.ndarray,
    powers: np.ndarray,
    counts: np.ndarray,
    n_warmup: int,
    n_draws: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return draws of the weights from one chain.

    A sweep moves along every axis once, then along as many edges of the simplex, from one component to another at
    random: axes follow the information in the counts, edges reach into the corners, on the scale of log-odds where the
    prior has its mass there.

    Parameters
    ----------
    start
        Where the chain begins, inside the simplex.
    components
        Q: for each component (row) the probability of each report.
    axes, shifts
        Directions (rows) that sum to 0, and these times Q.
    powers
        The Dirichlet prior's alpha - 1.
    counts
        Number of reports of each category.
    n_warmup, n_draws
        Sweeps that are thrown away, and that are kept.
    """
    n_components, n_reports = components.shape
    w, s = start.copy(), np.empty(n_reports)
    edge, edge_shift = np.zeros(n_components), np.zeros(n_reports)
    out = np.empty((n_draws, n_components))
    for sweep in range(-n_warmup, n_draws):
        # rounding errors of many small moves are not to add up
        total = 0.0
        for k in range(n_components):
            total += w[k]
        for k in range(n_components):
            w[k] /= total
        for y in range(n_reports):
            s[y] = 0.0
            for k in range(n_components):
                s[y] += w[k] * components[k, y]
        for a in range(axes.shape[0]):
            _move(w, s, axes[a], shifts[a], powers, counts, rng)
        for _ in range(n_components):
            i = int(rng.random() * n_components)
            j = int(rng.random() * (n_components - 1))
            if j >= i:
                j += 1
            for y in range(n_reports):
                edge_shift[y] = components[i, y] - components[j, y]
            if powers[i] < 0.0 or powers[j] < 0.0:
                _share(w, s, i, j, edge_shift, powers, counts, rng)
            else:
                edge[i], edge[j] = 1.0, -1.0
                _move(w, s, edge, edge_shift, powers, counts, rng)
                edge[i], edge[j] = 0.0, 0.0
        if sweep >= 0:
            for k in range(n_components):
                out[sweep, k] = w[k]
    return out
