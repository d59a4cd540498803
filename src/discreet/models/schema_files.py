"""Descriptions of tables that other tools take, as declared columns: CSV on the Web (CSVW, CSVW-EO) and SmartNoise.

Both say of a column what is public about it. Bounds and public keys become bounds and labels; whoever wrote the file
answers for their not having been read from the rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DataError, UsageError
from discreet.extras import needed_for
from discreet.rational import exact, text

# bytes; descriptions are shorter
_LARGEST = 2**24
_TABLE_KEYS = frozenset({"max_ids", "row_privacy", "rows", "sample_max_ids", "censor_dims", "clamp_counts",
                         "clamp_columns", "use_dpsu"})  # fmt: skip


@dataclass(frozen=True)
class Described:
    """What a description says of one column: its bounds or its labels, or neither; or that it names people."""

    name: str
    bounds: tuple[str, str] | None = None
    labels: tuple[str, ...] | None = None
    is_unit: bool = False


def described_columns(path: str | Path) -> list[Described]:
    """Return the columns of a table that a CSVW (.json) or SmartNoise (.yaml, .json) file describes, in order."""
    body = _parsed(Path(path))
    if isinstance(body, Mapping) and ("tableSchema" in body or "tables" in body):
        return _csvw(body, str(path))
    return _smartnoise(body, str(path))


def _parsed(path: Path) -> Any:
    try:
        if path.is_file() and path.stat().st_size > _LARGEST:
            raise UsageError(f"{path}: this describes no table: it is too large.")
        content = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: it is not UTF-8 text.") from None
    except OSError as problem:
        raise DataError(f"cannot read {path}: {problem.strerror}.") from None
    is_yaml = path.suffix.lower() in (".yaml", ".yml")
    try:
        if not is_yaml:
            return json.loads(content)
        with needed_for("a schema in YAML"):
            import yaml
        try:
            return yaml.safe_load(content)
        except yaml.YAMLError:
            raise ValueError from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: this is not valid {'YAML' if is_yaml else 'JSON'}.") from None


def _csvw(body: Mapping[str, Any], file: str) -> list[Described]:
    tables = body.get("tables", [body])
    if not isinstance(tables, list) or len(tables) != 1 or not isinstance(tables[0], Mapping):
        raise UsageError(f"{file}: it must describe one table.")
    columns = tables[0].get("tableSchema", {}).get("columns")
    if not isinstance(columns, list) or not all(isinstance(one, Mapping) for one in columns):
        raise UsageError(f"{file}: tableSchema.columns must be a list of columns.")
    return [_csvw_column(_bare(one), file) for one in columns]


def _bare(column: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys without the prefix of a vocabulary, such as ``csvw-eo:``, and the datatype's among them."""
    bare = {str(key).rpartition(":")[2]: value for key, value in column.items()}
    datatype = bare.get("datatype")
    return {**datatype, **bare} if isinstance(datatype, Mapping) else bare


def _csvw_column(column: Mapping[str, Any], file: str) -> Described:
    name = _name(column.get("name"), file)
    keys = column.get("keys")
    if not isinstance(keys, list):
        found = [
            one.get("predicate", one) for one in column.get("partitions", []) if isinstance(one, Mapping)
        ]
        keys = [
            one["partitionValue"] for one in found if isinstance(one, Mapping) and "partitionValue" in one
        ]
    if str(column.get("base", column.get("datatype"))) == "boolean" and not keys:
        keys = ["true", "false"]
    ends = (column.get("minimum"), column.get("maximum"))
    return Described(name, _bounds(name, ends, file), _labels(keys), column.get("privacyId") is True)


def _smartnoise(body: Any, file: str) -> list[Described]:
    """Read database, schema, table, column; or any of the inner ones alone."""
    found = body
    while (
        isinstance(found, Mapping)
        and len(found) == 1
        and isinstance(inner := next(iter(found.values())), Mapping)
    ):
        if "type" in inner:
            break
        found = inner
    columns = {} if not isinstance(found, Mapping) else {
        str(name): column for name, column in found.items() if name not in _TABLE_KEYS
    }  # fmt: skip
    if not columns or not all(
        isinstance(column, Mapping) and "type" in column for column in columns.values()
    ):
        raise UsageError(
            f"{file}: this describes no table.",
            hint="a CSVW file has tableSchema, a SmartNoise file a table whose columns have a type",
        )
    return [
        Described(
            _name(name, file),
            _bounds(name, (column.get("lower"), column.get("upper")), file),
            ("true", "false") if column["type"] == "boolean" else None,
            column.get("private_id") is True,
        )
        for name, column in columns.items()
    ]


def _name(name: Any, file: str) -> str:
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"{file}: a column has no name.")
    return name


def _labels(keys: Any) -> tuple[str, ...] | None:
    labels = tuple(str(key) for key in keys or () if isinstance(key, str | int | float))
    return labels if len(set(labels)) == len(labels) > 1 else None


def _bounds(name: str, ends: tuple[Any, Any], file: str) -> tuple[str, str] | None:
    if None in ends:
        return None
    try:
        low, high = (exact(end, "a bound") for end in ends)
    except UsageError:
        # of dates, which models of numbers do not take
        return None
    if not low < high:
        raise UsageError(f"{file}: the bounds of {name!r:.60} are reversed.")
    return text(low), text(high)
