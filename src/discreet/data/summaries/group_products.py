"""The exact sums of products of a regression's terms in every declared group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.sources.conceal import concealed
from discreet.data.summaries.coded import coded_batches
from discreet.data.summaries.product_sums import ProductSums
from discreet.data.summaries.sums import Summary, check_size
from discreet.domain.declarations import Domain
from discreet.models.grouped import Grouped
from discreet.models.layout import Layout
from discreet.models.regression import Regression


@concealed
def sum_group_products(
    data: Any, model: Grouped, domain: Domain, layout: Layout, names: Sequence[str] | None = None
) -> Summary:
    """Sum every product in each declared group, one block after the other, also of groups without a record.

    Privacy
    -------
    The result is private. Only declarations raise. A usable record adds to the block of its own group alone, what it
    adds to the sums of the whole table; one whose group is missing or not declared adds nothing.
    """
    inner = model.model.require(Regression, "groups have sums of products")
    sums, n_groups = ProductSums(inner, layout), len(model.groups)
    columns = (*inner.columns, *model.by)
    own, by_labels = len(inner.label_columns), np.array([column.n_labels for column in model.by])
    n_records = 0
    totals = np.zeros((n_groups, len(inner.released_design.products) + 1), dtype=object)
    for batch in coded_batches(data, columns, model=inner.name, marked=model.max_groups is not None):
        n_records += batch.n_people
        group = _positions(batch.codes[:, own:], by_labels, n_groups)
        order = np.argsort(group, kind="stable")
        codes, values = batch.codes[order, :own], batch.values[order]
        present, first = np.unique(group[order], return_index=True)
        ends = [*first[1:].tolist(), len(order)]
        for at, start, end in zip(present.tolist(), first.tolist(), ends, strict=True):
            if at < n_groups:
                totals[at] += sums.added(codes[start:end], values[start:end])
    check_size(n_records * (model.max_groups or 1), layout)
    read = (*inner.column_names, *(column.name for column in model.by))
    return Summary(tuple(int(value) for value in totals.ravel()), n_records, read)


def _positions(codes: np.ndarray, n_labels: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the position of each record's group, the last column changing fastest; the number of groups if in none."""
    group = np.zeros(len(codes), dtype=np.int64)
    for at, size in enumerate(n_labels):
        group = group * size + codes[:, at]
    return np.where((codes < n_labels).all(axis=1), group, n_groups)
