"""The likelihood of a release's readings given each of many parameter values, by inversion of transforms.

With M(s) = E[exp(s z)] of one record, u records that sum to S, and a reading H(u, S - y) that is known on a window
|S - y| <= X,

    E[H(u, S - y)] = sum over k of c_k(u) exp(-s_k y) M(s_k)^u,    s_k = tilt + i pi k / X,

where c_k are the Fourier coefficients of H(u, x) exp(-tilt x) on the window. Only frequencies at which M^u is not
negligible matter, so the cost does not grow with the number of records. Without tilt, terms cancel when y is far from
all likely sums; the tilt that brings the mean sum to y keeps the relative accuracy there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.inference.engines.scalar.inversion import SKETCH, Inversion
from discreet.inference.engines.scalar.series_kernels import DEPTH, Block, SumReading, SumWindow
from discreet.inference.engines.scalar.transforms import Atoms, RecordTransform

# A sum this small beside its terms has lost too many digits.
_CANCELLED, _CANCELLED_POWER = 1e-8, 1e-11
# What is less likely than this is left out.
_NEVER = 1e-12
# Transforms at steeper tilts than this underflow.
_STEEPEST = 300.0
_MOST_ZOOMS, _LEVEL = 16, 0.1
_GRID = np.linspace(0.0, 1.0, 17)


def log_likelihood(
    records: RecordTransform, reading: SumReading, lattice: float | None, slack: np.ndarray | None = None
) -> np.ndarray:
    """Return the log likelihood of the reading given each parameter value, up to a common constant.

    ``slack`` says how many times the usual error each parameter value tolerates. With very much of it, unlikely
    parameter values get an estimate that is good to a few units.
    """
    slack = np.ones(records.size) if slack is None else slack
    total, good = _inverted(records, reading, lattice, np.zeros(records.size), slack, final=False)
    far = np.flatnonzero(~good)
    if far.size:
        # parameter values that make the reading unlikely
        rest = records.rows(far)
        tilt, total[far] = _tilts(rest, reading)
        close = np.flatnonzero(slack[far] < SKETCH)
        for rows in _alike(rest.rows(close), reading, tilt[close]):
            rows = close[rows]
            total[far[rows]] = _inverted(
                rest.rows(rows), reading, lattice, tilt[rows], slack[far[rows]], final=True
            )[0]
    return total


def _alike(records: RecordTransform, reading: SumReading, tilt: np.ndarray) -> list[np.ndarray]:
    """Group parameter values under which similarly many numbers of records matter: they share blocks and windows."""
    log_m = records.log_transform(tilt[:, None])[:, 0]
    ranges = [reading.records(tilt[i : i + 1], log_m[i : i + 1]) for i in range(records.size)]
    kind = np.array([int(np.log2(high - low + 1)) // 2 for low, high in ranges])
    return [np.flatnonzero(kind == k) for k in np.unique(kind)]


@dataclass(frozen=True)
class _Hull:
    """Where sums of the records of one block lie, but for a negligible probability."""

    low: np.ndarray
    high: np.ndarray

    def holds(self, y: float, margin: np.ndarray | float = 0.0) -> np.ndarray:
        """Tell for each parameter value whether y lies there, give or take a margin."""
        return (y >= self.low - margin) & (y <= self.high + margin)

    @classmethod
    def of(cls, records: RecordTransform, tilt: np.ndarray, block: Block) -> _Hull:
        fewest, most = block
        if most == 0:
            return cls(np.zeros(records.size), np.zeros(records.size))
        mean, below, above = _spread(records, tilt, most)
        low = np.minimum(fewest * mean, most * mean) - below
        high = np.maximum(fewest * mean, most * mean) + above
        return cls(np.maximum(low, -most), np.minimum(high, most))


def _spread(records: RecordTransform, tilt: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean of z, and how far the sum of n of them falls short of its mean or exceeds it (Chernoff)."""
    one = tilt[:, None]
    near = min(0.5, n**-0.5)
    at_tilt = records.log_transform(one)
    wave = records.log_transform(one + 1j * np.array([near, 0.5])) - at_tilt
    mean = np.imag(wave[:, 0]) / near
    sd = np.sqrt(np.maximum(-2 * np.real(wave[:, 1]) / 0.25, 1e-16))
    natural = np.minimum(np.sqrt(2 * DEPTH) / (sd * np.sqrt(n)), 300.0)[:, None]
    push = np.concatenate(
        [natural * np.array([1.0, 0.5, 0.25]), np.broadcast_to([0.3, 1.0, 3.0, 10.0, 40.0], (one.size, 5))],
        axis=1,
    )

    def beyond(sign: int) -> np.ndarray:
        cost = n * (records.log_transform(one + sign * push) - at_tilt - sign * push * mean[:, None])
        return ((np.maximum(cost, 0.0) + DEPTH) / push).min(axis=1)

    return mean, beyond(-1), beyond(1)


def _tilts(records: RecordTransform, reading: SumReading) -> tuple[np.ndarray, np.ndarray]:
    """Return the tilts that bring the mean sum to y, or as near as the kernel allows, and what they say by themselves.

    Each is a convex minimum, found by zooming; the minimum bounds the log likelihood and follows it within a few units.
    """
    size = records.size
    most = reading.beta
    if not np.isfinite(most):
        # the noise alone can bridge the gap with this tilt
        sigma2 = 2 * float(reading.log_noise_transform(np.ones(1))[0])
        most = min((abs(reading.y) + reading.records(np.zeros(1), np.zeros(1))[1]) / sigma2, _STEEPEST)
    low, high = np.full(size, -most), np.full(size, most)
    rows = np.arange(size)
    for zoom in range(_MOST_ZOOMS + 1):
        tilt = low[:, None] + (high - low)[:, None] * _GRID
        log_m = records.log_transform(tilt)
        cost = reading.log_total(log_m, tilt) + reading.log_noise_transform(tilt) - tilt * reading.y
        best = cost.argmin(axis=1)
        left, right = np.maximum(best - 1, 0), np.minimum(best + 1, _GRID.size - 1)
        low, high = tilt[rows, left], tilt[rows, right]
        # good enough once the neighbors are hardly worse
        level = (np.maximum(cost[rows, left], cost[rows, right]) - cost[rows, best] < _LEVEL).all()
        if level or zoom == _MOST_ZOOMS:
            return tilt[rows, best], cost[rows, best]
    raise AssertionError("the last zoom returns")


def _inverted(
    records: RecordTransform,
    reading: SumReading,
    lattice: float | None,
    tilt: np.ndarray,
    slack: np.ndarray,
    *,
    final: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return log likelihoods by inversion, and which of them can be relied on.

    Where a tilt is likely to do better, only the final attempt is made.
    """
    size = records.size
    log_m = records.log_transform(tilt[:, None])[:, 0]
    scale = reading.log_total(log_m, tilt) + reading.log_noise_transform(tilt) - tilt * reading.y
    atoms = _lasting_atoms(records, reading) if lattice is None else None
    total, weight = np.zeros(size), np.zeros(size)
    # the likeliest block first: the others are measured by it
    blocks = sorted(reading.blocks(tilt, log_m), key=reading.distance)
    hulls = [_Hull.of(records, tilt, block) for block in blocks]
    # a reading beside all likely sums may speak for other numbers of records; under a tilt that is allowed for
    complete = final or reading.all_records(*reading.records(tilt, log_m))
    possible = complete | np.any([hull.holds(reading.y) for hull in hulls], axis=0)
    for block, hull in zip(blocks, hulls, strict=True):
        near = hull.holds(reading.y, hull.high - hull.low + reading.reach()) & possible
        aside = np.flatnonzero(~near & possible)
        if aside.size and reading.kinked:
            part, clear = _one_sided(records.rows(aside), reading, scale[aside], block)
            total[aside[clear]] += part[clear]
            # alone and so far out, a block is better inverted under a tilt
            near[aside[~clear]] = final or len(blocks) > 1
        rows = np.flatnonzero(near)
        if rows.size == 0:
            continue
        reach = np.maximum(reading.y - hull.low, hull.high - reading.y)[rows] + reading.reach()
        if reading.shares_window:
            reach = np.full(rows.size, reach.max())
        job = Inversion(reading, block, tilt[rows], scale[rows], slack[rows])
        window = SumWindow.around(reading.y, np.maximum(reach, 1e-9), lattice)
        those = None if atoms is None else _lasting(atoms.rows(rows), block)
        if those is not None:
            part, absolute = job.invert(those, SumWindow.around(reading.y, reach, 1.0), total[rows])
            total[rows] += part
            weight[rows] += absolute
        part, absolute = job.invert(records.rows(rows), window, total[rows], without=those)
        total[rows] += part
        weight[rows] += absolute
    # a power of a transform carries its rounding error as many times
    most = reading.records(tilt, log_m)[1]
    good = possible & (total > 0) & (total > max(_CANCELLED, _CANCELLED_POWER * most) * weight)
    # exp(scale) is the likelihood at the tilt's own frequency: of the right order where nothing better can be had
    return np.where(good, np.log(np.where(good, total, 1.0)), 0.0) + scale, good


def _lasting_atoms(records: RecordTransform, reading: SumReading) -> Atoms | None:
    """Return the atoms of the records' distribution, if sums may consist of nothing else: exact on a lattice."""
    atoms = records.atoms
    log_mass = np.log(np.maximum(atoms.outside.sum(axis=1), 1e-300))
    zero = np.zeros(records.size)
    share = reading.log_total(log_mass, zero) - reading.log_total(zero, zero)
    return atoms if (share > np.log(_NEVER)).any() else None


def _lasting(atoms: Atoms, block: Block) -> Atoms | None:
    """Return the atoms if the fewest records of a block may all sit on them."""
    likeliest = atoms.outside.sum(axis=1).max()
    return atoms if block[0] * np.log(max(likeliest, 1e-300)) > np.log(_NEVER) else None


def _one_sided(
    records: RecordTransform, reading: SumReading, scale: np.ndarray, block: Block
) -> tuple[np.ndarray, np.ndarray]:
    """Return likelihoods where all sums lie on one side of y, divided by exp(scale), and whether they do.

    The kernel is then an exponential, and nothing need be inverted. Its tilt is part of what must stay on that side.
    """
    size = records.size
    edge, clear = np.zeros(size), np.zeros(size, dtype=bool)
    plain = _Hull.of(records, np.zeros(size), block)
    for sign in (1.0, -1.0):
        tilt = np.full(size, sign * reading.beta)
        hull = _Hull.of(records, tilt, block)
        above = reading.y - np.maximum(hull.high, plain.high)
        below = np.minimum(hull.low, plain.low) - reading.y
        beyond = (above if sign > 0 else below) > reading.clearance(block)
        edge = np.where(beyond, tilt, edge)
        clear |= beyond
    log_m = records.log_transform(edge[:, None])[:, 0]
    with np.errstate(over="ignore", invalid="ignore"):
        return reading.one_sided(log_m, -edge * reading.y - scale, block), clear
