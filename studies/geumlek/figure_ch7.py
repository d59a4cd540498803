"""Nine panels on one sheet: what profile-based privacy costs, and what it spares."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from common.claim import Panel
from common.sheet import DOTTED, draw_sheet, say, title
from matplotlib import colormaps

from discreet.reporting.style import INK, PALETTE, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _RED, _GREEN, _PINK = PALETTE[:4]
_MARK = 0.2


def draw_figure(panels: Sequence[Panel], *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw all panels."""
    return draw_sheet(
        panels,
        _PANELS,
        size=(10.4, 9.4),
        shape=(3, 3),
        title="Profile-based privacy: hide who, keep what",
        notes=[
            "Geumlek (2020), chapter 7. Panels a, c to h redraw figures 7.2 to 7.8; b: observation 10 as printed and "
            "corrected; i: two reports of one person. Dotted: randomized response, or epsilon = 0.2."
        ],
        path=path,
    )


def _couplet(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "a  Flipping probability of a couplet")
    for name, hue, limit in zip(("0.2", "0.5", "1"), PALETTE, s["response"], strict=False):
        axes.plot(s["difference"], s[name], color=hue, linewidth=1.8)
        axes.axhline(limit, **{**DOTTED, "color": hue})
        say(axes, (0.02, limit + 0.008), f"ε = {name}", hue, va="bottom")
    axes.set(xlim=(0, 1), ylim=(0, 0.5), xlabel="difference of the profiles", ylabel="flipping probability")


def _closed_form(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "b  Observation 10 and program 7.5")
    program, printed = np.asarray(s["program"]), np.asarray(s["printed"])
    axes.axhline(0.5, **DOTTED)
    axes.plot(program, np.maximum(printed, 5e-4), ".", color=_RED, markersize=3, alpha=0.7)
    axes.plot(program, np.maximum(s["exact"], 5e-4), ".", color=_BLUE, markersize=3)
    axes.set(yscale="log", xlabel="solution of program 7.5", ylabel="closed form", ylim=(4e-4, 400))
    say(axes, (0.13, 20), "as printed", _RED)
    say(axes, (0.3, 0.05), "corrected", _BLUE)
    say(axes, (0.46, 0.56), "1/2", QUIET, ha="right", va="bottom")


def _outputs(letter: str, n: int, which: str, words: str) -> Callable[[Axes, dict[str, Any]], None]:
    def draw(axes: Axes, s: dict[str, Any]) -> None:
        title(axes, f"{letter}  Chain of {n}, {words}")
        lines = np.asarray(s[which])
        for i in range(lines.shape[1]):
            hue = colormaps["viridis"](0.9 * i / (lines.shape[1] - 1))
            axes.plot(s["epsilon"], lines[:, i], color=hue, linewidth=1.4 if n == 6 else 1.0)
        axes.axvline(_MARK, **DOTTED)
        axes.set(xlim=(0, 2), ylim=(0, 1), xlabel="ε", ylabel="probability of report 1")

    return draw


def _costs(letter: str, which: str, words: str) -> Callable[[Axes, dict[str, Any]], None]:
    def draw(axes: Axes, s: dict[str, Any]) -> None:
        title(axes, f"{letter}  Cost of a category, {words}")
        lines = np.asarray(s[which])
        widths = (5.0, 3.6, 2.3, 1.0) if which == "response" else (1.7,) * 4
        for j, (hue, width) in enumerate(zip(PALETTE, widths, strict=False)):
            axes.plot(s["epsilon"], lines[:, j], color=hue, linewidth=width)
            if which == "smooth":
                say(axes, (1.95, 0.15 - 0.012 * j), f"category {j + 1}", hue, ha="right")
        if which == "response":
            say(axes, (1.0, 0.115), "all four", INK)
        axes.set(xlim=(0, 2), ylim=(0, 0.165), xlabel="ε", ylabel="cost (equation 7.9)")

    return draw


def _composition(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "i  Two reports of one person")
    axes.plot(s["epsilon"], s["bound"], **DOTTED)
    # where the two profiles can be told apart for sure the line runs along the top
    axes.plot(s["epsilon"], np.minimum(s["reused"], 3.96), color=_RED, linewidth=1.8)
    axes.plot(s["epsilon"], s["fresh"], color=_BLUE, linewidth=1.8)
    axes.set(xlim=(0, 2), ylim=(0, 4), xlabel="ε of one report", ylabel="privacy loss of both")
    say(axes, (0.1, 3.4), "of one observation:\nno bound, refused", _RED)
    say(axes, (0.9, 0.95), "of two observations", _BLUE)
    say(axes, (1.84, 3.42), "2ε", QUIET)


_PANELS = (
    ("couplet", _couplet),
    ("closed form", _closed_form),
    ("chain 6", _outputs("c", 6, "response", "baseline")),
    ("chain 6", _outputs("d", 6, "smooth", "Smooth One Bit")),
    ("chain 21", _outputs("e", 21, "response", "baseline")),
    ("chain 21", _outputs("f", 21, "smooth", "Smooth One Bit")),
    ("categorical", _costs("g", "response", "baseline")),
    ("categorical", _costs("h", "smooth", "smooth")),
    ("composition", _composition),
)
