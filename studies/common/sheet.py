"""One sheet with a grid of panels, in the house style."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from discreet.reporting.style import HAIRLINE, INK, QUIET, finish, new_figure

from .claim import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The name of a panel, and what draws its series.
Drawing = tuple[str, Callable[["Axes", dict[str, Any]], None]]
#: A line for what would be without, or in the limit.
DOTTED: dict[str, Any] = {"color": QUIET, "linewidth": 1.0, "linestyle": (0, (1, 1.5))}
#: A line through points that were computed.
DOTS: dict[str, Any] = {"marker": "o", "markersize": 3.2, "linewidth": 1.6}


def draw_sheet(
    panels: Sequence[Panel],
    drawings: Iterable[Drawing],
    *,
    size: tuple[float, float],
    shape: tuple[int, int],
    title: str,
    notes: list[str],
    path: str | os.PathLike[str] | None,
) -> Figure:
    """Draw panels row by row; ``shape`` is rows and columns."""
    width, height = size
    figure = new_figure(width, height, title, notes, gap=0.06)
    grid = figure.add_gridspec(*shape)
    found = {panel.name: panel.series for panel in panels}
    for place, (name, draw) in enumerate(drawings):
        axes = figure.add_subplot(grid[place // shape[1], place % shape[1]])
        draw(axes, found[name])
        axes.tick_params(colors=QUIET, labelsize=8, color=HAIRLINE)
        axes.xaxis.label.set(color=QUIET, fontsize=8.5)
        axes.yaxis.label.set(color=QUIET, fontsize=8.5)
        for side in ("right", "top"):
            axes.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(HAIRLINE)
    return finish(figure, path)


def title(axes: Axes, words: str, fontsize: float = 10) -> None:
    """Name a panel."""
    axes.set_title(words, loc="left", color=INK, fontsize=fontsize, fontweight="bold")


def say(
    axes: Axes, at: tuple[float, float], words: str, color: str, fontsize: float = 8, **where: Any
) -> None:
    """Name a series where it is drawn; ``at`` is in the data's units."""
    axes.annotate(
        words, at, fontsize=fontsize, color=color, xytext=(0, 0), textcoords="offset points", **where
    )
