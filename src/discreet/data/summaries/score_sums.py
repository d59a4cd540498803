"""The exact sums of one Newton step of a regression: curvature and slope at public weights.

Every coordinate of a record is rounded to a multiple of 2^-24, a whole number of at most 2^24 in size. Those of a block
are added up as 64-bit integers, and blocks as Python's integers, so that the order of the records does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.sources.conceal import concealed
from discreet.data.summaries.coded import CodedBatch, coded_batches
from discreet.data.summaries.product_sums import number_maps
from discreet.data.summaries.sums import Summary, check_size
from discreet.domain.declarations import Domain
from discreet.models.layout import FINE, Layout
from discreet.models.score_layout import feature_design
from discreet.models.step_regression import StepRegression

_BLOCK = 1 << 13
_PER_STEP = float(1 / FINE)


@concealed
def sum_scores(
    data: Any, model: StepRegression, domain: Domain, layout: Layout, names: Sequence[str] | None = None
) -> Summary:
    """Sum every coordinate of the step over the usable records: those of which no column is missing.

    Privacy
    -------
    The result is private. Only declarations raise. A record adds numbers of [-1, 1] that come from its clipped values
    and public weights, whatever it holds, or nothing.
    """
    low, high, shift, slope = number_maps(model, layout)
    n_labels = np.array([column.n_labels for column in model.label_columns])
    inner = feature_design(model.design)
    firsts, seconds = (np.array(each) for each in zip(*inner.pairs, strict=True))

    def added(batch: CodedBatch, part: slice) -> tuple[int, np.ndarray]:
        x, codes = batch.values[part], batch.codes[part]
        usable = ~np.isnan(x).any(axis=1) & (codes < n_labels).all(axis=1)
        x, codes = np.clip(x[usable], low, high), codes[usable]
        z = np.clip((x - shift) * slope, -1.0, 1.0)
        coded = {column.name: codes[:, at] for at, column in enumerate(model.label_columns)}
        mapped = {column.name: z[:, at] for at, column in enumerate(model.numeric_columns)}
        terms = np.stack([np.ones(len(x)), *(inner.evaluate(t, coded, mapped) for t in inner.terms)])
        weight, residual = model.score(codes, x)
        products = terms[firsts] * terms[seconds]
        every = np.concatenate([weight[None], weight * products, residual * terms])
        rounded = np.floor(np.clip(every, -1.0, 1.0) * _PER_STEP + 0.5)
        return len(x), rounded.astype(np.int64).sum(axis=1)

    n_records = n_usable = 0
    totals = [0] * (2 + len(inner.products) + len(inner.terms))
    for batch in coded_batches(data, model.columns, model=model.name):
        n_records += batch.n_records
        for start in range(0, batch.n_records, _BLOCK):
            usable, sums = added(batch, slice(start, start + _BLOCK))
            n_usable += usable
            totals = [total + int(value) for total, value in zip(totals, sums, strict=True)]
    check_size(n_records, layout)
    counted = [n_usable] if len(layout.names) > len(totals) else []
    return Summary((*totals, *counted), n_records, model.column_names)
