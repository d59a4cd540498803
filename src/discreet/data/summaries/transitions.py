"""Steps of Markov chains, counted exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.sources.conceal import run_concealed
from discreet.data.summaries.coded import coded_batches
from discreet.data.summaries.sums import Summary
from discreet.domain.declarations import Domain
from discreet.models.layout import Layout
from discreet.models.markov import MarkovChain


def count_transitions(
    data: Any,
    model: MarkovChain,
    domain: Domain | None = None,
    layout: Layout | None = None,
    columns: Sequence[str] | None = None,
) -> Summary:
    """Count first states and steps, in the order of the model's layout.

    Privacy
    -------
    The result is private. Only declarations raise. A place with two records holds no state, so that no record decides
    what another one counts for; one record changes the state of one place, and that is in at most two counts.
    """
    sequences, times, states = (column.n_labels for column in model.label_columns)
    filled = np.zeros(sequences * times, dtype=np.int8)
    state_of = np.zeros(sequences * times, dtype=np.int32)

    def walk() -> int:
        n_records = 0
        for batch in coded_batches(data, model.columns, model=model.name):
            n_records += batch.n_records
            sequence, time, state = batch.codes.T
            usable = (sequence < sequences) & (time < times) & (state < states)
            places = sequence[usable].astype(np.int64) * times + time[usable]
            state_of[places] = state[usable]
            distinct, counts = np.unique(places, return_counts=True)
            # none, one, or more: more is all that need be known
            filled[distinct] = np.minimum(filled[distinct] + np.minimum(counts, 2), 2)
        return n_records

    n_records = run_concealed(walk)
    # a state beyond the last stands for an empty place
    path = np.where(filled == 1, state_of, states).reshape(sequences, times).astype(np.int64)
    first = np.bincount(path[:, 0], minlength=states + 1)[:states]
    steps = np.bincount((path[:, :-1] * (states + 1) + path[:, 1:]).ravel(), minlength=(states + 1) ** 2)
    steps = steps.reshape(states + 1, states + 1)[:states, :states]
    return Summary((*first.tolist(), *steps.ravel().tolist()), n_records, model.column_names)
