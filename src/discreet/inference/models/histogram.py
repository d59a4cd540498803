"""The distribution of a column from noisy counts of its bins: independent draws down a tree, nothing assumed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from discreet.artifact import Release
from discreet.domain.dates import shown_day
from discreet.errors import UsageError
from discreet.families.histogram import Histogram
from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.engines.naive import warning
from discreet.inference.histogram import Distribution, Level, draw_histogram

_ASSUMED = "nothing assumed but the bins"
# Draws times bins, of counts and of probabilities: 1.6 GB.
_MOST_NUMBERS = 100_000_000
# Measured on one core at epsilon = 1: what a bin takes in the tree, and what one of its draws does.
_SECONDS_A_BIN, _SECONDS_A_NUMBER = 2.5e-3, 5e-7


def draw(question: Question) -> Answer:
    """Draw the table's own counts, and from them the population's probabilities."""
    model = _model(question)
    release = question.release
    levels, at = [], 0
    for starts in model.level_starts():
        values = release.totals.values[at : at + len(starts)]
        levels.append(Level(starts.tolist(), values, release.noise[at : at + len(starts)]))
        at += len(starts)
    if at < len(release.totals.values):
        levels.append(Level([0], [release.totals.values[at]], release.noise[at]))
    drawn = draw_histogram(model.bins, levels, question.usable, question.size, question.rng)
    return _answer(release, model, drawn.p, drawn.counts)


def draw_naive(question: Question) -> Answer:
    """Take the noisy counts of the bins for those of the table, negative ones for none."""
    model, rng = _model(question), question.rng
    counts = np.maximum(np.array(question.release.totals.values[: model.bins], dtype=np.int64), 0)
    p = rng.gamma(1.0 + counts, size=(question.size, model.bins))
    answer = _answer(
        question.release,
        model,
        p / p.sum(axis=1, keepdims=True),
        np.broadcast_to(counts, p.shape),
    )
    return Answer(
        answer.draws,
        "noise ignored",
        (warning(question.release),),
        table=answer.table,
        labels=answer.labels,
        distribution=answer.distribution,
    )


def _model(question: Question) -> Histogram:
    model = question.release.model.require(Histogram, "this engine reads histograms")
    if question.size * model.bins > _MOST_NUMBERS:
        fewer = _MOST_NUMBERS // model.bins // question.chains * question.chains
        raise UsageError(
            f"{question.size:,} draws of {model.bins:,} bins are over {_MOST_NUMBERS:,} numbers to keep in memory.",
            hint=f"ask for draws={fewer}" if fewer else "ask for chains=1 and fewer draws",
        )
    return model


def _answer(release: Release, model: Histogram, p: np.ndarray, counts: np.ndarray) -> Answer:
    edges = model.edges_within(release.domain.bounds)
    return Answer(
        {"p": p},
        _ASSUMED,
        table={"usable": counts.sum(axis=1), "count": counts},
        labels={"p": _bin_names(edges, dates=release.domain.dates)},
        distribution=Distribution(edges, p, counts),
    )


def _bin_names(edges: np.ndarray, *, dates: bool) -> Sequence[str]:
    """Name the bins by their edges, with as many digits as tell them apart."""
    words = [shown_day(edge) if dates else f"{edge:.6g}" for edge in edges.tolist()]
    if len(set(words)) < len(words):
        words = [repr(edge) for edge in edges.tolist()]
    return [f"{low} to {high}" for low, high in pairwise(words)]


def _seconds(question: Question) -> float:
    model = _model(question)
    return _SECONDS_A_BIN * model.bins + _SECONDS_A_NUMBER * model.bins * question.size


TREE = Engine("tree", reads_all, draw, _seconds, any_noise=True)
NAIVE = Engine("naive", reads_all, draw_naive, automatic=False, any_noise=True)
