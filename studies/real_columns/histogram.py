"""One cell of the table for `Histogram`: quantiles and simultaneous bands of a resampled population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from discreet.inference.bounded_mean import CountPrior
from discreet.inference.histogram import Level, band, draw_histogram, quantiles
from discreet.models.layout import Layout
from discreet.privacy.noise import Noise
from discreet.rational import sqrt_up
from studies.real_columns.columns import Column
from studies.real_columns.mean import default_prior
from studies.real_columns.release import Setting, mechanism

QUANTILES = np.array([0.25, 0.5, 0.75, 0.9])
#: Width of the usable count. Beside two noisy levels it is free: 2 + 4/3 < 4 in L1, 2 + 16/9 < 4 in squared L2.
USABLE_WIDTH = Fraction(3, 4)


@cache
def level_noise(
    noise: str, epsilon: float, neighbors: str, n_levels: int, with_usable: bool
) -> tuple[Noise, Noise]:
    """Return the noise of a bin's count at each of so many levels, and of the usable count."""
    per_record = 2 if neighbors == "replace" else 1
    l1 = Fraction(per_record * n_levels)
    l2 = Fraction(per_record * n_levels)
    if with_usable:
        l1 = max(l1, n_levels + 1 / USABLE_WIDTH)
        l2 = max(l2, n_levels + 1 / USABLE_WIDTH**2)
    one = (Fraction(1),)
    layout = Layout(("bin", "usable"), (), one * 2, (Fraction(1), USABLE_WIDTH), None, None, l1, sqrt_up(l2))
    mech = mechanism(noise, epsilon)
    bins, usable = (mech.law(float(scale)) for scale in mech.scales(layout))
    return bins, usable


def release_counts(
    population: np.ndarray, setting: Setting, groups: Sequence[int], n_bins: int, rng: np.random.Generator
) -> tuple[list[Level], np.ndarray]:
    """Resample a population in [0, 1] and return noisy counts of groups of bins, with the usable records."""
    with_usable = setting.neighbors == "replace" and setting.missing == "count"
    noise, usable_noise = level_noise(
        setting.noise, setting.epsilon, setting.neighbors, len(groups), with_usable
    )
    records = rng.choice(population, setting.n)
    if setting.share:
        records = records[rng.random(setting.n) >= setting.share]
    counts = np.bincount(np.minimum((records * n_bins).astype(int), n_bins - 1), minlength=n_bins)
    levels = []
    for size in groups:
        starts = np.arange(0, n_bins, size)
        exact = np.add.reduceat(counts, starts)
        levels.append(Level(starts, exact + noise.sample(starts.size, rng), noise))
    if with_usable:
        levels.append(Level([0], [records.size + int(usable_noise.sample(1, rng)[0])], usable_noise))
    return levels, records


@dataclass(frozen=True)
class HistogramCoverage:
    """What was counted in one cell: shares covered and mean widths, by quantile; the band's share and mean width."""

    column: str
    setting: Setting
    quantiles: np.ndarray
    widths: np.ndarray
    band: float
    band_width: float
    rival: np.ndarray


def cover_histogram(
    column: Column,
    setting: Setting,
    trials: int,
    seed: Sequence[int],
    *,
    n_bins: int = 64,
    groups: Sequence[int] = (1, 8),
    n_draws: int = 500,
) -> HistogramCoverage:
    """Resample, release and read a column, and count what the intervals and the band cover."""
    rng = np.random.default_rng(seed)
    population = column.unit
    edges = np.linspace(0, 1, n_bins + 1)
    truth = np.quantile(population, QUANTILES, method="inverted_cdf")
    bins = np.minimum((population * n_bins).astype(int), n_bins - 1)
    below = np.cumsum(np.bincount(bins, minlength=n_bins))[:-1] / population.size
    prior: CountPrior = default_prior(setting)
    hits, widths, bands, band_widths, rival = [], [], [], [], []
    for _ in range(trials):
        levels, records = release_counts(population, setting, groups, n_bins, rng)
        draws = draw_histogram(n_bins, levels, prior, n_draws, rng)
        p = draws.p
        found = quantiles(p, edges, QUANTILES)
        hits.append([q.low <= t <= q.high for q, t in zip(found, truth, strict=True)])
        widths.append([q.high - q.low for q in found])
        whole = band(p, draws.counts, edges)
        bands.append(bool(((whole.low <= below + 1e-12) & (below <= whole.high + 1e-12)).all()))
        band_widths.append(float((whole.high - whole.low).mean()))
        rival.append(
            [_exponential_mechanism(records, q, setting.epsilon / QUANTILES.size, rng) for q in QUANTILES]
        )
    spread = np.subtract(*np.quantile(np.array(rival), [0.975, 0.025], axis=0))
    return HistogramCoverage(
        column.name,
        setting,
        np.mean(hits, axis=0),
        np.mean(widths, axis=0),
        float(np.mean(bands)),
        float(np.mean(band_widths)),
        spread,
    )


def _exponential_mechanism(
    records: np.ndarray, level: float, epsilon: float, rng: np.random.Generator
) -> float:
    """Return a private quantile by the exponential mechanism on 1024 cells, the usual rival."""
    cells = 1024
    counts = np.bincount(np.minimum(np.ceil(records * cells).astype(int), cells), minlength=cells + 1)
    score = -np.abs(np.cumsum(counts) - level * records.size) * epsilon / 2
    return float(np.argmax(score + rng.gumbel(size=cells + 1)) / cells)
