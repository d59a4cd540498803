"""A posterior as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import probability
from discreet.domain.dates import shown_day
from discreet.errors import UsageError
from discreet.inference.diagnostics import Diagnostics
from discreet.inference.units import UNNAMED, Units
from discreet.names import one_line, shown

if TYPE_CHECKING:
    from discreet.inference.histogram import QuantileInterval

# A longer table is printed with its first and last lines only.
_MOST_LINES, _FIRST_LINES, _LAST_LINES = 100, 40, 10
# The probabilities of more bins than this are not printed below a column's quantiles.
_OF_TABLE = "Of this table itself, where noise is the only uncertainty"
_FEW_BINS = 12
# What a summary says even if there is nothing to say; other parts are then left out.
_ALWAYS = frozenset({"prob", "parameters", "engine", "approximation", "reason", "warnings"})
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

    ``summary.table`` are rows about the very table that was released, where an engine knows them; all others are about
    the population. ``summary["p"]`` is one row, ``summary.rows`` are those of numbers and ``summary.labels`` those of
    labels, such as hidden states; ``summary.quantiles`` are those of the column, if its distribution was released.
    ``summary.to_dict()`` is what a JSON file can hold.
    """

    rows: tuple[SummaryRow, ...]
    prob: float
    diagnostics: Diagnostics
    labels: tuple[LabelRow, ...] = ()
    table: tuple[SummaryRow, ...] = ()
    quantiles: tuple[QuantileInterval, ...] = ()
    units: Units = UNNAMED

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
        found = {
            "prob": self.prob,
            "unit_label": self.units.label,
            "parameters": [_numbers(row, self.units) for row in self.rows],
            "labels": [asdict(row) for row in self.labels],
            "quantiles": [self._quantile(one) for one in self.quantiles],
            "table": [_numbers(row, self.units) for row in self.table],
            "engine": how.engine,
            "approximation": how.approximation,
            "given": how.given,
            "reason": how.reason,
            "prior": how.prior,
            "missing": how.missing,
            "fit_check": how.fit_check and how.fit_check.to_dict(),
            "warnings": [*how.warnings, *how.mixing_warnings],
        }
        return {key: value for key, value in found.items() if value or key in _ALWAYS}

    def __str__(self) -> str:
        table = self._table()
        lines = aligned(table)
        said = [one_line(self.diagnostics.headline), ""] if self.diagnostics.headline else []
        left_out = len(self.rows) - len(self._shown())
        if left_out:
            lines.insert(1 + _FIRST_LINES, f"... {left_out:,} rows more, all of them in summary.rows")
        if self.quantiles:
            few = ["", *lines] if len(self.rows) <= _FEW_BINS else []
            lines = [*self._quantile_lines(table[0][3:5]), *few]
        if self.labels:
            chosen = [[row.name, row.label, f"{row.probability:.3f}"] for row in self.labels]
            lines += ["", *aligned([["", "most probable", "probability"], *chosen])]
        if self.table:
            lines += ["", f"{_OF_TABLE}:", *aligned([table[0][:5], *self._own()])]
        return "\n".join([*said, *lines, "", *self._notes()])

    def to_html(self, about: str | None = None) -> str:
        """Return the same as a table for a notebook; ``about`` is its caption. Every label is escaped."""
        header, *rows = self._table()
        cells = [_html_row(header, "th"), *map(_html_row, rows)]
        left_out = len(self.rows) - len(self._shown())
        if left_out:
            cells.insert(1 + _FIRST_LINES, f"<tr><td>... {left_out:,} rows more</td></tr>")
        caption = "" if about is None else f"<caption>{escape(one_line(about))}</caption>"
        chosen = "".join(
            _html_row([shown(row.name), shown(row.label), f"{row.probability:.3f}"])
            for row in self.labels[:_MOST_LINES]
        )
        whole = f"<table>{caption}{''.join(cells)}{chosen}</table>"
        if self.quantiles:
            lines = "\n".join(self._quantile_lines(header[3:5]))
            whole = f"<pre>{escape(lines)}</pre>" + (whole if len(self.rows) <= _FEW_BINS else "")
        if self.table:
            whole += f"<table><caption>{_OF_TABLE}</caption>{''.join(map(_html_row, self._own()))}</table>"
        notes = "".join(f"<p>{escape(line)}</p>" for line in self._notes())
        said = f"<p>{escape(one_line(self.diagnostics.headline))}</p>" if self.diagnostics.headline else ""
        return said + whole + notes

    def _quantile(self, q: QuantileInterval) -> dict[str, Any]:
        """Return a quantile as plain numbers, or dates as text."""
        found = asdict(q)
        if not self.units.dates:
            return found
        place = self.units.place
        return {**found, "low": place(q.low), "high": place(q.high), "median": [place(m) for m in q.median]}

    def _shown(self) -> tuple[SummaryRow, ...]:
        """Return the rows that are printed: all of them, or of very many the first and the last."""
        many = len(self.rows) > _MOST_LINES
        return (*self.rows[:_FIRST_LINES], *self.rows[-_LAST_LINES:]) if many else self.rows

    def _table(self) -> list[list[str]]:
        """Return the cells of the table, header first."""
        tail = 100 * (1 - self.prob) / 2
        header = ["", "mean", "sd", f"{tail:.4g}%", f"{100 - tail:.4g}%", "ess", "r_hat"]
        rows = self._shown()
        # the components of one parameter share their decimals, so that a column reads straight down
        decimals: dict[str, int] = {}
        for row in rows:
            group = _parameter(row)
            decimals[group] = max(
                # a spread of rounding errors is none
                decimals.get(group, 0),
                decimals_for(row.sd if row.sd > 1e-12 * abs(row.mean) else abs(row.mean)),
            )
        return [header, *(_cells(row, decimals[_parameter(row)], self.units) for row in rows)]

    def _own(self) -> list[list[str]]:
        """Return the cells of the rows about the released table itself."""
        return [_cells(row, decimals_for(row.sd), self.units)[:5] for row in self.table]

    def _notes(self) -> list[str]:
        """Return the lines below the table: engine, assumptions, warnings."""
        how = self.diagnostics
        lines = [f"{how.engine_in_words}, {how.draws_in_words}"]
        if self.units.note:
            lines.append(one_line(self.units.note))
        if how.prior:
            lines.append(f"prior: {one_line(how.prior)} (weak, the default)")
        if how.missing:
            lines.append(f"missing values: {how.missing}")
        if how.fit_check is not None:
            lines.append(f"fit check: {how.fit_check}")
        # a warning may quote a label
        warnings = [text for text in (*how.warnings, *how.mixing_warnings) if text != how.headline]
        return lines + [f"warning: {one_line(text)}" for text in warnings]

    def _quantile_lines(self, ends: list[str]) -> list[str]:
        """Return the quantiles of a column as a table; the probabilities of many bins are better seen in a plot."""
        found = [
            [
                f"{100 * q.level:.4g}%",
                f"{self.units.place(q.median[0])} to {self.units.place(q.median[1])}",
                self.units.place(q.low),
                self.units.place(q.high),
            ]
            for q in self.quantiles
        ]
        many = len(self.rows) > _FEW_BINS
        more = [f"probabilities of {len(self.rows):,} bins: summary.rows, or plot()"] if many else []
        return [*aligned([["quantile", "median bin", *ends], *found]), *more]

    # the table is what anybody at a prompt wants to see
    __repr__ = __str__


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Align a table as lines: the first column to the left, all others to the right."""
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    return [
        "  ".join(
            [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        )
        for line in table
    ]


def _html_row(cells: list[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _parameter(row: SummaryRow) -> str:
    return row.name.partition("[")[0]


def sd_name(full: str) -> str:
    """Return the name of the root of a variance within a class: ``age.sd[no]`` for ``age.variance[no]``."""
    name, bracket, rest = full.partition("[")
    return name.removesuffix("variance") + "sd" + bracket + rest


def decimals_for(spread: float) -> int:
    """Return how many decimals make ``spread`` show three digits."""
    return max(2 - math.floor(math.log10(spread)), 0) if 0 < spread < math.inf else 2


def _cells(row: SummaryRow, decimals: int, units: Units) -> list[str]:
    numbers = (row.mean, row.sd, row.low, row.high)
    plain = decimals <= 8 and all(not abs(value) >= 1e9 for value in numbers)
    cells = [("-" if math.isnan(v) else f"{v:.{decimals}f}" if plain else f"{v:.6g}") for v in numbers]
    if units.is_date(row.name):
        # a day is as precise as a date gets; its sd, in days, may be a part of one
        cells = ["-" if math.isnan(v) else shown_day(v) for v in numbers]
        cells[1] = "-" if math.isnan(row.sd) else f"{row.sd:.3g} d"
    ess = f"{row.ess:.0f}" if math.isfinite(row.ess) else "-"
    r_hat = f"{row.r_hat:.3f}" if math.isfinite(row.r_hat) else "-"
    # a label is whatever the rows hold
    return [shown(row.name), *cells, ess, r_hat]


def _numbers(row: SummaryRow, units: Units) -> dict[str, Any]:
    found = {k: _json_safe(v) for k, v in asdict(row).items()}
    if not units.is_date(row.name):
        return found
    return found | {k: None if found[k] is None else shown_day(found[k]) for k in ("mean", "low", "high")}


def _json_safe(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def axes_of(words: Sequence[Any], n_axes: int) -> list[Sequence[str]]:
    """Return the labels along each axis: one list for all of them, or one for each."""
    return list(words) if words and not isinstance(words[0], str) else [words] * n_axes


def tails(prob: float) -> list[float]:
    """Return the two quantile levels of a central interval."""
    prob = probability(prob, "prob")
    return [(1 - prob) / 2, (1 + prob) / 2]


def is_symmetric(x: np.ndarray) -> bool:
    """Tell whether the draws are symmetric matrices, up to the rounding of a product of factors."""
    if x.ndim != 3 or x.shape[1] != x.shape[2]:
        return False
    return bool(np.abs(x - x.swapaxes(1, 2)).max() <= 1e-12 * np.abs(x).max())
