"""Groups as a forest plot: a row and an interval for each, and what pooling made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.arguments import FilePath, one_of
from discreet.errors import UsageError
from discreet.inference.summary import tails
from discreet.reporting.density import interval_of
from discreet.reporting.style import (
    HAIRLINE,
    PALETTE,
    QUIET,
    Axes,
    Figure,
    check_most,
    common_decimals,
    draw_intervals,
    finish,
    levels_of,
    look_of,
    name_axis,
    name_rows,
    name_series,
    new_figure,
    shorten,
    span,
)
from discreet.reporting.subplots import beside, date_axis

if TYPE_CHECKING:
    from discreet.inference.group_posteriors import GroupPosteriors

#: Groups shown unless the caller asks for more.
MOST_GROUPS = 40
# Numbers beside the intervals of more groups than this are too small to read.
_MOST_NUMBERS = 60
_ROW = 0.26
# Coefficients of a regression that have a panel each.
_MOST_PANELS = 6
_APART = "#8a95a0"


def plot_groups(
    groups: GroupPosteriors,
    parameter: str | None = None,
    *,
    path: FilePath | None = None,
    prob: float = 0.95,
    title: str | None = None,
    order: str = "declared",
    most_groups: int | None = MOST_GROUPS,
) -> Figure:
    """Draw the posterior of every group as a row: the median, and intervals of the middle half and of ``prob``.

    Pooled groups have a second, gray interval below: what the group says for itself. The vertical line is the
    population's mean, the band its interval.

    Parameters
    ----------
    groups
        What to draw.
    parameter
        A parameter that is one number; the first by default. Of a regression a term, or all coefficients by default,
        a panel for each.
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    prob
        Probability of the intervals.
    title
        Heading; by default what was asked.
    order
        ``"declared"``, or ``"value"``: the highest median of the (first) parameter first.
    most_groups
        How many groups to show; None for all. The figure grows with them.
    """
    tails(prob)
    one_of(order, "order", ("declared", "value"))
    check_most(most_groups=most_groups)
    if not groups:
        raise UsageError("there is no group to draw.")
    first = next(iter(groups.values()))
    shown = groups.main_parameters if parameter is None else (groups.parameter_named(parameter),)
    names = shown[:_MOST_PANELS]
    rows = np.arange(len(groups))
    if order == "value":
        rows = np.argsort(-np.median(groups.stacked(names[0]), axis=1), kind="stable")
    rows = rows[:most_groups]
    pooled = groups.apart is not None and groups.center(names[0]) is not None
    how = groups.together().diagnostics
    about = names[0] if len(names) == 1 else "coefficients"
    notes = [f"{about}: median, 50% and {100 * prob:.4g}% intervals; {how.engine_in_words}"]
    if len(rows) < len(groups):
        which = "highest" if order == "value" else "first"
        notes.append(f"{which} {len(rows)} of {len(groups):,} groups (most_groups=None draws all)")
    if len(names) < len(shown):
        notes.append(f"first {len(names)} of {len(shown)} coefficients (parameter= draws one)")
    heading = (title or first.question or "Groups", [groups.about, "; ".join(notes)], look_of(how.engine)[1])
    height = (_ROW + 0.12 * pooled) * len(rows) + 0.9
    figure = new_figure(8.2, height * len(names) + 0.25 * pooled, *heading)
    panels = figure.subplots(len(names), 1, squeeze=False)[:, 0]
    for at, (axes, name) in enumerate(zip(panels, names, strict=True)):
        _panel(axes, groups, name, rows, prob)
        if pooled and at == 0:
            name_series(axes, ["pooled", "alone", "population mean"], [PALETTE[0], _APART, PALETTE[2]])
    return finish(figure, path)


def _panel(axes: Axes, groups: GroupPosteriors, name: str, rows: np.ndarray, prob: float) -> None:
    """Draw one parameter of the groups."""
    first, center = next(iter(groups.values())), groups.center(name)
    levels = levels_of(prob)
    quantiles = np.quantile(groups.stacked(name)[rows], levels, axis=1).T
    at = np.arange(len(rows), dtype=float)
    pooled = groups.apart is not None and center is not None
    if groups.apart is not None and center is not None:
        low, middle, high = interval_of(center, prob)
        axes.axvspan(low, high, color=PALETTE[2], alpha=0.10, linewidth=0)
        axes.axvline(middle, color=PALETTE[2], linewidth=1.2)
        apart = np.quantile(groups.apart.stacked(name)[rows], levels, axis=1).T
        axes.hlines(at + 0.2, apart[:, 0], apart[:, 4], color=_APART, linewidth=1.0)
        axes.plot(apart[:, 2], at + 0.2, "o", color=_APART, markersize=3.4)
    draw_intervals(axes, at - 0.1 * pooled, quantiles, PALETTE[0])
    name_rows(axes, [shorten(list(groups)[g]) for g in rows])
    axes.grid(axis="y", color=HAIRLINE, linewidth=0.4)
    if first.units.is_date(name):
        date_axis(axes)
        return
    if len(rows) <= _MOST_NUMBERS:
        _numbers(axes, at, quantiles)
    name_axis(axes, name, first.units.of(name))


def _numbers(axes: Axes, at: np.ndarray, q: np.ndarray) -> None:
    """Write each interval beside its row."""
    digits = common_decimals(list(q[:, 4] - q[:, 0]))
    for row, (low, *_, high) in zip(at, q, strict=True):
        beside(axes, row, span(low, high, digits), QUIET)
