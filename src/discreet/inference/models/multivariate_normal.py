"""Several columns, jointly normal: the family's parameters, and beside them the mean and sd of every column as clipped.

The engines ``augment`` and ``gibbs`` draw the normal distribution's parameters. What most readers ask for, the mean and
the standard deviation of a column, is read off that column's own noisy moments with nothing assumed but the bounds
(:mod:`discreet.inference.bounded_mean`), so it is right for columns that are not normal. If values outside the bounds
were redacted those moments are not those of the clipped column, and both follow from the normal distribution. The
engine ``grid`` reads means and standard deviations alone, of more columns than can be integrated over.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np

from discreet.artifact import Release
from discreet.domain.columns import Numeric
from discreet.inference.bounded_mean import NoisyTotals, draw_population, draw_table
from discreet.inference.engine import Answer, Engine, Question
from discreet.inference.engines import naive
from discreet.inference.engines.augment import augment_engine
from discreet.inference.engines.gibbs import gibbs_engine
from discreet.inference.models.class_moments import clipped_moments

#: How mean and sd are read.
BY_COLUMN = "mean and sd of each column read on their own, nothing assumed but the bounds"
_ALONE = "only mean and sd were read: no engine draws the covariance of so many columns and records"


def _augment(question: Question) -> Answer:
    return _with_columns(question, augment_engine.draw(question))


def _gibbs(question: Question) -> Answer:
    return _with_columns(question, gibbs_engine.draw(question))


def _with_columns(question: Question, answer: Answer) -> Answer:
    """Put mean and sd of every column beside the normal distribution's parameters."""
    if question.release.domain.outside == "redact":
        columns, how = clipped_columns(question.release, answer), answer.approximation
    else:
        columns = column_moments(question)
        own = "normal_mean and covariance exact" if answer.approximation == "none" else answer.approximation
        how = f"{own}; {BY_COLUMN}"
    return replace(answer, draws={**columns, **answer.draws}, approximation=how)


def column_moments(question: Question) -> dict[str, np.ndarray]:
    """Draw mean and sd of each column, draws × columns, assuming nothing but the bounds."""
    release = question.release
    d, rows = release.family.n_columns, release.layout.matrix
    grid = np.array([float(step) for step in release.totals.grid])
    pairs = list(combinations_with_replacement(range(d), 2))
    found = []
    for i in range(d):
        # coordinates that this column alone enters, as linear forms in its count, sum and sum of squares
        mine = [0, 1 + i, 1 + d + pairs.index((i, i))]
        others = np.delete(np.arange(rows.shape[1]), mine)
        kept = np.flatnonzero(~(rows[:, others] != 0).any(axis=1))
        totals = NoisyTotals(
            [int(release.totals.values[j]) for j in kept],
            rows[kept][:, mine],
            grid[kept],
            [release.noise[j] for j in kept],
        )
        table = draw_table(totals, question.usable, question.size, question.rng)
        found.append(draw_population(table, question.rng))
    low, high = np.array(release.domain.bounds, dtype=float).T
    width = high - low
    return {
        "mean": low + width * np.stack([one.mean for one in found], axis=1),
        "sd": width * np.stack([one.sd for one in found], axis=1),
    }


def clipped_columns(release: Release, answer: Answer) -> dict[str, np.ndarray]:
    """Return mean and sd of each column of a normal distribution that is clipped to the bounds."""
    variance = np.diagonal(answer.draws["covariance"], axis1=1, axis2=2)
    moments = [
        clipped_moments(
            {"mean": answer.draws["normal_mean"][:, i], "variance": variance[:, i]}, Numeric(name, low, high)
        )
        for i, (name, (low, high)) in enumerate(
            zip(release.columns, release.domain.bounds or (), strict=True)
        )
    ]
    return {name: np.stack([one[name] for one in moments], axis=1) for name in ("mean", "sd")}


def _grid(question: Question) -> Answer:
    return Answer(column_moments(question), BY_COLUMN, (_ALONE,))


def _refused_by_grid(release: Release) -> str | None:
    if release.domain.outside == "redact":
        return "values outside the bounds were redacted, and the grid engine reads clipped ones"
    return None


def _naive(question: Question) -> Answer:
    answer = naive.draw(question)
    return replace(answer, draws={**clipped_columns(question.release, answer), **answer.draws})


AUGMENT = replace(augment_engine.AUGMENT, draw=_augment)
GIBBS = replace(gibbs_engine.GIBBS, draw=_gibbs)
GRID = Engine("grid", _refused_by_grid, _grid, last_resort=True)
NAIVE = replace(naive.NAIVE, draw=_naive)
