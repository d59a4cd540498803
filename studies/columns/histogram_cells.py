"""One cell of the table for `Histogram`: quantiles and simultaneous bands of a resampled population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import discreet as dc
from columns.populations import Column
from columns.simulate import Setting, contributions, releases

QUANTILES = (0.25, 0.5, 0.75, 0.9)
BINS = 64
# cells of the exponential mechanism, and tables from which its spread is estimated
_CELLS, _RIVALS = 1024, 300


@dataclass(frozen=True)
class HistogramCell:
    """What was counted in one cell: shares covered, and mean widths in units of the bounds.

    ``rival`` is the 95% spread of private quantiles by the exponential mechanism, at the same budget, with a quarter of
    it for each quantile.
    """

    column: str
    setting: Setting
    trials: int
    quantiles: tuple[float, ...]
    width: float
    rival: float
    band: float
    band_width: float

    @property
    def shares(self) -> tuple[float, ...]:
        """What is held against a limit in single columns: how often each quantile was covered."""
        return self.quantiles


def histogram_cell(
    column: Column, setting: Setting, trials: int, seed: Sequence[int], *, draws: int = 1000
) -> HistogramCell:
    """Resample, release and read a column, and count what the intervals and the band cover."""
    rng = np.random.default_rng(seed)
    model = dc.Histogram(BINS)
    low, high = column.bounds
    population = np.clip(column.values, low, high)
    truth = np.quantile(population, QUANTILES, method="inverted_cdf")
    bins = contributions(column, model, setting.neighbors)
    below = np.cumsum(np.bincount(bins, minlength=BINS))[:-1] / population.size
    held, widths, bands, band_widths, rival = [], [], [], [], []
    for trial in releases(column, model, setting, trials, rng):
        posterior = dc.infer(trial.release, draws=draws, rng=rng)
        found = posterior.quantiles(QUANTILES)
        held.append([q.low <= t <= q.high for q, t in zip(found, truth, strict=True)])
        widths.append([(q.high - q.low) / (high - low) for q in found])
        whole = posterior.band()
        bands.append(bool(((whole.low <= below + 1e-12) & (below <= whole.high + 1e-12)).all()))
        band_widths.append(float((whole.high - whole.low).mean()))
    for _ in range(_RIVALS):
        unit = (rng.choice(population, setting.n) - low) / (high - low)
        rival.append(
            [exponential_mechanism(unit, q, setting.epsilon / len(QUANTILES), rng) for q in QUANTILES]
        )
    spread = np.subtract(*np.quantile(np.array(rival), [0.975, 0.025], axis=0))
    return HistogramCell(
        column.name,
        setting,
        trials,
        tuple(np.mean(held, axis=0).tolist()),
        float(np.mean(widths)),
        float(spread.mean()),
        float(np.mean(bands)),
        float(np.mean(band_widths)),
    )


def exponential_mechanism(
    records: np.ndarray, level: float, epsilon: float, rng: np.random.Generator
) -> float:
    """Return a private quantile of records in [0, 1] by the exponential mechanism, the usual rival (Smith 2011)."""
    counts = np.bincount(np.minimum(np.ceil(records * _CELLS).astype(int), _CELLS), minlength=_CELLS + 1)
    score = -np.abs(np.cumsum(counts) - level * records.size) * epsilon / 2
    return float(np.argmax(score + rng.gumbel(size=_CELLS + 1)) / _CELLS)
