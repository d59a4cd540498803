"""Posteriors as pictures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import UsageError
from discreet.reporting.density import has_curve, smooth_density, support_of
from discreet.reporting.style import (
    INK,
    PALETTE,
    choose_hues,
    common_decimals,
    finish,
    name_series,
    new_figure,
    number,
    rule,
    span,
    stems,
    strip,
    title_panel,
    write_heading,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.inference.posterior import Posterior

#: Components of a vector shown as intervals, and panels in one figure, at most.
MOST_ROWS, MOST_PANELS = 40, 12


def plot_posterior(
    posterior: Posterior,
    *,
    path: str | os.PathLike[str] | None = None,
    prob: float = 0.95,
    title: str | None = None,
    parameters: Sequence[str] | None = None,
) -> Figure:
    """Draw each parameter of a posterior.

    A scalar is a density with its median and central interval; a vector or a matrix is an interval for each component.

    Parameters
    ----------
    posterior
        What to draw.
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    prob
        Probability of the marked interval.
    title
        Heading; by default it names the engine.
    parameters
        Which parameters to draw; all by default.
    """
    names = list(posterior.draws) if parameters is None else list(parameters)
    if not names:
        raise UsageError("plot_posterior needs at least one parameter.")
    posterior.interval(prob)  # refuses a bad prob before anything is drawn
    tables = [_components(posterior, name) for name in names]
    hidden = len(tables) - MOST_PANELS
    tables = dict(zip(names[:MOST_PANELS], tables[:MOST_PANELS], strict=True))
    heights = [
        2.5 if list(table) == [name] else 0.9 + 0.26 * min(len(table), MOST_ROWS)
        for name, table in tables.items()
    ]
    columns = min(len(tables), 3)
    lines = [heights[start : start + columns] for start in range(0, len(tables), columns)]
    figure = new_figure(4.9 * columns + 0.4, sum(map(max, lines)))
    grid = figure.add_gridspec(len(lines), columns, height_ratios=[max(line) for line in lines])
    for place, (name, table) in enumerate(tables.items()):
        axes = figure.add_subplot(grid[divmod(place, columns)])
        if list(table) == [name]:
            words = _density_panel(axes, name, table[name], prob)
        else:
            words = _interval_panel(axes, [table], [PALETTE[0]], prob)
        title_panel(axes, name, words)
    how = posterior.diagnostics
    approximation = "no approximation" if how.approximation == "none" else how.approximation
    note = f"{how.draws_in_words}, {approximation}"
    if hidden > 0:
        note += f"; {hidden} more parameters not shown"
    write_heading(figure, title or f"Posterior, {how.engine} engine", note)
    return finish(figure, path)


def plot_comparison(
    posteriors: Mapping[str, Posterior],
    parameter: str = "p",
    *,
    path: str | os.PathLike[str] | None = None,
    prob: float = 0.95,
    title: str | None = None,
    note: str | None = None,
    axis_label: str | None = None,
    colors: Mapping[str, str] | None = None,
) -> Figure:
    """Set several readings of one parameter side by side.

    A scalar is drawn as overlaid densities above one interval each; a vector as intervals, one group to a component.

    Parameters
    ----------
    posteriors
        The readings, by the name to show.
    parameter
        A parameter (``"p"``) or one component of one (``"p[b]"``).
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    prob
        Probability of the intervals.
    title, note
        Heading and the quiet line below it.
    axis_label
        What the horizontal axis shows; the parameter's name by default.
    colors
        Colors by reading, where the default ones do not serve.
    """
    if not posteriors:
        raise UsageError("plot_comparison needs at least one posterior.")
    hues = choose_hues(list(posteriors), colors)
    for posterior in posteriors.values():
        posterior.interval(prob)  # refuses a bad prob before anything is drawn
    tables = {name: _components(posterior, parameter) for name, posterior in posteriors.items()}
    components = list(next(iter(tables.values())))
    if any(list(table) != components for table in tables.values()):
        raise UsageError(f"the posteriors do not have the same components of {parameter}.")
    if components == [parameter]:
        draws = {name: table[parameter] for name, table in tables.items()}
        figure = new_figure(7.2, 3.4 + 0.34 * len(draws))
        words = _overlay(figure, parameter, draws, hues, prob)
    else:
        rows = min(len(components), MOST_ROWS)
        figure = new_figure(7.2, rows * (0.19 * len(tables) + 0.14) + 1.0)
        axes = figure.add_subplot()
        words = _interval_panel(axes, list(tables.values()), hues, prob)
        name_series(axes, list(tables), hues)
    shown = axis_label or parameter
    figure.axes[-1].set_xlabel(shown, color=INK, fontsize=10, loc="left", parse_math=False)
    write_heading(figure, title or f"Posterior of {shown}", words if note is None else note)
    return finish(figure, path)


def _components(posterior: Posterior, parameter: str) -> dict[str, np.ndarray]:
    """Return the scalars of a parameter, or the one scalar that has this full name."""
    scalars = posterior.scalars()
    if parameter in scalars:
        return {parameter: scalars[parameter]}
    if parameter in posterior.draws:
        return {full: x for full, x in scalars.items() if full.partition("[")[0] == parameter}
    known = list(dict.fromkeys([*posterior.draws, *scalars]))[:MOST_ROWS]
    raise UsageError(f"no parameter is named {parameter!r}.", hint=f"choose from {', '.join(known)}")


# -- panels -------------------------------------------------------------------------------------------


def _density_panel(axes: Axes, name: str, draws: np.ndarray, prob: float) -> str:
    """Draw one scalar: density, interval shaded, median marked. Return the numbers in words."""
    low, median, high = np.quantile(draws, [(1 - prob) / 2, 0.5, (1 + prob) / 2])
    strip(axes)
    if not has_curve(draws):
        stems(axes, draws, PALETTE[0], height=0.6)
        axes.set_ylim(0, 1)
        return f"one value, {draws[0]:.4g}" if np.ptp(draws) == 0 else f"{len(draws)} draws, each shown"
    x, y = smooth_density(draws, support_of(name))
    inside = (x >= low) & (x <= high)
    axes.fill_between(x, y, color=PALETTE[0], alpha=0.12, linewidth=0)
    axes.fill_between(x, y, where=inside.tolist(), color=PALETTE[0], alpha=0.30, linewidth=0)
    axes.plot(x, y, color=PALETTE[0], linewidth=1.8)
    axes.vlines(median, 0, np.interp(median, x, y), color=PALETTE[0], linewidth=1.4)
    axes.set_ylim(0, y.max() * 1.08)
    axes.set_xlim(x[0], x[-1])
    digits = common_decimals([high - low])
    return f"median {number(median, digits)}, {100 * prob:.4g}% interval {span(low, high, digits)}"


def _interval_panel(
    axes: Axes, tables: Sequence[Mapping[str, np.ndarray]], hues: Sequence[str], prob: float
) -> str:
    """Draw a median, a thin interval and a thick one of the middle half for each component. Return what they are."""
    shown = list(tables[0])[:MOST_ROWS]
    levels = [(1 - prob) / 2, 0.25, 0.5, 0.75, (1 + prob) / 2]
    lane = 0.0 if len(tables) == 1 else min(0.24, 0.62 / (len(tables) - 1))
    for series, (table, hue) in enumerate(zip(tables, hues, strict=True)):
        rows = np.arange(len(shown)) + (series - (len(tables) - 1) / 2) * lane
        q = np.array([np.quantile(table[full], levels) for full in shown])
        axes.hlines(rows, q[:, 0], q[:, 4], color=hue, linewidth=1.4)
        axes.hlines(rows, q[:, 1], q[:, 3], color=hue, linewidth=4.2)
        axes.plot(q[:, 2], rows, "o", color="white", markeredgecolor=hue, markersize=4.6, markeredgewidth=1.4)
    strip(axes)
    names = [full.partition("[")[2][:-1] for full in shown]
    axes.set_yticks(range(len(shown)), names, color=INK, fontsize=9.5, parse_math=False)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    rule(axes)
    words = f"median, 50% and {100 * prob:.4g}% intervals"
    return words if len(tables[0]) == len(shown) else f"{words}; first {len(shown)} of {len(tables[0])}"


def _overlay(
    figure: Figure, parameter: str, draws: Mapping[str, np.ndarray], hues: Sequence[str], prob: float
) -> str:
    """Draw densities above and, on the same axis below, one named interval for each. Return what they are."""
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
    quantiles = [np.quantile(values, [(1 - prob) / 2, 0.5, (1 + prob) / 2]) for values in draws.values()]
    digits = common_decimals([q[2] - q[0] for q in quantiles])
    for row, ((low, median, high), hue) in enumerate(zip(quantiles, hues, strict=True)):
        lower.hlines(row, low, high, color=hue, linewidth=3.2)
        lower.plot(median, row, "o", color="white", markeredgecolor=hue, markersize=6, markeredgewidth=1.8)
        lower.annotate(
            span(low, high, digits),
            (1, row),
            (6, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            color=hue,
            fontsize=9.5,
        )
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
    return f"{100 * prob:.4g}% intervals"
