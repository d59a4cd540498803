r"""Latent totals that share several noisy rows, and add up to something known.

Each total m_c has weights W_c(m), given as logarithms on a window; the law is the product of them, restricted to
sum_c m_c = whole. It is a convolution, tilted so that its peak is where it is needed, and draws go backwards through
it: exact and independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.errors import EngineError
from discreet.inference.counting.panels import Panel
from discreet.inference.counting.tables import Table

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
        height = self.log_weights + tilt * np.arange(self.log_weights.size)
        peak = height.max()
        if not np.isfinite(peak):
            raise EngineError("the noisy counts contradict each other too strongly to enumerate.")
        weights = np.exp(height - peak)
        return weights / weights.sum()


@dataclass(frozen=True)
class SharedTotals:
    """The law of totals that add up to ``whole``, as tilted tables."""

    whole: int
    panel: Panel

    @classmethod
    def of(cls, windows: Sequence[Window], whole: int) -> SharedTotals:
        """Tilt and convolve."""
        tilt = _tilt(windows, whole)
        tables = [Table(window.low, window.tilted(tilt)) for window in windows]
        order = tuple(sorted(range(len(tables)), key=lambda k: -tables[k].spread))
        ordered = [tables[k] for k in order]
        partial = [ordered[0]]
        for table in ordered[1:]:
            partial.append(partial[-1].convolve(table))
        seen = float(partial[-1].at(np.array(whole)))
        if not seen > _VISIBLE * partial[-1].weights.max():
            raise EngineError("the noisy counts contradict each other too strongly to enumerate.")
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


def _tilt(windows: Sequence[Window], whole: int) -> float:
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
