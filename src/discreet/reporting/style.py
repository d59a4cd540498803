"""How figures look: inks, type, margins and the way numbers are printed.

Figures are made without pyplot: no display, no global state, nothing to close. Colors are those of Okabe and Ito
(2008), which color-blind readers can tell apart, and every series is named where it is drawn. Names come from the
user, so none is read as mathematics: a label may be ``$20-$30``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import FilePath, whole
from discreet.arguments import path as read_path
from discreet.errors import UsageError
from discreet.extras import needed_for
from discreet.inference.summary import tails

with needed_for("a plot"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.ticker import Locator

INK, QUIET, HAIRLINE = "#1f2933", "#66737f", "#d5dae0"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
#: Readings that always keep their color, so that a reader learns it once.
KNOWN = {"noise-aware": "#0072B2", "naive": "#D55E00", "non-private": "#525d68"}
#: For what a reader must not overlook.
ACCENT = KNOWN["naive"]
# Inches: the margin, and a letter of the heading's quiet lines.
_MARGIN, _LETTER = 0.14, 0.07


def shorten(text: str, most: int = 32) -> str:
    """Cut a name that would not fit."""
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def stems(axes: Axes, draws: np.ndarray, hue: str, height: float) -> None:
    """Draw each value as a stem, for draws too few or too alike for a density."""
    values = draws[np.isfinite(draws)]
    axes.vlines(values, 0, height, color=hue, linewidth=1.6)
    axes.plot(values, np.full(len(values), height), "o", color=hue, markersize=5)
    axes.margins(x=0.12)


def name_series(axes: Axes, names: Sequence[str], hues: Sequence[str]) -> None:
    """Write the names of the series above the panel, each in its color."""
    from matplotlib.offsetbox import AnchoredOffsetbox, HPacker, TextArea

    words = [
        TextArea(n, textprops={"color": h, "fontsize": 10, "fontweight": "bold", "parse_math": False})
        for n, h in zip(names, hues, strict=True)
    ]
    packed = HPacker(children=list(words), pad=0, sep=14)
    axes.add_artist(
        AnchoredOffsetbox(
            "lower left",
            child=packed,
            frameon=False,
            pad=0,
            borderpad=0.25,
            bbox_to_anchor=(0, 1),
            bbox_transform=axes.transAxes,
        )
    )


def strip(axes: Axes) -> None:
    """Remove all axes but the baseline and its ticks: heights of densities are not read off."""
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(HAIRLINE)
    axes.tick_params(axis="x", colors=QUIET, labelsize=9, length=3, color=HAIRLINE)
    axes.tick_params(axis="y", length=0)
    axes.set_yticks([])


def rule(axes: Axes) -> None:
    """Draw thin vertical lines behind, for reading values off."""
    axes.grid(axis="x", color=HAIRLINE, linewidth=0.6)
    axes.set_axisbelow(True)


def measure(axes: Axes, ticks: int = 5, *, integer: bool = False, ruled: bool = True) -> None:
    """Put numbers on the left axis and, if ``ruled``, thin lines across, for reading heights off; no other frame."""
    strip(axes)
    axes.yaxis.set_major_locator(few_ticks(ticks, integer=integer))
    axes.tick_params(axis="y", colors=QUIET, labelsize=8.5)
    if ruled:
        axes.grid(axis="y", color=HAIRLINE, linewidth=0.6)
        axes.set_axisbelow(True)


def label(axes: Axes, across: str, up: str = "") -> None:
    """Write, quietly, what is drawn across and up."""
    axes.set_xlabel(across, color=QUIET, fontsize=9, loc="left", parse_math=False)
    axes.set_ylabel(up, color=QUIET, fontsize=9)


def check_most(**options: int | None) -> None:
    """Raise unless each of these is a whole number, or None for all."""
    for name, value in options.items():
        if value is not None:
            whole(value, name)


def name_rows(axes: Axes, names: Sequence[str], room: float | None = None, fontsize: float = 9.5) -> None:
    """Write the names of rows, the first on top; ``room`` is for how many rows there is room."""
    strip(axes)
    axes.set_yticks(range(len(names)), list(names), color=INK, fontsize=fontsize, parse_math=False)
    axes.set_ylim((room or len(names)) - 0.4, -0.6)
    rule(axes)


def name_axis(axes: Axes, *words: str | None) -> None:
    """Write what is drawn across, in words that are parted by commas."""
    axes.set_xlabel(", ".join(filter(None, words)), color=INK, fontsize=10, loc="left", parse_math=False)


def name_unit(axes: Axes, unit: str) -> None:
    """Write, quietly and at its end, the unit of the axis."""
    axes.set_xlabel(unit, color=QUIET, fontsize=9, loc="right", parse_math=False)


def levels_of(prob: float) -> list[float]:
    """Return the five quantiles of :func:`draw_intervals`: an interval of ``prob``, the middle half, the median."""
    low, high = tails(prob)
    return [low, 0.25, 0.5, 0.75, high]


def hollow(axes: Axes, x: Any, y: Any, hue: str, size: float, edge: float, **looks: Any) -> None:
    """Draw points as circles with a white inside."""
    axes.plot(x, y, "o", color="white", markeredgecolor=hue, markersize=size, markeredgewidth=edge, **looks)


def draw_intervals(axes: Axes, rows: np.ndarray, q: np.ndarray, hue: str) -> None:
    """Draw a median, a thin interval and a thick one of the middle half in each row, from five quantiles."""
    axes.hlines(rows, q[:, 0], q[:, 4], color=hue, linewidth=1.4)
    axes.hlines(rows, q[:, 1], q[:, 3], color=hue, linewidth=4.2)
    hollow(axes, q[:, 2], rows, hue, 4.6, 1.4)


def look_of(engine: str) -> tuple[str, str | None]:
    """Return the color of what an engine drew, and the warning that must go with it."""
    return (ACCENT, "naive: ignores the privacy noise") if engine == "naive" else (PALETTE[0], None)


def few_ticks(most: int = 5, *, integer: bool = False) -> Locator:
    """Return a locator of at most so many intervals between round numbers."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(most, integer=integer)


def title_panel(axes: Axes, name: str, words: str) -> None:
    """Write the parameter's name above a panel and, quietly, what it shows."""
    axes.set_title(f"{name}\n", loc="left", color=INK, fontsize=11.5, fontweight="bold", parse_math=False)
    axes.annotate(
        words, (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", color=QUIET, fontsize=9
    )


def _broken(text: str, room: int) -> list[str]:
    """Break a text into lines, never at an equals sign or between "with" and what is equal to something."""
    joined = re.sub(r"(\bwith )?(\S+) = ", lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
    lines = wrap(joined, room, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def new_figure(
    width: float,
    height: float,
    title: str,
    notes: Iterable[str | None] = (),
    warning: str | None = None,
    *,
    gap: float = 0.03,
) -> Figure:
    """Make a figure with a margin all round, and a heading on top of its ``height`` inches.

    The heading is a title, quiet lines below it, and a warning that nobody overlooks, broken where the figure ends.
    ``gap`` is the space between rows of panels.
    """
    room = max(int((width - 2 * _MARGIN) / _LETTER), 20)
    quiet: dict[str, Any] = {"color": QUIET}
    loud: dict[str, Any] = {"color": ACCENT, "fontweight": "bold"}
    lines = [(line, quiet) for note in notes for line in _broken(note or "", room)]
    # bold letters are wider
    lines += [(line, loud) for line in _broken(warning or "", int(room * 0.85))]
    whole = height + 0.48 + 0.24 * len(lines)
    figure = Figure(figsize=(width, whole), layout="constrained", facecolor="white")
    side, foot = _MARGIN / width, _MARGIN / whole
    inner = (side, foot, 1 - 2 * side, height / whole - foot)
    figure.get_layout_engine().set(rect=inner, w_pad=0.04, h_pad=0.04, wspace=0.04, hspace=gap)  # pyright: ignore
    left = (_MARGIN + 0.04) / width
    figure.text(left, 1 - 0.36 / whole, title, color=INK, fontsize=14, fontweight="bold", parse_math=False)
    for row, (line, looks) in enumerate(lines):
        figure.text(left, 1 - (0.60 + 0.22 * row) / whole, line, fontsize=9.5, parse_math=False, **looks)
    return figure


def common_decimals(widths: Sequence[float]) -> int | None:
    """Return the decimals that show two digits of the narrowest width and three of the widest, if they are few."""
    known = [width for width in widths if 0 < width < np.inf]
    if not known:
        return None
    decimals = max(1 - int(np.floor(np.log10(min(known)))), 2 - int(np.floor(np.log10(max(known)))), 0)
    return decimals if decimals <= 8 else None


def number(value: float, decimals: int | None) -> str:
    """Print one value."""
    # adding 0 turns -0.00 into 0.00
    return f"{value:.4g}" if decimals is None else f"{round(value, decimals) + 0.0:.{decimals}f}"


def span(low: float, high: float, decimals: int | None) -> str:
    """Print an interval, or its one value."""
    ends = number(low, decimals), number(high, decimals)
    return ends[0] if low == high else " to ".join(ends)


def choose_hues(names: Sequence[str], colors: Mapping[str, str] | None) -> list[str]:
    """Return a color for each name: the caller's, the one readers know, or the next unused."""
    chosen = {**KNOWN, **(colors or {})}
    spare = [hue for hue in PALETTE if hue not in {chosen.get(name) for name in names}] or list(PALETTE)
    unknown = [name for name in names if name not in chosen]
    return [chosen[name] if name in chosen else spare[unknown.index(name) % len(spare)] for name in names]


def finish(figure: Figure, path: FilePath | None) -> Figure:
    """Write the figure if asked, whole or not at all."""
    if path is None:
        return figure
    from discreet.artifact.files import replacing

    path = read_path(path)
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in figure.canvas.get_supported_filetypes():
        raise UsageError(f"cannot draw to {path.name}.", hint="end the name in .png, .svg or .pdf")
    with replacing(path) as draft:
        figure.savefig(draft, format=suffix, dpi=160)
    return figure
