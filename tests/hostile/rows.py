"""Tables of every container and type, one record of which holds the canary.

A column is drawn by ``rng`` and built twice from the same draw: with the canary in one record, and with another value
of the same type there. What a function does with the two may not differ in anything that can be seen.
"""

from __future__ import annotations

import array
import collections
import gzip
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.hostile.objects import CANARY, DAY, FLOAT, OBJECTS, WHOLE, WORD

_STAMP = 89_781_696_000_000_000 // 1000 * 1000  # 4815-01-06 in microseconds


@dataclass
class Draw:
    """What was drawn for one column: how many records, where the canary is, and which of the two tables this is."""

    rng: np.random.Generator
    n: int
    at: int
    twin: bool

    def put(self, usual: Any, canary: Any, other: Any = None) -> list[Any]:
        """Return usual values with the canary (in the twin: another value) among them."""
        values = [usual] * self.n
        values[self.at] = (usual if other is None else other) if self.twin else canary
        return values

    def odd(self) -> list[Any]:
        """Return usual values of several types, with a hostile object among them."""
        usual = [1, 0.5, "yes", "a", None, True, "1.5", 0]
        values: list[Any] = [usual[i] for i in self.rng.integers(0, len(usual), self.n)]
        name = self.rng.choice(list(OBJECTS))
        values[self.at] = 1 if self.twin else OBJECTS[str(name)]()
        return values


Build = Callable[[Draw], Any]

_ARROW: dict[str, tuple[pa.DataType, Any, Any]] = {
    **{str(kind): (kind, 1, 77) for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16())},
    **{str(kind): (kind, 1, WHOLE) for kind in (pa.int32(), pa.uint32(), pa.int64(), pa.uint64())},
    "half": (pa.float16(), np.float16(1), np.float16(np.nan)),
    "float": (pa.float32(), 1.0, FLOAT),
    "double": (pa.float64(), 1.0, FLOAT),
    "bool": (pa.bool_(), True, False),
    "decimal": (pa.decimal128(30, 2), Decimal("1.5"), Decimal(f"{CANARY}.25")),
    "decimal256": (pa.decimal256(60, 2), Decimal("1.5"), Decimal(f"{CANARY}{CANARY}{CANARY}.25")),
    **{str(kind): (kind, "yes", WORD) for kind in (pa.string(), pa.large_string(), pa.string_view())},
    **{
        str(kind): (kind, b"yes", WORD.encode())
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view())
    },
    "fixed binary": (pa.binary(len(WORD)), b"y" * len(WORD), WORD.encode()),
    "date32": (pa.date32(), DAY.replace(year=2000), DAY),
    "date64": (pa.date64(), DAY.replace(year=2000), DAY),
    **{f"timestamp {u}": (pa.timestamp(u), 1, int(CANARY)) for u in ("s", "ms", "us", "ns")},
    "zoned": (pa.timestamp("us", tz="Europe/Berlin"), 1, _STAMP),
    "time32": (pa.time32("s"), 1, 48151),
    "time64": (pa.time64("us"), 1, WHOLE),
    "duration": (pa.duration("us"), 1, WHOLE),
    "calendar": (pa.month_day_nano_interval(), (1, 2, 3), (1, 2, WHOLE)),
    "list": (pa.list_(pa.float64()), [1.0], [FLOAT]),
    "large list": (pa.large_list(pa.string()), ["a"], [WORD]),
    "fixed list": (pa.list_(pa.float64(), 2), [1.0, 2.0], [FLOAT, FLOAT]),
    "struct": (
        pa.struct({"a": pa.float64(), "b": pa.string()}),
        {"a": 1.0, "b": "x"},
        {"a": FLOAT, "b": WORD},
    ),
    "map": (pa.map_(pa.string(), pa.float64()), [("a", 1.0)], [(WORD, FLOAT)]),
    "nested": (pa.list_(pa.struct({"a": pa.list_(pa.string())})), [{"a": ["x"]}], [{"a": [WORD]}]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), "yes", WORD),
    "dictionary of numbers": (pa.dictionary(pa.int8(), pa.int64()), 1, WHOLE),
    "null": (pa.null(), None, None),
}


def _arrow(name: str) -> Build:
    kind, usual, canary = _ARROW[name]
    if pa.types.is_dictionary(kind):
        return lambda d: pa.array(
            d.put(usual, canary, d_other(usual)), type=kind.value_type
        ).dictionary_encode()
    return lambda d: pa.array(d.put(usual, canary), type=kind)


def d_other(usual: Any) -> Any:
    """Return another value of the same type, so that a dictionary has as many entries."""
    return "no" if isinstance(usual, str) else 2


def _bad_utf8(d: Draw) -> pa.Array:
    raw = d.put(b"yes", WORD.encode() + b"\xff\xfe")
    return pa.array(raw, type=pa.binary()).view(pa.string())


def _run_ends(d: Draw) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays([d.n], [1.0 if d.twin else FLOAT])


def _union(d: Draw) -> pa.Array:
    return pa.UnionArray.from_sparse(
        pa.array([0] * d.n, type=pa.int8()), [pa.array(d.put(1.0, FLOAT)), pa.array(d.put("a", WORD))]
    )


def _uuid(d: Draw) -> pa.Array:
    raw = pa.array(d.put(b"0" * 16, (CANARY * 2).encode()), type=pa.binary(16))
    return pa.ExtensionArray.from_storage(pa.uuid(), raw)


#: Arrow arrays by type.
ARROW: dict[str, Build] = {
    **{name: _arrow(name) for name in _ARROW},
    "not UTF-8": _bad_utf8,
    "run ends": _run_ends,
    "union": _union,
    "uuid": _uuid,
}

_CODES = "?bBhHiIlLqQefdgFDG"
_RECORD = [("a", float), ("b", "U20")]


def _numpy(dtype: Any, usual: Any, canary: Any) -> Build:
    def build(d: Draw) -> np.ndarray:
        out = np.empty(d.n, dtype=dtype)
        with np.errstate(all="ignore"):
            out[:] = usual
            out[d.at] = usual if d.twin else canary
        return out

    return build


def _objects(d: Draw) -> np.ndarray:
    out = np.empty(d.n, dtype=object)
    for i, value in enumerate(d.odd()):
        out[i] = value
    return out


#: NumPy columns by type.
NUMPY: dict[str, Build] = {
    **{code: _numpy(code, 1, 1 if code in "?bBhHe" else WHOLE) for code in _CODES if code not in "efdg"},
    **{code: _numpy(code, 1.5, FLOAT) for code in "efdg"},
    ">f8": _numpy(">f8", 1.5, FLOAT),
    ">i4": _numpy(">i4", 1, WHOLE),
    "U": _numpy("U40", "yes", WORD),
    "S": _numpy("S40", b"yes", WORD.encode() + b"\xff"),
    "T": _numpy(np.dtypes.StringDType(), "yes", WORD),
    "M8[D]": _numpy("M8[D]", "2000-01-01", "4815-01-06"),
    "M8[Y]": _numpy("M8[Y]", "2000", "4815"),
    "M8[ns]": _numpy("M8[ns]", 1, WHOLE),
    "m8[s]": _numpy("m8[s]", 1, WHOLE),
    "m8": _numpy("m8", 1, WHOLE),
    "V": _numpy("V8", b"0" * 8, CANARY.encode()),
    "record": _numpy(_RECORD, (1.0, "a"), (FLOAT, WORD)),
    "objects": _objects,
    "masked": lambda d: np.ma.masked_array(np.array(d.put(1.5, FLOAT)), mask=np.arange(d.n) == d.at),
    "masked text": lambda d: np.ma.masked_array(np.array(d.put("yes", WORD)), mask=np.arange(d.n) == d.at),
    "masked objects": lambda d: np.ma.masked_array(_objects(d), mask=np.arange(d.n) == 0),
    "read-only": lambda d: np.broadcast_to(FLOAT, d.n),
    "strided": lambda d: np.repeat(np.array(d.put(1.5, FLOAT)), 2)[::2],
}


def _pandas(build: Build, dtype: Any = None) -> Build:
    return lambda d: pd.Series(build(d), dtype=dtype)


def _backed(build: Build) -> Build:
    return lambda d: pd.Series(pd.arrays.ArrowExtensionArray(build(d)))


def _interval(d: Draw) -> pd.Series:
    return pd.Series(pd.arrays.IntervalArray.from_breaks(np.arange(d.n + 1.0) + (0 if d.twin else WHOLE)))


def _sparse(d: Draw) -> pd.Series:
    return pd.Series(pd.arrays.SparseArray(np.array(d.put(0.0, FLOAT, 1.0))))


_BACKED = [name for name in ARROW if name not in ("null", "run ends", "union", "uuid", "calendar", "half")]

#: pandas columns by type.
PANDAS: dict[str, Build] = {
    **{f"numpy {c}": _pandas(NUMPY[c]) for c in [*_CODES, "U", "M8[ns]", "m8[s]"]},
    **{f"arrow {name}": _backed(ARROW[name]) for name in _BACKED},
    "objects": lambda d: pd.Series(_objects(d), dtype=object),
    **{name: _pandas(lambda d: d.put(1, WHOLE), name) for name in ("Int64", "UInt32", "Float64", "Int32")},
    "nullable gap": _pandas(lambda d: d.put(1, None), "Int64"),
    "boolean": _pandas(lambda d: d.put(True, None), "boolean"),
    **{
        name: _pandas(lambda d: d.put("yes", WORD), name)
        for name in ("string[python]", "string[pyarrow]", "str")
    },
    "category": _pandas(lambda d: d.put("yes", WORD, "no"), "category"),
    "category of numbers": _pandas(lambda d: d.put(1, WHOLE, 2), "category"),
    "category of floats": _pandas(lambda d: d.put(1.0, FLOAT, 2.0), "category"),
    "category of dates": lambda d: pd.Series(
        pd.Categorical(pd.to_datetime(d.put("2000-01-01", "1948-01-05")))
    ),
    "category of intervals": lambda d: pd.Series(pd.Categorical(_interval(d))),
    "category of objects": lambda d: pd.Series(
        pd.Categorical.from_codes([0] * d.n, categories=[(1, 2), WORD])
    ),
    "sparse": _sparse,
    "sparse whole": lambda d: pd.Series(pd.arrays.SparseArray(np.array(d.put(0, WHOLE, 1)))),
    "interval": _interval,
    "period": lambda d: pd.Series(pd.PeriodIndex(d.put("2000-01", "4815-01"), freq="M")),
    "zoned": lambda d: pd.Series(pd.to_datetime(d.put("2000-01-01", "1948-01-05"))).dt.tz_localize("UTC"),
    "timedelta": lambda d: pd.Series(pd.to_timedelta(d.put(1, WHOLE), unit="s")),
}

_TO_POLARS = [
    name for name in _BACKED if name not in ("not UTF-8", "decimal256", "map", "dictionary of numbers")
]

#: Polars columns by type.
POLARS: dict[str, Build] = {
    **{
        name: (lambda b: lambda d: pl.Series(pl.from_arrow(b(d))))(ARROW[name])
        for name in [*_TO_POLARS, "null"]
    },
    "objects": lambda d: pl.Series(d.odd(), dtype=pl.Object),
    "int128": lambda d: pl.Series(d.put(1, WHOLE * 10**20), dtype=pl.Int128),
    "categorical": lambda d: pl.Series(d.put("yes", WORD, "no"), dtype=pl.Categorical),
    "enum": lambda d: pl.Series(d.put("yes", WORD), dtype=pl.Enum(["yes", WORD])),
    "array": lambda d: pl.Series(d.put([1.0, 2.0], [FLOAT, 2.0]), dtype=pl.Array(pl.Float64, 2)),
}


def _one_list(d: Draw) -> list[Any]:
    return d.odd()


PYTHON: dict[str, Build] = {"list": _one_list, "tuple": lambda d: tuple(d.odd())}


def _pick(d: Draw, builds: dict[str, Build]) -> Any:
    return builds[str(d.rng.choice(list(builds)))](d)


def pandas_frame(d: Draw, names: Sequence[str], folder: Path) -> Any:
    frame = pd.concat([_pick(d, PANDAS) for _ in names], axis=1)
    frame.columns = list(names)
    return frame


def polars_frame(d: Draw, names: Sequence[str], folder: Path) -> Any:
    frame = pl.DataFrame([_pick(d, POLARS).alias(name) for name in names])
    return frame.lazy() if d.rng.random() < 0.3 else frame


def arrow_table(d: Draw, names: Sequence[str], folder: Path) -> Any:
    table = pa.table([_pick(d, ARROW) for _ in names], names=list(names))
    how = d.rng.integers(4)
    if how == 0:
        return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    return table.to_batches()[0] if how == 1 and len(table.to_batches()) == 1 else table


def dictionary(d: Draw, names: Sequence[str], folder: Path) -> Any:
    return {name: _pick(d, d.rng.choice([NUMPY, PANDAS, POLARS, ARROW, PYTHON])) for name in names}  # pyright: ignore


def numpy_array(d: Draw, names: Sequence[str], folder: Path) -> Any:
    how = d.rng.integers(6)
    column = _pick(d, NUMPY)
    if how == 0:
        return np.stack([column] * len(names), axis=1) if column.dtype.kind != "T" else column
    if how == 1:
        return np.zeros((2, 2, 2)) + FLOAT
    if how == 2:
        return np.array(FLOAT)
    if how == 3:
        return column.astype(object) if column.dtype.kind not in "V" else column
    return column if len(names) == 1 else np.array([[c] * len(names) for c in range(d.n)], dtype=object)


def python_rows(d: Draw, names: Sequence[str], folder: Path) -> Any:
    if len(names) == 1:
        return _pick(d, PYTHON)
    rows: list[Any] = [list(row) for row in zip(*(d.odd() for _ in names), strict=True)]
    name = str(d.rng.choice(list(OBJECTS)))
    if d.rng.random() < 0.3:
        rows[d.at] = [1] * len(names) if d.twin else OBJECTS[name]()
    return tuple(rows) if d.rng.random() < 0.3 else rows


def one_series(d: Draw, names: Sequence[str], folder: Path) -> Any:
    return _pick(d, d.rng.choice([PANDAS, POLARS, ARROW]))  # pyright: ignore


# interrupts of the table itself may pass, as interrupts; text and paths are the caller's own words
_TABLES = [
    name
    for name in OBJECTS
    if name not in ("interrupting", "exiting", "path")
    and not any(word in name for word in ("text", "word", "digits", "surrogate", "control"))
]


class Container:
    """Something that is no table, though it has the canary in it."""

    def __init__(self) -> None:
        self.values = [FLOAT, WORD]

    def __repr__(self) -> str:
        return WORD


def no_table(d: Draw, names: Sequence[str], folder: Path) -> Any:
    makers: list[Callable[[], Any]] = [
        lambda: (value for value in [FLOAT, WORD]),
        lambda: {FLOAT, WORD},
        lambda: collections.deque([FLOAT, WORD]),
        lambda: iter([FLOAT, WORD]),
        lambda: array.array("d", [FLOAT]),
        lambda: memoryview(WORD.encode()),
        lambda: WORD.encode(),
        lambda: FLOAT,
        lambda: WHOLE,
        lambda: None,
        Container,
        lambda: types.SimpleNamespace(x=[FLOAT], columns=[WORD]),
        lambda: collections.UserList([FLOAT, WORD]),
        lambda: types.MappingProxyType({name: [FLOAT, WORD] for name in names}),
        lambda: pd.DataFrame({1: [FLOAT], ("a", "b"): [WORD]}),
        lambda: pd.DataFrame([[FLOAT, WORD]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])),
        lambda: pd.Index([FLOAT, 1.0]),
        lambda: pd.MultiIndex.from_tuples([(FLOAT, WORD)]),
        lambda: [dict.fromkeys(names, FLOAT)],
        lambda: {name: {"a": FLOAT} for name in names},
        lambda: {name: (x for x in [FLOAT, WORD]) for name in names},
        lambda: dict.fromkeys(names, FLOAT),
        lambda: {name: [FLOAT] * (i + 1) for i, name in enumerate(names)},
        dict,
        list,
        lambda: np.rec.array([(FLOAT, WORD)], dtype=_RECORD),
        lambda: OBJECTS[str(d.rng.choice(_TABLES))](),
        lambda: duckdb.connect().sql(f"SELECT CAST(v AS INTEGER) AS x FROM (VALUES ('1'), ('{WORD}')) t(v)"),
        lambda: duckdb.connect().sql(f"SELECT {{'a': {FLOAT}}} AS x"),
        lambda: duckdb.connect().sql(f"SELECT [{FLOAT}] AS x, '{WORD}' AS y"),
        lambda: pl.LazyFrame({"x": ["1", WORD]}).with_columns(pl.col("x").cast(pl.Float64)),
        lambda: pl.LazyFrame({"x": [1.0]}).with_columns(
            pl.col("x").map_elements(_fail, return_dtype=pl.Float64)
        ),
    ]
    return makers[int(d.rng.integers(len(makers)))]()


def _fail(_value: float) -> float:
    raise ValueError(WORD)


_FIELDS = [
    *(
        b"1",
        b"0.5",
        b"yes",
        b"a",
        b"",
        b'"',
        b'"unclosed',
        b"1,5",
        b"\xff\xfe",
        b"\x00",
        b"\r",
        b"1e400",
        b"nan",
    ),
    *(WORD.encode(), CANARY.encode(), f'"{WORD}"'.encode(), f"{FLOAT};{WORD}".encode(), WORD.encode() * 500),
    *(b"\xf0\x9f\x92\xa9", b"=cmd()", b" 1 ", b"\t", "４８１５".encode(), b'a""b', b"NULL", b"-0", b"#"),
]


def text_file(d: Draw, names: Sequence[str], folder: Path) -> Any:
    def field(i: int) -> bytes:
        return b"1" if d.twin and i == d.at else _FIELDS[drawn[i]]

    lines = []
    for i in range(d.n):
        drawn = d.rng.integers(0, len(_FIELDS), (d.n * len(names)))
        lines.append(b",".join(field(i) for _ in names))
    body = b"\n".join([",".join(names).encode(), *lines, b"" if d.rng.random() < 0.5 else b"1"])
    zipped = d.rng.random() < 0.3
    path = folder / f"rows{'-twin' if d.twin else ''}.csv{'.gz' if zipped else ''}"
    path.write_bytes(gzip.compress(body) if zipped else body)
    return path


def parquet_file(d: Draw, names: Sequence[str], folder: Path) -> Any:
    writable = {k: v for k, v in ARROW.items() if k not in ("union", "run ends", "calendar")}
    path = folder / f"rows{'-twin' if d.twin else ''}.parquet"
    pq.write_table(pa.table([_pick(d, writable) for _ in names], names=list(names)), path)
    return path


CONTAINERS: dict[str, Callable[[Draw, Sequence[str], Path], Any]] = {
    "pandas": pandas_frame,
    "polars": polars_frame,
    "arrow": arrow_table,
    "dictionary": dictionary,
    "numpy": numpy_array,
    "rows": python_rows,
    "series": one_series,
    "no table": no_table,
    "text file": text_file,
    "parquet": parquet_file,
}


def build(seed: Sequence[int], container: str, names: Sequence[str], folder: Path, *, twin: bool) -> Any:
    """Return the table of a seed; with ``twin`` the same one but for the value of the record with the canary."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    return CONTAINERS[container](Draw(rng, n, int(rng.integers(n)), twin), names, folder)


def seeds(base: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield seeds of ``count`` inputs."""
    return ((base, i) for i in range(count))
