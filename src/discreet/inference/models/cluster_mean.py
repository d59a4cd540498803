"""Mean and standard deviation of rows that come in clusters, for samples of people: nothing assumed but the bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.artifact import Release
from discreet.errors import UsageError
from discreet.families.cluster_mean import ClusterMean
from discreet.inference.bounded_mean import NoisyTotals, TableDraws, draw_population, draw_table
from discreet.inference.bounded_mean.clusters import NoisyClusters, draw_design_effect
from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.engines.naive import warning
from discreet.inference.record_prior import RecordPrior

_ASSUMED = "nothing assumed but the bounds, and that people are a sample; the design effect errs on the side of caution"
# low, middle and high in (rows, sum of z, sum of z^2)
_ROW_SUMS = np.array([[0.25, -0.5, 0.25], [0.5, 0.0, -0.5], [0.25, 0.5, 0.25]])
# weights add up to no whole number: they are counted in so many parts of the largest
_PARTS = 64


def draw(question: Question) -> Answer:
    """Draw the table's own rows, mean, spread and design effect, and from each the population's mean and sd."""
    release = question.release
    question.refuse_missing()
    model = _model(release)
    weights = model.weights
    parts, least = (1, 1.0) if weights is None else (_PARTS, float(weights.low / weights.high))
    y, grid = _values(release)
    totals = NoisyTotals(release.totals.values[:3], _ROW_SUMS / parts, grid[:3], release.noise[:3])
    table = draw_table(totals, _rows(question, parts), question.size, question.rng)
    table = replace(table, usable=table.usable / parts)
    effect = np.ones(question.size)
    if model.has_cluster_sums:
        noisy = NoisyClusters(
            y[3:], grid[3:], release.noise[3:], least, float(model.max_rows), model.max_rows == 1
        )
        effect = draw_design_effect(noisy, table, question.rng)
    return _answer(release, table, effect, question.rng)


def draw_naive(question: Question) -> Answer:
    """Take the noisy totals for those of the table, and rows for people."""
    release = question.release
    y, _ = _values(release)
    rows = max(float(y[:3].sum()), 0.0)
    mean, spread = 0.5, 0.5
    if rows > 0:
        mean = float(np.clip((y[2] + 0.5 * y[1]) / rows, 0.0, 1.0))
        largest = mean * (1 - mean)
        spread = float(np.clip((y[2] / rows - mean**2) / largest, 0.0, 1.0)) if largest > 0 else 0.0
    table = TableDraws(*(np.full(question.size, value) for value in (rows, mean, spread)))
    answer = _answer(release, table, np.ones(question.size), question.rng)
    said = "rows of one person are taken for rows of different people"
    return Answer(answer.draws, "noise ignored", (warning(release), said), table=answer.table, missing="")


def _answer(release: Release, table: TableDraws, effect: np.ndarray, rng: np.random.Generator) -> Answer:
    """Return draws in the column's own units."""
    if release.domain.bounds is None:
        raise UsageError("a mean is of a column between bounds.")
    low, high = map(float, release.domain.bounds[0])
    population = draw_population(replace(table, usable=table.usable / np.where(effect > 0, effect, 1.0)), rng)
    mean = low + (high - low) * table.mean
    weights = _model(release).weights
    total = table.usable if weights is None else table.usable * float(weights.high)
    own = {"usable": total, "sum": total * mean, "mean": mean, "design_effect": effect}
    draws = {"mean": low + (high - low) * population.mean, "sd": (high - low) * population.sd}
    return Answer(draws, _ASSUMED, table=own, missing="")


def _model(release: Release) -> ClusterMean:
    return release.model.require(ClusterMean, "clusters have a mean")


def _values(release: Release) -> tuple[np.ndarray, np.ndarray]:
    return np.array(release.totals.values, dtype=float) * release.totals.steps, release.totals.steps


def _rows(question: Question, parts: int) -> RecordPrior:
    """Return the prior on the number of rows, or on the weight in parts: private, whatever is public of people."""
    release = question.release
    if release.records is not None:
        return RecordPrior(0, release.records * _model(release).max_rows * parts)
    if parts > 1:
        question.refuse_records()
    return question.records


GRID = Engine("grid", reads_all, draw)
NAIVE = Engine("naive", reads_all, draw_naive, automatic=False)
