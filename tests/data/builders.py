"""The same rows, dressed as every source that can be read; and what one record adds, computed by hand."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import math
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.data.sources.database import rows_in
from discreet.domain.declarations import Domain
from discreet.families.base import Family
from discreet.families.record_sums import RecordSums
from discreet.models.layout import Layout
from tests.postgres_server import shared_server

Columns = dict[str, list[Any]]
Builder = Callable[[Columns, Path], Any]


def arrow_table(columns: Columns) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def chunked_table(columns: Columns) -> pa.Table:
    """The same table in uneven chunks, one of them empty."""
    table = arrow_table(columns)
    cuts = [0, 0, 1, len(table) // 3, len(table)]
    pieces = [table.slice(a, max(b - a, 0)) for a, b in pairwise(cuts)]
    return pa.concat_tables(pieces)


def floats(values: list[Any]) -> np.ndarray:
    return np.array([math.nan if v is None else v for v in values], dtype=np.float64)


def parquet(columns: Columns, folder: Path) -> Path:
    path = folder / "rows.parquet"
    table = arrow_table(columns)
    pq.write_table(table, path, row_group_size=max(7, len(table) // 9))
    return path


def parquet_folder(columns: Columns, folder: Path) -> Path:
    """The same table in three files of a folder, the first of them empty."""
    table, place = arrow_table(columns), folder / "pieces"
    place.mkdir(exist_ok=True)
    for at, (start, end) in enumerate(((0, 0), (0, len(table) // 3), (len(table) // 3, len(table)))):
        pq.write_table(table.slice(start, end - start), place / f"{at}.parquet")
    return place


def csv_text(
    columns: Columns, *, delimiter: str = ",", end: str = "\n", quoting: Any = csv.QUOTE_MINIMAL
) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        # the csv module writes a lone empty field as "", which is an empty field all the same
        writer.writerow(["" if v is None else repr(v) if isinstance(v, float) else v for v in row])
    return out.getvalue()


def text_file(name: str, **options: Any) -> Builder:
    def build(columns: Columns, folder: Path) -> Path:
        path = folder / name
        data = csv_text(columns, **options).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return build


def relation(threads: int) -> Builder:
    def build(columns: Columns, folder: Path) -> Any:
        connection = duckdb.connect(config={"threads": threads})
        return connection.read_parquet(str(parquet(columns, folder)))

    return build


def postgresql(columns: Columns, folder: Path) -> Any:
    """A table of a PostgreSQL server that lives as long as this process."""
    url = shared_server()
    name = f"t_{os.urandom(8).hex()}"
    types = [_postgresql_type(values) for values in columns.values()]
    declared = ", ".join(f'"{column}" {kind}' for column, kind in zip(columns, types, strict=True))
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(f'CREATE TABLE "{name}" ({declared})'.encode())
        with cursor.copy(f'COPY "{name}" FROM STDIN (FORMAT BINARY)'.encode()) as copy:
            copy.set_types(types)
            for row in zip(*columns.values(), strict=True):
                copy.write_row(row)
    return rows_in(url, name, None)


def _postgresql_type(values: list[Any]) -> str:
    known = {bool: "bool", int: "int8", str: "text", datetime.date: "date", datetime.datetime: "timestamp"}
    kinds = {type(value) for value in values if value is not None}
    return known[kinds.pop()] if len(kinds) == 1 and kinds <= set(known) else "float8"


def pandas_frame(dtype: Any) -> Builder:
    return lambda columns, _: pd.DataFrame({k: pd.array(v, dtype=dtype) for k, v in columns.items()})


# every one takes several columns and values that may be None
TABLES: dict[str, Builder] = {
    "dict of lists": lambda columns, _: columns,
    "pandas object": lambda columns, _: pd.DataFrame(
        {k: pd.Series(v, dtype=object) for k, v in columns.items()}
    ),
    "polars": lambda columns, _: pl.DataFrame(columns),
    "polars lazy": lambda columns, _: pl.DataFrame(columns).lazy(),
    "polars series": lambda columns, _: {k: pl.Series(v) for k, v in columns.items()},
    "pyarrow": lambda columns, _: arrow_table(columns),
    "pyarrow chunked": lambda columns, _: chunked_table(columns),
    "pyarrow reader": lambda columns, _: chunked_table(columns).to_reader(),
    "duckdb 1 thread": relation(1),
    "duckdb 2 threads": relation(2),
    "parquet": parquet,
    "parquet folder": parquet_folder,
    "postgresql": postgresql,
    "csv": text_file("rows.csv"),
    "csv crlf": text_file("rows.csv", end="\r\n"),
    "csv quoted": text_file("rows.CSV", quoting=csv.QUOTE_ALL),
    "csv semicolon": text_file("rows.csv", delimiter=";"),
    "csv bar gzip": text_file("rows.csv.gz", delimiter="|"),
    "tsv": text_file("rows.tsv", delimiter="\t"),
}

NUMERIC: dict[str, Builder] = {
    **TABLES,
    "dict of arrays": lambda columns, _: {k: floats(v) for k, v in columns.items()},
    "pandas": lambda columns, _: pd.DataFrame({k: floats(v) for k, v in columns.items()}),
    "pandas nullable": pandas_frame("Float64"),
    "pandas arrow": pandas_frame(pd.ArrowDtype(pa.float64())),
    "numpy": lambda columns, _: np.column_stack([floats(v) for v in columns.values()]),
    "numpy objects": lambda columns, _: np.array(list(zip(*columns.values(), strict=True)), dtype=object),
    "numpy swapped": lambda columns, _: np.column_stack([floats(v) for v in columns.values()]).astype(">f8"),
    "rows": lambda columns, _: [r if len(r) > 1 else r[0] for r in zip(*columns.values(), strict=True)],  # pyright: ignore[reportGeneralTypeIssues]
}

TEXT: dict[str, Builder] = {
    **TABLES,
    "pandas string": pandas_frame("string"),
    "pandas category": lambda columns, _: pd.DataFrame({k: pd.Categorical(v) for k, v in columns.items()}),
    "pandas arrow": pandas_frame(pd.ArrowDtype(pa.string())),
    "polars category": lambda columns, _: pl.DataFrame(
        columns, schema=dict.fromkeys(columns, pl.Categorical)
    ),
    "arrow dictionary": lambda columns, _: pa.table(
        {k: pa.array(v).dictionary_encode() for k, v in columns.items()}
    ),
    "duckdb enum": lambda columns, folder: relation(2)(columns, folder).project(
        ", ".join(f"CAST({name} AS ENUM({_members(values)})) AS {name}" for name, values in columns.items())
    ),
    "list": lambda columns, _: next(iter(columns.values())),
}


# text that nobody declared to be text, so that a numeric family may read it
SAME_TEXT: dict[str, Builder] = {
    **{
        name: build
        for name, build in TEXT.items()
        if not name.startswith(("duckdb", "parquet", "postgresql"))
    },
    "pandas string in Python": pandas_frame("string[python]"),
    "polars enum": lambda columns, _: pl.DataFrame(
        {
            k: pl.Series(v, dtype=pl.Enum([w for w in dict.fromkeys(v) if w is not None]))
            for k, v in columns.items()
        }
    ),
    "numpy text": lambda columns, _: np.ma.masked_array(
        [v or "" for v in columns["x"]], mask=[v is None for v in columns["x"]]
    ),
    "numpy objects": lambda columns, _: np.array(columns["x"], dtype=object),
    "dict of text arrays": lambda columns, _: {
        k: np.array(["" if v is None else v for v in values]) for k, values in columns.items()
    },
}


def _members(values: list[Any]) -> str:
    return ", ".join(f"'{v}'" for v in dict.fromkeys(values) if v is not None)


def declarations(
    family: RecordSums,
    bounds: Any = None,
    outside: Any = "redact",
    missing: Any = "count",
    neighbors: Any = "replace",
) -> tuple[Domain, Layout]:
    domain = family.read_domain(bounds=bounds, outside=outside, missing=missing)
    return domain, family.layout(domain, neighbors)


def contribution(record: list[float | None], family: Family, domain: Domain, layout: Layout) -> list[int]:
    """What one numeric record adds, in Python floats and ``math.floor``: no array, no expression."""
    assert domain.bounds is not None
    assert layout.shift is not None
    assert layout.half is not None
    usable = all(x is not None and not math.isnan(x) for x in record)
    limits = [(float(low), float(high)) for low, high in domain.bounds]
    inside = usable and all(low <= x <= high for x, (low, high) in zip(record, limits, strict=True))  # pyright: ignore[reportOperatorIssue, reportOptionalOperand]
    z = [0.0] * len(record)
    if inside or (usable and domain.outside == "clip"):
        for i, (x, (low, high)) in enumerate(zip(record, limits, strict=True)):
            u = float(family.measure(np.float64(min(max(x, low), high))))  # pyright: ignore[reportArgumentType]
            raw = (u - float(layout.shift[i])) * float(1 / layout.half[i])
            z[i] = 0.0 if math.isnan(raw) else min(max(raw, -1.0), 1.0)
    values = [float(usable), *family.geometry.features(z)]
    out = []
    for row, grid in zip(layout.rows, layout.grid, strict=True):
        t = 0.0
        for coefficient, value in zip(row, values, strict=True):
            t = t + float(coefficient) * value
        out.append(math.floor(t * float(1 / grid) + 0.5))
    return out


def expected(columns: Columns, family: Family, domain: Domain, layout: Layout) -> tuple[int, ...]:
    """The sums over all records, one at a time."""
    each = [contribution(list(row), family, domain, layout) for row in zip(*columns.values(), strict=True)]
    return tuple(sum(values) for values in zip(*each, strict=True))
