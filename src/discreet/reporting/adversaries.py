"""Pictures of what an adversary can do: how often the best test errs, and what chosen records make a draw cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import FilePath
from discreet.errors import UsageError
from discreet.reporting.style import (
    ACCENT,
    PALETTE,
    QUIET,
    Axes,
    Figure,
    finish,
    label,
    measure,
    name_series,
    new_figure,
)

if TYPE_CHECKING:
    from discreet.privacy.metric.error_limit import ErrorLimit

_WIDTH = 7.2
_SHADE, _LIMIT = "#e9edf1", "#525d68"


def plot_distinguishability(
    rows: Sequence[Mapping[str, Any]],
    limit: ErrorLimit,
    *,
    delta: float | None = None,
    path: FilePath | None = None,
    title: str = "Telling two tables apart",
    notes: Sequence[str] = (),
) -> Figure:
    """Draw the larger error of the best test over the number of draws, above the limit that no test passes.

    Parameters
    ----------
    rows
        As in :attr:`discreet.validation.Distinguishability.table`.
    limit
        The limit, drawn for all numbers of draws.
    delta
        The error that was asked for, as a line.
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    title, notes
        Heading and the quiet lines below it.
    """
    if not rows:
        raise UsageError("plot_distinguishability needs at least one number of draws.")
    figure = new_figure(_WIDTH, 3.4, title, notes)
    axes = figure.add_subplot()
    n = np.array([row["n_draws"] for row in rows])
    last = max(int(n.max()), 2)
    every = np.unique(np.geomspace(1, last, 400).round().astype(int))
    floor = np.array([limit.error(int(k)) for k in every])
    axes.fill_between(every, 0, floor, color=_SHADE, linewidth=0)
    axes.plot(every, floor, color=_LIMIT, linewidth=1.4)
    names, hues = ["no test gets below"], [_LIMIT]
    if "error" in rows[0]:
        axes.plot(n, [row["error"] for row in rows], "o-", color=PALETTE[0], linewidth=1.8, markersize=4)
        names, hues = ["best test", *names], [PALETTE[0], *hues]
    if "simulated_first" in rows[0]:
        _simulated(axes, n, rows)
        names.append("simulated")
        hues.append(PALETTE[1])
    if delta is not None:
        axes.axhline(delta, color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        axes.annotate(f"{delta:g}", (0, delta), (4, 3), color=QUIET, fontsize=9, **place)
    name_series(axes, names, hues)
    measure(axes)
    axes.set_xscale("log")
    axes.set_xlim(0.9, last * 1.1)
    axes.set_ylim(0, 0.52)
    axes.set_yticks([0, 0.1, 0.2, 0.3, 0.4, 0.5])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.tick_params(axis="x", which="minor", length=0, labelsize=0)
    label(axes, "draws that the adversary sees", "larger of the two errors (guessing: 0.5)")
    return finish(figure, path)


def plot_adversary(
    n_records: np.ndarray,
    epsilon: np.ndarray,
    worst: float,
    *,
    path: FilePath | None = None,
    title: str = "An adversary chooses the records",
    notes: Sequence[str] = (),
) -> Figure:
    """Draw the data-set-specific epsilon over the number of records, below the worst case.

    Parameters
    ----------
    n_records, epsilon
        The path.
    worst
        The worst case over all tables.
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    title, notes
        Heading and the quiet lines below it.
    """
    if len(n_records) == 0 or len(n_records) != len(epsilon):
        raise UsageError("plot_adversary needs one epsilon for each number of records.")
    figure = new_figure(_WIDTH, 3.2, title, notes)
    axes = figure.add_subplot()
    axes.axhline(worst, color=_LIMIT, linewidth=1.4)
    marker = "o" if len(n_records) == 1 else None
    axes.plot(n_records, epsilon, color=ACCENT, linewidth=1.8, marker=marker)
    name_series(axes, ["data-set-specific ε", f"worst case {worst:.4g}"], [ACCENT, _LIMIT])
    measure(axes)
    axes.set_xlim(0, max(int(n_records[-1]), 2) * 1.02)
    axes.set_ylim(0, worst * 1.08)
    label(axes, "records", "ε of one draw")
    return finish(figure, path)


def _simulated(axes: Axes, n: np.ndarray, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw the simulated errors about both tables, side by side, with their intervals."""
    for key, aside in (("simulated_first", 0.97), ("simulated_second", 1.03)):
        share, low, high = np.array([row[key] for row in rows]).T
        axes.vlines(n * aside, low, high, color=PALETTE[1], linewidth=1.2, zorder=3)
        axes.plot(n * aside, share, "_", color=PALETTE[1], markersize=5, zorder=3)
