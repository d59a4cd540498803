"""A declaration to fill in: the names of a table's columns, and nothing that was read from its rows."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.data.sources.opening import header_names
from discreet.errors import UsageError
from discreet.models.model_file import COLUMN_KEYS, ELSEWHERE
from discreet.models.registry import MODELS, kind_named
from discreet.models.schema_files import Described, described_columns
from discreet.names import closest

# What stands for a declaration that only its curator can make.
_LABELS, _NUMBERS = '["label", "another label"]', "{{ bounds = [{}] }}"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
#: Models that a template is written for.
DECLARABLE = tuple(name for name in MODELS if name not in ELSEWHERE)


def template(data: Any = None, *, model: str = "contingency_table", schema: str | Path | None = None) -> str:
    """Return a commented TOML file that declares a model of several columns, to be filled in by the curator.

    Parameters
    ----------
    data
        The table, of which the names of the columns are read and nothing else. None if ``schema`` says them.
    model
        Which model it declares.
    schema
        A CSVW, CSVW-EO or SmartNoise description, whose bounds and labels are put in.

    Privacy
    -------
    Types, labels and bounds in a text file could only be found by reading values: they are left to the curator. The
    names are the first line of a text file; one that looks like a record is refused.
    """
    kind = model.strip().lower().replace("-", "_") if isinstance(model, str) else ""
    if kind not in DECLARABLE:
        near = closest(kind, DECLARABLE)
        raise UsageError(
            f"there is no model {str(model)!r:.60} to declare in a file.",
            hint=f"did you mean {near}?" if near else f"there are {', '.join(DECLARABLE)}",
        )
    if data is None and schema is None:
        raise UsageError("name the data, or a schema of it.", hint="discreet declare patients.csv")
    said = {} if schema is None else {one.name: one for one in described_columns(schema)}
    names = list(said) if data is None else header_names(data)
    if not names:
        raise UsageError("the data has no names of columns.", hint="a model file declares columns by name")
    unknown = [name for name in said if name not in names]
    if unknown:
        near = closest(unknown[0], names)
        raise UsageError(
            f"the schema describes {unknown[0]!r:.60}, and the data has no such column.",
            hint=None if near is None else f"did you mean {near!r:.60}?",
        )
    return _written(kind, [said.get(name, Described(name)) for name in names])


def _written(model: str, columns: Sequence[Described]) -> str:
    arguments = inspect.signature(kind_named(model)).parameters
    # of a regression columns are named in lists, and declared once
    by_name = "bounds" in arguments
    plain = [one for name, one in arguments.items() if name not in COLUMN_KEYS and name != "bounds"]
    lines = [
        "# A declaration, to be filled in: discreet release DATA --model THIS.toml --epsilon 1 -o release.json",
        "# It was written from the names of the columns. Labels and bounds come from public knowledge (a code book,",
        "# a questionnaire), never from looking at the rows: what is declared here is published.",
        "",
        f'model = "{model}"',
    ]
    if by_name:
        names = [json.dumps(column.name, ensure_ascii=False) for column in columns if not column.is_unit]
        lines += ["# the target, and those of the other columns that it may depend on"]
        lines += [f"# target = {names[-1]}", f"# features = [{', '.join(names[:-1])}]"]
    elif not any(name in COLUMN_KEYS for name in arguments):
        lines += ["# its columns are named in lists; the table has", *_named(columns)]
    for one in plain:
        needed = one.default is inspect.Parameter.empty
        value = "…" if needed or one.default is None else json.dumps(one.default, default=str)
        lines.append(f"# {one.name} = {value}{'  # needed' if needed else ''}")
    for name in ["bounds"] if by_name else [name for name in arguments if name in COLUMN_KEYS]:
        lines += ["", f"[{name}]", "# keep the columns that belong here, each in the form that fits"]
        lines += [line for column in columns for line in _column(column, "[{}]" if by_name else _NUMBERS)]
    return "\n".join(lines) + "\n"


def _named(columns: Sequence[Described]) -> list[str]:
    return [f"#     {json.dumps(column.name, ensure_ascii=False)}" for column in columns]


def _column(column: Described, numbers: str) -> list[str]:
    """Return the lines of a column; ``numbers`` is how the bounds of one with numbers are written."""
    key = column.name if _BARE.fullmatch(column.name) else json.dumps(column.name, ensure_ascii=False)
    if column.is_unit:
        return [f"# {key} names people: give it as --unit, and leave it out here"]
    if column.labels is not None:
        return [f"# {key} = {json.dumps(list(column.labels), ensure_ascii=False)}"]
    if column.bounds is not None:
        ends = ", ".join(end if "/" not in end else json.dumps(end) for end in column.bounds)
        return [f"# {key} = {numbers.format(ends)}"]
    return [f"# {key} = {_LABELS}", f"# {key} = {numbers.format('0, 100')}"]
