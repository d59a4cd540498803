"""Every source gives the same integers, and says nothing about the rows it read."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import data
from discreet.data.sources.opening import open_source
from discreet.data.sources.source import Need
from discreet.data.summaries import engine_sums as fixed
from discreet.objects import number
from tests.data.builders import NUMERIC, SAME_TEXT, TEXT, Columns, arrow_table, declarations, expected

INF, NAN = math.inf, math.nan

# ends of the range and their neighbors, edges of grid cells, everything that casts differ on
EDGES: list[float | None] = [
    *(math.nextafter(x, to) for x in (-3.0, 100.0, 48.5) for to in (-INF, INF)),
    *(-3.0, 100.0, 48.5, 0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e-300),
    *(1e300, -1e300, 1.7976931348623157e308, INF, -INF, NAN, None),
    *(2.0**53, 2.0**63, -(2.0**63), 2.0**64, 1e19, 1e22, 0.1, 1 / 3, 99.99999999999999),
    *(48.5 + 51.5 * (m + 0.5) / 2**24 for m in (-5, -1, 0, 1, 8388607, 16777214)),
]
# with bounds (-1, 1) the map is the identity, so these lie exactly on the edges of cells
HALVES: list[float | None] = [
    *((m + 0.5) / 2**24 for m in (-16777216, -3, -2, -1, 0, 1, 2, 16777215)),
    *(math.nextafter(0.5 / 2**24, to) for to in (-1.0, 1.0)),
    *(-1.0, 1.0, NAN, None, INF),
]

FAMILIES: list[tuple[str, Any, Any]] = [
    ("normal", dc.Normal(), (-3, 100)),
    ("mean", dc.Mean(), (-3, 100)),
    ("normal on cell edges", dc.Normal(), (-1, 1)),
    ("normal, inexact bounds", dc.Normal(), ("0.1", "1/3")),
    ("normal, known variance", dc.Normal(variance=4), (-3, 100)),
    ("normal, known mean", dc.Normal(mean=0.1), (-3, 100)),
    ("poisson", dc.Poisson(), (0, 100)),
    ("exponential", dc.Exponential(), (0, 100)),
    ("laplace", dc.Laplace(location=0.3), (-3, 100)),
]


def values_for(bounds: Any) -> list[float | None]:
    return HALVES + EDGES if bounds == (-1, 1) else EDGES


# every policy for the two families that differ most in arithmetic, two corners for the others
CASES = [
    pytest.param(family, bounds, neighbors, outside, id=f"{name}, {neighbors}, {outside}")
    for name, family, bounds in FAMILIES
    for neighbors in ("replace", "add_remove")
    for outside in ("redact", "clip")
    if name in ("normal", "normal, known mean") or (neighbors == "replace") == (outside == "redact")
    if family.only_outside in (None, outside)
]


@pytest.mark.parametrize(("family", "bounds", "neighbors", "outside"), CASES)
def test_every_source_gives_the_oracles_integers(family, bounds, neighbors, outside, tmp_path):
    columns = {"id": [float(i) for i, _ in enumerate(values_for(bounds))], "x": values_for(bounds)}
    domain, layout = declarations(family, bounds, outside, "count", neighbors)
    truth = expected({"x": columns["x"]}, family, domain, layout)
    for name, build in NUMERIC.items():
        named = not name.startswith(("numpy", "rows"))
        source = build(columns if named else {"x": columns["x"]}, tmp_path)
        summary = data.summarize(source, family, domain, layout, ["x"])
        assert summary.values == truth, name
        assert summary.n_records == len(columns["x"]), name


@pytest.mark.parametrize("outside", ["redact", "clip"])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("name", NUMERIC)
def test_a_record_of_several_columns(name, neighbors, outside, tmp_path):
    family = dc.MultivariateNormal(2)
    special = [1.5, -3.0, 7.0, NAN, None, INF, -INF, 1e300, 0.1]
    pairs = [(a, b) for a in special for b in special]
    columns: Columns = {"a": [a for a, _ in pairs], "b": [b for _, b in pairs]}
    domain, layout = declarations(family, [(-3, 8), (0, 7)], outside, "count", neighbors)
    summary = data.summarize(NUMERIC[name](columns, tmp_path), family, domain, layout, ["a", "b"])
    assert summary.values == expected(columns, family, domain, layout)
    assert summary.columns == ("a", "b")


@pytest.mark.parametrize("name", NUMERIC)
def test_large_random_data_in_any_order(name, tmp_path, rng):
    family = dc.Normal()
    domain, layout = declarations(family, (-3, 100), "clip", "count", "add_remove")
    x = rng.uniform(-10, 110, 50_000)
    x[::97] = NAN
    reference = data.summarize(x, family, domain, layout).values
    shuffled: Columns = {"x": rng.permutation(x).tolist()}
    assert (
        data.summarize(NUMERIC[name](shuffled, tmp_path), family, domain, layout, ["x"]).values == reference
    )


ENGINES = {
    "pyarrow": lambda table: table,
    "polars": pl.from_arrow,
    "duckdb": lambda table: duckdb.connect(config={"threads": 2}).from_arrow(table),
}


@pytest.mark.parametrize("outside", ["redact", "clip"])
@pytest.mark.parametrize(
    "family", [dc.Normal(), dc.Normal(mean=0.1), dc.Laplace(location=0.3)], ids=lambda f: repr(f)
)
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_agree_on_every_bit(engine, family, outside, rng):
    """A fused multiply-add, a reciprocal or a reassociation in any engine would show here."""
    x = np.concatenate(
        [rng.uniform(-3, 100, 100_000), rng.normal(48, 60, 50_000), rng.standard_cauchy(50_000)]
    )
    domain, layout = declarations(family, (-3, 100), outside)
    assert layout.shift is not None
    assert layout.half is not None
    with np.errstate(all="ignore"):
        u = family.measure(np.clip(x, -3.0, 100.0))
        z = np.clip((u - float(layout.shift[0])) * float(1 / layout.half[0]), -1, 1)
        z = np.where((outside == "clip") | ((x >= -3) & (x <= 100)), z, 0.0)
    frame = nw.from_native(ENGINES[engine](pa.table({"c0": x})))
    records = fixed.numeric_records(frame, family, domain, layout).with_columns(
        square=nw.col("z0") * nw.col("z0")
    )
    found = records.lazy().collect("pyarrow")
    assert np.array_equal(found["z0"].to_numpy().view(np.int64), (z + 0.0).view(np.int64))
    assert np.array_equal(found["square"].to_numpy().view(np.int64), (z * z).view(np.int64))


def test_a_reassociated_map_would_be_seen(rng):
    """The control of the test above: the same map, multiplied out, differs in many last bits."""
    x = rng.uniform(-3, 100, 100_000)
    slope = 1 / 51.5
    assert np.count_nonzero((x - 48.5) * slope != x * slope - 48.5 * slope) > 1000
    assert np.count_nonzero((x - 48.5) * slope != (x - 48.5) / 51.5) > 1000


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, -3, 100, 2**53 + 1, 2**63 - 1, -(2**63), None], pa.int64()),
        pa.array([1, 100, 2**64 - 1, None], pa.uint64()),
        pa.array([1, 100, -3, None], pa.int8()),
        pa.array([0.1, 99.9, 1e38, INF, NAN, None], pa.float32()),
        pa.array([True, False, None]),
        pa.array([Decimal("0.1"), Decimal("99.999999999"), Decimal("-3"), None], pa.decimal128(38, 10)),
        pa.array([Decimal("0.0000000001"), Decimal("12345678901234567890.12"), None], pa.decimal128(38, 10)),
        pa.nulls(3),
    ],
    ids=lambda a: str(a.type),
)
def test_every_numeric_type_is_the_nearest_float(engine, values, tmp_path):
    family = dc.Normal()
    domain, layout = declarations(family, (-3, 100), "clip")
    column = [None if v is None else float(v) for v in values.to_pylist()]
    truth = expected({"x": column}, family, domain, layout)
    source = ENGINES[engine](pa.table({"x": values}))
    assert data.summarize(source, family, domain, layout, ["x"]).values == truth


def test_decimals_are_rounded_once(rng):
    """An engine's own cast may be off by an ulp (Arrow's is, in a tenth of these); ours never is."""
    parts = rng.integers(-(10**17), 10**17, (10_000, 2))
    raw = [Decimal(int(v)).scaleb(-10) for v, _ in parts]
    raw += [(Decimal(int(v)) * 10**18 + int(w)).scaleb(-10) for v, w in parts]
    values = pa.array(raw, pa.decimal128(38, 10))
    for engine in ENGINES.values():
        source = open_source(engine(pa.table({"x": values})))
        frame = next(source.pick([0], [Need("normal", None)]).frames)
        assert frame.lazy().collect("pyarrow")["c0"].to_list() == [float(d) for d in raw]


def test_wide_integers(rng):
    family = dc.Normal()
    domain, layout = declarations(family, (-(2**100), 2**100), "clip")
    ints = [int(a) * 2**40 + int(b) for a, b in rng.integers(-(2**62), 2**62, (2000, 2))]
    truth = expected({"x": [float(i) for i in ints]}, family, domain, layout)
    strings = pa.table({"x": [str(i) for i in ints]})
    sources = {
        "list": ints,
        "polars": pl.DataFrame({"x": ints}, schema={"x": pl.Int128}),
        "duckdb": duckdb.connect().from_arrow(strings).project("x::HUGEINT AS x"),
    }
    for name, source in sources.items():
        assert data.summarize(source, family, domain, layout, ["x"]).values == truth, name


def test_narrow_pandas_types():
    family = dc.Normal()
    domain, layout = declarations(family, (-3, 100))
    truth = expected({"x": [1.0, None, 7.0]}, family, domain, layout)
    for source in (
        pd.Series([1, None, 7], dtype="Int64"),
        pd.Series([1, None, 7], dtype="Float32"),
        pd.Series([1.0, None, 7.0], dtype="float32"),
        pd.Series([1, None, 7], dtype=pd.ArrowDtype(pa.uint8())),
        pd.Series(pd.Categorical([1, None, 7])),
        pd.Series([1, None, "7"], dtype=object),
        pd.Series([np.float32(1), pd.NA, np.int8(7)], dtype=object),
        pd.Series([Fraction(1), pd.NaT, Decimal(7)], dtype=object),
        np.ma.masked_array([1.0, 5.0, 7.0], mask=[False, True, False]),
        np.array([1, np.nan, 7], dtype=np.longdouble),
        np.array([1, np.nan, 7], dtype=np.float16),
        pa.array([1, None, 7]),
        pl.Series([1, None, 7]),
        nw.from_native(pl.DataFrame({"x": [1, None, 7]})),
    ):
        assert data.summarize(source, family, domain, layout).values == truth, source


LABELS: list[str | None] = [
    "a",
    "b",
    " a\t",
    "A",
    "",
    None,
    "a b",
    "été",
    "1",
    "1.0",
    "01",
    "b",
    "a,b",
    'q"q',
    "é",
]
CATEGORIES = ("a", "b", "été", "1", "a,b", 'q"q')


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("name", TEXT)
def test_labels_in_text(name, neighbors, tmp_path):
    family = dc.Categorical(CATEGORIES)
    domain, layout = declarations(family, neighbors=neighbors)
    columns: Columns = {"x": LABELS} if name == "list" else {"id": ["-"] * len(LABELS), "x": LABELS}
    summary = data.summarize(TEXT[name](columns, tmp_path), family, domain, layout, ["x"])
    counts = [2, 2, 1, 2, 1, 1]
    assert summary.values == tuple(counts + [9] * (neighbors == "replace"))
    assert summary.n_records == len(LABELS)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("engine", [*ENGINES, "pandas", "list"])
@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 0, 1, None, 2], pa.int64()),
        pa.array([1, 0, 1, None, 2**64 - 1], pa.uint64()),
        pa.array([1, 0, 1, None, -1], pa.int8()),
        pa.array([1.0, -0.0, 1.0, NAN, None, 1.5, INF], pa.float64()),
        pa.array([1.0, 0.0, 1.0, NAN, None, 1e30], pa.float32()),
        pa.array([True, False, True, None]),
        pa.array(
            [Decimal("1.00"), Decimal("0.00"), Decimal("1.00"), None, Decimal("0.50")], pa.decimal128(5, 2)
        ),
        pa.array(["yes", "No", " TRUE ", "maybe", "", None, "yEs"]),
    ],
    ids=lambda a: str(a.type),
)
def test_yes_and_no_in_every_type(values, engine, neighbors):
    family = dc.Bernoulli()
    domain, layout = declarations(family, neighbors=neighbors)
    table = pa.table({"x": values})
    source = {"pandas": table.to_pandas, "list": values.to_pylist}.get(
        engine, lambda: ENGINES[engine](table)
    )()
    summary = data.summarize(source, family, domain, layout, ["x"])
    assert summary.values == ((1, 3) if neighbors == "replace" else (1, 2))


@pytest.mark.parametrize("engine", ENGINES)
def test_integer_labels_are_compared_as_integers(engine):
    """Two labels that are the same float64 are not the same label; a label no integer can be matches none."""
    family = dc.Categorical(("9007199254740992", "9007199254740993", "007", "x", str(2**70)))
    domain, layout = declarations(family)
    values = pa.array([2**53, 2**53 + 1, 2**53 + 1, 7, None])
    assert data.summarize(ENGINES[engine](pa.table({"x": values})), family, domain, layout).values == (
        1,
        2,
        0,
        0,
        0,
        3,
    )
    floats = pa.array([2.0**53, 7.0, NAN])
    assert data.summarize(ENGINES[engine](pa.table({"x": floats})), family, domain, layout).values == (
        1,
        0,
        0,
        0,
        0,
        1,
    )


def test_booleans_match_the_spellings_there_are():
    flags = pl.DataFrame({"x": [True, True, False]})
    for labels, counts in {
        ("true", "false"): (2, 1),
        ("0", "1"): (1, 2),
        ("True", "other"): (2, 0),
        ("yes", "no"): (0, 0),
    }.items():
        family = dc.Categorical(labels)
        domain, layout = declarations(family)
        for source in (flags, flags["x"].to_list(), flags.to_arrow(), flags.to_pandas()):
            assert data.summarize(source, family, domain, layout, None).values == (*counts, sum(counts))


class Roots(dc.Exponential):
    """A measure that only arrays understand, with a certificate that is half of what it should be."""

    measure_needs_arrays = True

    def measure(self, x):
        assert isinstance(x, np.ndarray | np.float64)
        return np.sqrt(x)

    def measure_range(self, low, high):
        return Fraction(0), Fraction(5)


@pytest.mark.parametrize("name", NUMERIC)
def test_measures_on_arrays(name, tmp_path):
    domain, layout = declarations(Roots(), (0, 100))
    summary = data.summarize(NUMERIC[name]({"x": EDGES}, tmp_path), Roots(), domain, layout, ["x"])
    assert summary.values == expected({"x": EDGES}, Roots(), domain, layout)
    # z = 3 at the upper bound, were it not clamped
    assert data.summarize([100.0], Roots(), domain, layout).values == (2**24, 1)


def dirty_columns() -> Columns:
    return {"x": [1.0, None, NAN, INF, -INF, 1e300, -5e-324, 50.0] * 5, "y": [float(i) for i in range(40)]}


@pytest.mark.parametrize("name", NUMERIC)
def test_dirty_rows_leave_no_trace(name, tmp_path, capfd, caplog, recwarn):
    family = dc.Normal()
    domain, layout = declarations(family, (0, 10))
    columns = dirty_columns() if not name.startswith(("numpy", "rows")) else {"x": dirty_columns()["x"]}
    data.summarize(NUMERIC[name](columns, tmp_path), family, domain, layout, ["x"])
    seen = data.inspect(NUMERIC[name](columns, tmp_path), family, domain, ["x"])
    assert (seen.records, seen.usable, seen.missing) == (40, 30, 10)
    assert (seen.inside, seen.below, seen.above, seen.unknown) == (5, 10, 15, 0)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert not recwarn.list


@pytest.mark.parametrize("name", TEXT)
def test_labels_leave_no_trace(name, tmp_path, capfd, caplog, recwarn):
    family = dc.Categorical(CATEGORIES)
    domain, layout = declarations(family)
    columns: Columns = {"x": LABELS} if name == "list" else {"id": ["-"] * len(LABELS), "x": LABELS}
    data.summarize(TEXT[name](columns, tmp_path), family, domain, layout, ["x"])
    seen = data.inspect(TEXT[name](columns, tmp_path), family, domain, ["x"])
    assert (seen.records, seen.usable, seen.missing, seen.unknown) == (15, 9, 6, 4)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert not recwarn.list


NUMBERS_IN_TEXT: list[str | None] = [
    *("1.5", "-3", "100", "00012", "+7", ".5", "5.", "1e1", "1E-400", "1e400", "-1e400", "9007199254740993"),
    *("inf", "+Inf", "-INFINITY", "nan", "NaN", "-nan"),
    *("1_000", "0x10", "1,5", "1e", "e1", ".", "+", "--1", "infin", "nanx", "١", "１", "ınf", "word"),
    *("", " ", None, " 3\t", "1 2", "4\n", "\x005", "\u00a06", "0." + "0" * 400 + "1", "1" * 400),
]


@pytest.mark.parametrize("outside", ["redact", "clip"])
@pytest.mark.parametrize("name", SAME_TEXT)
def test_text_that_nobody_declared_is_read_like_a_file(name, outside, tmp_path):
    """One unreadable value makes a whole column text, in many readers; the others must count as ever."""
    family = dc.Normal()
    domain, layout = declarations(family, (-3, 100), outside)
    read = [number(text) for text in NUMBERS_IN_TEXT]
    truth = expected({"x": read}, family, domain, layout)
    columns: Columns = {"x": NUMBERS_IN_TEXT}
    if name not in ("list", "numpy text", "numpy objects"):
        columns = {"id": ["-"] * len(NUMBERS_IN_TEXT), **columns}
    if name.startswith(("csv", "tsv")):
        # a line feed ends a line of a file, even inside quotes
        columns = {k: [None if v == "4\n" else v for v in values] for k, values in columns.items()}
    summary = data.summarize(SAME_TEXT[name](columns, tmp_path), family, domain, layout, ["x"])
    assert summary.values == truth
    seen = data.inspect(SAME_TEXT[name](columns, tmp_path), family, domain, ["x"])
    unread = sum(text is not None and r is None for text, r in zip(columns["x"], read, strict=True))
    assert (seen.records, seen.usable, seen.unknown) == (
        len(read),
        sum(r is not None and r == r for r in read),
        unread,
    )


@pytest.mark.parametrize("engine", ["polars", "pyarrow", "numpy"])
def test_numbers_in_text_to_the_last_bit(engine, rng):
    mantissas, exponents = rng.uniform(-10, 10, 20_000), rng.integers(-340, 320, 20_000)
    texts = [f"{m!r}e{e}" for m, e in zip(mantissas.tolist(), exponents.tolist(), strict=True)]
    texts += [f"{m:.30f}" for m in mantissas.tolist()]
    source = {"polars": pl.LazyFrame, "pyarrow": pa.table, "numpy": lambda t: np.array(t["x"])}[engine](
        {"x": texts}
    )
    frame = next(open_source(source).pick([0], [Need("normal", None)]).frames)
    found = frame.lazy().collect("pyarrow")["c0"].to_numpy()
    assert np.array_equal(found.view(np.int64), np.array([float(t) for t in texts]).view(np.int64))


@pytest.mark.parametrize(
    "read",
    [
        pd.read_csv,
        lambda path: pd.read_csv(path, dtype_backend="pyarrow"),
        pl.read_csv,
        pl.scan_csv,
        arrow_csv.read_csv,
        lambda path: np.array([1, 2, path.read_text().split()[-1]]),
        lambda path: np.array([b"1", 2, path.read_text().split()[-1].encode()]),
    ],
    ids=["pandas", "pandas arrow", "polars", "polars lazy", "pyarrow", "numpy", "numpy bytes"],
)
def test_one_word_among_numbers_is_one_missing_value(read, tmp_path):
    family = dc.Normal()
    domain, layout = declarations(family, (-3, 100))
    path = tmp_path / "rows.csv"
    for last, value in (("3", 3.0), ("word", None)):
        path.write_text(f"x\n1\n2\n{last}\n")
        truth = expected({"x": [1.0, 2.0, value]}, family, domain, layout)
        assert data.summarize(read(path), family, domain, layout, ["x"]).values == truth


def test_text_beside_numbers():
    family = dc.MultivariateNormal(2)
    domain, layout = declarations(family, [(0, 10), (0, 10)])
    columns: Columns = {"a": [1.0, None, 3.0, 4.0], "b": ["5", "6", "word", ""]}
    truth = expected({"a": columns["a"], "b": [5.0, 6.0, None, None]}, family, domain, layout)
    for source in (columns, pl.DataFrame(columns), pa.table(columns), pd.DataFrame(columns)):
        assert data.summarize(source, family, domain, layout, ["a", "b"]).values == truth
        seen = data.inspect(source, family, domain, ["a", "b"])
        assert (seen.usable, seen.missing, seen.unknown) == (1, 3, 1)


def not_utf8(values: list[bytes | None]) -> pa.Array:
    """Text as careless writers make it: Arrow does not look at the bytes."""
    raw = pa.array(values, pa.binary())
    return pa.StringArray.from_buffers(
        len(raw), raw.buffers()[1], raw.buffers()[2], raw.buffers()[0], raw.null_count
    )


def test_text_that_is_not_utf8_is_missing(tmp_path):
    labels = not_utf8([b"yes", b"\xff", b" no ", None, b"y\xe9s", b"yes"])
    family = dc.Bernoulli()
    domain, layout = declarations(family)
    pq.write_table(pa.table({"id": range(6), "x": labels}), tmp_path / "rows.parquet")
    with pytest.raises(duckdb.Error):  # so DuckDB must not be the one to read it
        duckdb.connect().read_parquet(str(tmp_path / "rows.parquet")).fetchall()
    table = pa.table({"id": range(6), "x": labels})
    dictionary = pa.table({"x": labels.dictionary_encode()})
    view = pa.table({"x": labels.cast(pa.string_view())})
    for source in (
        tmp_path / "rows.parquet",
        table,
        table.to_reader(),
        dictionary,
        view,
        pd.Series(labels, dtype=pd.ArrowDtype(pa.string())),
    ):
        assert data.summarize(source, family, domain, layout, ["x"]).values == (1, 3)
        if not isinstance(source, pa.RecordBatchReader):
            assert data.inspect(source, family, domain, ["x"]).unknown == 2
    nested = pa.array([{"b": 1}] * 6)
    pq.write_table(pa.table({"a": nested, "a.b": labels, "c": labels}), tmp_path / "points.parquet")
    assert data.summarize(tmp_path / "points.parquet", family, domain, layout, ["a.b"]).values == (1, 3)
    numeric = dc.Normal()
    domain, layout = declarations(numeric, (0, 10))
    numbers = not_utf8([b"1", b"\xff", b" 2 ", None, b"\xe93"])
    truth = expected({"x": [1.0, None, 2.0, None, None]}, numeric, domain, layout)
    for source in (pa.table({"x": numbers}), pa.table({"x": numbers}).to_reader()):
        assert data.summarize(source, numeric, domain, layout, ["x"]).values == truth


def test_no_records_at_all(tmp_path: Path):
    family = dc.Normal()
    domain, layout = declarations(family, (0, 10))
    empty = arrow_table({"x": []}).cast(pa.schema([("x", pa.float64())]))
    (tmp_path / "rows.csv").write_text("x\n")
    for source in (
        [],
        np.array([]),
        {"x": []},
        empty,
        empty.to_pandas(),
        pl.from_arrow(empty),
        duckdb.connect().from_arrow(empty),
        tmp_path / "rows.csv",
    ):
        assert data.summarize(source, family, domain, layout, ["x"]).values == (0, 0, 0)
        assert data.summarize(source, family, domain, layout, ["x"]).n_records == 0
        assert data.inspect(source, family, domain, ["x"]).usable == 0
