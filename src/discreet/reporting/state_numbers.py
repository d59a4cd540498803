"""Numbers of hidden states compared, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.arguments import FilePath
from discreet.reporting.style import PALETTE, QUIET, finish, hollow, label, name_rows, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_state_numbers(found: Any, path: FilePath | None = None) -> Figure:
    """Draw how far each number of states falls short of the best, with a standard error on either side.

    Parameters
    ----------
    found
        What ``dc.validation.compare_states`` returned.
    path
        Where to write the picture (.png, .svg or .pdf), if anywhere.
    """
    lags, errors = found.lags()
    notes = [
        f"Log score of {len(found.cells)} cells that were held out, a cell; the farther right, the better.",
        f"The smallest number within a standard error of the best: {found.chosen}.",
    ]
    figure = new_figure(7.0, 0.9 + 0.36 * len(lags), "How many hidden states?", notes)
    axes = figure.add_subplot()
    rows = range(len(lags))
    axes.axvline(0, color=QUIET, linewidth=0.8)
    axes.hlines(rows, -lags - errors, -lags + errors, color=PALETTE[0], linewidth=1.8)
    hollow(axes, -lags, rows, PALETTE[0], 5, 1.6)
    name_rows(axes, [str(k) for k in found.states])
    label(axes, "log score against the best")
    return finish(figure, path)
