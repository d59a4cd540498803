"""Rows in files: several that are read as one, Parquet, and what pandas reads.

Files that are read together have the same columns. A folder is one of Parquet files, at any depth; where its folders
are named like ``region=north``, region is a column of text. Spreadsheets and the files of statistics packages are read
by pandas, whole, so they are for small data.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.data.sources.conceal import run_concealed
from discreet.data.sources.engines import DuckSource
from discreet.data.sources.keys import as_text
from discreet.data.sources.lines import LineSource
from discreet.data.sources.memory import BATCH, BatchSource, pandas_columns
from discreet.data.sources.results import connect, literal
from discreet.data.sources.source import Need, Picked, Source
from discreet.errors import DataError
from discreet.extras import is_installed, missing

# bytes that Arrow reads of a column at a time, instead of all that a row group has of it
_BUFFER = 1 << 20
# labels up to which their values are read as a dictionary
_FEW_LABELS = 1000
#: What pandas reads, by the ending: its function, and the package that it needs
PANDAS = {
    ".xlsx": ("read_excel", "openpyxl"),
    ".dta": ("read_stata", "pandas"),
    ".sav": ("read_spss", "pyreadstat"),
    ".sas7bdat": ("read_sas", "pandas"),
    ".xpt": ("read_sas", "pandas"),
}


def open_folder(folder: Path) -> Source:
    """Return the rows of all Parquet files in a folder and its folders, whose names may be values of a column."""
    files = sorted(
        path
        for path in folder.rglob("*.parquet")
        if path.is_file() and not any(part[0] in "._" for part in path.relative_to(folder).parts)
    )
    if not files:
        raise DataError(f"there is no Parquet file in {folder}.", hint="the names must end in .parquet")
    if not all(os.access(file, os.R_OK) for file in files):
        raise DataError(f"some file in {folder} may not be read.")
    return parquet_files(files, folder)


class LineFiles(LineSource):
    """Several delimited text files with the same header."""

    def __init__(self, paths: Sequence[Path], *, delimiter: str | None) -> None:
        super().__init__(paths[0], delimiter=delimiter)
        self._others = [LineSource(path, delimiter=delimiter) for path in paths[1:]]
        for at, other in enumerate(self._others, start=2):
            if other.names != self.names or other.delimiter != self.delimiter:
                raise DataError(f"file number {at} of the list has another header than the first.")

    def line_batches(self) -> Iterator[pa.RecordBatch]:
        return chain(super().line_batches(), *(other.line_batches() for other in self._others))


class ParquetSource(Source):
    """A Parquet file: Arrow reads numbers, faster than DuckDB, which reads what is grouped by person.

    Labels in text are read by Arrow too, since DuckDB gives up on a file if one string is not UTF-8. DuckDB is
    started where it is needed: that takes longer than a release of a small file.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self._path = path
        trouble = f"{path} is not a readable Parquet file."
        self._file: Any = run_concealed(lambda: pq.ParquetFile(path, buffer_size=_BUFFER), trouble)
        self._schema = run_concealed(lambda: self._file.schema_arrow, trouble)
        names = list(self._schema.names)
        # DuckDB renames what differs in capital letters only
        self._distinct = len({name.lower() for name in names}) == len(names)
        self.names = names if self._distinct else self._duck.names

    @cached_property
    def _duck(self) -> DuckSource:
        """The file, opened by DuckDB."""
        absolute = str(self._path.absolute())
        # the path is a name, not a pattern, and its folders are not columns
        pattern = _pattern(absolute)
        connection = connect(absolute, pattern)
        relation = run_concealed(
            lambda: connection.read_parquet(pattern, hive_partitioning=False),
            f"{self._path} is not a readable Parquet file.",
        )
        return DuckSource(relation, connection, foreign=False)

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        wanted = list(zip(positions, needs, strict=True))
        types = [self._schema.field(at).type for at in positions]
        texts = [
            at
            for (at, need), held in zip(wanted, types, strict=True)
            if (need.labels or need.key or need.presence) and as_text(held)
        ]
        if texts:
            # declared text is no number here either, whoever reads it
            self._duck.kinds(positions, needs)
        elif any(need.key or need.presence or need.dates for need in needs) or not all(map(_is_plain, types)):
            return self._duck.pick(positions, needs)
        names = [self._schema.names[at] for at in positions]
        # Arrow finds columns by name only, so not if a name is taken twice
        if not all(self._schema.names.count(name) == 1 for name in names):
            return self._duck.pick(positions, needs)
        if texts:
            import pyarrow.parquet as pq

            # a dictionary, because few labels are many values; of many labels it costs more than it saves
            n_labels = {at: need.vocabulary.n_labels for at, need in wanted if need.vocabulary is not None}
            words = [self._schema.names[at] for at in texts if n_labels.get(at, math.inf) <= _FEW_LABELS]
            self._file.close()
            self._file = pq.ParquetFile(self._path, read_dictionary=words, buffer_size=_BUFFER)
        # a name with a point in it may bring along a part of a nested column
        batches = (
            batch.select(names) for batch in self._file.iter_batches(BATCH, columns=names, use_threads=False)
        )
        schema = self._file.schema_arrow
        reader = pa.RecordBatchReader.from_batches(pa.schema([schema.field(n) for n in names]), batches)
        picked = BatchSource(reader).pick(range(len(names)), needs)
        return replace(picked, origin=f"{', '.join(names)} of {self._path}")

    def close(self) -> None:
        self._file.close()
        if "_duck" in self.__dict__:
            self._duck.close()


def _is_plain(declared: pa.DataType) -> bool:
    """Tell whether Arrow holds numbers of this type as every engine does: integers that 64 bits hold, and floats."""
    known = pa.types
    return (
        (known.is_integer(declared) and not known.is_uint64(declared))
        or known.is_float32(declared)
        or known.is_float64(declared)
        or known.is_boolean(declared)
    )


class ParquetFiles(DuckSource):
    """Several Parquet files with the same columns, and with those that their folders are named after.

    Labels and keys in text are read by Arrow, as of a single file.
    """

    def __init__(self, relation: Any, connection: Any, dataset: Any) -> None:
        super().__init__(relation, connection, foreign=False)
        self._dataset = dataset

    def pick(self, positions: Sequence[int], needs: Sequence[Need]) -> Picked:
        schema = self._dataset.schema
        names = [(self.names or [])[at] for at in positions]
        if any(
            (need.labels or need.key or need.presence) and as_text(schema.field(name).type)
            for name, need in zip(names, needs, strict=True)
        ):
            # declared text is no number here either, whoever reads it
            self.kinds(positions, needs)
            # a column may be asked for in two forms, and Arrow takes no name twice
            distinct = list(dict.fromkeys(names))
            places = [distinct.index(name) for name in names]
            fields = pa.schema([schema.field(name).with_name(f"c{i}") for i, name in enumerate(names)])
            scanner = self._dataset.scanner(columns=distinct, batch_size=BATCH)
            chosen = (
                pa.RecordBatch.from_arrays([batch.column(at) for at in places], names=fields.names)
                for batch in scanner.to_batches()
            )
            reader = pa.RecordBatchReader.from_batches(fields, (batch.cast(fields) for batch in chosen))
            return BatchSource(reader).pick(range(len(names)), needs)
        return super().pick(positions, needs)


def parquet_files(files: Sequence[Path], folder: Path | None) -> Source:
    """Return the rows of Parquet files with the same columns, one after the other; folders may be values of columns."""
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    trouble = "one of the files is not a readable Parquet file."
    first = run_concealed(lambda: pq.read_schema(files[0]), trouble)
    for at, file in enumerate(files[1:], start=2):
        if not run_concealed(lambda file=file: pq.read_schema(file), trouble).equals(first):
            raise DataError(f"Parquet file number {at} has other columns, or other types, than the first.")
    if len(set(first.names)) < len(first.names):
        raise DataError("in files that are read together, each column has a name of its own.")
    keys = [] if folder is None else _partition_keys(files, folder)
    if set(keys) & set(first.names):
        raise DataError("a folder is named after a column that its files have.")
    names = [str(file.absolute()) for file in files]
    patterns = [_pattern(name) for name in names]
    connection = connect(*names, *patterns)
    listed = ", ".join(map(literal, patterns))
    options = f"hive_partitioning = {bool(keys)}, hive_types_autocast = false"
    relation = run_concealed(lambda: connection.sql(f"FROM read_parquet([{listed}], {options})"), trouble)
    partitions = pa.schema([(key, pa.string()) for key in keys])
    dataset = ds.dataset(
        names,
        schema=pa.schema([*first, *partitions]),
        format="parquet",
        partitioning=ds.partitioning(partitions, flavor="hive") if keys else None,
    )
    return ParquetFiles(relation, connection, dataset)


def _pattern(name: str) -> str:
    """Return the pattern that matches this name and no other."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _partition_keys(files: Sequence[Path], folder: Path) -> list[str]:
    """Return the columns that folders are named after, which must be the same for all files."""
    found = {
        tuple(part.partition("=")[0] for part in file.relative_to(folder).parts[:-1] if "=" in part)
        for file in files
    }
    if len(found) > 1:
        raise DataError("the folders are not all named after the same columns, as in region=north/year=2024.")
    return list(found.pop())


def open_with_pandas(path: Path, sheet: str | int = 0) -> Source:
    """Return the columns of a spreadsheet, or of a file of Stata, SPSS or SAS."""
    function, package = PANDAS[path.suffix.lower()]
    for needed in ("pandas", package):
        if not is_installed(needed):
            raise missing(needed, f"reading a file that ends in {path.suffix.lower()}")
    import pandas as pd

    # each cell of a spreadsheet on its own: a guess at a column's type would turn on single values
    options: dict[str, Any] = {"sheet_name": sheet, "dtype": object} if function == "read_excel" else {}
    frame = run_concealed(lambda: getattr(pd, function)(path, **options), f"{path} could not be read.")
    source = pandas_columns(frame)
    if function == "read_excel":
        # its first row is a header only if somebody wrote one
        source.header_of = path
    return source
