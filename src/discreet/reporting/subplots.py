"""What one panel shows: a density, a row of intervals, or several readings above one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.domain.dates import shown_day
from discreet.inference.units import UNNAMED, Units
from discreet.reporting.density import (
    has_curve,
    interval_of,
    is_count,
    share_beyond,
    smooth_density,
    support_of,
)
from discreet.reporting.style import (
    Axes,
    Figure,
    common_decimals,
    draw_intervals,
    few_ticks,
    hollow,
    levels_of,
    name_rows,
    name_unit,
    number,
    rule,
    span,
    stems,
    strip,
)

# Whole numbers that differ by no more than this are a bar each.
_MOST_BARS = 150


def density_panel(
    axes: Axes, name: str, draws: np.ndarray, hue: str, prob: float, units: Units = UNNAMED
) -> str:
    """Draw one scalar: density, interval shaded, median marked. Return the numbers in words."""
    low, median, high = interval_of(draws, prob)
    strip(axes)
    if not has_curve(draws):
        stems(axes, draws, hue, height=0.6)
        axes.set_ylim(0, 1)
        return f"one value, {draws[0]:.4g}" if np.ptp(draws) == 0 else f"{len(draws)} draws, each shown"
    if is_count(np.sort(draws)) and np.ptp(draws) < _MOST_BARS:
        return _count_bars(axes, draws, hue, (low, median, high), prob)
    x, y = smooth_density(draws, support_of(name))
    inside = (x >= low) & (x <= high)
    axes.fill_between(x, y, color=hue, alpha=0.12, linewidth=0)
    axes.fill_between(x, y, where=inside.tolist(), color=hue, alpha=0.30, linewidth=0)
    axes.plot(x, y, color=hue, linewidth=1.8)
    axes.vlines(median, 0, np.interp(median, x, y), color=hue, linewidth=1.4)
    axes.set_ylim(0, y.max() * 1.08)
    axes.set_xlim(x[0], x[-1])
    digits = common_decimals([high - low])
    found, within = number(median, digits), span(low, high, digits)
    if units.is_date(name):
        date_axis(axes)
        found, within = shown_day(median), f"{shown_day(low)} to {shown_day(high)}"
    elif unit := units.of(name):
        name_unit(axes, unit)
        found, within = f"{found} {unit}", f"{within} {unit}"
    words = f"median {found}, {100 * prob:.4g}% interval {within}"
    return "; ".join(filter(None, [words, share_beyond(draws, x[0], x[-1])]))


def _count_bars(
    axes: Axes, draws: np.ndarray, hue: str, marks: tuple[float, float, float], prob: float
) -> str:
    """Draw whole numbers as what they are, a bar for each; return the numbers in words."""
    low, median, high = marks
    values, times = np.unique(draws, return_counts=True)
    inside = (values >= low) & (values <= high)
    axes.bar(values, times, width=0.86, color=hue, alpha=0.22, linewidth=0)
    axes.bar(values[inside], times[inside], width=0.86, color=hue, alpha=0.45, linewidth=0)
    axes.set_ylim(0, times.max() * 1.08)
    # far draws would leave nothing to see of the rest
    first, last = np.quantile(draws, [0.001, 0.999])
    axes.set_xlim(first - 1.5, last + 1.5)
    axes.xaxis.set_major_locator(few_ticks(6))
    return f"median {median:.0f}, {100 * prob:.4g}% interval {low:.0f} to {high:.0f}"


def date_axis(axes: Axes) -> None:
    """Show an axis of days as dates."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda day, _: shown_day(day)))


def share_panel(axes: Axes, draws: np.ndarray, labels: Sequence[str], hue: str) -> str:
    """Draw how many of the draws have each label, coded 1, 2, ...; return the most probable one in words."""
    shares = np.bincount(draws - 1, minlength=len(labels)) / len(draws)
    axes.barh(range(len(labels)), shares, height=0.66, color=hue, alpha=0.55, linewidth=0)
    name_rows(axes, labels)
    axes.set_xlim(0, 1)
    return f"most probable {labels[int(shares.argmax())]}, probability {shares.max():.3f}"


def interval_panel(
    axes: Axes, tables: Sequence[Mapping[str, np.ndarray]], hues: Sequence[str], prob: float
) -> None:
    """Draw a median, a thin interval and a thick one of the middle half for each component."""
    shown = list(tables[0])
    lane = 0.0 if len(tables) == 1 else min(0.24, 0.62 / (len(tables) - 1))
    for series, (table, hue) in enumerate(zip(tables, hues, strict=True)):
        rows = np.arange(len(shown)) + (series - (len(tables) - 1) / 2) * lane
        q = np.array([np.quantile(table[full], levels_of(prob)) for full in shown])
        draw_intervals(axes, rows, q, hue)
    name_rows(axes, [full.partition("[")[2][:-1] for full in shown])


def beside(axes: Axes, row: float, words: str, hue: str) -> None:
    """Write words to the right of a row."""
    axes.annotate(
        words,
        (1, row),
        (6, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        color=hue,
        fontsize=9.5,
        parse_math=False,
        annotation_clip=False,
    )


def interval_words(prob: float) -> str:
    """Say what :func:`interval_panel` marks."""
    return f"median, 50% and {100 * prob:.4g}% intervals"


def overlay(
    figure: Figure, parameter: str, draws: Mapping[str, np.ndarray], hues: Sequence[str], prob: float
) -> str:
    """Draw densities above and, on the same axis below, one named interval each; return what the axis leaves out."""
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[2.6, 0.34 * len(draws)])
    top, edges = 0.0, []
    for (name, values), hue in zip(draws.items(), hues, strict=True):
        if has_curve(values):
            x, y = smooth_density(values, support_of(parameter))
            upper.fill_between(x, y, color=hue, alpha=0.13, linewidth=0)
            upper.plot(x, y, color=hue, linewidth=2.0, label=name)
            top, edges = max(top, y.max()), [*edges, x[0], x[-1]]
        else:
            edges += [values.min(), values.max()]
    for values, hue in zip(draws.values(), hues, strict=True):
        if not has_curve(values):
            stems(upper, values, hue, height=(top or 1.0) * 0.6)
    upper.set_ylim(0, (top or 1.0) * 1.06)
    quantiles = [interval_of(values, prob) for values in draws.values()]
    digits = common_decimals([q[2] - q[0] for q in quantiles])
    for row, ((low, median, high), hue) in enumerate(zip(quantiles, hues, strict=True)):
        lower.hlines(row, low, high, color=hue, linewidth=3.2)
        hollow(lower, median, row, hue, 6, 1.8)
        beside(lower, row, span(low, high, digits), hue)
    strip(upper)
    upper.tick_params(bottom=False, labelbottom=False)
    strip(lower)
    lower.set_yticks(range(len(draws)), list(draws), fontsize=10, fontweight="bold", parse_math=False)
    for label, hue in zip(lower.get_yticklabels(), hues, strict=True):
        label.set_color(hue)
    lower.set_ylim(len(draws) - 0.4, -0.6)
    rule(upper)
    rule(lower)
    if max(edges) > min(edges):
        lower.set_xlim(min(edges), max(edges))
    return share_beyond(np.concatenate(list(draws.values())), min(edges), max(edges))
