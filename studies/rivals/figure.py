"""Twelve panels on one sheet: three measures against the number of records, for two models and two budgets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.reporting.style import HAIRLINE, INK, KNOWN, QUIET, finish, new_figure

from .cells import Cell
from .replicate import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _ROW, _KEY = 10.4, 2.15, 0.46
_SHADE = "#e9edf1"
_ONE: dict[str, Any] = {"linestyle": (0, (3, 1.5)), "markerfacecolor": "white"}
# Colors of Okabe and Ito; readings that other figures show keep theirs. Later ones are drawn on top.
_LOOKS: dict[str, dict[str, Any]] = {
    "concentrated 100": {"color": "#CC79A7", "marker": "D"},
    "concentrated 1": {"color": "#CC79A7", "marker": "D", **_ONE},
    "diffused 100": {"color": "#009E73", "marker": "s"},
    "diffused 1": {"color": "#009E73", "marker": "s", **_ONE},
    "ops 100": {"color": "#E69F00", "marker": "v"},
    "ops 1": {"color": "#E69F00", "marker": "v", **_ONE},
    "laplace naive": {"color": KNOWN["naive"], "marker": "^"},
    "gaussian exact": {"color": "#56B4E9", "marker": "o"},
    "laplace exact": {"color": KNOWN["noise-aware"], "marker": "o"},
    "non-private": {"color": KNOWN["non-private"], "marker": "", "linestyle": (0, (1, 1.5))},
}
_LINE: dict[str, Any] = {"linewidth": 1.3, "markersize": 3.8}
_ROWS = (
    ("error", "L1 error"),
    ("loss", "held-out loss (nats)"),
    ("covered", "coverage of 95%"),
)
_SHOWN = ("Bernoulli", "Categorical(5)")


def draw_figure(cells: Sequence[Cell], *, note: str, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw each measure against n, with a column for each model and budget."""
    models = [m for m in dict.fromkeys(c.key.model for c in cells) if m in _SHOWN]
    columns = [
        (m, e) for m in models for e in sorted({c.key.epsilon for c in cells if c.key.model == m}, key=float)
    ]
    notes = [
        note,
        "Dashed and hollow: one sample, whose error is the sample's own and which has no interval; "
        "gray band: where 95% of calibrated methods stay.",
    ]
    title = "Mechanisms head to head, at equal privacy"
    figure = new_figure(_WIDTH, _ROW * len(_ROWS) + _KEY, title, notes, gap=0.05)
    grid = figure.add_gridspec(len(_ROWS) + 1, len(columns), height_ratios=[_KEY, *[_ROW] * len(_ROWS)])
    _name_methods(figure.add_subplot(grid[0, :]), {m for c in cells for m in c.series})
    for j, (model, epsilon) in enumerate(columns):
        mine = [c for c in cells if (c.key.model, c.key.epsilon) == (model, epsilon)]
        for i, (what, words) in enumerate(_ROWS):
            axes = figure.add_subplot(grid[i + 1, j])
            _panel(axes, mine, what)
            if i == 0:
                axes.set_title(model, loc="left", color=INK, fontsize=9.5, fontweight="bold")
                axes.set_title(f"ε = {epsilon}", loc="right", color=QUIET, fontsize=9)
            if j == 0:
                axes.set_ylabel(words, color=QUIET, fontsize=8.5)
            if i == len(_ROWS) - 1:
                axes.set_xlabel("number of records n", color=QUIET, fontsize=8.5)
    finish(figure, path)
    if path is not None:
        _shrink(path)
    return figure


def _shrink(path: str | os.PathLike[str]) -> None:
    """Rewrite a PNG with a palette of the inks and their mixtures with white; it is kept in version control."""
    from matplotlib.colors import to_rgb
    from PIL import Image
    from scipy.spatial.distance import cdist

    inks = [INK, QUIET, HAIRLINE, _SHADE, "#000000", *(looks["color"] for looks in _LOOKS.values())]
    steps = np.linspace(0, 1, 20)[:, None]
    shades = np.vstack([(1 - steps) * np.array(to_rgb(ink)) + steps for ink in dict.fromkeys(inks)])
    colors = np.unique((255 * shades).round().astype(np.uint8), axis=0)
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"))
    seen, where = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)
    nearest = cdist(seen.astype(float), colors.astype(float)).argmin(axis=1).astype(np.uint8)
    small = Image.fromarray(nearest[where].reshape(pixels.shape[:2]))
    small.putpalette(colors.tobytes())
    small.save(path, optimize=True)


def _panel(axes: Axes, cells: Sequence[Cell], what: str) -> None:
    n = [c.key.n_records for c in cells]
    if what == "covered":
        size = len(next(iter(cells[0].series.values())).error)
        half = 1.96 * np.sqrt(0.95 * 0.05 / size)
        axes.axhspan(0.95 - half, min(0.95 + half, 1), color=_SHADE, linewidth=0)
    for method, looks in _LOOKS.items():
        if not all(method in c.series for c in cells):
            continue
        mean, error = np.array([c.series[method].summary(what) for c in cells]).T
        if np.isfinite(mean).all():
            axes.plot(n, mean, **looks, **_LINE)
            axes.vlines(n, mean - error, mean + error, color=looks["color"], linewidth=0.9)
    axes.set_xscale("log")
    if what == "covered":
        axes.set_ylim(-0.03, 1.03)
    else:
        axes.set_yscale("log")
    axes.minorticks_off()
    for side in ("right", "top"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(HAIRLINE)
    axes.tick_params(colors=QUIET, labelsize=8, length=3, color=HAIRLINE)
    axes.grid(axis="y", color=HAIRLINE, linewidth=0.5)
    axes.set_axisbelow(True)


def _name_methods(axes: Axes, present: set[str]) -> None:
    """Write the legend, once for all panels."""
    from matplotlib.lines import Line2D

    names = [m for m in METHODS if m in present and m in _LOOKS]
    axes.axis("off")
    legend = axes.legend(
        [Line2D([], [], **_LOOKS[m], **_LINE) for m in names],
        [METHODS[m].replace(" samples", "") for m in names],
        loc="center left",
        bbox_to_anchor=(-0.01, 0.5),
        ncols=(len(names) + 1) // 2,
        frameon=False,
        fontsize=8.5,
        handlelength=2.6,
        columnspacing=1.6,
        borderpad=0,
    )
    for text, method in zip(legend.get_texts(), names, strict=True):
        text.set_color(_LOOKS[method]["color"])
        text.set_fontweight("bold")
