r"""Sums over rows, and over people of the squares of their sums: whole numbers all the way.

A row has t in 0, ..., 2^24, its mapped value, and a weight v in 0, ..., 2^20; without weights v = 2^20. In steps of
2^-24 a person has

    m = sum 16 v,    h = sum floor(t v / 2^20),    q = sum floor(floor(t^2 / 2^24 + 1/2) v / 2^20),

and the row sums m - 2h + q, 2 (h - q) and q, which add up to m. None is negative: t^2 / 2^24 rounds to at most t, so
q <= h for every row; and a row's m - 2h + q exceeds v (2^24 - 2t + t'') / 2^20 - 1 >= -1, with t'' >= t^2 / 2^24 - 1/2
rounded, which the whole number 2^24 - 2t + t'' keeps from being negative. Cluster sums are floor(h^2 / d),
floor((m - h)^2 / d) and the rest of floor(m^2 / d), which is not negative because m^2 >= h^2 + (m - h)^2. So the bounds
of :mod:`discreet.families.cluster_mean` hold exactly, with nothing to be added for rounding.

Squares are of 128 bits, in DuckDB; sums of them too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np

from discreet.data.sources.chosen_rows import ChosenRows, InDuckDB, placed
from discreet.data.sources.conceal import concealed
from discreet.data.sources.in_engine import EngineRows
from discreet.data.sources.keys import readable
from discreet.data.sources.opening import column_names, opened
from discreet.data.sources.people import numbered
from discreet.data.sources.results import rows_of
from discreet.data.sources.source import Need, check_named
from discreet.data.summaries.engine_sums import numeric_records
from discreet.data.summaries.group_sums import group_needs, group_position
from discreet.data.summaries.sums import Summary, check_size
from discreet.domain.declarations import Domain
from discreet.families.cluster_mean import ClusterMean, Weights
from discreet.models import Model
from discreet.models.grouped import Grouped
from discreet.models.layout import Layout

_T, _V = 2**24, 2**20


@concealed
def sum_clusters(
    data: Any, model: Model, domain: Domain, layout: Layout, columns: Sequence[str] | None = None
) -> Summary:
    """Return the totals of a mean of clusters, of the table or of every declared group.

    Privacy
    -------
    The result is private. A person adds a function of that person's rows and of the key by which they are chosen; at
    most ``max_rows`` rows count, of all groups together. So the totals move by at most the layout's sensitivity if
    all rows of one person come, go or change. Only declarations raise.
    """
    grouped = model.require(Grouped, "groups are declared") if model.groups else None
    clusters = (model if grouped is None else grouped.model).require(ClusterMean, "clusters have a mean")
    people = data if isinstance(data, ChosenRows) else None
    needs = [Need("mean", None, dates=domain.dates), *([Need("mean", None)] * (clusters.n_columns - 1))]
    first = len(needs)
    if grouped is not None:
        needs += group_needs(grouped, "mean")
    wanted = columns
    if people is not None:
        # columns of arrays and lists go by their order, and the unit must not be taken for another column
        check_named(column_names(people.rows), "a unit is a column")
        needs.append(Need("mean", None, key=True))
        wanted = None if columns is None else [*columns, people.unit.column]

    with opened(data if people is None else people.rows, wanted, needs) as (picked, names):
        with closing(EngineRows(picked, needs)) as held:
            frame = held.frame.with_columns(
                g=nw.lit(0) if grouped is None else group_position(grouped, first),
                w=nw.lit(1.0) if clusters.weights is None else nw.col("c1"),
                unit=nw.lit(0) if people is None else nw.col(f"c{len(needs) - 1}"),
            )
            if people is not None:
                frame = numbered(readable(frame), own=people.unit.null == "own")
            else:
                frame = frame.with_columns(own=nw.lit(0))
            records = numeric_records(frame, clusters, domain, layout, keep=("g", "w", "unit", "own"))
            # the place of x alone is mapped; what the engine is asked for are whole numbers
            rows = records.lazy().select(
                "unit", "own", g=nw.col("g").cast(nw.Int64), t=_t(), v=_v(clusters.weights)
            )
            with InDuckDB(rows) as inside:
                choose = partial(placed, latin1=picked.latin1)
                n_records, totals = _totals(inside.relation, clusters, people, layout, grouped, choose)
        check_size(n_records * clusters.max_rows, layout)
        return Summary(totals, n_records, names[: len(names) - (people is not None)])


def _t() -> nw.Expr:
    """Return the mapped value in steps of 2^-24, null where the row has none."""
    whole = ((nw.col("z0") * 0.5 + 0.5) * float(_T) + 0.5).floor()
    return nw.when(nw.col("usable") == 1).then(whole).cast(nw.Int64)


def _v(weights: Weights | None) -> nw.Expr:
    """Return the weight in steps of 2^-20 of the largest, null where it is missing."""
    if weights is None:
        return nw.lit(_V).cast(nw.Int64)
    low, high = float(weights.low), float(weights.high)
    w = nw.col("w")
    whole = (w.clip(low, high) * (1 / high) * float(_V) + 0.5).floor().clip(0.0, float(_V))
    return nw.when(w <= math.inf).then(whole).cast(nw.Int64)


def _totals(
    rows: Any,
    clusters: ClusterMean,
    people: ChosenRows | None,
    layout: Layout,
    grouped: Grouped | None,
    choose: Callable[..., Any],
) -> tuple[int, tuple[int, ...]]:
    """Return the number of people (or of rows, where a row is a record) and the totals, group after group."""
    usable = "t IS NOT NULL AND v IS NOT NULL AND g IS NOT NULL"
    rows = rows.project(f"unit, own, g, v, CASE WHEN {usable} THEN t END AS t")
    counted = "16 * v AS m, t * v // 1048576 AS h, ((t * t + 8388608) // 16777216) * v // 1048576 AS q"
    if people is None:
        each = rows.project(f"g, 1 AS person, {counted}, t IS NOT NULL AS there")
    else:
        ordered = choose(rows, people.key, ["t", "v", "g"], last="t IS NULL")
        chosen = ordered.filter(f"place <= {clusters.max_rows}")
        each = chosen.project(
            f"unit, own, g, CAST(place = 1 AS INTEGER) AS person, {counted}, t IS NOT NULL AS there"
        )
        there = "FILTER (WHERE there)"
        each = each.aggregate(
            f"g, sum(person) AS person, sum(m) {there} AS m, sum(h) {there} AS h, sum(q) {there} AS q, "
            "bool_or(there) AS there",
            "unit, own, g",
        )
    d = 2**48 // clusters.cluster_steps
    each = each.project(
        "g, person, CAST(m AS HUGEINT) AS m, CAST(h AS HUGEINT) AS h, CAST(q AS HUGEINT) AS q, there"
    )
    each = each.project(
        f"g, person, there, m - 2 * h + q AS k0, 2 * (h - q) AS k1, q AS k2, (m - h) * (m - h) // {d} AS k3, "
        f"m * m // {d} - (m - h) * (m - h) // {d} - h * h // {d} AS k4, h * h // {d} AS k5"
    )
    size = len(layout.names) if grouped is None else len(layout.names) // len(grouped.groups)
    sums = ", ".join(f"sum(k{j}) FILTER (WHERE there) AS k{j}" for j in range(size))
    totals = np.zeros((1 if grouped is None else len(grouped.groups), size), dtype=object)
    n_records = 0
    for g, person, *values in rows_of(nw.from_native(each.aggregate(f"g, sum(person) AS n, {sums}", "g"))):
        n_records += int(person)
        if g is not None:
            totals[g] = [0 if value is None else int(value) for value in values]
    return n_records, tuple(int(value) for value in totals.ravel())
