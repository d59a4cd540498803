"""Forecasts of hidden Markov models as a picture: states of all sequences, and the shares of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.arguments import FilePath, one_of, probability
from discreet.inference.summary import tails
from discreet.reporting.states import draw_states, name_times
from discreet.reporting.style import (
    PALETTE,
    QUIET,
    Axes,
    Figure,
    finish,
    look_of,
    measure,
    name_series,
    new_figure,
    rule,
    shorten,
)

if TYPE_CHECKING:
    from discreet.inference.models.hidden_markov.forecast import Forecast

# Labels of a feature that are drawn, the most frequent; sequences whose states are drawn.
_MOST_LABELS, _MOST_SEQUENCES = 4, 40


def plot_forecast(
    forecast: Forecast,
    path: FilePath | None = None,
    *,
    sequence: str | None = None,
    prob: float = 0.95,
    title: str | None = None,
) -> Figure:
    """Draw the states of every sequence, and below the shares of labels of one, past and expected.

    Parameters
    ----------
    forecast
        What ``posterior.forecast()`` returned.
    path
        Where to write the picture (.png, .svg or .pdf), if anywhere.
    sequence
        Whose shares are drawn; the first sequence's if left out.
    prob
        Probability of the bands.
    title
        Heading.
    """
    model, posterior = forecast.model, forecast.posterior
    names = model.sequence_labels
    chosen = names[0] if sequence is None else one_of(sequence, "sequence", names)
    probability(prob, "prob")
    times = (*model.time.labels, *forecast.steps)
    states = np.concatenate([posterior.draws["states"], forecast.paths], axis=2)
    words = [
        posterior.about,
        f"Right of the line, what is expected. Below, shares of labels in {shorten(chosen)}: medians and "
        f"{100 * prob:.4g}% intervals.",
    ]
    heading = title or f"Forecast by {model.time.name}"
    warning = look_of(posterior.diagnostics.engine)[1]
    shown = names[:_MOST_SEQUENCES]
    heights = [0.7 + 0.3 * len(shown), *[1.7] * len(model.features)]
    figure = new_figure(9.0, sum(heights), heading, words, warning, gap=0.06)
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    top = figure.add_subplot(grid[0])
    draw_states(top, states[:, : len(shown)], shown, times, model.states)
    top.axvline(model.time.n_labels - 0.5, color=QUIET, linewidth=1.2)
    mine = states[:, names.index(chosen)] - 1
    each = np.arange(len(mine))[:, None]
    for row, feature in enumerate(model.features):
        axes = figure.add_subplot(grid[row + 1])
        _draw_shares(axes, posterior.draws[feature.name][each, mine], feature.labels, prob)
        axes.set_title(shorten(feature.name), loc="right", color=QUIET, fontsize=9, parse_math=False)
        axes.axvline(model.time.n_labels - 0.5, color=QUIET, linewidth=1.2)
        name_times(axes, times)
        axes.set_xlim(-0.5, len(times) - 0.5)
    return finish(figure, path)


def _draw_shares(axes: Axes, draws: np.ndarray, labels: tuple[str, ...], prob: float) -> None:
    """Draw a line and a band for each of the most frequent labels; of two, the second says it all."""
    frequent = np.argsort(-draws.mean(axis=(0, 1)), kind="stable")[:_MOST_LABELS]
    chosen = [1] if len(labels) == 2 else sorted(frequent.tolist())
    at = np.arange(draws.shape[1])
    for label, hue in zip(chosen, PALETTE, strict=False):
        low, high = np.quantile(draws[..., label], tails(prob), axis=0)
        axes.fill_between(at, low, high, step="mid", color=hue, alpha=0.18, linewidth=0)
        axes.step(at, np.median(draws[..., label], axis=0), where="mid", color=hue, linewidth=1.6)
    rule(axes)
    measure(axes, 3)
    axes.set_ylim(0, None)
    name_series(axes, [shorten(str(labels[label]), 16) for label in chosen], PALETTE[: len(chosen)])
