"""One cell of the table for `Mean`: how often 95% intervals cover the mean and sd of a resampled population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

import discreet as dc
from columns.populations import Column
from columns.simulate import Setting, releases


@dataclass(frozen=True)
class MeanCell:
    """What was counted in one cell; widths are medians, relative to the non-private interval's."""

    column: str
    setting: Setting
    trials: int
    mean: float
    sd: float
    width: float
    sd_width: float
    plain: float


def mean_cell(
    column: Column, setting: Setting, trials: int, seed: Sequence[int], *, draws: int = 1000
) -> MeanCell:
    """Resample, release and read a column, and count what the intervals cover."""
    rng = np.random.default_rng(seed)
    low, high = column.bounds
    population = np.clip(column.values, low, high)
    true_mean, true_sd = population.mean(), population.std()
    rows = []
    for trial in releases(column, dc.Mean(), setting, trials, rng):
        posterior = dc.infer(trial.release, draws=draws, rng=rng)
        ends = np.quantile(
            np.stack([posterior.draws["mean"], posterior.draws["sd"]], axis=1), [0.025, 0.975], axis=0
        )
        records = population[trial.usable]
        plain = student.ppf(0.975, records.size - 1) * records.std(ddof=1) / np.sqrt(records.size)
        rows.append(
            (
                ends[0, 0] <= true_mean <= ends[1, 0],
                ends[0, 1] <= true_sd <= ends[1, 1],
                ends[1, 0] - ends[0, 0],
                ends[1, 1] - ends[0, 1],
                2 * plain,
                abs(records.mean() - true_mean) <= plain,
            )
        )
    table = np.array(rows, dtype=float)
    share, middle = table.mean(axis=0), np.median(table, axis=0)
    # the large-sample interval of somebody who sees the rows
    fourth = ((population - true_mean) ** 4).mean()
    sd_plain = 1.96 * np.sqrt((fourth - true_sd**4) / setting.n) / true_sd
    return MeanCell(
        column.name,
        setting,
        trials,
        float(share[0]),
        float(share[1]),
        float(middle[2] / middle[4]),
        float(middle[3] / sd_plain),
        float(share[5]),
    )
