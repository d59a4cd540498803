"""The distribution of a column as a picture: density above, distribution function below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import FilePath, probability
from discreet.errors import UsageError
from discreet.inference.units import Units
from discreet.reporting.density import interval_of
from discreet.reporting.style import (
    HAIRLINE,
    INK,
    QUIET,
    Axes,
    Figure,
    few_ticks,
    finish,
    look_of,
    name_unit,
    new_figure,
    rule,
    strip,
    title_panel,
)
from discreet.reporting.subplots import date_axis

if TYPE_CHECKING:
    from discreet.inference.histogram import Band, Distribution, QuantileInterval

_QUARTERS = (0.25, 0.5, 0.75)
# A bin narrower than this share of the range does not set the scale of the density, if others are wider.
_NARROW = 0.01


def plot_distribution(
    posterior: Any,
    *,
    path: FilePath | None = None,
    prob: float = 0.95,
    title: str | None = None,
) -> Figure:
    """Draw the posterior of a histogram.

    Above, the density of each bin with its interval; below, the distribution function with a band that holds all of it
    at once, and the quartiles with their intervals, which are rounded outward to edges of bins.

    Parameters
    ----------
    posterior
        The posterior of a histogram.
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    prob
        Probability of the intervals and of the band.
    title
        Heading; by default it names the column.
    """
    found: Distribution | None = getattr(posterior, "distribution", None)
    if found is None:
        raise UsageError("plot_distribution draws the posterior of a histogram.")
    prob = probability(prob, "prob")
    how = posterior.diagnostics
    hue, warning = look_of(how.engine)
    heading = title or posterior.question or f"Distribution, {how.engine} engine"
    note = f"{how.engine} engine, {how.draws_in_words}, {how.approximation}"
    figure = new_figure(7.2, 5.6, heading, [posterior.about, note], warning, gap=0.06)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[1, 1.15])
    cut = _density(upper, found, prob, hue)
    words = f"median of each bin and its {100 * prob:.4g}% interval"
    title_panel(upper, "density", f"{words}; narrow bins reach beyond the top" if cut else words)
    _function(lower, found.band(prob), found.quantiles(_QUARTERS, prob), found.edges, hue, posterior.units)
    words = f"{100 * prob:.4g}% band for all of it at once; quartiles, with intervals rounded outward"
    title_panel(lower, "distribution function", words)
    lower.set_xlim(found.edges[0], found.edges[-1])
    return finish(figure, path)


def _density(axes: Axes, found: Distribution, prob: float, hue: str) -> bool:
    """Draw the density of each bin; return whether some are too narrow to be shown to their full height."""
    width = np.diff(found.edges)
    low, middle, high = interval_of(found.p, prob, axis=0) / width
    axes.stairs(high, found.edges, baseline=low, fill=True, color=hue, alpha=0.22, linewidth=0)
    axes.stairs(middle, found.edges, color=hue, linewidth=1.6)
    strip(axes)
    rule(axes)
    # a bin of hardly any width may stand so high that nothing else is to be seen
    wide = width >= _NARROW * (found.edges[-1] - found.edges[0])
    top = float(high[wide].max()) if wide.any() else float(high.max())
    axes.set_ylim(0, 1.06 * (top or 1.0))
    return bool(high.max() > 1.06 * top)


def _function(
    axes: Axes,
    whole: Band,
    quartiles: list[QuantileInterval],
    edges: np.ndarray,
    hue: str,
    units: Units,
) -> None:
    x = np.concatenate([edges[:1], whole.edges, edges[-1:]])
    low, middle, high = (np.concatenate([[0.0], y, [1.0]]) for y in (whole.low, whole.middle, whole.high))
    # between two edges the function may take any way up: the band takes in all of them
    axes.stairs(high[1:], x, baseline=low[:-1], fill=True, color=hue, alpha=0.22, linewidth=0)
    axes.plot(x, middle, "-", color=hue, linewidth=1.6)
    for q in quartiles:
        axes.hlines(q.level, q.low, q.high, color=INK, linewidth=2.6)
        axes.annotate(
            f"{units.place(q.low)} to {units.place(q.high)}", (q.high, q.level), (5, -1), textcoords="offset points",
            va="center", color=INK, fontsize=9,
        )  # fmt: skip
    strip(axes)
    rule(axes)
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"], color=QUIET, fontsize=9)
    axes.grid(axis="y", color=HAIRLINE, linewidth=0.6)
    axes.xaxis.set_major_locator(few_ticks(7))
    if units.dates:
        date_axis(axes)
    elif units.label is not None:
        name_unit(axes, units.label)
