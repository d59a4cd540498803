r"""What each group says for itself of its parameter: its likelihood as a curve.

Of a share the counts are summed out in closed form. A flat prior on the number of records is a flat prior on a Poisson
rate r, given which the two counts are independent: with r_yes = r p and r_no = r (1 - p), and p = sin^2 x, r = v^2,

    l(p) = integral of h(y_yes, v^2 sin^2 x) h(y_no, v^2 cos^2 x) 2 v dv,    h(y, m) = sum_c Poisson(c; m) noise(y - c).

For Laplace noise of scale b both tails of h are probabilities of Poisson variables of means m e^(1/b) and m e^(-1/b).
Where the number of records is public, l is a mixture of beta densities over the enumerated counts.

Other parameters have no such form. Their likelihood is the density of the draws that the group's own engine made,
smoothed, over the density of the prior they were made under (Lunn et al. 2013).

References
----------
Lunn, Barrett, Sweeting, Thompson (2013), "Fully Bayesian hierarchical modelling in two stages, with application to
meta-analysis", J. R. Stat. Soc. C 62(4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaincc, gammaln

from discreet.inference.pooling.populations import Population
from discreet.privacy.noise import Noise

#: Log of what a likelihood is taken to be nothing at.
DEPTH = 22.0
_POINTS = 512
# Points of a rate's root for each of its standard deviations, one half, and how far out they go.
_PER_SD, _FAR = 6, 7.0
_TINY = 1e-300
# The share of draws in each tail.
_TAIL = 0.02


@dataclass(frozen=True)
class Curve:
    """The log likelihood of one group at equidistant points, going on in straight lines beyond both ends."""

    x: np.ndarray
    log_l: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the log likelihood at points."""
        out = np.interp(x, self.x, self.log_l)
        few = 2
        for end, inner, beyond in ((0, few, x < self.x[0]), (-1, -1 - few, x > self.x[-1])):
            slope = (self.log_l[end] - self.log_l[inner]) / (self.x[end] - self.x[inner])
            outwards = max(slope, 0.0) if end == 0 else min(slope, 0.0)
            out = np.where(beyond, self.log_l[end] + outwards * (x - self.x[end]), out)
        return out

    def support(self, low: float, high: float) -> tuple[float, float]:
        """Return the range of points in [low, high] where the likelihood is something."""
        span = self.x[-1] - self.x[0]
        first, last = max(self.x[0] - span, low), min(self.x[-1] + span, high)
        if first >= last:  # the group by itself lies beyond the range: what it says within is a tail
            first, last = max(high - span, low), high
        x = np.linspace(first, last, 3 * _POINTS)
        log_l = self(x)
        found = x[log_l > log_l.max() - DEPTH]
        return float(found[0]), float(found[-1])


def curve_of_draws(x: np.ndarray, population: Population) -> Curve:
    """Return the likelihood behind draws on the population's line: their density over that of their prior."""
    x = np.sort(x)
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    sd = float(min(x.std(), (high - low) / 1.349)) or float(x.std()) or 1e-9 * (1 + abs(float(middle)))
    bandwidth = 0.7 * sd * x.size**-0.2
    first = max(x[0] - 4 * bandwidth, population.low)
    last = min(x[-1] + 4 * bandwidth, population.own_high)
    step = max((last - first) / (_POINTS - 1), bandwidth / 16)
    n = int((last - first) / step) + 2
    grid = first + step * np.arange(n)
    # each draw's weight goes to the two points beside it
    place = np.clip((x - first) / step, 0, n - 1.000001)
    at, share = place.astype(int), place % 1
    counts = np.bincount(at, 1 - share, n) + np.bincount(at + 1, share, n)[:n]
    reach = int(np.ceil(4.5 * bandwidth / step))
    kernel = np.exp(-0.5 * (step * np.arange(-reach, reach + 1) / bandwidth) ** 2)
    # what falls out at an end of the range comes back in
    padded = np.zeros(n + 2 * reach)
    padded[reach : reach + n] = counts
    back = min(reach, n - 1)
    if first == population.low:
        padded[reach - back : reach] = counts[1 : back + 1][::-1]
    if last == population.own_high:
        padded[reach + n : reach + n + back] = counts[-back - 1 : -1][::-1]
    density = np.convolve(padded, kernel, mode="valid")
    log_density = np.log(np.maximum(density, _TINY))
    # where draws are few the density falls exponentially, as they do: their mean distance from a quantile says how fast
    few = max(int(_TAIL * x.size), 2)
    for sign, end in ((1.0, population.low), (-1.0, population.own_high)):
        mirrored = np.sort(sign * x)
        edge = mirrored[few]
        excess = max(float(np.mean(edge - mirrored[:few])), 1e-3 * bandwidth)
        # unless the end of the range cuts the tail off
        if edge - sign * end > 3 * excess:
            beyond = sign * grid < edge
            at_edge = np.interp(sign * edge, grid, log_density)
            log_density = np.where(beyond, at_edge - (edge - sign * grid) / excess, log_density)
    return Curve(grid, log_density - population.log_own_prior(grid))


def curve_of_cells(y_no: int, y_yes: int, noise: Noise, draws: np.ndarray, usable: np.ndarray) -> Curve:
    """Return the likelihood of a share from noisy counts of no and yes; ``draws`` and ``usable`` say where to look."""
    x = _range(draws)
    low, high = np.sqrt(np.maximum([usable.min(), usable.max()], 0.0))
    v = np.linspace(max(low - _FAR, 0.0), high + _FAR, int(_PER_SD * 2 * (high - low + 2 * _FAR)) + 2)
    table = np.linspace(0.0, v[-1], 8 * v.size)
    height = np.log(np.maximum(v, _TINY)) + np.zeros((x.size, 1))
    for y, part in ((y_yes, np.sin(x)), (y_no, np.cos(x))):
        height += np.interp(np.outer(part, v), table, log_count_likelihood(y, table**2, noise))
    peak = height.max(axis=1, keepdims=True)
    return Curve(x, peak[:, 0] + np.log(np.exp(height - peak).sum(axis=1)))


def log_count_likelihood(y: int, mean: np.ndarray, noise: Noise) -> np.ndarray:
    """Return log h(y, m): of a noisy reading of a Poisson count, given the count's mean."""
    if noise.kind == "laplace":
        up, down = np.exp(1 / noise.width), np.exp(-1 / noise.width)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            above = y / noise.width - mean * -np.expm1(-1 / noise.width)
            if y < 0:
                return above
            tail = 1 - gammaincc(y + 1, mean * down)
            below = -y / noise.width + mean * np.expm1(1 / noise.width) + np.log(gammaincc(y + 1, mean * up))
            out = np.logaddexp(above + np.log(np.maximum(tail, _TINY)), below)
        return np.where(np.isfinite(out), out, above)
    reach = int(np.ceil(noise.reach(40.0)))
    log_mean = np.log(np.maximum(mean, _TINY))
    out = np.full(mean.shape, -np.inf)
    last = max(y, 0) + reach
    for start in range(max(0, y - reach), last + 1, 256):
        c = np.arange(start, min(start + 256, last + 1))[:, None]
        height = c * log_mean - gammaln(c + 1) + noise.log_mass(y - c)
        peak = height.max(axis=0)
        out = np.logaddexp(out, peak + np.log(np.exp(height - peak).sum(axis=0)))
    return out - mean


def curve_of_counts(pairs: np.ndarray, weights: np.ndarray, draws: np.ndarray) -> Curve:
    """Return the likelihood of a share from (no, yes) counts and their weights under a uniform prior."""
    x = _range(draws)
    sine, cosine = (np.log(np.maximum(v, _TINY)) for v in (np.sin(x) ** 2, np.cos(x) ** 2))
    out = np.full(x.size, -np.inf)
    for start in range(0, len(pairs), 2000):
        no, yes = pairs[start : start + 2000].T.astype(float)
        log_w = np.log(np.maximum(weights[start : start + 2000], _TINY)) - betaln(yes + 1, no + 1)
        height = log_w[:, None] + yes[:, None] * sine + no[:, None] * cosine
        peak = height.max(axis=0)
        out = np.logaddexp(out, peak + np.log(np.exp(height - peak).sum(axis=0)))
    return Curve(x, out)


def _range(draws: np.ndarray) -> np.ndarray:
    """Return points around the draws of an angle, as far as anything is left of the likelihood."""
    first, last = float(draws.min()), float(draws.max())
    room = 0.6 * (last - first) + 1e-6
    return np.linspace(max(first - room, 0.0), min(last + room, np.pi / 2), _POINTS)
