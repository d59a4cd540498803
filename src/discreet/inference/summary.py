"""A posterior as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.names import one_line, shown

# A longer table is printed with its first and last lines only.
_MOST_LINES, _FIRST_LINES, _LAST_LINES = 100, 40, 10
# Names in an error's hint.
_MOST_NAMES = 20


@dataclass(frozen=True)
class SummaryRow:
    """One scalar parameter: posterior mean, standard deviation, central interval, and how well it is sampled."""

    name: str
    mean: float
    sd: float
    low: float
    high: float
    ess: float
    r_hat: float


@dataclass(frozen=True)
class LabelRow:
    """One parameter that is a label: the most probable one, of equally probable ones the first, and its probability."""

    name: str
    label: str
    probability: float


@dataclass(frozen=True, repr=False)
class Summary:
    """The rows of a posterior's table; printing it aligns them, and of more than a hundred shows the first and last.

    ``summary["p"]`` is one row, ``summary.rows`` are those of numbers and ``summary.labels`` those of labels, such as
    hidden states; ``summary.to_dict()`` is what a JSON file can hold.
    """

    rows: tuple[SummaryRow, ...]
    prob: float
    diagnostics: Diagnostics
    labels: tuple[LabelRow, ...] = ()

    def __getitem__(self, name: str) -> Any:
        every = (*self.rows, *self.labels)
        for row in every:
            if row.name == name:
                return row
        names = [row.name for row in every[:_MOST_NAMES]]
        more = f", ... ({len(every):,} in all)" if len(every) > len(names) else ""
        raise UsageError(f"no parameter is named {name!r}.", hint=f"choose from {', '.join(names)}{more}")

    def __iter__(self) -> Iterator[SummaryRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings; what is not a number becomes ``None``, as JSON has no nan."""
        how = self.diagnostics
        return {
            "prob": self.prob,
            "parameters": [{k: _json_safe(v) for k, v in asdict(row).items()} for row in self.rows],
            **({"labels": [asdict(row) for row in self.labels]} if self.labels else {}),
            "engine": how.engine,
            "approximation": how.approximation,
            "reason": how.reason,
            "warnings": [*how.warnings, *how.mixing_warnings],
        }

    def __str__(self) -> str:
        tail = 100 * (1 - self.prob) / 2
        header = ["", "mean", "sd", f"{tail:.4g}%", f"{100 - tail:.4g}%", "ess", "r_hat"]
        many = len(self.rows) > _MOST_LINES
        shown = [*self.rows[:_FIRST_LINES], *self.rows[-_LAST_LINES:]] if many else self.rows
        # the components of one parameter share their decimals, so that a column reads straight down
        decimals: dict[str, int] = {}
        for row in shown:
            group = _parameter(row)
            decimals[group] = max(
                # a spread of rounding errors is none
                decimals.get(group, 0),
                decimals_for(row.sd if row.sd > 1e-12 * abs(row.mean) else abs(row.mean)),
            )
        lines = _aligned([header, *(_cells(row, decimals[_parameter(row)]) for row in shown)])
        if many:
            left_out = len(self.rows) - len(shown)
            lines.insert(1 + _FIRST_LINES, f"... {left_out:,} rows more, all of them in summary.rows")
        if self.labels:
            chosen = [[row.name, row.label, f"{row.probability:.3f}"] for row in self.labels]
            lines += ["", *_aligned([["", "most probable", "probability"], *chosen])]
        how = self.diagnostics
        approximation = "no approximation" if how.approximation == "none" else how.approximation
        lines += ["", f"{how.engine} engine, {approximation}, {how.draws_in_words}"]
        # a warning may quote a label
        lines += [f"warning: {one_line(text)}" for text in (*how.warnings, *how.mixing_warnings)]
        return "\n".join(lines)

    # the table is what anybody at a prompt wants to see
    __repr__ = __str__


def _aligned(table: list[list[str]]) -> list[str]:
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    return [
        "  ".join(
            [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        )
        for line in table
    ]


def _parameter(row: SummaryRow) -> str:
    return row.name.partition("[")[0]


def decimals_for(spread: float) -> int:
    """Return how many decimals make ``spread`` show three digits."""
    return max(2 - math.floor(math.log10(spread)), 0) if 0 < spread < math.inf else 2


def _cells(row: SummaryRow, decimals: int) -> list[str]:
    numbers = (row.mean, row.sd, row.low, row.high)
    plain = decimals <= 8 and all(not abs(value) >= 1e9 for value in numbers)
    cells = [("-" if math.isnan(v) else f"{v:.{decimals}f}" if plain else f"{v:.6g}") for v in numbers]
    ess = f"{row.ess:.0f}" if math.isfinite(row.ess) else "-"
    r_hat = f"{row.r_hat:.3f}" if math.isfinite(row.r_hat) else "-"
    # a label is whatever the rows hold
    return [shown(row.name), *cells, ess, r_hat]


def _json_safe(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
