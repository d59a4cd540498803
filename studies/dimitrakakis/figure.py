"""The figure of ``studies/dimitrakakis2017.py``."""

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
        title="Privacy from smooth likelihoods",
        notes=[
            "Dimitrakakis et al. (2017), figure 1 (a, b) and worked examples. In c to f: black is exact, blue what the "
            "library states, red as printed."
        ],
        path=path,
    )


def _mass(axes: Axes, s: dict[str, Any], words: str) -> None:
    title(axes, words)
    for step, color in (("0.2", _RED), ("0.05", _BLUE)):
        axes.plot(s["level"], s[f"mass {step}"], color=color, linewidth=2.0, drawstyle="steps-post")
        axes.plot(s["level"], s[f"bound {step}"], color=color, linewidth=0.9)
        mark = "x" if step == "0.2" else "o"
        axes.plot([s[f"constant {step}"]], [1.0], mark, color=color, markersize=7, mfc="none")
    axes.set(xlim=(0, 3.5), ylim=(0, 1.08), xlabel="L", ylabel="prior mass of smooth parameters")


def _uniform(axes: Axes, s: dict[str, Any]) -> None:
    _mass(axes, s, "a  Figure 1a: uniform prior")
    say(axes, (0.12, 0.9), "step 0.2,\n× at its L", _RED)
    say(axes, (1.95, 0.34), "step 0.05, ○ at its L", _BLUE)
    say(axes, (1.15, 0.1), "thin: highest bound\n1 − exp(−c (L − L₀))", QUIET)


def _weighted(axes: Axes, s: dict[str, Any]) -> None:
    _mass(axes, s, "b  Figure 1b: prior ∝ exp(−ℓ)")
    say(axes, (0.75, 0.2), f"step 0.2: c = {float(s['c 0.2']):.2f}", _RED)
    say(axes, (0.75, 0.1), f"step 0.05: c = {float(s['c 0.05']):.2f}", _BLUE)


def _ratios(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "c  Maximal / marginal likelihood C")
    at = np.arange(len(s["lemma"]))
    axes.plot(at, s["library"], "o", color=_BLUE, markersize=7, mfc="none", mew=1.6)
    axes.plot(at, s["printed"], "x", color=_RED, markersize=7, mew=1.8)
    axes.plot(at, s["exact"], "_", color=INK, markersize=16, mew=2.2)
    axes.axhline(1, **DOTTED)
    axes.set(yscale="log", xlim=(-0.6, 3.6), ylim=(0.25, 4000), ylabel="C")
    axes.set_xticks(at, [str(name).replace("lemma ", "lemma\n") for name in s["lemma"]])
    say(axes, (-0.5, 2000), "exact", INK)
    say(axes, (-0.5, 900), "library: at least that", _BLUE)
    say(axes, (-0.5, 400), "printed", _RED)


def _neighbors(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "d  A record of a chain of three")
    axes.plot(s["least"], s["library"], color=_BLUE, linewidth=4, alpha=0.35)
    axes.plot(s["least"], s["record"], color=INK, **DOTS)
    axes.plot(s["least"], s["printed"], color=_RED, linestyle=(0, (4, 2)), **DOTS)
    axes.set(
        xscale="log", ylim=(0, 30), xlabel="least conditional probability", ylabel="ε of one posterior draw"
    )
    axes.set_xticks([0.01, 0.02, 0.05, 0.1, 0.2], ["0.01", "0.02", "0.05", "0.1", "0.2"])
    axes.minorticks_off()
    say(axes, (0.045, 19.5), "worst log-ratio,\nand the library's ε", INK)
    say(axes, (0.0105, 10), "printed:\none value's", _RED)


def _deltas(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "e  δ of a draw, Beta(4, 4) prior")
    axes.plot(s["n"], s["printed"], color=_RED, **DOTS)
    for epsilon in ("0", "0.5", "1"):
        axes.plot(s["n"], s[f"exact {epsilon}"], color=INK, **DOTS)
        say(axes, (s["n"][-1] * 1.25, s[f"exact {epsilon}"][-1]), f"ε = {epsilon}", INK, va="center")
    axes.axhline(1, **DOTTED)
    axes.set(xscale="log", yscale="log", xlim=(0.8, 900), ylim=(1e-3, 1e5))
    axes.set(xlabel="records (yes or no)", ylabel="δ")
    say(axes, (1.1, 300), "theorem 8.2", _RED)
    say(axes, (850, 1.4), "above, nothing is promised", QUIET, ha="right")


def _adversaries(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "f  Error of the best test")
    for n in ("1", "20"):
        axes.plot(s["reach"], s[f"least {n}"], color=_BLUE, linewidth=4, alpha=0.35)
        axes.plot(s["reach"], s[f"error {n}"], color=INK, linewidth=1.6)
        axes.plot(s["reach"], s[f"printed {n}"], color=_RED, linewidth=1.2, linestyle=(0, (4, 2)))
    axes.set(
        xscale="log",
        yscale="log",
        xlim=(0.02, 6),
        ylim=(1e-6, 1.3),
        xlabel="L ρ",
        ylabel="probability of error",
    )
    say(axes, (1.0, 3e-3), "1 draw", INK)
    say(axes, (1.2, 3e-5), "20 draws", INK)
    say(axes, (0.022, 4e-6), "blue: nobody does\nbetter; attained", _BLUE)


_PANELS = {
    "uniform": _uniform,
    "weighted": _weighted,
    "ratios": _ratios,
    "neighbors": _neighbors,
    "deltas": _deltas,
    "adversaries": _adversaries,
}
