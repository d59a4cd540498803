"""The picture of a calibration: how far ranks are from uniform, and where they pile up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from discreet.arguments import FilePath
from discreet.errors import UsageError
from discreet.reporting.style import (
    ACCENT,
    HAIRLINE,
    PALETTE,
    Axes,
    Figure,
    check_most,
    finish,
    label,
    measure,
    new_figure,
    title_panel,
)

#: Parameters shown unless the caller asks for more.
MOST_PARAMETERS = 6
_BINS = 20
_SHADE = "#e9edf1"
_DIFFERENCE = "share below − rank"


def plot_calibration(
    ranks: Mapping[str, np.ndarray],
    *,
    points: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    prob: float = 0.95,
    path: FilePath | None = None,
    title: str = "Calibration",
    notes: Sequence[str] = (),
    warning: str | None = None,
    words: Mapping[str, str] | None = None,
    most_parameters: int | None = MOST_PARAMETERS,
) -> Figure:
    """Draw the ranks of each parameter: distribution function minus the diagonal on the left, histogram on the right.

    A curve that leaves the gray band, even once, speaks against calibration. An S that first rises and then falls means
    ranks at both ends, so a posterior that is too narrow; the reverse, one that is too wide; a curve to one side, one
    in the wrong place.

    Parameters
    ----------
    ranks
        Ranks in (0, 1) by parameter name, one for each trial.
    points, low, high
        Limits of the whole distribution function of uniform ranks, at each of ``points``.
    prob
        Probability that uniform ranks stay inside the limits.
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    title, notes, warning
        Heading, the quiet lines below it, and a line that nobody overlooks.
    words
        What to say about each parameter.
    most_parameters
        How many parameters to show; None for all. The figure grows with them.
    """
    if not ranks:
        raise UsageError("plot_calibration needs at least one parameter.")
    check_most(most_parameters=most_parameters)
    shown = dict(islice(ranks.items(), most_parameters))
    lines = list(notes)
    if len(shown) < len(ranks):
        lines.append(f"first {len(shown)} of {len(ranks)} parameters (most_parameters=None draws all)")
    figure = new_figure(8.6, 2.35 * len(shown), title, lines, warning, gap=0.06)
    panels = figure.subplots(len(shown), 2, squeeze=False, width_ratios=[1.5, 1])
    for (left, right), (name, values) in zip(panels, shown.items(), strict=True):
        difference_panel(left, values, points, low, high)
        title_panel(left, name, (words or {}).get(name, ""))
        histogram_panel(right, values)
        title_panel(right, "", "how many trials have each rank")
    words_below = f"rank of the truth; gray: {100 * prob:.4g}% of calibrated curves stay inside"
    label(panels[-1, 0], words_below, _DIFFERENCE)
    label(panels[-1, 1], "gray: 99% of calibrated bars end here")
    return finish(figure, path)


def difference_panel(
    axes: Axes, ranks: np.ndarray, points: np.ndarray, low: np.ndarray, high: np.ndarray
) -> None:
    """Draw the empirical distribution function minus the diagonal, every jump of it, inside its band."""
    # at 0 and 1 there is nothing to deviate
    edges = np.concatenate([[0.0], points, [1.0]])
    floor, ceiling = (np.concatenate([[0.0], limit - points, [0.0]]) for limit in (low, high))
    axes.fill_between(edges, floor, ceiling, color=_SHADE, linewidth=0)
    axes.axhline(0, color=HAIRLINE, linewidth=0.8)
    place = np.sort(ranks)
    n = len(place)
    x = np.concatenate([[0.0], np.repeat(place, 2), [1.0]])
    height = np.concatenate([[0.0], np.repeat(np.arange(n + 1) / n, 2)[1:-1], [1.0]]) - x
    share = np.searchsorted(place, points, side="right") / n
    outside = ((share < low - 0.5 / n) | (share > high + 0.5 / n)).any()
    axes.plot(x, height, color=ACCENT if outside else PALETTE[0], linewidth=1.4)
    reach = 1.15 * max(np.abs(height).max(), ceiling.max(), -floor.min())
    axes.set_xlim(0, 1)
    axes.set_ylim(-reach, reach)
    measure(axes, 4, ruled=False)
    label(axes, "", _DIFFERENCE)


def histogram_panel(axes: Axes, ranks: np.ndarray) -> None:
    """Draw how many trials fell into each twentieth of the ranks, with the interval that 99% of fair bars end in."""
    from scipy.stats import binom

    n = len(ranks)
    lowest, highest = binom.ppf([0.005, 0.995], n, 1 / _BINS)
    counts, edges = np.histogram(ranks, bins=_BINS, range=(0, 1))
    axes.fill_between([0, 1], lowest, highest, color=_SHADE, linewidth=0)
    axes.axhline(n / _BINS, color=HAIRLINE, linewidth=0.8)
    hues = [PALETTE[0] if lowest <= count <= highest else ACCENT for count in counts]
    # above the line, which matplotlib would draw over bars
    looks = {"color": hues, "alpha": 0.75, "linewidth": 0, "zorder": 3}
    axes.bar(edges[:-1], counts, width=0.82 / _BINS, align="edge", **looks)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.15 * max(counts.max(), highest))
    measure(axes, 4, integer=True, ruled=False)
