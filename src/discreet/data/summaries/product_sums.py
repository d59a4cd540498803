r"""The exact sums of products of a regression's terms, in steps of 2^-24.

A mapped number is rounded to k / 2^12 with a whole number k of at most 2^12 in size, so a block of records is a matrix
of such integers, and all sums of products are one product of matrices. Every partial sum over a block of at most 2^29
records is a whole number below 2^53, which float64 holds exactly in whatever order it is added up. Blocks are added up
as Python's integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.sources.conceal import run_concealed
from discreet.data.summaries.coded import CodedBatch, coded_batches
from discreet.data.summaries.sums import Summary, check_size
from discreet.domain.columns import Numeric
from discreet.domain.declarations import Domain
from discreet.models.layout import Layout
from discreet.models.product_layout import STEP, is_product
from discreet.models.regression import Regression

# records of a block, which stays in the processor's cache
_BLOCK = 1 << 13
_PER_STEP = float(1 / STEP)


def sum_products(
    data: Any, model: Regression, domain: Domain, layout: Layout, names: Sequence[str] | None = None
) -> Summary:
    """Sum every product of the layout over the usable records: those of which no column is missing.

    Privacy
    -------
    The result is private. Only declarations raise. A record adds products of numbers of [-1, 1] and of indicators,
    whatever it holds, or nothing.
    """
    bounds = tuple((c.low, c.high) for c in model.columns if isinstance(c, Numeric))
    each = layout.maps(bounds) if bounds else []
    low, high = (np.array([getattr(m, end) for m in each]) for end in ("low", "high"))
    shift, slope = (np.array([getattr(m, end) for m in each]) for end in ("shift", "slope"))
    n_labels = np.array([column.n_labels for column in model.label_columns])
    design = model.design
    label_at = {column.name: at for at, column in enumerate(model.label_columns)}
    number_at = {column.name: at for at, column in enumerate(model.numeric_columns)}

    def added(batch: CodedBatch, part: slice) -> tuple[int, np.ndarray]:
        x, codes = batch.values[part], batch.codes[part]
        usable = ~np.isnan(x).any(axis=1) & (codes < n_labels).all(axis=1)
        z = np.clip(x, low, high)
        z -= shift
        z *= slope
        np.clip(z, -1.0, 1.0, out=z)
        z[~usable] = 0.0
        z *= _PER_STEP
        z += 0.5
        np.floor(z, out=z)
        block = np.empty((len(z), 1 + len(design.terms)))
        block[:, 0] = np.where(usable, _PER_STEP, 0.0)
        for at, term in enumerate(design.terms, start=1):
            value = block[:, 0]
            for column, power in term.powers:
                for _ in range(power):
                    value = value * z[:, number_at[column]] / _PER_STEP
            if is_product(term):
                value = np.floor(value + 0.5)
            for column, code in term.labels:
                value = value * (codes[:, label_at[column]] == code)
            block[:, at] = value
        return int(np.count_nonzero(usable)), block.T @ block

    def walk() -> tuple[int, int, list[int]]:
        n_records = n_usable = 0
        totals = [0] * len(design.products)
        firsts, seconds = (np.array(each) for each in zip(*design.pairs, strict=True))
        for batch in coded_batches(data, model.columns, model=model.name):
            n_records += batch.n_records
            for start in range(0, batch.n_records, _BLOCK):
                usable, sums = added(batch, slice(start, start + _BLOCK))
                n_usable += usable
                found = sums[firsts, seconds]
                totals = [total + int(value) for total, value in zip(totals, found, strict=True)]
        check_size(n_records, layout)
        return n_records, n_usable, totals

    n_records, n_usable, totals = run_concealed(walk)
    counted = [n_usable] if len(layout.names) > len(totals) else []
    return Summary((*totals, *counted), n_records, model.column_names)
