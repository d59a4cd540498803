"""Twelve panels on one sheet: figures 5.1 to 5.8, what the budgets buy, and what corners miss."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from common.claim import Panel
from common.sheet import DOTTED, draw_sheet, say, title

from discreet.reporting.style import HAIRLINE, INK, PALETTE, QUIET

from .levels import WEIGHTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HUES = {"diffused": PALETTE[0], "concentrated": PALETTE[1], "gaussian": PALETTE[2]}
_NAMES = {"diffused": "diffused", "concentrated": "concentrated", "gaussian": "noise"}


def draw_figure(panels: Sequence[Panel], *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw all panels."""
    return draw_sheet(
        panels,
        [
            (name, _titled(draw, f"{letter}  {words}"))
            for letter, (name, draw, words) in zip("abcdefghijkl", _PANELS, strict=True)
        ],
        size=(12.0, 8.6),
        shape=(3, 4),
        title="Posterior sampling with a Rényi guarantee",
        notes=[
            "Geumlek (2020), figures 5.1 to 5.8. Blue: diffused, orange: concentrated, green: normal noise on the "
            "count. 100 records, prior Beta(6, 12) but in j; c and d: 38 yes.",
            "e to j: loss of one private draw on 100 held-out records, mean and standard deviation over runs; dotted: "
            "a draw from the posterior, and the truth.",
        ],
        path=path,
    )


def _titled(
    draw: Callable[[Axes, dict[str, Any]], None], words: str
) -> Callable[[Axes, dict[str, Any]], None]:
    def drawn(axes: Axes, s: dict[str, Any]) -> None:
        draw(axes, s)
        title(axes, words, fontsize=9.5)

    return drawn


def _levels(axes: Axes, s: dict[str, Any]) -> None:
    name = "r" if "r_1" in s else "m"
    hue = _HUES["diffused" if name == "r" else "concentrated"]
    heights = (2.8, 2.8, 2.8, 2.55, 2.8, 2.3)
    for weight, asymptote, height in zip(WEIGHTS, s["largest_order"], heights, strict=True):
        orders = np.asarray(s[f"order_{weight:g}"])
        axes.axvline(float(asymptote), color=HAIRLINE, linewidth=0.8)
        axes.plot(orders, s[f"{name}_{weight:g}"], color=hue, linewidth=1.5, alpha=0.35 + 0.65 * weight)
        side, where = (0.96, "right") if weight == 1 else (1.04, "left")
        say(axes, (float(asymptote) * side, height), f"{weight:g}", QUIET, va="center", ha=where)
    axes.set(xscale="log", xlim=(1, 90), ylim=(0, 3), xlabel="order λ", ylabel="ε")
    axes.set_xticks([1, 3, 10, 30], ["1", "3", "10", "30"])
    axes.minorticks_off()
    say(axes, (1.15, 2.7), f"asymptote\nby {name}", QUIET, va="center")


def _distance(axes: Axes, s: dict[str, Any]) -> None:
    x = np.asarray(s["epsilon"])
    for name, hue in _HUES.items():
        y = np.asarray(s[name], dtype=float)
        axes.plot(x, np.where(y > 0, y, np.nan), color=hue, linewidth=1.6)
    axes.set(xscale="log", yscale="log", ylim=(1e-4, 60), xlabel="ε", ylabel="KL(posterior ‖ mechanism)")


def _distance_low(axes: Axes, s: dict[str, Any]) -> None:
    _distance(axes, s)
    say(axes, (0.004, 12), "concentrated", _HUES["concentrated"])
    say(axes, (0.0013, 0.16), "diffused", _HUES["diffused"], va="top")
    say(axes, (1.0, 0.003), "noise", _HUES["gaussian"])
    say(axes, (0.0013, 2.2e-4), "sampling: 0\nfrom ε = 0.19", QUIET)


def _heldout(axes: Axes, s: dict[str, Any]) -> None:
    x = np.asarray(s["epsilon"])
    top = 0.0
    for name, hue in _HUES.items():
        mean, sd = np.asarray(s[f"{name}_mean"]), np.asarray(s[f"{name}_sd"])
        axes.fill_between(x, mean - sd, mean + sd, color=hue, alpha=0.12, linewidth=0)
        axes.plot(x, mean, color=hue, linewidth=1.6)
        top = max(top, float(mean.max()))
    for level in (s["posterior"], s["truth"]):
        axes.axhline(float(level), **DOTTED)
    low = float(s["truth"])
    axes.set(
        xscale="log", ylim=(low - 0.25 * (top - low), top + 0.1 * (top - low)), xlabel="ε", ylabel="loss"
    )


def _found(axes: Axes, s: dict[str, Any]) -> None:
    x = np.asarray(s["epsilon"])
    for order, style in ((2, "-"), (15, (0, (4, 2)))):
        for name, hue in (("r", _HUES["diffused"]), ("m", _HUES["concentrated"])):
            axes.plot(x, s[f"{name}_{order}"], color=hue, linewidth=1.6, linestyle=style)
    axes.set(xscale="log", yscale="log", xlabel="ε", ylabel="r, m", ylim=(2e-4, 1.6))
    say(axes, (0.004, 0.2), "r", _HUES["diffused"])
    say(axes, (0.0022, 0.02), "m", _HUES["concentrated"])
    say(axes, (0.3, 0.0006), "dashed: order 15\nsolid: order 2", QUIET)


def _corners(axes: Axes, s: dict[str, Any]) -> None:
    x = np.asarray(s["order"])
    axes.plot(x, s["corners"], color=PALETTE[1], linewidth=1.4, linestyle=(0, (4, 2)))
    axes.plot(x, s["largest"], color=PALETTE[0], linewidth=1.8)
    axes.plot(
        x[::3],
        np.asarray(s["listed"])[::3],
        color=INK,
        linestyle="none",
        marker="o",
        markersize=3.2,
        fillstyle="none",
    )
    axes.set(xlabel="order λ", ylabel="largest divergence", ylim=(0, None))
    say(axes, (1.08, 1.75), "closed form", PALETTE[0])
    say(axes, (1.08, 1.5), "all tables (circles)", INK)
    say(axes, (1.55, 0.5), "corners only", PALETTE[1])


_PANELS = [
    ("levels_r", _levels, "5.1  diffused: ε by order"),
    ("levels_m", _levels, "5.2  concentrated: ε by order"),
    ("distance_2", _distance_low, "5.3  distance, λ = 2"),
    ("distance_15", _distance, "5.4  distance, λ = 15"),
    ("heldout_5.5", _heldout, "5.5  rate 1/2, λ = 2"),
    ("heldout_5.6", _heldout, "5.6  rate 1/2, λ = 15"),
    ("heldout_5.7a", _heldout, "5.7a  rate 1/3, λ = 15"),
    ("heldout_5.7b", _heldout, "5.7b  rate 1/2, λ = 15"),
    ("heldout_5.7c", _heldout, "5.7c  rate 2/3, λ = 15"),
    ("heldout_5.8", _heldout, "5.8  rate 1/5, Beta(1, 1)"),
    ("found", _found, "what a budget buys"),
    ("corners", _corners, "three labels: corners miss it"),
]
