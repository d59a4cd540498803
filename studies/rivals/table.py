"""The table as text: a block for each model and measure, a row for each method, a column for each n and epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from .cells import Cell
from .models import MODELS
from .replicate import METHODS

#: Measure, its words, and the factor it is printed with.
MEASURES = (
    ("error", "L1 error of the parameter", 1.0),
    ("loss", "held-out log-likelihood lost against the truth's own, 10⁻³ nats per record", 1e3),
    ("covered", "coverage of the 95% interval, %", 100.0),
)
_NAME, _COLUMN = 26, 11


def table(cells: Sequence[Cell]) -> Iterator[str]:
    """Return the lines of the table."""
    yield "Standard errors of the last digits are in parentheses: 0.0123(4) is 0.0123 give or take 0.0004."
    for model in dict.fromkeys(cell.key.model for cell in cells):
        mine = sorted(
            (cell for cell in cells if cell.key.model == model),
            key=lambda cell: (float(cell.key.epsilon), cell.key.n_records),
        )
        for what, words, factor in MEASURES:
            yield ""
            own = f" ({MODELS[model].own_log_likelihood:.3f} on average)" if what == "loss" else ""
            yield f"{model}, prior {MODELS[model].prior}: {words}{own}"
            budgets = "".join(
                f"{'ε = ' + c.key.epsilon if _is_first(mine, i) else '':>{_COLUMN}}"
                for i, c in enumerate(mine)
            )
            yield f"  {'':<{_NAME}}{budgets}"
            yield f"  {'n':<{_NAME}}" + "".join(f"{c.key.n_records:>{_COLUMN},}" for c in mine)
            for method, name in METHODS.items():
                if not any(method in cell.series for cell in mine):
                    continue
                shown = "".join(f"{_entry(cell, method, what, factor):>{_COLUMN}}" for cell in mine)
                yield f"  {name:<{_NAME}}{shown}"


def _is_first(cells: Sequence[Cell], i: int) -> bool:
    return i == 0 or cells[i - 1].key.epsilon != cells[i].key.epsilon


def _entry(cell: Cell, method: str, what: str, factor: float) -> str:
    if method not in cell.series:
        return "refused"
    mean, error = cell.series[method].summary(what)
    return "–" if math.isnan(mean) else with_error(factor * mean, factor * error)


def with_error(mean: float, error: float) -> str:
    """Write a mean with the standard error of its last digit; an error of zero, or none, is left out."""
    if not error > 0:
        return f"{mean:.3g}"
    decimals = max(-math.floor(math.log10(error)), 0)
    last = round(error * 10**decimals)
    if last == 10 and decimals > 0:
        decimals, last = decimals - 1, 1
    return f"{mean:.{decimals}f}({last})"
