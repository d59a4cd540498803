"""Tables of public records, in memory or in a file, that a plan takes the table to be released to be like."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import DataError, UsageError
from discreet.extras import needed_for

_LEAST = 2


def public_columns(names: Sequence[str], public: Any) -> dict[str, np.ndarray]:
    """Read a table of public records that has these columns, by column or from a CSV, TSV or Parquet file."""
    if isinstance(public, str | os.PathLike):
        public = _read_file(Path(public), names)
    refusal = UsageError(
        f"a plan for a model of several columns needs public records with {', '.join(names)}.",
        hint="give public= a table, or a file of one, like that to be released: another survey, or an invented one",
    )
    try:
        table = {name: np.asarray(public[name], dtype=object) for name in names}
        lengths = {column.shape for column in table.values()}
    except Exception:  # whatever a caller's object raises
        raise refusal from None
    if len(lengths) != 1 or len(next(iter(lengths))) != 1 or next(iter(lengths))[0] < _LEAST:
        raise refusal
    return table


def _read_file(path: Path, names: Sequence[str]) -> dict[str, list[Any]]:
    """Read columns of a file; those of text as they are written, which a release reads as numbers or labels."""
    with needed_for("reading a file of public records"):
        import pyarrow as pa
        from pyarrow import csv, parquet
    try:
        if path.suffix.lower() == ".parquet":
            read = parquet.read_table(path)
        else:
            separator = "\t" if path.suffix.lower() == ".tsv" else ","
            text = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
            parsed = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
            read = csv.read_csv(path, convert_options=text, parse_options=parsed)
    except (OSError, pa.ArrowException):
        raise DataError(
            f"no public records can be read from {path}.",
            hint="public= takes a CSV, TSV or Parquet file whose first line has the names of the columns",
        ) from None
    return {name: read[name].to_pylist() for name in names if name in read.column_names}
