"""Markov chains from noisy counts of steps: row by row exact, and naive."""

from __future__ import annotations

from functools import partial

import numpy as np

from discreet.inference.counts.latent_cells import cell_counts
from discreet.inference.counts.weights import dirichlet_columns
from discreet.inference.engine import Answer, Engine, Question, reads_all
from discreet.inference.engines.naive import warning
from discreet.inference.record_prior import RecordPrior
from discreet.models.markov import INITIAL, TRANSITION, MarkovChain

_ROWS = "steps out of a state are taken as independent given their number, any number being as likely as any other"


def draw(question: Question, *, aware: bool = True) -> Answer:
    """Draw the probabilities of the first state and of every step.

    How often each state was left is latent, with a flat prior up to what the declared places allow. Given these numbers
    every row of counts is multinomial, and is read exactly, as a :class:`~discreet.families.categorical.Categorical` of
    a private number of records. What the numbers themselves say of the transition probabilities, through how often each
    state was entered, is not used.
    """
    question.refuse_records()
    question.refuse_missing()
    release, size, rng = question.release, question.size, question.rng
    model = release.model.require(MarkovChain, "this engine reads Markov chains")
    k = model.state.n_labels
    readings = np.array(release.totals.values, dtype=np.int64).reshape(k + 1, k)
    noise = [release.noise[k * row : k * (row + 1)] for row in range(k + 1)]
    alphas = [question.prior[INITIAL], *[question.prior[TRANSITION]] * k]
    sequences, times, _ = (column.n_labels for column in model.label_columns)
    # of first states there are no more than sequences, of steps no more than places to step to
    ceilings = [sequences, *[sequences * (times - 1)] * k]
    rows = []
    for alpha, y, distributions, places in zip(alphas, readings, noise, ceilings, strict=True):
        most = RecordPrior(0, places if release.records is None else min(places, release.records))
        if not aware:
            counts = np.broadcast_to(np.maximum(y, 0), (size, k))
        else:
            counts = cell_counts(alpha, y, tuple(distributions), most, None).sample(size, rng)
        rows.append(dirichlet_columns((alpha + counts).T, rng).T)
    draws = {INITIAL: rows[0], TRANSITION: np.stack(rows[1:], axis=1)}
    if not aware:
        return Answer(draws, "noise ignored", (warning(release),))
    return Answer(draws, _ROWS, missing="")


EXACT = Engine("exact", reads_all, draw)
NAIVE = Engine("naive", reads_all, partial(draw, aware=False), automatic=False)
