"""Six panels on one sheet: what each kind of amplification buys."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from common.claim import Panel
from common.sheet import DOTTED, draw_sheet, say, title

from discreet.reporting.style import HAIRLINE, INK, PALETTE, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _RED, _GREEN, _PINK, _AMBER = PALETTE[:5]
_BEST: dict[str, Any] = {"color": _BLUE, "linewidth": 1.8}
_PRINTED: dict[str, Any] = {"color": _RED, "linewidth": 1.4, "linestyle": (0, (4, 2))}
_DIRECT: dict[str, Any] = {
    "color": INK,
    "linestyle": "none",
    "marker": "o",
    "markersize": 3.2,
    "fillstyle": "none",
}


def draw_figure(panels: Sequence[Panel], *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw all panels."""
    return draw_sheet(
        panels,
        _PANELS.items(),
        size=(10.4, 6.4),
        shape=(2, 3),
        title="What privacy amplification buys",
        notes=[
            "Geumlek (2020), chapter 6. Blue: the best bound here; red: the thesis as printed, where it is looser; "
            "circles: computed directly; dotted gray: without amplification."
        ],
        path=path,
    )


def _pure(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "a  ε after randomized response")
    x = s["kernel_epsilon"]
    axes.axhline(s["epsilon"], **DOTTED)
    axes.plot(x, s["theorem_15_4"], **_PRINTED)
    axes.plot(x, s["sharp"], **_BEST)
    axes.plot(x[::4], s["direct"][::4], **_DIRECT)
    axes.plot(x, np.minimum(x, s["epsilon"]), **DOTTED)
    axes.set(
        xscale="log", xlabel="ε of the randomized response", ylabel="ε of the two in a row", ylim=(0, 1.12)
    )
    say(axes, (0.055, 1.02), "1-DP before", QUIET, va="bottom")
    say(axes, (0.26, 0.42), "theorem 15 (4)", _RED, ha="right")
    say(axes, (0.8, 0.88), "either alone", QUIET, ha="right")
    say(axes, (1.5, 0.38), "exact", _BLUE)


def _delta(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "b  δ after Gaussian noise")
    x = s["sigma"]
    axes.axhline(1, **DOTTED)
    axes.plot(x, s["dobrushin"], **_PRINTED)
    axes.plot(x, s["hockey_stick"], **_BEST)
    axes.set(
        xscale="log",
        yscale="log",
        ylim=(1e-9, 3),
        xlabel="noise, in widths of the interval",
        ylabel="δ after / δ before",
    )
    say(axes, (0.8, 0.05), "theorem 15 (1)", _RED, va="top")
    say(axes, (0.58, 1e-7), "theorem 15 (2)", _BLUE)


def _laplace(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "c  Laplace noise, twice")
    x = s["order"]
    axes.plot(x, s["once"], **DOTTED)
    axes.plot(x, s["bound"], **_PRINTED)
    axes.plot(x, s["exact"], **_BEST)
    axes.set(xscale="log", ylim=(0, 1.06), xlabel="Rényi order", ylabel="Rényi divergence")
    for row, (words, color) in enumerate(
        (("once", QUIET), ("twice, bound (6.2)", _RED), ("twice, exact", _BLUE))
    ):
        say(axes, (12, 0.3 - 0.09 * row), words, color)


def _iteration(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "d  Noisy steps that follow")
    r = s["steps"]
    for factor in (0.9, 1.0, 1.1):
        axes.plot(r, s[f"printed_{factor:g}"], **_PRINTED)
        axes.plot(r, s[f"best_{factor:g}"], **_BEST)
        axes.plot(r[2::5], np.asarray(s[f"direct_{factor:g}"])[2::5], **_DIRECT)
        say(axes, (41, float(s[f"best_{factor:g}"][-1])), f"L = {factor:g}", _BLUE, va="center")
    say(axes, (15, 0.35), "(6.5), L = 1.1", _RED, va="bottom")
    say(axes, (29, 0.0011), "(6.5), L = 0.9", _RED, va="bottom")
    axes.set(yscale="log", xlim=(0, 49), ylim=(3e-5, 1.5), xlabel="steps", ylabel="ρ (divergence / order)")


def _descent(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "e  Noisy descent, 30 records")
    x = s["place"]
    axes.plot(x, s["printed"], **_PRINTED)
    axes.plot(x, s["best"], **_BEST)
    axes.plot(x, s["direct"], **_DIRECT)
    axes.axhline(float(s["best"][-1]), **DOTTED)
    axes.axhline(float(s["shuffled_over_order_2"]), color=_GREEN, linewidth=1.4)
    axes.set(yscale="log", ylim=(1e-9, 10), xlabel="place of the record", ylabel="ρ (divergence / order)")
    say(axes, (1, float(s["best"][-1]) * 0.7), "known order: the last record's", QUIET, va="top")
    say(axes, (1, float(s["shuffled_over_order_2"]) * 0.7), "secret order (order 2)", _GREEN, va="top")
    say(axes, (2, 1.1e-3), "theorem 22", _RED, va="top")
    say(axes, (8.5, 4.5e-5), "sharper", _BLUE, va="center")
    say(axes, (12, 1e-6), "computed", INK, va="top")


def _diffusion(axes: Axes, s: dict[str, Any]) -> None:
    title(axes, "f  Diffusion or Gaussian noise")
    x = s["rho"]
    axes.plot(x, s["gaussian"], **DOTTED)
    axes.plot(x, s["diffused"], **_BEST)
    axes.axhline(s["radius"] ** 2, color=HAIRLINE, linewidth=1)
    axes.set(xscale="log", yscale="log", xlabel="ρ", ylabel="expected squared error")
    say(axes, (0.008, 10), "Gaussian", QUIET)
    say(axes, (0.0012, 0.4), "Ornstein–Uhlenbeck", _BLUE, va="top")
    say(axes, (10, 1.08), "publishing 0", QUIET, ha="right", va="bottom")


_PANELS = {
    "pure_after_mixing": _pure,
    "delta_after_mixing": _delta,
    "laplace_twice": _laplace,
    "iteration": _iteration,
    "descent": _descent,
    "diffusion": _diffusion,
}
