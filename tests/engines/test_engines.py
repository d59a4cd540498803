"""Spark, Spark Connect, Dask and Ibis: the same integers as from a table in memory, and nothing said about a row."""

from __future__ import annotations

import datetime
import math
import time
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import data
from discreet.data.sources.people import PeopleRows
from discreet.data.summaries.label_members import count_members
from discreet.data.summaries.registry import SUMMARIES
from discreet.domain.unit import Rule, Unit, read_unit
from discreet.errors import DataError, UsageError
from tests.contracts.test_many_rows import many_rows, many_sums
from tests.contracts.test_sources import CASES, LABELS, values_for
from tests.data.builders import declarations, expected
from tests.engines.sessions import SPARK_LOG, engines

INF, NAN = math.inf, math.nan
ENGINES = engines()
# every query is compiled anew by Java, which takes seconds: each arithmetic once, and each rule with one way of nulls
IS_SPARK = "spark" in ENGINES
FAMILIES = [
    case
    for case in CASES
    if not IS_SPARK
    or case.id
    in (
        "mean, add_remove, clip",
        "normal, replace, redact",
        "normal on cell edges, replace, redact",
        "normal, inexact bounds, add_remove, clip",
        "normal, known mean, add_remove, redact",
        "laplace, add_remove, clip",
    )
]
RULES = [
    (rule, null)
    for at, rule in enumerate(("mean", "sum", "max", "min", "count", "last"))
    for null in (("leave_out", "own")[at % 2 :][:1] if IS_SPARK else ("leave_out", "own"))
]

pytestmark = pytest.mark.parametrize("engine", ENGINES)

_TYPES = {
    "x": pa.float64(),
    "t": pa.float64(),
    "w": pa.float64(),
    "id": pa.string(),
    "y": pa.string(),
    "k": pa.int64(),
}


def dressed(engine: str, columns: dict[str, list[Any]]) -> Any:
    table = pa.table({name: pa.array(values, _TYPES[name]) for name, values in columns.items()})
    return ENGINES[engine](table)


def summary(source: Any, model: Any, domain: Any, layout: Any, columns: list[str] | None) -> tuple[int, ...]:
    module, _, name = SUMMARIES[model.summary].partition(":")
    return getattr(import_module(module), name)(source, model, domain, layout, columns).values


def people(rng: np.random.Generator, n: int = 300) -> dict[str, list[Any]]:
    x = rng.normal(40, 60, n).round(3)
    for place, value in enumerate([INF, -INF, 1e300, -1e300, 100.0, -3.0, 0.1, 5e-324, NAN]):
        x[place] = value
    gone = rng.random((3, n)) < 0.08
    ids = [f"p{i}" for i in rng.integers(0, 60, n)]
    return {
        "id": [None if g else v for v, g in zip(ids, gone[0], strict=True)],
        "x": [None if g else float(v) for v, g in zip(x, gone[1], strict=True)],
        "t": [None if g else float(v) for v, g in zip(rng.integers(0, 6, n), gone[2], strict=True)],
        "y": [str(v) for v in rng.choice(["yes", " no", "?", ""], n)],
        "k": [int(v) for v in rng.integers(0, 3, n)],
    }


@pytest.mark.parametrize(("family", "bounds", "neighbors", "outside"), FAMILIES)
def test_families_of_numbers(engine, family, bounds, neighbors, outside):
    values = values_for(bounds)
    domain, layout = declarations(family, bounds, outside, "count", neighbors)
    source = dressed(engine, {"id": ["-"] * len(values), "x": values})
    found = data.summarize(source, family, domain, layout, ["x"])
    assert found.values == expected({"x": values}, family, domain, layout)
    assert found.n_records == len(values)


def test_sums_beyond_64_bits(engine):
    """Sums of the bare values overflow; those of their integers do not, and a person's rows do not either."""
    k = [2**62, 2**62 + 1, -(2**62), 2**63 - 1, None, 2**53 + 1] * 40
    domain, layout = declarations(dc.Mean(), (-(2**63), 2**63), "clip")
    truth = data.summarize({"k": k}, dc.Mean(), domain, layout, ["k"]).values
    assert data.summarize(dressed(engine, {"k": k}), dc.Mean(), domain, layout, ["k"]).values == truth
    unit = read_unit(
        "id",
        "sum",
        allowed=dc.Mean().unit_rules,
        names=["k"],
        bounds=dc.Mean().record_bounds(domain),
        last_by=None,
        model="mean",
    )
    table = {"k": k, "id": ["one"] * len(k)}
    truth = data.summarize(PeopleRows(table, unit), dc.Mean(), domain, layout, ["k"]).values
    found = data.summarize(PeopleRows(dressed(engine, table), unit), dc.Mean(), domain, layout, ["k"]).values
    assert found == truth


def test_labels(engine):
    for family in (dc.Categorical(["a", "b", "été", "1", "a,b", 'q"q']), dc.Bernoulli(yes="a", no="b")):
        domain, layout = declarations(family)
        truth = summary({"y": LABELS}, family, domain, layout, ["y"])
        assert summary(dressed(engine, {"y": LABELS}), family, domain, layout, ["y"]) == truth
    numbers = [1, 0, 7, None, 1]
    domain, layout = declarations(dc.Bernoulli())
    truth = summary({"k": numbers}, dc.Bernoulli(), domain, layout, ["k"])
    assert summary(dressed(engine, {"k": numbers}), dc.Bernoulli(), domain, layout, ["k"]) == truth


@pytest.mark.parametrize(("rule", "null"), RULES)
def test_people(engine, rule: Rule, null, rng):
    table, model = people(rng), dc.Mean()
    domain, layout = declarations(model, (-3, 100) if rule != "sum" else (-30, 1000), "clip")
    unit = read_unit(
        "id",
        rule,
        allowed=model.unit_rules,
        names=["x"],
        bounds=model.record_bounds(domain),
        last_by="t" if rule == "last" else None,
        null=null,
        model="mean",
    )
    truth = data.summarize(PeopleRows(table, unit), model, domain, layout, ["x"])
    if (engine, rule) == ("spark connect", "mean"):
        # this server has no division of doubles under the name that narwhals gives it; Apache Spark has
        with pytest.raises(DataError):
            data.summarize(PeopleRows(dressed(engine, table), unit), model, domain, layout, ["x"])
        return
    found = data.summarize(PeopleRows(dressed(engine, table), unit), model, domain, layout, ["x"])
    assert (found.values, found.n_records) == (truth.values, truth.n_records)


@pytest.mark.parametrize(("column", "most"), [("y", None), ("k", None), ("y", 1), ("k", 2)])
def test_people_of_labels_that_nobody_declared(engine, column, most, rng):
    table, key = people(rng), bytes(range(32))
    unit = None if most is None else Unit("id", (), ())
    found, truth = (
        count_members(source, column, unit, most or 1, key) for source in (dressed(engine, table), table)
    )
    assert found.n_records == truth.n_records
    counts = [
        dict(zip(one.spelled(np.arange(len(one.counts))), one.counts.tolist(), strict=True))
        for one in (found, truth)
    ]
    assert counts[0] == counts[1]


@pytest.mark.parametrize("rule", ["any", "all"])
def test_people_of_labels(engine, rule: Rule, rng):
    table, model = people(rng), dc.Bernoulli()
    domain, layout = declarations(model)
    unit = read_unit(
        "id",
        rule,
        allowed=model.unit_rules,
        names=["y"],
        bounds=model.record_bounds(domain),
        last_by=None,
        model="b",
    )
    truth = data.summarize(PeopleRows(table, unit), model, domain, layout, ["y"]).values
    assert (
        data.summarize(PeopleRows(dressed(engine, table), unit), model, domain, layout, ["y"]).values == truth
    )


RELEASES: dict[str, dict[str, Any]] = {
    "groups": {"model": dc.Mean(), "column": "x", "bounds": (-3, 100), "by": "y", "groups": ["yes", "no"]},
    "groups of labels": {"model": dc.Bernoulli(), "column": "y", "by": "k", "groups": ["0", "1", "2"]},
    "people in groups": {
        "model": dc.Mean(),
        "column": "x",
        "bounds": (-3, 100),
        "unit": "id",
        "per_unit": {"x": "mean", "y": "max"},
        "by": "y",
        "groups": ["yes", "no"],
    },
    "max_rows": {"model": dc.Mean(), "column": "x", "bounds": (-3, 100), "unit": "id", "max_rows": 2},
    "histogram": {"model": dc.Histogram(bins=8), "column": "x", "bounds": (-3, 100)},
    "private bounds": {
        "model": dc.Mean(),
        "column": "x",
        "bounds": dc.mechanisms.PrivateQuantiles(0.05, 0.95, within=(-3, 100), epsilon=1000),
    },
    "two columns": {"model": dc.MultivariateNormal(2), "columns": ["x", "t"], "bounds": [(-3, 100), (0, 5)]},
    "naive Bayes": {
        "model": dc.models.NaiveBayes(
            target=dc.models.Labels("y", ("yes", "no")), features=(dc.models.Labels("k", ("0", "1", "2")),)
        )
    },
}


@pytest.mark.parametrize("case", RELEASES)
def test_releases(engine, case, rng):
    """Through the public verb, at a budget whose noise rounds to zero: the totals of the table in memory."""
    table, arguments = people(rng), RELEASES[case]
    few = dict(arguments)
    if engine == "spark connect" and case == "people in groups":
        few["per_unit"] = {"x": "max", "y": "max"}
    model = few.pop("model")
    truth = dc.release(table, model, epsilon=10**10, **few)
    found = dc.release(dressed(engine, table), model, epsilon=10**10, **few)
    assert found.records == truth.records
    for one, other in zip(found.totals.values, truth.totals.values, strict=True):
        # max_rows draws a key for each release, so other rows are chosen
        assert case in ("max_rows", "private bounds") or one == other


DAYS = [
    datetime.date(2020, 1, 1),
    datetime.date(1969, 12, 31),
    None,
    datetime.date(2020, 6, 30),
    datetime.date.max,
]
DATES: dict[str, pa.Array] = {
    "dates": pa.array(DAYS, pa.date32()),
    "moments": pa.array(
        [None if day is None else datetime.datetime.combine(day, datetime.time(23, 59)) for day in DAYS[:4]],
        pa.timestamp("us"),
    ),
    "text": pa.array(
        ["2020-01-01", " 2020-02-29T10:00:00", "2021-02-29", None, "", "HIV", "20200101", "1969-12-31"]
    ),
}


@pytest.mark.parametrize(
    ("held", "unit"),
    [
        (held, unit)
        for held in DATES
        for unit in (None, "id")
        if not IS_SPARK or (unit is None) == (held != "moments")
    ],
)
def test_dates(engine, held, unit):
    n = len(DATES[held])
    table = pa.table({"day": DATES[held], "id": pa.array([f"p{i // 2}" for i in range(n)])})
    people = {} if unit is None else {"unit": unit, "per_unit": "max"}
    call = {"column": "day", "bounds": ("1969-01-01", "2020-12-31"), "epsilon": 10**10, **people}
    truth = dc.release(table, dc.Mean(), **call)
    assert dc.release(ENGINES[engine](table), dc.Mean(), **call).totals.values == truth.totals.values


def test_columns_are_refused_by_their_type(engine):
    with pytest.raises(UsageError, match="holds text"):
        dc.release(dressed(engine, {"y": ["1"]}), dc.Mean(), column="y", bounds=(0, 1), epsilon=1)
    with pytest.raises(UsageError, match="holds no dates"):
        dc.release(
            dressed(engine, {"x": [1.0]}),
            dc.Mean(),
            column="x",
            bounds=("2020-01-01", "2021-01-01"),
            epsilon=1,
        )
    with pytest.raises(UsageError, match="no column 'z'"):
        dc.release(dressed(engine, {"x": [1.0]}), dc.Mean(), column="z", bounds=(0, 1), epsilon=1)


def test_an_error_of_a_row_says_nothing(engine, capfd, caplog):
    """The curator's own query raises at somebody's value, which engines repeat in errors and in logs."""
    failing = _failing(engine, dressed(engine, {"y": ["1", "HIV-4242"], "x": [1.0, 2.0]}))
    capfd.readouterr()
    with pytest.raises(DataError) as caught:
        dc.release(failing, dc.Mean(), column="x", bounds=(0, 10), epsilon=1)
    said = capfd.readouterr()
    java = SPARK_LOG.read_text() if IS_SPARK else ""
    assert "4242" not in f"{caught.value} {caught.value.hint} {said.out} {said.err} {caplog.text} {java}"
    if IS_SPARK:
        # the control: what Spark's driver writes unless it is told not to
        with pytest.raises(Exception, match="4242"):
            failing.collect()
        deadline = time.monotonic() + 60
        while "4242" not in SPARK_LOG.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.2)
    assert caught.value.__context__ is None
    assert "is its session still there?" in str(caught.value)


@pytest.mark.parametrize("by", ["y"] if IS_SPARK else [None, "y"])
def test_explain_reads_nothing(engine, by):
    """A table that raises when it is read explains itself all the same."""
    failing = _failing(engine, dressed(engine, {"y": ["1", "HIV-4242"], "x": [1.0, 2.0]}))
    groups = {} if by is None else {"by": by, "groups": ["1", "2"]}
    plan = dc.release(failing, dc.Mean(), column="x", bounds=(0, 10), epsilon=1, explain=True, **groups)
    assert "4242" not in str(plan)


def _failing(engine: str, table: Any) -> Any:
    if engine.startswith("spark"):
        return table.withColumn("x", table["y"].cast("double"))
    if engine == "dask":
        return table.assign(x=table["y"].astype("float64[pyarrow]"))
    return table.mutate(x=table["y"].cast("float64"))


@pytest.mark.slow
def test_ten_million_rows_shuffled(engine, rng):
    """The sums, those of groups, and those of people's largest values: see ``tests/contracts/test_many_rows.py``."""
    table = many_rows(rng)
    truth = many_sums(table)
    shuffled = table.take(pa.array(rng.permutation(len(table))))
    assert many_sums(ENGINES[engine](shuffled)) == truth
