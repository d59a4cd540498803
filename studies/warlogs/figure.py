"""Six panels: held-out likelihood of both collections with and without states, and the states that are used."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from common.claim import Panel
from common.sheet import DOTTED, draw_sheet, title

from discreet.reporting.style import INK, KNOWN, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES = (
    ("aware", "noise-aware", KNOWN["noise-aware"], "-"),
    ("naive", "naive", KNOWN["naive"], "-"),
    ("ops 10", "OPS, M = 10", PALETTE[2], "-"),
    ("ops 100", "OPS, M = 100", PALETTE[2], (0, (4, 2))),
)


def draw_figure(panels: Sequence[Panel], *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw figure 6 and the number of states used."""
    drawings = [
        ("heldout Afghanistan", _scores("nb", "a  Afghanistan, no states")),
        ("heldout Afghanistan", _scores("hmm", "b  Afghanistan, 10 states")),
        ("heldout Afghanistan", _used("c  Afghanistan, states used")),
        ("heldout Iraq", _scores("nb", "d  Iraq, no states")),
        ("heldout Iraq", _scores("hmm", "e  Iraq, 10 states")),
        ("heldout Iraq", _used("f  Iraq, states used")),
    ]
    return draw_sheet(
        panels,
        drawings,
        size=(10.4, 6.2),
        shape=(2, 3),
        title="Held-out entries of simulated war logs",
        notes=[
            "Foulds et al. (2016), figure 6. Log-likelihood of an entry in cells that were held out, mean of the "
            "splits and the range of the middle half; higher is better. Dotted: without privacy."
        ],
        path=path,
    )


def _scores(model: str, words: str) -> Callable[[Axes, dict[str, Any]], None]:
    def draw(axes: Axes, s: dict[str, Any]) -> None:
        title(axes, words)
        epsilon = np.asarray(s["epsilon"])
        for key, name, color, style in _LINES:
            values = np.asarray(s[f"{model} {key}"])
            low, high = np.quantile(values, [0.25, 0.75], axis=0)
            axes.fill_between(epsilon, low, high, color=color, alpha=0.12, linewidth=0)
            axes.plot(
                epsilon, values.mean(axis=0), color=color, linestyle=style, linewidth=1.7, marker="o",
                markersize=3.2, label=name,
            )  # fmt: skip
        axes.axhline(float(np.mean(s[f"{model} non-private"])), **DOTTED)
        axes.set(xscale="log", xlabel="ε", ylabel="log-likelihood of an entry")
        axes.legend(frameon=False, fontsize=7.5, loc="lower right", labelcolor=INK)

    return draw


def _used(words: str) -> Callable[[Axes, dict[str, Any]], None]:
    def draw(axes: Axes, s: dict[str, Any]) -> None:
        title(axes, words)
        epsilon = np.asarray(s["epsilon"])
        for key, name, color, _ in _LINES[:2]:
            values = np.mean(s[f"used {key}"], axis=0)
            axes.plot(epsilon, values, color=color, linewidth=1.7, marker="o", markersize=3.2, label=name)
        axes.axhline(float(np.mean(s["used non-private"])), **DOTTED)
        axes.set(xscale="log", ylim=(0, 10.4), xlabel="ε", ylabel="states with 2% of the cells or more")
        axes.legend(frameon=False, fontsize=7.5, loc="lower left", labelcolor=INK)

    return draw
