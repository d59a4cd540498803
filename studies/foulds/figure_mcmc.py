"""Six panels on one sheet: pay once or pay per update, and what one update costs."""

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
_LINES = (
    ("noisy", _BLUE, "-"),
    ("aware", _BLUE, (0, (4, 2))),
    ("ops", _GREEN, "-"),
    ("few", _RED, "-"),
    ("many", _RED, (0, (4, 2))),
    ("delta", _RED, (0, (1, 1.2))),
)


def draw_figure(panels: Sequence[Panel], *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw all panels."""
    return draw_sheet(
        panels,
        _PANELS.items(),
        size=(10.4, 6.6),
        shape=(2, 3),
        title="Private Markov chains: pay once, or pay for every update",
        notes=[
            "Foulds et al. (2016), section 4 and supplement C. A mixture of two components over four columns of "
            "labels, learned for the same epsilon by noisy counts (blue), one posterior sample of a chain taken as "
            "mixed (green) and private Gibbs sampling (red). Dashed blue: with the distribution of the noise."
        ],
        path=path,
    )


def _by_epsilon(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "a  Held-out log-likelihood, n = 2000")
    for name, color, style in _LINES:
        axes.plot(s["epsilon"], s[name], color=color, linestyle=style, **DOTS)
    for name, words in (("free", "without privacy"), ("alone", "one component"), ("prior", "prior")):
        axes.axhline(float(s[name]), **DOTTED)
        say(axes, (10.5, float(s[name])), words, QUIET, 7, ha="right", va="bottom")
    axes.set(xscale="log", xlabel="epsilon", ylabel="nats per record")
    say(axes, (0.14, -2.66), "noisy counts", _BLUE, va="top")
    say(axes, (0.45, -2.74), "one sample", _GREEN, va="top")
    say(axes, (0.22, -3.06), "private Gibbs", _RED, va="bottom")


def _by_records(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "b  … at epsilon = 1")
    for name, color, style in _LINES:
        axes.plot(s["n"], s[name], color=color, linestyle=style, **DOTS)
    axes.plot(s["n"], s["free"], color=INK, linewidth=1.0)
    axes.set(xscale="log", xlabel="records", ylabel="nats per record")
    low = min(float(np.min(s[name])) for name in ("few", "many", "delta"))
    say(axes, (420, low), "5 sweeps; dashed 30; dotted 30 with delta", _RED, 7, va="top")


def _temperatures(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "c  Temperature at epsilon = 1")
    axes.plot(s["steps"], s["pure"], color=_RED, **DOTS)
    axes.plot(s["steps"], s["approx"], color=_RED, linestyle=(0, (1, 1.2)), **DOTS)
    axes.axhline(float(s["ops"]), color=_GREEN, linewidth=1.4)
    axes.set(xscale="log", yscale="log", xlabel="sweeps", ylabel="temperature")
    say(axes, (60, 9e3), "pure", _RED, ha="right")
    say(axes, (90, 330), "delta = 10⁻⁶", _RED)
    say(axes, (1000, float(s["ops"]) * 1.15), "one sample", _GREEN, ha="right", va="bottom")


def _random_scan(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "d  Random scan: one of N updates")
    axes.plot(s["n"], s["printed"], **DOTTED)
    axes.plot(s["n"], s["attained"], color=_RED, **DOTS)
    axes.set(
        xlabel="N", xticks=[1, 4, 8, 12, 16], ylabel="epsilon", ylim=(0, 1.15 * float(np.max(s["printed"])))
    )
    say(
        axes,
        (9, float(s["attained"][0]) * 1.05),
        "attained, and claimed here",
        _RED,
        ha="center",
        va="bottom",
    )
    say(axes, (6, 0.75), "printed: 4 Δ Q / N", QUIET)


def _rules(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "e  Largest log-ratio over the claim")
    places = np.array([0.0, 1.0, 2.5, 3.5])
    heights = np.minimum(np.concatenate([s["barker"], s["metropolis"]]), 1.6)
    axes.bar(places, heights, color=[_BLUE, _BLUE, QUIET, _RED], width=0.7)
    axes.axhline(1.0, **DOTTED)
    axes.set(xticks=places, xticklabels=["accept", "reject"] * 2, ylim=(0, 1.8), ylabel="attained / claimed")
    say(axes, (0.5, 1.08), "Barker", _BLUE, ha="center")
    say(axes, (2.5, 1.08), "Metropolis", QUIET, ha="center")
    say(axes, (3.5, 1.64), "unlimited", _RED, ha="center")


def _annealing(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "f  AIS: estimate over truth")
    for place, (name, color) in enumerate((("before", _BLUE), ("after", _RED))):
        axes.errorbar(
            [place],
            [float(s[name])],
            yerr=[2 * float(s[f"{name}_error"])],
            color=color,
            marker="o",
            markersize=5,
        )
    axes.axhline(1.0, **DOTTED)
    axes.set(xlim=(-0.6, 1.6), xticks=[0, 1], ylabel="ratio, ± 2 standard errors")
    axes.set_xticklabels(["state before\neach update", "state after\neach update"])


_PANELS = {
    "by epsilon": _by_epsilon,
    "by records": _by_records,
    "temperatures": _temperatures,
    "random scan": _random_scan,
    "rules": _rules,
    "annealing": _annealing,
}
