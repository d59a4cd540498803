"""Steps of Markov chains, counted exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.sources.conceal import concealed
from discreet.data.summaries.coded import coded_batches
from discreet.data.summaries.sums import Summary
from discreet.domain.declarations import Domain
from discreet.models import MarkovChain
from discreet.models.layout import Layout


@concealed
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
    counted = model.steps_between(filled == 1, state_of).values()
    return Summary(
        tuple(v for cells in counted for v in cells.ravel().tolist()), n_records, model.column_names
    )
