"""Six panels on one sheet: what one posterior sample costs, and what it is worth next to noisy statistics."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from common.claim import Panel
from common.sheet import DOTS, DOTTED, draw_sheet, say, title

from discreet.reporting.style import INK, PALETTE, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _RED, _GREEN = PALETTE[:3]


def draw_figure(panels: Sequence[Panel], *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw all panels."""
    return draw_sheet(
        panels,
        _PANELS.items(),
        size=(10.4, 6.4),
        shape=(2, 3),
        title="One posterior sample, or noisy statistics",
        notes=[
            "Foulds et al. (2016), section 3 and supplement. Red: one posterior sample (OPS); blue: Laplace noise on "
            "the statistics; black: without privacy; dotted gray: what the theorems say."
        ],
        path=path,
    )


def _posteriors(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "a  Posteriors of 20 tosses")
    for one in s["laplace"]:
        axes.plot(s["p"], one, color=_BLUE, linewidth=0.7, alpha=0.35)
    axes.plot(s["ops_p"], s["ops"], color=_RED, linewidth=1.8)
    axes.vlines([s["ops_p"][0]], 0, [s["ops"][0]], color=_RED, linewidth=1.8)
    axes.plot(s["p"], s["true"], color=INK, linewidth=1.8)
    top = float(np.max(s["laplace"]))
    axes.set(xlim=(0, 1), ylim=(0, top * 1.05), xlabel="probability of success", ylabel="density")
    say(axes, (0.56, 0.92 * top), "30 Laplace", _BLUE)
    say(axes, (0.56, 0.83 * top), "true", INK)
    say(axes, (0.56, 0.74 * top), f"OPS, T = {s['temperature']:.2f}", _RED)


def _errors(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "b  Error of one draw, ε = 0.1")
    for name, color, style in (
        ("true", INK, "-"),
        ("ops", _RED, "-"),
        ("printed", _BLUE, (0, (4, 2))),
        ("library", _BLUE, "-"),
    ):
        axes.plot(s["n"], s[name], color=color, linestyle=style, **DOTS)
    axes.set(xscale="log", yscale="log", xlabel="records", ylabel="mean absolute error")
    say(axes, (3e3, 0.05), "OPS", _RED)
    say(axes, (3, 0.0018), "Laplace\ndashed: both counts noised\nsolid: one count", _BLUE)
    say(axes, (5, 0.045), "true", INK)


def _efficiency(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "c  Variance of one draw, n = 10⁴")
    t = np.asarray(s["temperature"])
    axes.plot([0, 9], [1, 10], **DOTTED)
    axes.errorbar(t, s["ops"], yerr=s["ops_error"], color=_RED, linestyle="none", marker="o", markersize=4)
    for name, words, color in (("laplace", "Laplace, one draw", _BLUE), ("mean", "Laplace, mean", _BLUE)):
        axes.axhline(s[name][0], color=color, linewidth=1.4)
        say(axes, (8.9, s[name][0] - 0.1), words, color, ha="right", va="top")
    axes.set(xlim=(0, 9), ylim=(0, 10.5), xlabel="temperature", ylabel="variance / optimum")
    say(axes, (4.2, 6.6), "OPS: 1 + T", _RED, ha="right")


def _adversary(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "d  Cost of a draw, by an adversary")
    axes.axhline(s["worst"], **DOTTED)
    axes.plot(s["n"], s["cost"], color=_RED, linewidth=1.8)
    axes.set(xlim=(0, 204), ylim=(2, 4.7), xlabel="records", ylabel="ε of one posterior sample")
    say(axes, (4, s["worst"] + 0.05), "2C", QUIET, va="bottom")


def _divergences(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "e  Divergence from the true posterior")
    n = np.asarray(s["n"])
    for epsilon in ("1", "0.1"):
        axes.plot(n, s[f"epsilon {epsilon}"], color=_BLUE, **DOTS)
        say(axes, (n[3], s[f"epsilon {epsilon}"][3] / 2), f"ε = {epsilon}", _BLUE, ha="right", va="top")
    axes.axhline(s["ops"], color=_RED, linewidth=1.6)
    say(axes, (n[-1], s["ops"] * 1.25), "OPS, ε = 1", _RED, ha="right", va="bottom")
    axes.set(xscale="log", yscale="log", xlabel="records", ylabel="expected divergence (nats)")


def _recipe(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "f  A truncated Dirichlet marginal")
    axes.plot(s["first"], s["exact"], color=INK, linewidth=1.8)
    axes.plot(s["first"], s["sequential"], color=_RED, linewidth=1.4, linestyle=(0, (4, 2)))
    axes.set(ylim=(0, None), xlabel="first component", ylabel="density")
    say(axes, (0.3, 2.55), "exact", INK)
    say(axes, (0.46, 1.75), "betas in turn,\nas printed", _RED)


_PANELS = {
    "posteriors": _posteriors,
    "errors": _errors,
    "efficiency": _efficiency,
    "adversary": _adversary,
    "divergences": _divergences,
    "recipe": _recipe,
}
