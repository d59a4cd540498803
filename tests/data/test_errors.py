"""Errors speak of declarations; no value of the data gets into one, by any way."""

from __future__ import annotations

import datetime
import gzip
import os
import re
import traceback

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import data
from discreet.data.sources.conceal import run_concealed
from discreet.errors import DataError, DiscreetError, UsageError
from tests.data.builders import declarations

SECRET = "sentinel-48151623"
FAMILY = dc.Normal()
DOMAIN, LAYOUT = declarations(FAMILY, (-3, 100))


def sums(source, columns=("x",), family=FAMILY):
    if family is not FAMILY:
        domain, layout = declarations(family)
        return data.summarize(source, family, domain, layout, columns)
    return data.summarize(source, FAMILY, DOMAIN, LAYOUT, columns)


def chain(error: BaseException | None):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def assert_sealed(error: BaseException, secret: str = SECRET) -> None:
    assert len(list(chain(error))) == 1
    assert secret not in "".join(traceback.format_exception(error))
    # the frames that held rows are gone too: only the test, the public function and what conceals remain
    frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
    assert frames[-1] in ("run_concealed", "summarize", "inspect")


def failing_reader():
    def batches():
        yield pa.record_batch({"x": [1.0]})
        raise ValueError(SECRET)

    return pa.RecordBatchReader.from_batches(pa.schema([("x", pa.float64())]), batches())


class Nosy(dc.Exponential):
    measure_needs_arrays = True

    def measure(self, x):
        raise ValueError(f"{SECRET} {x}")


def broken_sources(folder):
    words = pl.DataFrame({"x": ["1.5", SECRET]})
    yield duckdb.connect().from_arrow(words.to_arrow()).project("CAST(x AS DOUBLE) AS x")
    yield words.lazy().with_columns(pl.col("x").cast(pl.Float64))
    yield failing_reader()
    scanned = folder / "words.csv"
    words.write_csv(scanned)
    yield pl.scan_csv(scanned, infer_schema_length=1)


def test_what_engines_say_is_never_repeated(tmp_path, capfd, caplog):
    for source in broken_sources(tmp_path):
        with pytest.raises(DataError) as caught:
            sums(source)
        assert caught.value.message == "the data could not be read to its end."
        assert_sealed(caught.value)
    for source in broken_sources(tmp_path):
        with pytest.raises(DataError) as caught:
            data.inspect(source, FAMILY, DOMAIN, ["x"])
        assert_sealed(caught.value)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_the_check_above_can_fail():
    """Control: ``raise ... from None`` alone leaves the engine's words in the context."""
    with pytest.raises(DataError) as caught:  # noqa: PT012
        try:
            raise ValueError(SECRET)
        except ValueError:
            raise DataError("fixed") from None
    with pytest.raises(AssertionError):
        assert_sealed(caught.value)


@pytest.mark.parametrize(("raised", "left"), [(KeyboardInterrupt, ()), (SystemExit, (1,))])
def test_interrupts_pass_without_their_words(raised, left):
    def interrupt():
        raise raised(SECRET)

    with pytest.raises(raised) as caught:
        run_concealed(interrupt, "fixed")
    assert caught.value.args == left
    assert_sealed(caught.value)


def test_a_measure_that_fails(capfd):
    domain, layout = declarations(Nosy(), (0, 10))
    with pytest.raises(UsageError, match="must return one number per value") as caught:
        data.summarize([1.0, 2.0], Nosy(), domain, layout)
    assert_sealed(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet"])
def test_damaged_files(tmp_path, ending, capfd):
    path = tmp_path / f"rows{ending}"
    values = [SECRET] * 20_000
    if ending == ".parquet":
        pq.write_table(pa.table({"x": np.arange(20_000.0), "y": values}), path)
        whole = path.read_bytes()
        path.write_bytes(whole[:200] + bytes(len(whole) // 2) + whole[200 + len(whole) // 2 :])
    else:
        whole = gzip.compress(os.urandom(200_000).hex().encode())
        path.write_bytes(gzip.compress(b"x\n") + whole[: len(whole) // 2])
    with pytest.raises(DataError) as caught:
        sums(path)
    assert_sealed(caught.value)
    path.write_bytes(b"not what it says")
    with pytest.raises(DataError, match=re.escape(str(path))):
        sums(path)
    # nothing is printed, not even by a thread of an engine
    assert capfd.readouterr() == ("", "")


def text_tables(folder):
    frame = pl.DataFrame({"x": [SECRET, "2"], "y": [1.0, 2.0]})
    frame.write_parquet(folder / "rows.parquet")
    yield folder / "rows.parquet"
    yield duckdb.connect().read_parquet(str(folder / "rows.parquet"))
    yield duckdb.connect().from_arrow(frame.to_arrow())
    yield duckdb.connect().from_arrow(frame.to_arrow()).project(f"x::ENUM('{SECRET}', '2') AS x")


def test_declared_text_is_refused_for_numbers(tmp_path):
    for source in text_tables(tmp_path):
        with pytest.raises(UsageError) as caught:
            sums(source)
        assert caught.value.message == "column 'x' holds text, but normal needs numbers."
        assert caught.value.hint == "cast the column to a number type, or give the CSV file"
        assert_sealed(caught.value)


def test_dates_are_refused(tmp_path):
    days = pa.table({"x": [datetime.date(1948, 1, 5)], "t": [datetime.datetime(1948, 1, 5)]})
    pq.write_table(days, tmp_path / "rows.parquet")
    for source in (
        tmp_path / "rows.parquet",
        days,
        pl.from_arrow(days),
        days.to_pandas()[["t"]].rename(columns={"t": "x"}),
    ):
        with pytest.raises(
            UsageError, match=re.escape("column 'x' holds dates or times, but normal needs numbers.")
        ) as error:
            sums(source)
        assert_sealed(error.value, "1948")
        with pytest.raises(UsageError, match="but bernoulli needs labels"):
            sums(source, family=dc.Bernoulli())  # pyright: ignore[reportArgumentType]


def test_unsuitable_types():
    for source in (
        {"x": np.array([1j])},
        {"x": np.zeros(2, dtype=[("a", float)])},
        {"x": pd.Series([[1.0]], dtype=pd.ArrowDtype(pa.list_(pa.float64())))},
        pa.table({"x": [[1.0]]}),
        pl.DataFrame({"x": [{"a": 1.0}]}),
        pl.DataFrame({"x": [b"1"]}),
        duckdb.connect().sql("SELECT uuid() AS x"),
    ):
        with pytest.raises(UsageError, match="unsuitable type"):
            sums(source)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.csv.gz"])
@pytest.mark.parametrize(
    ("line", "family"),
    [
        (f"{SECRET},12", FAMILY),
        (f"{SECRET},-1.5e3", FAMILY),
        (f"{SECRET},nan", FAMILY),
        (f"{SECRET},", FAMILY),
        (f"{SECRET},1948-01-05", FAMILY),
        (f"{SECRET}, yes", dc.Bernoulli()),
        (f"{SECRET},été", dc.Categorical(("été", "hiver"))),
    ],
)
def test_a_forgotten_header_is_not_published(tmp_path, name, line, family):
    """The first line is then a record: no field of it gets into a release, an error or a traceback."""
    path = tmp_path / name
    content = f"{line}\n{line}\n".replace(",", "\t" if ".tsv" in name else ",").encode()
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    domain = DOMAIN if family is FAMILY else declarations(family)[0]
    for look in (lambda: sums(path, family=family), lambda: data.inspect(path, family, domain, ["x"])):
        with pytest.raises(UsageError) as caught:
            look()
        assert caught.value.message == (
            f"there is no column 'x': the first line of {path} does not look like a header."
        )
        assert caught.value.hint is None
        assert_sealed(caught.value)


def test_columns_of_a_text_file_are_never_guessed(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(f"{SECRET}\n1\n")
    with pytest.raises(UsageError, match="name the column: ") as caught:
        sums(path, None)
    assert_sealed(caught.value)
    with pytest.raises(UsageError, match="name the column: ") as caught:
        dc.release(path, FAMILY, bounds=(0, 1), epsilon=1)
    assert SECRET not in str(caught.value)
    plane = dc.MultivariateNormal(2)
    path.write_text(f"{SECRET},a\n1,2\n")
    with pytest.raises(UsageError, match="name the columns: ") as caught:
        data.inspect(path, plane, declarations(plane, [(0, 1), (0, 1)])[0])
    assert_sealed(caught.value)


def test_types_of_data():
    for source in (3.0, {1.0, 2.0}, object(), b"rows.csv", None):
        with pytest.raises(UsageError, match=f"cannot read data of type {type(source).__name__}"):
            sums(source)
    with pytest.raises(UsageError, match="cannot read data of this type"):
        sums(iter([1.0]))
    with pytest.raises(UsageError, match="one or two dimensions, got 3"):
        sums(np.zeros((2, 2, 2)))
    with pytest.raises(UsageError, match="the same number of values"):
        data.summarize(
            {"a": [1.0], "b": [1.0, 2.0]},
            dc.MultivariateNormal(2),
            *declarations(dc.MultivariateNormal(2), [(0, 1), (0, 1)]),
            ["a", "b"],
        )
    with pytest.raises(UsageError, match="each column must have one dimension"):
        sums({"x": np.zeros((2, 2))})
    with pytest.raises(UsageError, match="a column must be a list"):
        sums({"x": 3.0})
    with pytest.raises(UsageError, match="each column may be given once"):
        data.summarize(
            {"a": [1.0]},
            dc.MultivariateNormal(2),
            *declarations(dc.MultivariateNormal(2), [(0, 1), (0, 1)]),
            ["a", "a"],
        )


def test_paths(tmp_path):
    with pytest.raises(DataError, match="does not exist or is not a file"):
        sums(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="does not exist or is not a file"):
        sums("https://example.org/rows.parquet")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="there is no Parquet file"):
        sums(tmp_path / "folder.csv")
    for name in ("rows.docx", "rows", "rows.parquet.gz", "rows.gz"):
        (tmp_path / name).write_bytes(b"x\n1\n")
        with pytest.raises(UsageError, match="cannot tell what kind of file"):
            sums(tmp_path / name)


def test_absent_columns(tmp_path):
    frame = pl.DataFrame({"a": [1.0], 'we"ird': [SECRET]})
    frame.write_parquet(tmp_path / "rows.parquet")
    for source in (
        frame,
        frame.lazy(),
        frame.to_pandas(),
        frame.to_arrow(),
        frame.to_dict(as_series=False),
        duckdb.connect().from_arrow(frame.to_arrow()),
        tmp_path / "rows.parquet",
    ):
        assert data.column_names(source) == ["a", 'we"ird']
        with pytest.raises(UsageError, match=re.escape("there is no column 'x'.")) as caught:
            sums(source)
        assert caught.value.hint == 'the columns are a, we"ird'
        assert_sealed(caught.value)
    assert data.column_names([1.0]) == []


@pytest.mark.parametrize(
    "name", ['we"ird', "a.b", "*", "it's", "select", "^x.*$", "c0", "z0", "usable", "COLUMNS(*)", "ü x"]
)
def test_columns_with_odd_names(name, tmp_path):
    frame = pl.DataFrame({"c1": [90.0, 80.0], name: [1.0, 2.0], "x": [70.0, 60.0]})
    path = tmp_path / "it's [1] *.parquet"
    frame.write_parquet(path)
    truth = sums([1.0, 2.0], None).values
    for source in (
        frame,
        frame.lazy(),
        frame.to_pandas(),
        frame.to_arrow(),
        path,
        duckdb.connect().from_arrow(frame.to_arrow()),
    ):
        assert sums(source, [name]).values == truth


def test_bounds_that_floats_cannot_hold():
    class Steep(dc.Exponential):
        def measure_range(self, low, high):
            return low, high**9

    domain, layout = declarations(Steep(), (0, "1e50"))
    with pytest.raises(UsageError, match="too wide or too narrow"):
        data.summarize([1.0], Steep(), domain, layout)


def test_too_many_records_for_exact_sums(monkeypatch):
    from discreet.data.summaries import sums as fixed

    assert issubclass(DataError, DiscreetError)
    fixed.check_size(2**39 - 1, LAYOUT)
    with pytest.raises(DataError, match="too many records"):
        fixed.check_size(2**39 + 1, LAYOUT)
