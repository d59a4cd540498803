"""Mean and standard deviation of a column from its noisy moments: independent draws, nothing assumed but the bounds."""

from __future__ import annotations

import numpy as np

from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.inference.bounded_mean import (
    NoisyTotals,
    TableDraws,
    draw_population,
    draw_table,
)
from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.engines.naive import warning

_ASSUMED = "nothing assumed but the bounds"


def noisy_totals(release: Release) -> NoisyTotals:
    """Return what was released about a column's moments, in every reading of its table."""
    layout, every = release.layout, release.readings
    return NoisyTotals(
        [value for one in every for value in one.totals.values],
        np.array([[float(c) for c in row] for row in layout.rows] * len(every)),
        np.array([float(step) for step in layout.grid] * len(every)),
        [noise for one in every for noise in one.noise],
    )


def draw(question: Question) -> Answer:
    """Draw the table's own count, mean and spread, and from each the population's mean and standard deviation."""
    table = draw_table(noisy_totals(question.release), question.usable, question.size, question.rng)
    return _answer(question.release, table, question.rng)


def draw_naive(question: Question) -> Answer:
    """Take the noisy totals for those of the table, moved to the nearest that some table could have."""
    release = question.release
    y = np.array([float(v * g) for v, g in zip(release.totals.values, release.totals.grid, strict=True)])
    reading, (total, square) = release.layout.inverted(y)
    public = np.inf if release.records is None else float(release.records)
    usable = np.clip(public if reading is None else reading, 0.0, public)
    mean, spread = 0.5, 0.5
    if usable > 0:
        mean = np.clip(0.5 + 0.5 * total / usable, 0.0, 1.0)
        largest = mean * (1 - mean)
        second = 0.25 * (1 + 2 * (2 * mean - 1) + square / usable)
        spread = np.clip((second - mean**2) / largest, 0.0, 1.0) if largest > 0 else 0.0
    table = TableDraws(*(np.full(question.size, value, dtype=float) for value in (usable, mean, spread)))
    answer = _answer(release, table, question.rng)
    return Answer(answer.draws, "noise ignored", (warning(release),), table=answer.table)


def _tells_spread(release: Release) -> str | None:
    """Return why noise cannot be ignored: without squares nothing is left that says how values spread."""
    if np.linalg.matrix_rank(release.layout.matrix[:, 1:]) == 2:
        return None
    return "no sum of squares was published, so that nothing but a prior says how far values spread"


def _answer(release: Release, table: TableDraws, rng: np.random.Generator) -> Answer:
    """Return draws in the column's own units."""
    if release.domain.bounds is None:
        raise UsageError("a mean is of a column between bounds.")
    low, high = release.domain.bounds[0]
    start, width = float(low), float(high - low)
    population = draw_population(table, rng)
    draws = {"mean": start + width * population.mean, "sd": width * population.sd}
    mean = start + width * table.mean
    own = {"usable": table.usable, "sum": table.usable * mean, "mean": mean}
    return Answer(draws, _ASSUMED, table=own)


GRID = Engine("grid", reads_all, draw, any_noise=True)
NAIVE = Engine("naive", _tells_spread, draw_naive, automatic=False, any_noise=True)
