"""Smooth curves from draws, honest at the edges of what a parameter can be."""

from __future__ import annotations

import numpy as np

#: Fewer draws than this are shown one by one.
FEWEST_FOR_A_CURVE = 20

_SUPPORT = {"p": (0.0, 1.0), "rate": (0.0, np.inf), "variance": (0.0, np.inf)}
_BINS = 1024
# Draws beyond these quantiles do not stretch the picture; a heavy tail would leave nothing to see.
_SHOWN = (0.002, 0.998)


def support_of(parameter: str) -> tuple[float, float]:
    """Return the interval in which the draws of this name lie in every family."""
    name, _, rest = parameter.partition("[")
    inside = rest.removesuffix("]")
    first = inside[: (len(inside) - 2) // 2]
    # on the diagonal of a covariance, which reads "x, x", there are variances
    if name == "covariance" and inside == f"{first}, {first}":
        name = "variance"
    return _SUPPORT.get(name, (-np.inf, np.inf))


def has_curve(draws: np.ndarray) -> bool:
    """Tell whether the draws are enough, and varied enough, for a density."""
    # the spread must exceed rounding, or the bins would be narrower than floats can tell apart
    spread = np.ptp(draws) if len(draws) >= FEWEST_FOR_A_CURVE and np.isfinite(draws).all() else 0.0
    return bool(spread > 1e-9 * np.abs(draws).max())


def smooth_density(draws: np.ndarray, support: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Estimate a density by a Gaussian kernel, reflected at the ends of ``support``.

    Without the reflection a posterior that leans on 0 or 1 would seem to fall off there. The bandwidth is the normal
    reference rule with a robust spread: smooth to look at, and 2% too wide for a normal posterior of 4,000 draws.

    Returns
    -------
    Points, and the density at each.
    """
    from scipy.ndimage import gaussian_filter1d

    first, lower, upper, last = np.quantile(draws, [_SHOWN[0], 0.25, 0.75, _SHOWN[1]])
    # more than half of the draws may be equal, which the standard deviation survives and the quartiles do not
    spread = min(draws.std(), (upper - lower) / 1.34) or draws.std()
    bandwidth = 1.06 * spread * len(draws) ** -0.2
    low = max(first - 4 * bandwidth, support[0])
    high = min(last + 4 * bandwidth, support[1])
    counts, edges = np.histogram(draws, bins=_BINS, range=(low, high))
    step = (high - low) / _BINS
    density = gaussian_filter1d(counts.astype(float), bandwidth / step, mode="reflect", truncate=5.0)
    points = np.concatenate([[low], (edges[:-1] + edges[1:]) / 2, [high]])
    return points, np.pad(density, 1, mode="edge") / (len(draws) * step)
