r"""Latent totals that share several noisy rows, and add up to something known.

Each total m_c has weights W_c(m), given as logarithms on a window; the law is the product of them, restricted to
sum_c m_c = whole. It is a convolution, tilted so that its peak is where it is needed, and draws go backwards through
it: exact and independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.errors import OutOfReachError
from discreet.inference.counts.panels import Panel
from discreet.inference.counts.weights import Table

# How far below its peak a convolution is trusted: rounding is 1e-16 of the peak.
_TRUSTED = 1e-6
# Weights this far below a window's peak are nothing.
_LIGHT = 32.0
# The whole must be within this of the convolution's peak, where rounding (1e-16 of the peak) does not matter.
_VISIBLE = 1e-6


@dataclass(frozen=True)
class Window:
    """Log weights of consecutive totals from ``low`` on."""

    low: int
    log_weights: np.ndarray

    @property
    def high(self) -> int:
        """The last total."""
        return self.low + self.log_weights.size - 1

    def tilted(self, tilt: float) -> np.ndarray:
        """Return the weights times exp(tilt m), scaled to sum to 1."""
        return self.normalized(tilt)[0]

    def normalized(self, tilt: float) -> tuple[np.ndarray, float]:
        """Return the weights times exp(tilt (m - low)), scaled to sum to 1, and the log of what they summed to."""
        height = self.log_weights + tilt * np.arange(self.log_weights.size)
        peak = height.max()
        if not np.isfinite(peak):
            raise OutOfReachError("the noisy counts contradict each other too strongly to enumerate.")
        weights = np.exp(height - peak)
        total = float(weights.sum())
        return weights / total, float(peak) + math.log(total)


@dataclass(frozen=True)
class SharedTotals:
    """The law of totals that add up to ``whole``, as tilted tables."""

    whole: int
    panel: Panel

    @classmethod
    def of(cls, windows: Sequence[Window], whole: int) -> SharedTotals:
        """Tilt and convolve."""
        tilt = balance(windows, whole)
        tables = [Table(window.low, window.tilted(tilt)) for window in windows]
        order = tuple(sorted(range(len(tables)), key=lambda k: -tables[k].spread))
        ordered = [tables[k] for k in order]
        partial = [ordered[0]]
        for table in ordered[1:]:
            partial.append(partial[-1].convolve(table))
        seen = float(partial[-1].at(np.array(whole)))
        if not seen > _VISIBLE * partial[-1].weights.max():
            raise OutOfReachError("the noisy counts contradict each other too strongly to enumerate.")
        return cls(whole, Panel(0, np.empty(0), np.empty(0), order, tuple(ordered), tuple(partial)))

    @cached_property
    def marginals(self) -> list[np.ndarray]:
        """The probabilities of each total on its window, in the order that the windows were given in."""
        tables, partial = self.panel.cells, self.panel.partial
        out: list[np.ndarray] = [np.empty(0)] * len(tables)
        after: Table | None = None
        for k in range(len(tables) - 1, -1, -1):
            before = partial[k - 1] if k else None
            others = after if before is None else before if after is None else before.convolve(after)
            mine = tables[k]
            m = np.arange(mine.low, mine.high + 1)
            rest = (m == self.whole).astype(float) if others is None else others.at(self.whole - m)
            weights = mine.weights * rest
            out[self.panel.order[k]] = weights / weights.sum()
            after = mine if after is None else after.convolve(mine)
        return out

    def probability(self, totals: np.ndarray) -> np.ndarray:
        """Return the probability of vectors of totals, which are on the last axis."""
        return np.where(totals.sum(axis=-1) == self.whole, self.panel.share(totals), 0.0)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw totals, independently, one vector in each row."""
        return self.panel.split(np.full(size, self.whole, dtype=np.int64), rng)

    def heavy(self) -> list[tuple[bool, bool]]:
        """Tell for each total whether the window ends where there is still weight: below, and above."""
        out = []
        for marginal in self.marginals:
            least = marginal.max() * np.exp(-_LIGHT)
            out.append((bool(marginal[0] > least), bool(marginal[-1] > least)))
        return out


def log_sums(a: Window, b: Window, low: int, high: int, target: float) -> np.ndarray:
    """Return the log weights of the sum of two counts at every sum in [low, high], whatever their range.

    Each tilt serves the sums around one aim; from ``target`` on they go outwards until all are served.
    """
    out = np.full(high - low + 1, -np.inf)
    first, last = max(low, a.low + b.low), min(high, a.high + b.high)
    if first > last:
        return out

    def serve(aim: float, needed: int) -> tuple[int, int]:
        while True:
            tilt = balance([a, b], aim)
            (mine, log_a), (others, log_b) = a.normalized(tilt), b.normalized(tilt)
            sums = Table(a.low, mine).convolve(Table(b.low, others))
            good = np.flatnonzero(sums.weights >= _TRUSTED * sums.weights.max())
            start, stop = max(sums.low + int(good[0]), first), min(sums.low + int(good[-1]), last)
            if start <= needed <= stop:
                m = np.arange(start, stop + 1)
                with np.errstate(divide="ignore"):
                    log_weights = np.log(sums.at(m)) + log_a + log_b - tilt * (m - a.low - b.low)
                out[start - low : stop - low + 1] = log_weights
                return start, stop
            if aim == needed:
                raise OutOfReachError("the noisy counts contradict each other too strongly to enumerate.")
            aim = 0.5 * (aim + needed) if abs(aim - needed) > 1 else needed

    middle = int(min(max(target, first), last))
    start, stop = served = serve(middle, middle)
    while start > first:
        half = max((served[1] - served[0]) // 2, 0)
        served = serve(max(start - 1 - half, first), start - 1)
        start = served[0]
    served = start, stop
    while stop < last:
        half = max((served[1] - served[0]) // 2, 0)
        served = serve(min(stop + 1 + half, last), stop + 1)
        stop = served[1]
    return out


def balance(windows: Sequence[Window], whole: float) -> float:
    """Return a tilt at which the totals' means add up to ``whole``, to a fraction of their spread."""
    lows = sum(window.low for window in windows)
    steps = [np.arange(window.log_weights.size) for window in windows]

    def moments(tilt: float) -> tuple[float, float]:
        mean = variance = 0.0
        for window, step in zip(windows, steps, strict=True):
            weights = window.tilted(tilt)
            mine = float(weights @ step)
            mean += mine
            variance += float(weights @ (step - mine) ** 2)
        return lows + mean, variance**0.5

    low, high, tilt = -1e12, 1e12, 0.0
    width = 0.1
    for _ in range(400):
        mean, sd = moments(tilt)
        if abs(mean - whole) <= 0.2 * sd:
            break
        if mean < whole:
            low = tilt
        else:
            high = tilt
        if low == -1e12 or high == 1e12:
            tilt += width if mean < whole else -width
            width *= 2
        else:
            tilt = 0.5 * (low + high)
            if tilt in (low, high):
                break
    return tilt
