"""Several columns at once: the same codes and numbers whatever the engine, and not a word about the rows."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.data import CodedBatch, coded_batches, count_tables, read_records
from discreet.data.sources.kinds import Kind
from discreet.data.sources.label_lookup import Lookup
from discreet.data.sources.lines import LineSource
from discreet.data.sources.memory import BATCH
from discreet.data.sources.values import Vocabulary
from discreet.domain.columns import read_columns
from discreet.domain.declarations import Domain
from discreet.errors import DataError, UsageError
from tests.data.builders import TABLES, Columns, arrow_table
from tests.models.toy import Toy

NAN, INF = math.nan, math.inf
DECLARED = {"sex": ["f", "m"], "pressure": (60, 200), "grade": [1, 2, 3], "town": ["Ås", "St. Ives", "m"]}
MODEL = Toy(DECLARED)
# what is stored in the columns, and the codes and numbers that it must become
STORED: Columns = {
    "id": list(range(8)),
    "sex": ["f", "m", None, "m", "M", " f", "", "f"],
    "pressure": [100.0, 60.0, None, INF, 1e300, -INF, 0.1, NAN],
    "grade": [1, 2, 3, None, 4, -1, 1, 2],
    "town": ["Ås", "St. Ives", "Oslo", "m", None, "Ås ", "å", ""],
}
CODES = [[0, 0, 0], [1, 1, 1], [2, 2, 3], [1, 3, 2], [2, 3, 3], [0, 3, 0], [2, 0, 3], [0, 1, 3]]
VALUES = [100.0, 60.0, NAN, INF, 1e300, -INF, 0.1, NAN]


def read(data: Any, declared: Any = DECLARED) -> tuple[np.ndarray, np.ndarray]:
    batches = list(coded_batches(data, read_columns(declared)))
    return np.concatenate([b.codes for b in batches]), np.concatenate([b.values for b in batches])


def check(data: Any, name: str) -> None:
    codes, values = read(data)
    assert codes.tolist() == CODES, name
    np.testing.assert_array_equal(values[:, 0], VALUES, err_msg=name)


def rows(columns: Columns, _: Path) -> Any:
    return list(zip(*(columns[name] for name in DECLARED), strict=True))


MORE: dict[str, Callable[[Columns, Path], Any]] = {
    "pandas": lambda columns, _: pd.DataFrame(columns),
    "pandas arrow": lambda columns, _: arrow_table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas categories": lambda columns, _: pd.DataFrame(columns).astype(
        {"sex": "category", "town": "category"}
    ),
    "arrow dictionary": lambda columns, _: arrow_table(columns).set_column(
        1, "sex", pa.array(columns["sex"]).dictionary_encode()
    ),
    "decimals": lambda columns, _: arrow_table(columns).set_column(
        3, "grade", pa.array([None if g is None else Decimal(g) for g in columns["grade"]])
    ),
    "polars categories": lambda columns, _: pl.DataFrame(columns).with_columns(
        pl.col("sex").cast(pl.Categorical)
    ),
    "rows": rows,
    "numpy objects": lambda columns, path: np.array(rows(columns, path), dtype=object),
}


@pytest.mark.parametrize("name", [*TABLES, *MORE])
def test_every_source_gives_the_same_codes_and_numbers(name: str, tmp_path: Path) -> None:
    check({**TABLES, **MORE}[name](STORED, tmp_path), name)


def test_a_parquet_file_read_by_duckdb_and_by_arrow_agree(tmp_path: Path) -> None:
    """Labels in text take Arrow's reader, a file without them DuckDB's."""
    declared = {"pressure": (60, 200), "grade": [1, 2, 3]}
    path = TABLES["parquet"](STORED, tmp_path)
    codes, values = read(path, declared)
    assert codes[:, 0].tolist() == [row[1] for row in CODES]
    np.testing.assert_array_equal(values[:, 0], VALUES)
    # one string that is not UTF-8: DuckDB would give up on the file
    broken = pa.array([b"f", b"\xff\xfe", b"m"]).cast(pa.binary()).view(pa.string())
    pq.write_table(pa.table({"sex": broken, "x": [1.0, 2.0, NAN]}), tmp_path / "broken.parquet")
    codes, values = read(tmp_path / "broken.parquet", {"x": (0, 1), "sex": ["f", "m"]})
    assert codes[:, 0].tolist() == [0, 2, 1]
    np.testing.assert_array_equal(values[:, 0], [1.0, 2.0, NAN])


SPOILED = b"""sex,pressure,grade,town
f,100,1,\xc3\x85s
m,sixty,1.0,"St. Ives"
f,1,2
f,1,2,m,more
"f,100,1,m
m,1e400,2.5,\xff\xfe

m,,, "m"
,0x10,+1,m m
"""
SPOILED_CODES = [[0, 0, 0], [1, 0, 1], [2, 3, 3], [2, 3, 3], [2, 3, 3], [1, 3, 3], [1, 3, 2], [2, 3, 3]]
SPOILED_VALUES = [100.0, NAN, NAN, NAN, NAN, INF, NAN, NAN]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_nothing_in_a_file_raises(ending: str, tmp_path: Path) -> None:
    """Words among numbers, undeclared labels, ragged lines, an open quotation mark, bytes that are no text."""
    path = tmp_path / f"spoiled{ending}"
    path.write_bytes(gzip.compress(SPOILED) if ending == ".csv.gz" else SPOILED)
    codes, values = read(path)
    assert codes.tolist() == SPOILED_CODES
    np.testing.assert_array_equal(values[:, 0], SPOILED_VALUES)


def test_nothing_in_objects_raises() -> None:
    class Hostile:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("secret")

        __hash__ = None  # pyright: ignore[reportAssignmentType]

        def __str__(self) -> str:
            raise RuntimeError("secret")

    odd = [Hostile(), object(), [], {}, b"f", 1 + 2j, float("nan"), Decimal("sNaN"), 10**400, True]
    codes, values = read(dict.fromkeys(DECLARED, odd))
    assert len(codes) == len(odd)
    assert codes[:, 0].tolist() == [2] * len(odd)
    assert codes[:, 1].tolist() == [3] * 9 + [0]
    assert values[-2:, 0].tolist() == [INF, 1.0]
    assert np.isnan(values[:-2]).all()
    ragged, _ = read([("f", 1, 1, "m"), ("f", 1), None, 7, "fmmf"])
    assert ragged.tolist() == [[0, 0, 2], *[[2, 3, 3]] * 4]


def test_declared_types_raise_and_say_nothing_of_the_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"sex": ["f"], "x": ["secret"]}), tmp_path / "text.parquet")
    dates = {"sex": pl.Series(["f"]), "x": pl.Series([1], dtype=pl.Date)}
    wrong = {"x": (0, 1), "sex": ["f", "m"]}
    for data in (
        tmp_path / "text.parquet",
        pl.DataFrame(dates),
        duckdb.connect().sql("SELECT 'f' AS sex, 'secret' AS x"),
    ):
        with pytest.raises(UsageError, match="column 'x' holds") as caught:
            read(data, wrong)
        assert "secret" not in str(caught.value)
    with pytest.raises(UsageError, match="there is no column 'town'"):
        read({name: STORED[name] for name in ("sex", "pressure", "grade")})
    with pytest.raises(UsageError, match=r"takes 4 column\(s\), and the data has 2"):
        read(np.zeros((3, 2)))
    with pytest.raises(DataError, match="does not exist"):
        read(tmp_path / "nowhere.csv")


def test_a_forgotten_header_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "bare.csv").write_text("f,100,Ås\nm,70,m\n")
    with pytest.raises(UsageError, match="does not look like a header") as caught:
        read(tmp_path / "bare.csv", {"sex": ["f", "m"], "age": (0, 120)})
    assert "100" not in str(caught.value)


@pytest.mark.parametrize(
    "dtype", [pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(19)]
)
def test_labels_that_are_numbers_in_every_type(dtype: pa.DataType) -> None:
    array = pa.array([0, 1, 7, None, 100], type=pa.int64()).cast(dtype)
    declared = {"far": [100, 0, 10**30, -(10**18)], "near": [0, 1, 2]}
    codes, _ = read(pa.table({"far": array, "near": array}), declared)
    assert codes.tolist() == [[1, 0], [4, 1], [4, 3], [4, 3], [0, 3]]


def test_flags_and_large_integers() -> None:
    def codes(array: pa.Array, kind: Kind, vocabulary: Vocabulary) -> np.ndarray:
        return Lookup.of(kind, vocabulary, latin1=False).codes(array)

    yes_no = Vocabulary.of([("1",), ("0",)])
    flags = pa.array([True, False, None])
    assert codes(flags, Kind.FLAG, yes_no).tolist() == [0, 1, 2]
    wide = Vocabulary.of([(str(2**63 - 1),), (str(2**53 + 1),), ("x",)])
    whole = pa.array([2**63 - 1, 2**53 + 1, 2**53, -(2**63), None])
    assert codes(whole, Kind.INTEGER, wide).tolist() == [0, 1, 3, 3, 3]
    # a float that two integers share is neither
    assert codes(pa.array([2.0**53, 2.0**63]), Kind.NUMBER, wide).tolist() == [3, 3]
    assert codes(pa.nulls(2), Kind.NUMBER, wide).tolist() == [3, 3]
    only_words = Vocabulary.of([("x",), ("y",)])
    assert codes(whole, Kind.INTEGER, only_words).tolist() == [2] * 5


def test_a_csv_file_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first batch is there long before the file's end was read."""
    lines = 3 * BATCH
    path = tmp_path / "long.csv"
    path.write_bytes(b"sex,x\n" + b"f,12.5\n" * lines)
    taken = []
    body = LineSource._body
    monkeypatch.setattr("discreet.data.sources.lines._BLOCK", 1 << 16)
    monkeypatch.setattr(LineSource, "_body", lambda self: (taken.append(len(b)) or b for b in body(self)))
    walk = coded_batches(path, read_columns({"sex": ["f", "m"], "x": (0, 100)}))
    first = next(walk)
    assert isinstance(first, CodedBatch)
    assert first.n_records <= BATCH
    assert sum(taken) < path.stat().st_size * 0.8
    rest = sum(batch.n_records for batch in walk)
    assert first.n_records + rest == lines


def test_tables_and_records_agree_with_a_loop(rng: np.random.Generator) -> None:
    n = 2000
    data = {
        "sex": rng.choice(["f", "m", "x", ""], n).tolist(),
        "pressure": rng.uniform(0, 300, n).tolist(),
        "grade": rng.choice([1, 2, 3, 9], n).tolist(),
        "town": rng.choice(["Ås", "m", "nowhere"], n).tolist(),
    }
    for missing in ("count", "none"):
        found = count_tables(pl.DataFrame(data), MODEL, Domain(None, None, "redact", missing))
        assert found.n_records == n
        assert found.columns == tuple(DECLARED)
        names = [name for table in MODEL.tables() for name in table.cells(missing)]
        expected = dict.fromkeys(names, 0)
        for sex, grade, town in zip(data["sex"], data["grade"], data["town"], strict=True):
            words = [
                f"{name}={value if str(value) in labels else '<missing>'}"
                for name, value, labels in (
                    ("sex", sex, ["f", "m"]),
                    ("grade", grade, ["1", "2", "3"]),
                    ("town", town, ["Ås", "m"]),
                )
            ]
            for a, b in pairwise(words):
                if f"{a}|{b}" in expected:
                    expected[f"{a}|{b}"] += 1
        assert dict(zip(names, found.values, strict=True)) == expected
    imputed = Domain(None, None, "clip", "impute", ("f", MODEL.numeric_columns[0].low, "2", "m"))
    records = read_records(pd.DataFrame(data), MODEL, imputed)
    assert records.codes[:, 0].tolist() == [int(sex == "m") for sex in data["sex"]]
    assert records.values[:, 0].tolist() == [min(max(x, 60.0), 200.0) for x in data["pressure"]]
    with pytest.raises(ValueError, match="read-only"):
        records.codes[0, 0] = 1
    counts = count_tables(pd.DataFrame(data), MODEL, imputed).values
    assert sum(counts) == 2 * n
    at = [records.codes[:, 0] * 3 + records.codes[:, 1], records.codes[:, 1] * 3 + records.codes[:, 2]]
    assert counts == (*np.bincount(at[0], minlength=6).tolist(), *np.bincount(at[1], minlength=9).tolist())


def test_no_rows_at_all() -> None:
    empty = count_tables({name: [] for name in DECLARED}, MODEL, Domain(None, None, "redact", "count"))
    assert empty.n_records == 0
    assert set(empty.values) == {0}
