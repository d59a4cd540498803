"""The picture of a privacy loss: how large it gets, and the delta that each epsilon leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.arguments import FilePath
from discreet.errors import UsageError
from discreet.reporting.style import (
    HAIRLINE,
    QUIET,
    Axes,
    Figure,
    choose_hues,
    finish,
    label,
    name_series,
    new_figure,
    rule,
    strip,
)

if TYPE_CHECKING:
    from discreet.privacy.loss import PrivacyLoss

# Smaller deltas are drawn nowhere, and losses that only they can see neither.
_LEAST_DELTA = 1e-12


def plot_privacy_loss(
    losses: Mapping[str, PrivacyLoss],
    *,
    path: FilePath | None = None,
    title: str = "Privacy loss",
    notes: Sequence[str] = (),
    colors: Mapping[str, str] | None = None,
) -> Figure:
    """Draw the distribution function of each loss on the left, and its delta at each epsilon on the right.

    Parameters
    ----------
    losses
        Privacy losses by name.
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    title, notes
        Heading and the quiet lines below it.
    colors
        Colors by name, where the usual ones will not do.
    """
    if not losses:
        raise UsageError("plot_privacy_loss needs at least one loss.")
    hues = choose_hues(list(losses), colors)
    figure = new_figure(8.6, 3.1, title, notes)
    left, right = figure.subplots(1, 2)
    for loss, hue in zip(losses.values(), hues, strict=True):
        distribution_panel(left, loss, hue)
        delta_panel(right, loss, hue)
    name_series(left, list(losses), hues)
    for artist in left.artists:
        # the names stand above both panels, where an empty title leaves room, and must not push them apart
        artist.set_in_layout(False)
    left.set_title("\N{NO-BREAK SPACE}", fontsize=11)
    words = (("loss", "probability of at most that"), ("epsilon", "least delta"))
    for axes, (across, up) in zip((left, right), words, strict=True):
        strip(axes)
        rule(axes)
        label(axes, across, up)
    left.set_ylim(0, 1.03)
    left.set_yticks([0, 0.5, 1])
    right.set_yscale("log")
    right.set_ylim(bottom=_LEAST_DELTA)
    for axes in (left, right):
        axes.tick_params(axis="y", which="major", colors=QUIET, labelsize=8.5)
    right.tick_params(axis="y", which="minor", length=0)
    return finish(figure, path)


def distribution_panel(axes: Axes, loss: PrivacyLoss, hue: str) -> None:
    """Draw the distribution function of a loss as steps; what is missing to 1 is infinite."""
    low, high = _shown(loss)
    keep = (loss.values >= low) & (loss.values <= high)
    room = 0.06 * (high - low) or 1.0
    x = np.concatenate([[low - room], loss.values[keep], [high + room]])
    axes.step(x, loss.cdf(x), where="post", color=hue, linewidth=1.6)
    axes.axhline(1, color=HAIRLINE, linewidth=0.8, zorder=0)


def delta_panel(axes: Axes, loss: PrivacyLoss, hue: str) -> None:
    """Draw the hockey-stick divergence against epsilon."""
    epsilons = np.linspace(0, max(_shown(loss)[1], 0.0) * 1.02 + 1e-9, 500)
    deltas = loss.delta(epsilons)
    visible = deltas > _LEAST_DELTA
    axes.plot(epsilons[visible], deltas[visible], color=hue, linewidth=1.6)


def _shown(loss: PrivacyLoss) -> tuple[float, float]:
    """Return the losses between which all but a negligible mass lies."""
    below = np.cumsum(loss.mass)
    first = int(np.searchsorted(below, _LEAST_DELTA))
    last = int(np.searchsorted(below, below[-1] - _LEAST_DELTA))
    return float(loss.values[min(first, last)]), float(loss.values[min(last, loss.values.size - 1)])
