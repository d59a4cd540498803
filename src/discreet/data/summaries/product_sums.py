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

from discreet.data.sources.conceal import concealed
from discreet.data.summaries.coded import coded_batches
from discreet.data.summaries.sums import Summary, check_size
from discreet.domain.declarations import Domain
from discreet.models.layout import Layout
from discreet.models.product_layout import STEP, is_product
from discreet.models.regression import Regression

# records of a block, which stays in the processor's cache
_BLOCK = 1 << 13
_PER_STEP = float(1 / STEP)


def number_maps(model: Regression, layout: Layout) -> tuple[np.ndarray, ...]:
    """Return the map of each column of numbers: arrays of low, high, shift and slope."""
    bounds = tuple((c.low, c.high) for c in model.numeric_columns)
    each = layout.maps(bounds) if bounds else []
    return tuple(np.array([getattr(m, part) for m in each]) for part in ("low", "high", "shift", "slope"))


class ProductSums:
    """What records add to the sums of products of a regression's terms, in whole steps of the grid."""

    def __init__(self, model: Regression, layout: Layout) -> None:
        self._low, self._high, self._shift, self._slope = number_maps(model, layout)
        self._n_labels = np.array([column.n_labels for column in model.label_columns])
        self._design = model.released_design
        self._label_at = {column.name: at for at, column in enumerate(model.label_columns)}
        self._number_at = {column.name: at for at, column in enumerate(model.numeric_columns)}
        self._places = tuple(np.array(at) for at in zip(*self._design.pairs, strict=True))

    def added(self, codes: np.ndarray, values: np.ndarray) -> list[int]:
        """Return the sums of all products over some records, and how many of them are usable as the last."""
        found = [0] * (len(self._design.products) + 1)
        for start in range(0, len(values), _BLOCK):
            part = slice(start, start + _BLOCK)
            block = self._terms(codes[part], values[part])
            sums = [*(block.T @ block)[self._places], np.count_nonzero(block[:, 0])]
            found = [total + int(value) for total, value in zip(found, sums, strict=True)]
        return found

    def _terms(self, codes: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return 1 and the terms of each record as whole numbers of steps, records × terms; 0 if it is not usable."""
        usable = ~np.isnan(x).any(axis=1) & (codes < self._n_labels).all(axis=1)
        z = np.clip(x, self._low, self._high)
        z -= self._shift
        z *= self._slope
        np.clip(z, -1.0, 1.0, out=z)
        z[~usable] = 0.0
        z *= _PER_STEP
        z += 0.5
        np.floor(z, out=z)
        block = np.empty((len(z), 1 + len(self._design.terms)))
        block[:, 0] = np.where(usable, _PER_STEP, 0.0)
        for at, term in enumerate(self._design.terms, start=1):
            value = block[:, 0]
            for column, power in term.powers:
                for _ in range(power):
                    value = value * z[:, self._number_at[column]] / _PER_STEP
            if is_product(term):
                value = np.floor(value + 0.5)
            for column, code in term.labels:
                value = value * (codes[:, self._label_at[column]] == code)
            for column in term.signs:
                value = value * (2 * (codes[:, self._label_at[column]] == 1) - 1)
            block[:, at] = value
        return block


@concealed
def sum_products(
    data: Any, model: Regression, domain: Domain, layout: Layout, names: Sequence[str] | None = None
) -> Summary:
    """Sum every product of the layout over the usable records: those of which no column is missing.

    Privacy
    -------
    The result is private. Only declarations raise. A record adds products of numbers of [-1, 1] and of indicators,
    whatever it holds, or nothing.
    """
    sums = ProductSums(model, layout)
    n_records, totals = 0, [0] * (len(model.released_design.products) + 1)
    for batch in coded_batches(data, model.columns, model=model.name):
        n_records += batch.n_records
        more = sums.added(batch.codes, batch.values)
        totals = [total + value for total, value in zip(totals, more, strict=True)]
    check_size(n_records, layout)
    # the usable count is a coordinate or not
    return Summary(tuple(totals[: len(layout.names)]), n_records, model.column_names)
