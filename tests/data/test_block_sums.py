"""Sums in blocks: the same whole numbers as Python's own, whatever the blocks, up to the edge of float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data.sources import results
from discreet.data.sources.memory import BATCH
from discreet.data.summaries import sums
from discreet.data.summaries.sums import BlockSums
from tests.data.builders import declarations, expected

VALUES = [None, math.nan, math.inf, -math.inf, 1e300, -1e300, -3.0, 100.0, 48.5, 0.1, 99.99999999999999, 7.25]


def batch_of(values: list[Any], n_columns: int = 1) -> pa.RecordBatch:
    columns = [pa.array(values[at:] + values[:at], pa.float64()) for at in range(n_columns)]
    return pa.record_batch(columns, names=[f"c{i}" for i in range(n_columns)])


@pytest.mark.parametrize("size", [1, 3, 5, 1 << 15])
@pytest.mark.parametrize("outside", ["clip", "redact"])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize(
    "family", [dc.Normal(), dc.Laplace(location=0.3), dc.MultivariateNormal(2)], ids=repr
)
def test_the_size_of_blocks_does_not_matter(monkeypatch, family, neighbors, outside, size):
    monkeypatch.setattr(sums, "_BLOCK", size)
    n_columns = family.n_columns
    bounds = (-3, 100) if n_columns == 1 else [(-3, 100), (0, 50)]
    domain, layout = declarations(family, bounds, outside, "count", neighbors)
    batch = batch_of(VALUES, n_columns)
    truth = expected(
        {f"c{i}": batch.column(f"c{i}").to_pylist() for i in range(n_columns)}, family, domain, layout
    )
    assert BlockSums(family, domain, layout).total([batch]) == (len(VALUES), list(truth))
    # parts of a batch share its memory, from some place on
    parts = [batch.slice(0, 5), batch.slice(5, 4), batch.slice(9), batch.slice(0, 0)]
    assert BlockSums(family, domain, layout).total(parts) == (len(VALUES), list(truth))


@pytest.mark.parametrize("n_groups", [1, 4])
def test_groups_are_the_sums_of_their_records(n_groups, rng):
    domain, layout = declarations(dc.Mean(), (-3, 100), "clip", "count", "add_remove")
    values = VALUES * 40
    group = rng.integers(0, n_groups, len(values))
    found = BlockSums(dc.Mean(), domain, layout).by_group(batch_of(values), group, n_groups)
    for at in range(n_groups):
        own = [value for value, g in zip(values, group, strict=True) if g == at]
        assert tuple(found[:, at].tolist()) == expected({"x": own}, dc.Mean(), domain, layout)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "array", [pa.nulls(4), pa.array([], pa.float64()), pa.array([None] * 3, pa.float64())]
)
def test_columns_of_nothing(array):
    domain, layout = declarations(dc.Mean(), (-3, 100), "clip", "count", "add_remove")
    sums = BlockSums(dc.Mean(), domain, layout)
    batch = pa.record_batch([array], names=["c0"])
    assert sums.total([batch]) == (len(array), [0] * len(layout.names))
    assert not sums.by_group(batch, np.zeros(len(array), dtype=np.int64), 2).any()


def test_blocks_and_batches_stay_below_the_edge_of_float64():
    """The largest block of the largest steps; one step more than float64 holds is lost, which is the control."""
    largest = 2**24
    assert sums._BLOCK * largest <= 2**53
    assert BATCH * largest <= 2**53
    assert results.STREAMED <= BATCH
    at_the_edge = np.full(2**20, 2.0**33)
    assert at_the_edge.sum() == 2**53
    assert np.add(at_the_edge.sum(), 1.0) == 2**53
    # 2^29 records of the largest step reach it exactly, in any order: 2^29 of them are 2^9 sums of 2^20
    assert int(np.full(2**9, 2.0**44).sum()) == 2**29 * largest
    order = np.random.default_rng(1).permutation(2**20)
    odd = np.arange(2**20, dtype=float) * 2 + 1
    assert int(odd[order].sum()) == int(odd.sum()) == 2**40


def test_more_records_than_one_block_at_the_largest_steps():
    domain, layout = declarations(dc.Mean(), (-1, 1), "clip", "count", "replace")
    x = np.tile([1.0, -1.0, 1.0], 2**16)
    batches = [pa.record_batch([pa.array(x)], names=["c0"])] * 3
    n, values = BlockSums(dc.Mean(), domain, layout).total(batches)
    assert n == 9 * 2**16
    assert values == [3 * 2**16 * 2**24, 9 * 2**16 * 2**24, 9 * 2**16]
