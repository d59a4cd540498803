"""Find out what the curator handed over."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from discreet.data.sources.conceal import concealed
from discreet.data.sources.database import DatabaseRows, FileRows, is_address, rows_in
from discreet.data.sources.engines import PolarsSource, QuerySource, relation_source, unsupported
from discreet.data.sources.files import (
    PANDAS,
    LineFiles,
    ParquetSource,
    open_folder,
    open_with_pandas,
    parquet_files,
)
from discreet.data.sources.filtered import FilteredRows, FilteredSource
from discreet.data.sources.lines import LineSource
from discreet.data.sources.memory import (
    BatchSource,
    ColumnSource,
    RowSource,
    array_columns,
    mapping_columns,
    names_files,
    one_column,
    pandas_columns,
    table_columns,
)
from discreet.data.sources.people import MemberRows, MemberSource, PeopleRows, PeopleSource
from discreet.data.sources.queries import engine_of
from discreet.data.sources.results import is_planning, note
from discreet.data.sources.source import Need, Picked, Source, listed_names
from discreet.errors import DataError, UsageError
from discreet.names import closest
from discreet.objects import spells_number

_TEXT = (".csv", ".tsv")


def open_source(data: Any, needs: Sequence[Need] = ()) -> Source:
    """Return the source of rows behind ``data``; raise for a type or file that cannot be read.

    ``needs`` tell a list of files from a list of labels that are named like files.
    """
    if isinstance(data, DatabaseRows | FileRows):
        return data.open()
    if isinstance(data, str) and is_address(data):
        data = rows_in(data, None, None)
    if isinstance(data, str | os.PathLike):
        return open_path(Path(data))
    if isinstance(data, PeopleRows):
        return PeopleSource(open_source(data.rows, needs), data.unit)
    if isinstance(data, FilteredRows):
        return FilteredSource(open_source(data.rows, needs), data.where)
    if isinstance(data, MemberRows):
        return MemberSource(open_source(data.rows, needs), data)
    data = nw.to_native(data, pass_through=True)
    known = nw.dependencies
    if isinstance(data, np.ndarray):
        return array_columns(data)
    if isinstance(data, list | tuple | range):
        return open_files(data) if names_files(data, needs) else RowSource(data)
    if isinstance(data, Mapping):
        return mapping_columns(data)
    if known.is_pandas_dataframe(data):
        return pandas_columns(data)
    if known.is_polars_dataframe(data) or known.is_polars_lazyframe(data):
        return PolarsSource(data)
    if known.is_duckdb_relation(data):
        return relation_source(data)
    if isinstance(data, pa.Table):
        return table_columns(data)
    if isinstance(data, pa.RecordBatch):
        return table_columns(pa.Table.from_batches([data]))
    if isinstance(data, pa.RecordBatchReader):
        return BatchSource(data)
    if known.is_into_series(data) or isinstance(data, pa.Array):
        return ColumnSource([lambda: one_column(data)], None)
    if engine_of(data) is not None:
        return QuerySource(data)
    raise unsupported(data)


def open_path(path: Path) -> Source:
    """Return the source of rows behind a path: a file, a folder of Parquet files, or a pattern of names."""
    if path.is_dir():
        return open_folder(path)
    if set(str(path)) & set("*?[") and not path.exists():
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True) if os.path.isfile(name))
        if not found:
            raise DataError(f"there is no file {path}.")
        return open_files(found) if len(found) > 1 else open_path(found[0])
    ending = _ending(path)
    if ending is None:
        raise UsageError(
            f"cannot tell what kind of file {path} is.",
            hint="the name must end in .csv, .tsv, .csv.gz, .tsv.gz or .parquet; or .xlsx, .dta, .sav, .sas7bdat, .xpt"
            "; a file of DuckDB or SQLite takes a table",
        )
    if not path.is_file():
        raise DataError(f"{path} does not exist or is not a file.")
    if not os.access(path, os.R_OK):
        raise DataError(f"{path} may not be read.")
    if ending == ".parquet":
        return ParquetSource(path)
    if ending in PANDAS:
        return open_with_pandas(path)
    return LineSource(path, delimiter="\t" if ending == ".tsv" else None)


def open_files(paths: Sequence[Any]) -> Source:
    """Return the rows of all files of a list, one after the other.

    Privacy
    -------
    Whoever has names of files for data gets here too (see :func:`~discreet.data.sources.memory.names_files`), so an
    entry is told by its place, never by its text.
    """
    files = [Path(path) for path in paths]
    for at, file in enumerate(files, start=1):
        if not file.is_file() or not os.access(file, os.R_OK):
            raise UsageError(
                f"a list is data or files: every entry of this one is the name of a file, and number {at} is none "
                "that can be read.",
                hint="give data as a dictionary of columns",
            )
    kinds = {_ending(file) for file in files}
    if kinds == {".parquet"}:
        return parquet_files(files, None)
    if len(kinds) == 1 and kinds <= set(_TEXT):
        return LineFiles(files, delimiter="\t" if kinds == {".tsv"} else None)
    if len(files) == 1:
        return open_path(files[0])
    raise UsageError("files that are read together are all CSV, all TSV or all Parquet.")


def _ending(path: Path) -> str | None:
    """Return what kind of file this is by its name, ``None`` if it is none that can be read."""
    endings = [suffix.lower() for suffix in path.suffixes]
    zipped = endings[-1:] == [".gz"]
    ending = endings[-2:-1] if zipped else endings[-1:]
    known = _TEXT if zipped else (*_TEXT, ".parquet", *PANDAS)
    return ending[0] if ending and ending[0] in known else None


@contextmanager
def opened(
    data: Any, columns: Sequence[str] | None, needs: Sequence[Need], *, twice: str = ""
) -> Iterator[tuple[Picked, tuple[str, ...]]]:
    """Open the source behind ``data`` and pick the columns that make a record, one for each of ``needs``; then close.

    Returns the columns and their names. ``twice`` says what for the data will be read again, if they will. Whoever
    reads rows like this is :func:`~discreet.data.sources.conceal.concealed`.
    """
    with closing(open_source(data, needs)) as source:
        if twice and source.once:
            raise UsageError(
                f"{twice} takes reading the data twice, and a stream of batches can be read once.",
                hint="give a table, or the path of a file",
            )
        positions, names = resolve(source, columns, needs)
        yield _unread(source.pick(positions, needs)), tuple(names)


def _unread(picked: Picked) -> Picked:
    """Return the columns; those that are read batch by batch without a row, if queries are only planned."""
    if picked.beside is not None or not is_planning():
        return picked
    note("this process", picked.origin, "the columns, read in batches of Arrow arrays and added up by NumPy")
    return replace(picked, frames=iter(()))


@concealed
def column_names(data: Any) -> list[str]:
    """Return the names of the columns, which are declarations; none for arrays and lists."""
    with closing(open_source(data)) as source:
        return list(source.names or [])


@concealed
def header_names(data: Any) -> list[str]:
    """Return the names of the columns; of a text file only if its first line does not look like a record."""
    with closing(open_source(data)) as source:
        names = list(source.names or [])
        if source.header_of is not None and not _is_header(names, ()):
            raise UsageError(f"the first line of {source.header_of} does not look like a header.")
        return names


def resolve(
    source: Source, columns: Sequence[str] | None, needs: Sequence[Need]
) -> tuple[list[int], list[str]]:
    """Return positions and names of the columns a record is made of, one for each need, or say what is there.

    Privacy
    -------
    Column names are published. Those of a text file are its first line, which is a record if the header was forgotten:
    they are never taken over unasked, and not repeated in an error if one of them looks like data.
    """
    wanted, family = len(needs), needs[0].family
    if columns is not None and len(columns) != wanted:
        raise UsageError(f"{family} takes {wanted} column(s), got {len(columns)}.")
    if columns is None and source.header_of is not None:
        raise UsageError(
            f"name the column{'s' if wanted > 1 else ''}: a text file's first line is not published unasked."
        )
    if columns is None or source.names is None:
        if source.width(wanted) != wanted:
            raise UsageError(
                f"{family} takes {wanted} column(s), and the data has {source.width(wanted)}.",
                hint=None if source.names is None else f"name the column(s): {listed_names(source.names)}",
            )
        default = ["x"] if wanted == 1 else [f"x{i + 1}" for i in range(wanted)]
        return list(range(wanted)), list(columns or source.names or default)
    positions = []
    for name in columns:
        found = [at for at, candidate in enumerate(source.names) if candidate == name]
        if not found and source.header_of is not None and not _is_header(source.names, needs):
            raise UsageError(
                f"there is no column {name!r}: the first line of {source.header_of} does not look like a header."
            )
        if not found:
            near = closest(name, source.names)
            guess = "" if near is None else f"did you mean {near!r:.60}? "
            raise UsageError(
                f"there is no column {name!r}.", hint=f"{guess}the columns are {listed_names(source.names)}"
            )
        if len(found) > 1:
            raise UsageError(f"column {name!r} appears {len(found)} times.")
        positions.append(found[0])
    if len(set(positions)) < len(positions):
        raise UsageError("each column may be given once.")
    return positions, list(columns)


def _is_header(names: Sequence[str], needs: Sequence[Need]) -> bool:
    """Tell whether a line looks like names: no field is empty, a number, a date or a label of the vocabulary."""
    labels = {word for need in needs if need.vocabulary is not None for word in need.vocabulary.words}
    return not any(not name or name[0].isdigit() or spells_number(name) or name in labels for name in names)
