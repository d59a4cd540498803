"""Figures 1a, 1b and 1c of the paper on one sheet: a column for each model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.reporting.style import HAIRLINE, INK, KNOWN, QUIET, finish, new_figure
from discreet.validation.bands import empirical, simultaneous_band

from .cells import POINTS, Cell
from .claim import CURVES
from .methods import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _ROW, _KEY = 9.6, 2.0, 0.22
_SHADE = "#e9edf1"
_NOTES = (
    "a, b: rank of the truth among posterior draws; gray: where 95% of calibrated methods stay "
    "(paler: with fewer replicates)",
    "c: a hollow point is an upper limit; for exponential data naive sees the redacted records too",
)
# Colors of Okabe and Ito; the three readings that other figures show keep theirs. Later ones are drawn on top.
_LOOKS: dict[str, dict[str, Any]] = {
    "non-private": {"color": KNOWN["non-private"], "marker": "s", "linestyle": (0, (1, 1.5))},
    "ops": {"color": "#E69F00", "marker": "v", "linestyle": "-"},
    "naive": {"color": KNOWN["naive"], "marker": "^", "linestyle": "-"},
    "plain": {"color": "#CC79A7", "marker": "D", "linestyle": (0, (4, 2))},
    "gibbs": {"color": "#009E73", "marker": "o", "linestyle": "-"},
    "exact": {"color": KNOWN["noise-aware"], "marker": "x", "linestyle": (0, (5, 1.5))},
}
_LINE: dict[str, Any] = {"linewidth": 1.4, "markersize": 4.2}


def draw_figure(cells: Sequence[Cell], *, note: str, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw calibration against n, distribution functions of ranks, and utility against n."""
    models = list(dict.fromkeys(c.key.model for c in cells))
    budgets = sorted({c.key.epsilon for c in cells})
    shown = [c for c in cells if (c.key.n_records, c.key.epsilon) == CURVES]
    rows: list[tuple[str, float | None]] = [("a", e) for e in budgets]
    rows += [("b", None)] if shown else []
    rows += [("c", e) for e in budgets]
    notes = [note, *_NOTES]
    title = "Bernstein and Sheldon (2018), figure 1, redrawn"
    highest = max(series.test().ks for cell in cells for series in cell.series.values())
    figure = new_figure(_WIDTH, _ROW * len(rows) + _KEY, title, notes, gap=0.05)
    grid = figure.add_gridspec(len(rows) + 1, len(models), height_ratios=[_KEY, *[_ROW] * len(rows)])
    _name_methods(figure.add_subplot(grid[0, :]), {m for c in cells for m in c.series})
    for i, (part, epsilon) in enumerate(rows):
        for j, model in enumerate(models):
            axes = figure.add_subplot(grid[i + 1, j])
            mine = [c for c in cells if c.key.model == model and epsilon in (None, c.key.epsilon)]
            if part == "a":
                _calibration(axes, mine, 1.08 * highest)
                words = f"ε = {epsilon:g}"
            elif part == "b":
                _curves(axes, [c for c in shown if c.key.model == model])
                words = f"n = {CURVES[0]:,}, ε = {CURVES[1]:g}"
            else:
                _utility(axes, mine)
                words = f"ε = {epsilon:g}"
            _title(axes, f"{part}  {model}", words)
            if j == 0:
                axes.set_ylabel(_QUANTITY[part], color=QUIET, fontsize=8.5)
            if part != "b" and i == len(rows) - 1:
                axes.set_xlabel("number of records n", color=QUIET, fontsize=8.5)
            elif part == "b":
                axes.set_xlabel("rank of the truth", color=QUIET, fontsize=8.5)
    finish(figure, path)
    if path is not None:
        _shrink(path)
    return figure


def _shrink(path: str | os.PathLike[str]) -> None:
    """Rewrite a PNG with a palette: the sheet needs few colors, and it is kept in version control.

    The palette is made of the figure's own inks and their mixtures with white, which is what smooth edges are. One
    found from the picture would merge the colors of thin lines.
    """
    from matplotlib.colors import to_rgb
    from PIL import Image
    from scipy.spatial.distance import cdist

    inks = [INK, QUIET, HAIRLINE, _SHADE, "#000000", *(looks["color"] for looks in _LOOKS.values())]
    steps = np.linspace(0, 1, 20)[:, None]
    shades = np.vstack([(1 - steps) * np.array(to_rgb(ink)) + steps for ink in inks])
    colors = np.unique((255 * shades).round().astype(np.uint8), axis=0)
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"))
    seen, where = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)
    nearest = cdist(seen.astype(float), colors.astype(float)).argmin(axis=1).astype(np.uint8)
    small = Image.fromarray(nearest[where].reshape(pixels.shape[:2]))
    small.putpalette(colors.tobytes())
    small.save(path, optimize=True)


_QUANTITY = {"a": "KS statistic", "b": "share of replicates", "c": "MMD² to non-private"}


def _calibration(axes: Axes, cells: Sequence[Cell], highest: float) -> None:
    from scipy.stats import kstwo

    n = [c.key.n_records for c in cells]
    least = min((len(s.ranks) for c in cells for s in c.series.values()), default=1)
    most = max((len(s.ranks) for c in cells for s in c.series.values()), default=1)
    # methods with fewer replicates have a higher limit, shown paler
    for size, alpha in ((least, 0.55), (most, 1.0)):
        axes.axhspan(0, float(kstwo.isf(0.05, size)), color=_SHADE, alpha=alpha, linewidth=0)
    for method, looks in _present(cells):
        axes.plot(n, [c.series[method].test().ks for c in cells], **looks, **_LINE)
    axes.set_ylim(0, highest)
    _frame(axes)


def _curves(axes: Axes, cells: Sequence[Cell]) -> None:
    axes.set_aspect("auto")
    for cell in cells:
        band = simultaneous_band(max(len(s.ranks) for s in cell.series.values()), 0.95)
        axes.fill_between(band.points, band.low, band.high, color=_SHADE, linewidth=0)
        for method, looks in _present(cells):
            style = {k: v for k, v in looks.items() if k != "marker"}
            axes.plot(POINTS, empirical(cell.series[method].ranks[:, 0], POINTS), **style, linewidth=1.4)
    _frame(axes, log=False)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


def _utility(axes: Axes, cells: Sequence[Cell]) -> None:
    for method, looks in _present(cells):
        if method in ("ops", "non-private"):
            continue
        found = np.array([c.series[method].utility for c in cells])
        n = np.array([c.key.n_records for c in cells])
        known = np.isfinite(found).all(axis=1)
        mean, error = found[known].T
        # an unbiased estimate may be negative: then two standard errors are an upper limit, drawn hollow
        clear = mean > 2 * error
        height = np.where(clear, mean, 2 * error)
        axes.plot(n[known], height, **{**looks, "marker": ""}, **_LINE)
        for which, face in ((clear, looks["color"]), (~clear, "white")):
            axes.plot(
                n[known][which],
                height[which],
                looks["marker"],
                color=looks["color"],
                markerfacecolor=face,
                **_LINE,
            )
    _frame(axes)
    axes.set_yscale("log")
    axes.minorticks_off()


def _present(cells: Sequence[Cell]) -> list[tuple[str, dict[str, Any]]]:
    return [(m, looks) for m, looks in _LOOKS.items() if cells and all(m in c.series for c in cells)]


def _frame(axes: Axes, *, log: bool = True) -> None:
    for side in ("right", "top"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(HAIRLINE)
    axes.tick_params(colors=QUIET, labelsize=8, length=3, color=HAIRLINE)
    axes.grid(axis="y", color=HAIRLINE, linewidth=0.5)
    axes.set_axisbelow(True)
    if log:
        axes.set_xscale("log")
        axes.minorticks_off()


def _title(axes: Axes, name: str, words: str) -> None:
    axes.set_title(name, loc="left", color=INK, fontsize=9.5, fontweight="bold", parse_math=False)
    axes.set_title(words, loc="right", color=QUIET, fontsize=8, parse_math=False)


def _name_methods(axes: Axes, present: set[str]) -> None:
    """Write the legend, once for all panels."""
    from matplotlib.lines import Line2D

    names = [m for m in METHODS if m in present]
    handles = [Line2D([], [], **_LOOKS[m], **_LINE) for m in names]
    axes.axis("off")
    legend = axes.legend(
        handles,
        [METHODS[m] for m in names],
        loc="center left",
        bbox_to_anchor=(-0.01, 0.5),
        ncols=len(names),
        frameon=False,
        fontsize=9,
        handlelength=2.4,
        columnspacing=1.6,
        borderpad=0,
    )
    for text, method in zip(legend.get_texts(), names, strict=True):
        text.set_color(_LOOKS[method]["color"])
        text.set_fontweight("bold")
