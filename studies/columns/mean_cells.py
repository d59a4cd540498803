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
    """What was counted in one cell; widths are medians, relative to the non-private interval's.

    ``sd_floor`` is the width that noise leaves to somebody who knows how heavy the column's tails are.
    """

    column: str
    setting: Setting
    trials: int
    mean: float
    sd: float
    width: float
    sd_width: float
    sd_floor: float
    plain: float

    @property
    def shares(self) -> tuple[float, ...]:
        """What is held against a limit: how often the mean was covered, and the sd."""
        return self.mean, self.sd


def mean_cell(
    column: Column, setting: Setting, trials: int, seed: Sequence[int], *, draws: int = 1000
) -> MeanCell:
    """Resample, release and read a column, and count what the intervals cover."""
    rng = np.random.default_rng(seed)
    low, high = column.bounds
    population = np.clip(column.values, low, high)
    true_mean, true_sd = population.mean(), population.std()
    rows, noise = [], 0.0
    for trial in releases(column, dc.Mean(), setting, trials, rng):
        noise = noise or noise_of_sd(trial.release, population, setting.n)
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
        float(np.hypot(1, 2 * 1.96 * noise / sd_plain)),
        float(share[5]),
    )


def noise_of_sd(release: dc.Release, population: np.ndarray, n: int) -> float:
    """Return the standard deviation that noise alone gives to the sd of n records, to first order."""
    low, high = (float(bound) for bound in (release.domain.bounds or ((0, 1),))[0])
    z = 2 * (population - low) / (high - low) - 1
    first, second, sd = z.mean(), (z * z).mean(), z.std()
    # how the sd depends on count, sum and sum of squares; a public count has no noise
    gradient = np.array([2 * first**2 - second, -2 * first, 1.0]) / (2 * n * sd)
    rows = np.array([[float(v) for v in row] for row in release.layout.rows])
    known = 0 if release.records is None else 1
    weights = gradient[known:] @ np.linalg.pinv(rows[:, known:])
    steps = weights * np.array([float(grid) for grid in release.totals.grid])
    variance = sum((step * noise.sd) ** 2 for step, noise in zip(steps, release.noise, strict=True))
    return float(np.sqrt(variance)) * (high - low) / 2
