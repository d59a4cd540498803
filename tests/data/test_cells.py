"""Counting records per cell: the same integers from every source, and nothing said about the rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data import count_bins
from discreet.data.summaries.bin_counts import cells
from discreet.domain.bin_grid import Grid
from tests.data.builders import NUMERIC, SAME_TEXT, Columns
from tests.data.test_neighbors import values

INF, NAN = math.inf, math.nan
GRID = Grid.over(Fraction(-3), Fraction(100), 16, discrete=False)
COUNTS = Grid.over(Fraction(0), Fraction(40), 16, discrete=True)
EDGES: list[float | None] = [
    *(-3.0, 100.0, 48.5, 0.0, -0.0, 5e-324, -5e-324, 1e300, -1e300, INF, -INF, NAN, None),
    *(-3 + 103 * k / 16 for k in range(17)),
    *(math.nextafter(-3 + 103 * k / 16, to) for k in range(17) for to in (-INF, INF)),
    *(2.0**53, 2.0**63, -(2.0**63), 0.1, 1 / 3),
]


def by_hand(column: list[float | None], grid: Grid) -> tuple[int, ...]:
    """Count in Python floats and ``math.floor``: no array, no engine."""
    counts = [0] * grid.n_cells
    for x in column:
        if x is None or math.isnan(x):
            continue
        moved = min(max(x, float(grid.low)), float(grid.high))
        k = math.floor((moved - float(grid.low)) * float(1 / grid.step))
        counts[min(max(k, 0), grid.n_cells - 1)] += 1
    return tuple(counts)


@pytest.mark.parametrize("name", [n for n in NUMERIC if n != "pyarrow reader"])
@pytest.mark.parametrize("grid", [GRID, COUNTS], ids=["reals", "counts"])
def test_every_source_gives_the_same_counts(name, grid, tmp_path, capfd, caplog, recwarn) -> None:
    columns: Columns = {"x": EDGES}
    if not name.startswith(("numpy", "rows")):
        columns = {"id": [float(i) for i, _ in enumerate(EDGES)], "x": EDGES}
    source = NUMERIC[name](columns, tmp_path)
    seen = count_bins(source, dc.Normal(), [grid], ["x"])
    assert seen.counts == (by_hand(EDGES, grid),)
    assert seen.n_records == len(EDGES)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert not recwarn.list


@pytest.mark.parametrize("name", [n for n in SAME_TEXT if n != "pyarrow reader"])
def test_text_is_read_value_by_value(name, tmp_path) -> None:
    column = ["1", "word", "", None, " 99 ", "1e400", "nan", "1_000"]
    seen = count_bins(SAME_TEXT[name]({"x": column}, tmp_path), dc.Normal(), [GRID], ["x"])
    assert seen.counts == (by_hand([1.0, None, None, None, 99.0, INF, None, None], GRID),)
    assert seen.n_records == len(column)


@pytest.mark.parametrize("name", [n for n in NUMERIC if n != "pyarrow reader"])
def test_a_record_counts_in_every_column_or_in_none(name, tmp_path) -> None:
    special = [1.5, -3.0, 7.0, NAN, None, INF, -INF]
    pairs = [(a, b) for a in special for b in special]
    columns: Columns = {"a": [a for a, _ in pairs], "b": [b for _, b in pairs]}
    grids = [GRID, COUNTS]
    seen = count_bins(NUMERIC[name](columns, tmp_path), dc.MultivariateNormal(2), grids, ["a", "b"])
    whole = [p for p in pairs if all(x is not None and not math.isnan(x) for x in p)]
    assert seen.counts == tuple(by_hand([p[i] for p in whole], grids[i]) for i in range(2))
    assert [sum(c) for c in seen.counts] == [25, 25]


def test_many_rows_in_any_order(rng: np.random.Generator, tmp_path) -> None:
    x = rng.uniform(-10, 110, 50_000)
    x[::97] = NAN
    truth = count_bins(x, dc.Normal(), [GRID]).counts
    assert truth == (by_hand(x.tolist(), GRID),)
    shuffled: Columns = {"x": rng.permutation(x).tolist()}
    for name in ("parquet", "csv", "polars lazy", "duckdb 2 threads", "pyarrow chunked"):
        assert count_bins(NUMERIC[name](shuffled, tmp_path), dc.Normal(), [GRID], ["x"]).counts == truth


def test_integers_fall_into_their_own_cells() -> None:
    for low, high, asked in ((0, 40, 1024), (3, 100_000, 1024), (0, 2**40, 512)):
        grid = Grid.over(Fraction(low), Fraction(high), asked, discrete=True)
        ends = [k for k in range(grid.n_cells) if k < 300]
        x = np.array([float(end) for k in ends for end in (grid.lower(k), grid.upper(k))])
        assert np.array_equal(cells(x, grid), np.repeat(ends, 2))


@settings(max_examples=150, derandomize=True, deadline=None)
@given(rest=st.lists(values, max_size=3), old=values, new=values)
@example(rest=[], old=INF, new=None)
@example(rest=[], old=INF, new=-INF)
def test_one_record_is_one_step(rest, old, new) -> None:
    """Whatever it holds: leaving takes at most 1 from one cell, and replacing it puts at most 1 into another."""
    before, after, without = (
        np.array(count_bins(rows, dc.Normal(), [GRID]).counts[0])
        for rows in ([*rest, old], [*rest, new], rest)
    )
    for more in (before, after):
        assert (more - without).min() >= 0
        assert (more - without).sum() <= 1


def test_a_stream_is_refused_before_it_is_read() -> None:
    reader = pa.table({"x": [1.0, 2.0]}).to_reader()
    asked = dc.mechanisms.PrivateQuantiles(0.1, 0.9, within=(0, 10), epsilon=1)
    with pytest.raises(dc.errors.UsageError, match="can be read once"):
        dc.release(reader, dc.Normal(), bounds=asked, epsilon=1)
    assert reader.read_all().num_rows == 2


def test_rows_that_are_gone_at_the_second_look_are_no_release() -> None:
    reader = pa.table({"x": [1.0, 2.0]}).to_reader()
    relation = duckdb.connect().from_arrow(reader)
    asked = dc.mechanisms.PrivateQuantiles(0.1, 0.9, within=(0, 10), epsilon=1)
    with pytest.raises(dc.errors.DataError) as caught:
        dc.release(relation, dc.Normal(), bounds=asked, epsilon=1, neighbors="add_remove")
    assert "2" not in caught.value.message


def test_engines_that_fail_say_nothing() -> None:
    def fail(frame: Any) -> Any:
        raise ValueError("secret 42")

    frame = pl.LazyFrame({"x": [1.0, 42.0]}).map_batches(fail, schema={"x": pl.Float64})
    with pytest.raises(dc.errors.DataError) as caught:
        count_bins(frame, dc.Normal(), [GRID], ["x"])
    assert "42" not in str(caught.value)
    assert caught.value.__context__ is None
