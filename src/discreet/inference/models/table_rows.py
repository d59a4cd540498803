r"""Noisy rows of tables of counts, and the latent totals that several of them share.

First, how likely one row is, given its total, for every total at once.

A row has counts t_j of labels j with Dirichlet(alpha) probabilities, each read as y_j = t_j + noise_j, and their total
m is latent, because other rows share it. Integrating the probabilities and summing over the counts,

    L(m) = p(y | m) = [ w_1 * w_2 * ... * w_K ](m) / g_A(m),        w_j(t) = g_alpha_j(t) noise_j(y_j - t),

with g_a(t) = Gamma(a + t) / (t! Gamma(a)), A = sum_j alpha_j and a convolution over the labels. If missing values are
counted, m - v of the m records of the row have no label, with a beta-binomial prior that expects few, and

    L(m) = 1 / g_{a+b}(m)  sum over v of  g_b(v) [ w_1 * ... * w_K ](v) / g_A(v)  g_a(m - v) noise(y_missing - (m - v)),

one more convolution; a and b are the weights of :mod:`discreet.inference.missing_prior`. A convolution is accurate near
its peak only, and dividing by g_A, which grows like m^(A - 1), can lift what lies far below it. So the first one is
made in panels, each tilted to a part of the range of totals (:mod:`discreet.inference.counts.weights`).

Then the totals. Each total m_c has weights W_c(m), given as logarithms on a window; their joint distribution is the
product of them, restricted to sum_c m_c = whole. It is a convolution, tilted so that its peak is where it is needed,
and draws go backwards through it: exact and independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.errors import OutOfReachError
from discreet.inference.counts.latent_cells import CellCounts, Panel
from discreet.inference.counts.weights import DEPTH, Cell, Table, convolved, log_rising, tilt_for
from discreet.inference.missing_prior import MISSING_WEIGHT, PRESENT_WEIGHT
from discreet.privacy import Noise

# How far below its peak a convolution is trusted: rounding is 1e-16 of the peak, so to nine or ten digits.
_TRUSTED = 1e-6
_MOST_PANELS = 400
# Rejections before a draw gets a table of its own.
_TRIES = 64
# The whole must be within this of the convolution's peak, where rounding (1e-16 of the peak) does not matter.
_VISIBLE = 1e-6


@dataclass(frozen=True)
class RowReading:
    """The noisy counts of one row and the prior of its labels; ``missing`` says whether the last is of no label.

    ``total`` is what the row reads in all, ``variance`` that of the noise on it, and ``reach`` how far the least
    unwilling of the row's noises can carry it. It takes ``n_tables`` along the total: one of each cell, and one of each
    sum of the first of them.
    """

    alpha: np.ndarray
    y: np.ndarray
    noise: tuple[Noise, ...]
    missing: bool
    total: int = field(init=False)
    variance: float = field(init=False)
    reach: float = field(init=False)
    n_tables: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", int(self.y.sum()))
        object.__setattr__(self, "variance", float(sum(noise.sd**2 for noise in self.noise)))
        object.__setattr__(self, "reach", max(noise.reach(DEPTH) for noise in self.noise))
        object.__setattr__(self, "n_tables", 2 * len(self.y))

    def cells(self, most: int) -> list[Cell]:
        """Return the row's cells, last that of missing values if they are counted."""
        alpha = [*self.alpha, MISSING_WEIGHT] if self.missing else list(self.alpha)
        return [
            Cell(float(a), int(y), distribution, reference=min(max(int(y), 0), most))
            for a, y, distribution in zip(alpha, self.y, self.noise, strict=True)
        ]

    def distribution(self, target: float, low: int, high: int) -> RowDistribution:
        """Return the distribution of the row for totals in [low, high], accurate around ``target``."""
        cells = self.cells(high)
        named, mass = cells[: len(self.alpha)], float(self.alpha.sum())
        if not self.missing:
            labels = _covering(named, int(min(max(target, low), high)), low, high)
            return RowDistribution(low, labels.log_weights - log_rising(mass, low, high), labels)
        gap = cells[-1]
        first, weights, _ = gap.weights(0.0, high)
        # of the records that the row could have, so many have a label
        least, most = max(low - first - weights.size + 1, 0), max(high - first, 0)
        spare = self.variance - gap.noise.sd**2
        pull = (target - self.total) * spare / max(self.variance, 1e-12)
        middle = int(min(max(self.total - int(self.y[-1]) + pull, least), most))
        labels = _covering(named, middle, least, most)
        of_labels = labels.log_weights - log_rising(mass, least, most)
        log_weights, parts = with_missing((first, weights), (least, of_labels), low, high, target)
        unlabelled, labelled = (Table(part.low, part.tilted(0.0)) for part in parts)
        return RowDistribution(low, log_weights, labels, unlabelled, labelled)


@dataclass(frozen=True)
class RowDistribution:
    """log L(m) for m = low, low + 1, ..., up to a constant; and the counts given m.

    ``labels`` splits the labelled records into labels; ``unlabelled`` and ``labelled`` are the weights of the two parts
    of m where missing values are counted.
    """

    low: int
    log_weights: np.ndarray
    labels: CellCounts
    unlabelled: Table | None = None
    labelled: Table | None = None

    def split(self, totals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the counts of the labels given the row's totals, labels on the last axis."""
        from discreet.inference.counts.splits import split_off

        if self.unlabelled is not None and self.labelled is not None:
            part, rest = self.unlabelled, self.labelled
            drawn = np.empty(totals.size, dtype=np.int64)
            split_off(part.weights, part.low, rest.weights, rest.low, totals, rng, _TRIES, drawn)
            totals = totals - drawn
        return self.labels.split(totals, rng)


def _covering(cells: list[Cell], target: int, low: int, high: int) -> CellCounts:
    """Return panels that hold the log of the cells' convolution at every total in [low, high], on one scale."""
    panels = [_panel(cells, target, high, target, low, high)]
    for above in (False, True):
        while (panels[-1].high < high) if above else (panels[0].low > low):
            last = panels[-1] if above else panels[0]
            half = (last.high - last.low) // 2
            edge = last.high + 1 if above else last.low - 1
            aim = min(edge + half, high) if above else max(edge - half, low)
            ends = (edge, high) if above else (low, edge)
            panels.insert(len(panels) if above else 0, _panel(cells, aim, high, edge, *ends))
            if len(panels) > _MOST_PANELS:
                raise OutOfReachError(
                    "the prior is too strong for this noise to enumerate the counts exactly."
                )
    return CellCounts(tuple(panels))


def _panel(cells: list[Cell], aim: int, most: int, needed: int, low: int, high: int) -> Panel:
    """Return a panel around ``aim``, or nearer to ``needed``, that is accurate there; cut to [low, high].

    No cell holds more than ``most``.
    """
    while True:
        tilt = tilt_for(cells, aim, most)
        made = [cell.weights(tilt, most) for cell in cells]
        parts = convolved([Table(first, weights) for first, weights, _ in made])
        sums = parts[-1][-1]
        trusted = np.flatnonzero(sums.weights >= _TRUSTED * sums.weights.max())
        first, last = max(sums.low + int(trusted[0]), low), min(sums.low + int(trusted[-1]), high)
        if first <= needed <= last:
            break
        if aim == needed:
            raise OutOfReachError("the noisy counts contradict each other too strongly to enumerate.")
        aim = (aim + needed) // 2 if abs(aim - needed) > 1 else needed
    u = np.arange(first, last + 1)
    # each cell is tilted around its own reading, so the total is tilted around their sum
    log_scale = sum(log_norm for _, _, log_norm in made) - tilt * (u - sum(cell.y for cell in cells))
    log_weights = np.log(sums.at(u)) + log_scale
    return Panel(first, log_weights, log_weights, *parts)


@dataclass(frozen=True)
class TotalWeights:
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
    """The distribution of totals that add up to ``whole``: tilted tables, which split it into totals.

    ``marginals`` are the probabilities of each total on its window, in the order that the windows were given in.
    """

    whole: int
    panel: Panel
    marginals: list[np.ndarray]

    @classmethod
    def of(cls, windows: Sequence[TotalWeights], whole: int) -> SharedTotals:
        """Tilt and convolve."""
        tilt = balance(windows, whole)
        order, tables, partial = convolved([Table(window.low, window.tilted(tilt)) for window in windows])
        if not float(partial[-1].at(np.array(whole))) > _VISIBLE * partial[-1].weights.max():
            raise OutOfReachError("the noisy counts contradict each other too strongly to enumerate.")
        marginals: list[np.ndarray] = [np.empty(0)] * len(tables)
        after: Table | None = None
        for k in range(len(tables) - 1, -1, -1):
            before = partial[k - 1] if k else None
            others = after if before is None else before if after is None else before.convolve(after)
            mine = tables[k]
            rest = whole - mine.low - np.arange(mine.weights.size)
            weights = mine.weights * ((rest == 0).astype(float) if others is None else others.at(rest))
            marginals[order[k]] = weights / weights.sum()
            after = mine if after is None else after.convolve(mine)
        return cls(whole, Panel(0, np.empty(0), np.empty(0), order, tables, partial), marginals)


def with_missing(
    gap: tuple[int, np.ndarray], there: tuple[int, np.ndarray], low: int, high: int, target: float
) -> tuple[np.ndarray, tuple[TotalWeights, TotalWeights]]:
    """Return log L(m) of totals in [low, high], and its parts, the missing and the others, from where they begin.

    ``gap`` has the weights of the number of missing values, ``there`` the log likelihood of the number of the others.
    """
    (first, weights), (least, log_there) = gap, there
    with np.errstate(divide="ignore"):
        rising = log_rising(PRESENT_WEIGHT, least, least + log_there.size - 1)
        parts = TotalWeights(first, np.log(weights)), TotalWeights(least, log_there + rising)
    log_weights = log_sums(*parts, low, high, target)
    return log_weights - log_rising(MISSING_WEIGHT + PRESENT_WEIGHT, low, high), parts


def log_sums(a: TotalWeights, b: TotalWeights, low: int, high: int, target: float) -> np.ndarray:
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
        half = (served[1] - served[0]) // 2
        served = serve(max(start - 1 - half, first), start - 1)
        start = served[0]
    served = start, stop
    while stop < last:
        half = (served[1] - served[0]) // 2
        served = serve(min(stop + 1 + half, last), stop + 1)
        stop = served[1]
    return out


def balance(windows: Sequence[TotalWeights], whole: float) -> float:
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
