"""A regression as the TOML file that declares it: what :func:`~discreet.models.model_file.load` reads back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction

from discreet.domain.columns import Column, Labels
from discreet.models.step_regression import StepRegression
from discreet.rational import text


def step_file(model: StepRegression) -> str:
    """Return the file of a regression with a start; numbers for gradients are left out, which have no start."""
    step = {name: value for name in model.of_a_step if (value := getattr(model, name)) is not None}
    lines = [
        f"model = {_quoted(model.name)}",
        *([f"terms = [{', '.join(map(_quoted, model.terms))}]"] if model.terms else []),
        f"# {', '.join(map(_quoted, model.weight_names))}",
        f"start = [{', '.join(map(_number, model.start or ()))}]",
        *(f"{name} = {_number(value)}" for name, value in step.items()),
        *("", "[target]", *_columns([model.target])),
        *("", "[features]", *_columns(model.features)),
    ]
    return "\n".join(lines) + "\n"


def _columns(columns: Iterable[Column]) -> list[str]:
    return [f"{_quoted(column.name)} = {_declared(column)}" for column in columns]


def _declared(column: Column) -> str:
    if isinstance(column, Labels):
        return f"[{', '.join(map(_quoted, column.labels))}]"
    return f"{{ bounds = [{_number(column.low)}, {_number(column.high)}] }}"


def _number(value: Fraction) -> str:
    decimal = repr(float(value))
    whole = value.denominator == 1 and abs(value) < 2**53
    return str(value) if whole else decimal if Fraction(decimal) == value else _quoted(text(value))


def _quoted(words: str) -> str:
    # of control characters TOML wants one more escaped than JSON
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")
