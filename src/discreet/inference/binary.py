r"""Exact posterior of the yes and no counts behind a Bernoulli release under ``replace``.

With c yes among u usable records, the release saw z = 2c - u plus noise and, when missing values are counted, u plus
noise. Given the data the parameter is Beta(a + c, b + u - c), so the posterior is a mixture over the latent counts:

    P(u, c | y)  ~  g_a(c) g_b(u - c) / g_{a+b}(u) * noise_z(y_z - 2c + u) * noise_u(y_u - u),

with g from :mod:`discreet.inference.weights` and a flat prior on u = 0, ..., n (missing values are ignorable). A row of
fixed u is a product of slices of three one-dimensional tables, so it costs two multiplications per count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import EngineError
from discreet.inference.weights import DEPTH, locate, log_rising, rough_log_rising, sample_index, spread
from discreet.privacy import Noise

# Some twenty seconds of work; with missing values counted epsilon would have to be below 0.001 to need more.
_MOST_CELLS = 1e10
# Up to this prior strength g stays within e^500 over any window, so tables can be multiplied instead of added as logs.
_MILD = 20.0


@dataclass(frozen=True)
class BinaryCounts:
    """The posterior over (usable, yes): the log weight of each row, and the tables rows are made of.

    The tables hold g_a(yes), g_b(no) and the noise at z, or their logs when the prior is too strong to multiply.
    """

    usable: np.ndarray
    log_rows: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    noise: np.ndarray
    yes_low: int
    no_low: int
    z_low: int
    as_logs: bool

    def row(self, u: int) -> tuple[int, np.ndarray, float]:
        """Return the first count of yes, weights from it on, and the log of what was divided out of them."""
        z_high = self.z_low + self.noise.size - 1
        first = max(self.yes_low, (u + self.z_low + 1) // 2, u - (self.no_low + self.no.size - 1))
        last = min(self.yes_low + self.yes.size - 1, (u + z_high) // 2, u - self.no_low)
        if last < first:
            return first, np.zeros(1), 0.0
        yes = self.yes[first - self.yes_low : last - self.yes_low + 1]
        no = self.no[u - last - self.no_low : u - first - self.no_low + 1][::-1]
        z = 2 * first - u - self.z_low
        noise = self.noise[z : z + 2 * (last - first) + 1 : 2]
        if not self.as_logs:
            return first, yes * no * noise, 0.0
        log_weights = yes + no + noise
        peak = float(log_weights.max())
        return first, np.exp(log_weights - peak), peak

    def probabilities(self) -> dict[tuple[int, int], float]:
        """Return P(usable, yes | y) of every pair in the window; for small windows."""
        total = np.logaddexp.reduce(self.log_rows)
        out: dict[tuple[int, int], float] = {}
        for u, log_row in zip(self.usable.tolist(), self.log_rows, strict=True):
            first, weights, _ = self.row(u)
            if weights.any():
                shares = np.exp(log_row - total) * weights / weights.sum()
                out.update({(u, first + i): float(p) for i, p in enumerate(shares)})
        return out

    def sample(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw (no, yes) counts from the posterior, independently."""
        rows = sample_index(np.exp(self.log_rows - self.log_rows.max()), size, rng)
        yes = np.empty(size, dtype=np.int64)
        order = np.argsort(rows, kind="stable")
        starts = np.flatnonzero(np.diff(rows[order], prepend=-1))
        for start, stop in zip(starts, [*starts[1:], size], strict=True):
            drawn = order[start:stop]
            first, weights, _ = self.row(int(self.usable[rows[drawn[0]]]))
            yes[drawn] = first + sample_index(weights, stop - start, rng)
        return self.usable[rows] - yes, yes


def binary_counts(
    a: float, b: float, n: int, y_z: int, noise_z: Noise, y_usable: int | None, noise_usable: Noise | None
) -> BinaryCounts:
    """Enumerate the counts behind a release of ``n`` records; ``y_usable`` is None if nothing was missing."""
    if y_usable is None or noise_usable is None:
        u_low = u_high = n
        log_usable = np.zeros(1)
        z_low, z_high = _z_window(a, b, n, y_z, noise_z)
    else:
        (u_low, u_high), (z_low, z_high) = _windows(a, b, n, y_z, noise_z, y_usable, noise_usable)
        usable_range = np.arange(u_low, u_high + 1)
        log_usable = noise_usable.log_mass(usable_range - y_usable) - log_rising(a + b, u_low, u_high)
    if (u_high - u_low + 1) * (z_high - z_low + 1) / 2 > _MOST_CELLS:
        raise EngineError(
            "the noise is too wide to enumerate the counts exactly.",
            hint="release with a larger epsilon, or with missing='none' if no value is missing",
        )
    # yes = (u + z) / 2 and no = (u - z) / 2 over the two windows
    yes_low, yes_high = max(0, (u_low + z_low) // 2), (u_high + z_high + 1) // 2
    no_low, no_high = max(0, (u_low - z_high) // 2), (u_high - z_low + 1) // 2
    tables = [
        log_rising(a, yes_low, yes_high),
        log_rising(b, no_low, no_high),
        noise_z.log_mass(np.arange(z_low, z_high + 1) - y_z),
    ]
    tables = [table - table.max() for table in tables]
    as_logs = a + b > _MILD
    yes, no, noise = tables if as_logs else [np.exp(table) for table in tables]
    usable = np.arange(u_low, u_high + 1)
    counts = BinaryCounts(
        usable, np.empty(usable.size), yes, no, noise, yes_low, no_low, z_low, as_logs
    )
    with np.errstate(divide="ignore"):
        for i, u in enumerate(usable.tolist()):
            _, weights, peak = counts.row(u)
            counts.log_rows[i] = np.log(weights.sum()) + peak
    counts.log_rows[:] += log_usable
    return counts


def _z_window(a: float, b: float, n: int, y_z: int, noise: Noise) -> tuple[int, int]:
    """Return the range of z = 2c - n that matters when all ``n`` records are usable."""

    def log_weight(c: np.ndarray) -> np.ndarray:
        return rough_log_rising(a, c) + rough_log_rising(b, n - c) + noise.log_mass(2 * c - n - y_z)

    peak = (y_z + n) / 2
    low, high = locate(log_weight, 0, n, [peak, n * a / (a + b)], finest=max(1.0, noise.sd / 8))
    return 2 * low - n, 2 * high - n


def _windows(
    a: float, b: float, n: int, y_z: int, noise_z: Noise, y_usable: int, noise_usable: Noise
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the ranges of u and of z that matter when u is uncertain, from nodes of (u, z)."""
    share = a / (a + b)
    u = spread(0, n, [y_usable, abs(y_z)], finest=max(1.0, noise_usable.sd / 2))
    z = spread(-n, n, [y_z, (2 * share - 1) * y_usable, (2 * share - 1) * n], finest=max(1.0, noise_z.sd / 2))
    size = np.inf
    while True:
        yes, no = (u[:, None] + z) / 2, (u[:, None] - z) / 2
        possible = (yes >= 0) & (no >= 0)
        yes, no = np.where(possible, yes, 0.0), np.where(possible, no, 0.0)
        height = np.where(
            possible,
            rough_log_rising(a, yes)
            + rough_log_rising(b, no)
            - rough_log_rising(a + b, u)[:, None]
            + noise_z.log_mass(z - y_z)
            + noise_usable.log_mass(u - y_usable)[:, None],
            -np.inf,
        )
        heavy = height >= height.max() - DEPTH
        spans = [_hull(u, heavy.any(axis=1)), _hull(z, heavy.any(axis=0))]
        area = (spans[0][1] - spans[0][0] + 1) * (spans[1][1] - spans[1][0] + 1)
        if area > 0.5 * size or area < 256**2:
            return spans[0], spans[1]
        size = area
        u, z = (np.unique(np.round(np.linspace(first, last, 65))) for first, last in spans)


def _hull(nodes: np.ndarray, heavy: np.ndarray) -> tuple[int, int]:
    index = np.flatnonzero(heavy)
    return int(nodes[max(index[0] - 1, 0)]), int(nodes[min(index[-1] + 1, nodes.size - 1)])
