"""Four panels on one sheet: the pass, the steps after it, what is learned, and the walk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from common.claim import Panel
from common.sheet import DOTS, DOTTED, draw_sheet, say, title

from discreet.reporting.style import INK, PALETTE, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _RED, _GREEN, _PINK = PALETTE[:4]
_CIRCLES: dict[str, Any] = {"color": INK, "linestyle": "none", "marker": "o", "fillstyle": "none"}


def draw_figure(panels: Sequence[Panel], *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw all panels."""
    return draw_sheet(
        panels,
        _PANELS.items(),
        size=(9.2, 7.0),
        shape=(2, 2),
        title="Noisy descent and Langevin walks",
        notes=[
            "Geumlek (2020), theorem 22, on quadratic losses (a, b); a logistic regression with six weights on "
            "simulated patients (c, d)."
        ],
        path=path,
    )


def _places(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "a  What a place in the pass costs")
    axes.axhline(s["mean"], **DOTTED)
    axes.plot(s["later"], s["printed"], color=_RED, linewidth=1.4, linestyle=(0, (4, 2)))
    axes.plot(s["later"], s["bound"], color=_BLUE, linewidth=1.8)
    axes.plot(s["later"][::4], s["exact"][::4], markersize=3.6, **_CIRCLES)
    axes.set(yscale="log", xlabel="records that follow", ylabel="Rényi divergence / order")
    say(axes, (78, s["mean"] * 1.3), "mean over places: no guarantee", QUIET, ha="right", va="bottom")
    say(axes, (45, s["printed"][-46] * 1.8), "theorem 22 as printed", _RED, va="bottom")
    say(axes, (3, s["bound"][0] * 30), "guarantee at the index", _BLUE)
    say(axes, (3, s["bound"][0] * 10), "exact, for the worst losses", INK)


def _hiding(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "b  The last record, after more steps")
    axes.axhline(1, **DOTTED)
    axes.plot(s["steps"], s["noise"], color=_BLUE, linewidth=1.8)
    axes.plot(s["steps"], s["public"], color=_GREEN, linewidth=1.8)
    axes.set(
        xscale="log",
        yscale="log",
        ylim=(1e-6, 2.5),
        xlabel="steps that read no record",
        ylabel="cost / cost without them",
    )
    say(axes, (200, 0.03), "noise alone", _BLUE, ha="right", va="bottom")
    say(axes, (30, 2e-4), "on public records,\ncontracting by 0.95", _GREEN, ha="right")


def _accuracy(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "c  Loss of predictions")
    axes.axhline(s["nothing"], **DOTTED)
    for rho, style in (("0.05", "-"), ("0.5", (0, (4, 2)))):
        axes.plot(s["sizes"], s[f"printed_{rho}"], color=_RED, linestyle=style, **DOTS)
        axes.plot(s["sizes"], s[f"secret_{rho}"], color=_PINK, linestyle=style, **DOTS)
        axes.plot(s["sizes"], s[f"default_{rho}"], color=_BLUE, linestyle=style, **DOTS)
    axes.plot(s["sizes"], s["non-private"], color=INK, **DOTS)
    axes.set(xscale="log", xlabel="records", ylabel="held-out loss", ylim=(None, 0.86))
    say(axes, (s["sizes"][-1], 0.845), "ρ = 0.05 (dashed: 0.5)", QUIET, ha="right", va="top")
    say(axes, (s["sizes"][-1], 0.82), "as printed", _RED, ha="right", va="top")
    say(axes, (s["sizes"][-1], 0.795), "in a secret order, for orders up to 8", _PINK, ha="right", va="top")
    say(axes, (s["sizes"][-1], 0.77), "with noise after the pass", _BLUE, ha="right", va="top")
    say(axes, (s["sizes"][-1], 0.745), "without privacy", INK, ha="right", va="top")
    say(axes, (s["sizes"][-1], s["nothing"]), "knowing nothing", QUIET, ha="right", va="bottom")


def _langevin(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "d  How far Langevin states are off")
    axes.axhline(1, **DOTTED)
    for relation, color in (("add_remove", _BLUE), ("replace", _RED)):
        axes.plot(s["epsilons"], s[f"{relation}_1"], color=color, **DOTS)
        axes.plot(s["epsilons"], s[f"{relation}_1/10"], color=color, linestyle=(0, (4, 2)), **DOTS)
    axes.set(xscale="log", yscale="log", xlabel="ε, at δ = 10⁻⁶", ylabel="error of the mean / posterior sd")
    least = axes.get_ylim()[0]
    say(axes, (0.1, least * 2.4), "replace", _RED)
    say(axes, (0.1, least * 1.7), "add or remove", _BLUE)
    say(axes, (0.1, least * 1.2), "dashed: a tenth of the records a step", QUIET)


_PANELS = {"places": _places, "hiding": _hiding, "accuracy": _accuracy, "langevin": _langevin}
