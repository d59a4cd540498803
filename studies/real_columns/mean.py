"""One cell of the table for `Mean`: how often 95% intervals cover the mean and sd of a resampled population."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from discreet.inference.bounded_mean import CountPrior, draw_population, draw_table
from discreet.inference.missing_prior import missing_prior
from discreet.inference.record_prior import RecordPrior
from studies.real_columns.columns import Column
from studies.real_columns.release import Setting, release_totals


def default_prior(setting: Setting) -> CountPrior:
    """Return the prior on the usable count that a release is read with by default."""
    if setting.neighbors == "add_remove":
        return RecordPrior()
    return RecordPrior(setting.n, setting.n) if setting.missing == "none" else missing_prior(None, setting.n)


@dataclass(frozen=True)
class Coverage:
    """What was counted in one cell; widths are medians, relative to the non-private interval's."""

    column: str
    setting: Setting
    trials: int
    mean: float
    sd: float
    mean_below: float
    mean_above: float
    width: float
    sd_width: float
    plain: float


def cover(
    column: Column,
    setting: Setting,
    trials: int,
    seed: Sequence[int],
    *,
    n_draws: int = 1000,
    prior: Callable[[Setting], CountPrior] = default_prior,
) -> Coverage:
    """Resample, release and read a column, and count what the intervals cover."""
    rng = np.random.default_rng(seed)
    population = column.unit
    true_mean, true_sd = population.mean(), population.std()
    m4 = ((population - true_mean) ** 4).mean()
    rows = []
    counts = prior(setting)
    for _ in range(trials):
        totals, records = release_totals(population, setting, rng)
        draws = draw_population(draw_table(totals, counts, n_draws, rng), rng)
        low, high = np.quantile(draws.mean, [0.025, 0.975])
        sd_low, sd_high = np.quantile(draws.sd, [0.025, 0.975])
        plain = student.ppf(0.975, records.size - 1) * records.std(ddof=1) / np.sqrt(records.size)
        rows.append(
            (
                low <= true_mean <= high,
                sd_low <= true_sd <= sd_high,
                true_mean < low,
                true_mean > high,
                high - low,
                sd_high - sd_low,
                2 * plain,
                abs(records.mean() - true_mean) <= plain,
            )
        )
    table = np.array(rows, dtype=float)
    share, middle = table.mean(axis=0), np.median(table, axis=0)
    sd_plain = 2 * 1.96 * np.sqrt((m4 - true_sd**4) / setting.n) / (2 * true_sd)
    return Coverage(
        column.name, setting, trials, *share[:4], middle[4] / middle[6], middle[5] / sd_plain, share[7]
    )
