"""The picture of a response: what every candidate is worth, and how surely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.arguments import FilePath
from discreet.decisions.response import shown
from discreet.reporting.style import (
    HAIRLINE,
    QUIET,
    Axes,
    Figure,
    check_most,
    finish,
    hollow,
    label,
    look_of,
    measure,
    name_rows,
    new_figure,
)

if TYPE_CHECKING:
    from discreet.decisions.response import Response

#: Rows of candidates that are not numbers, shown unless the caller asks for more.
MOST_CANDIDATES = 40
# Two-sided 95% of a normal average.
_SIGMAS = 1.96
# More numbers than this are a curve, fewer are points.
_MOST_POINTS = 60
_TALLEST = 200.0


def plot_response(
    response: Response,
    *,
    path: FilePath | None = None,
    title: str | None = None,
    most_candidates: int | None = MOST_CANDIDATES,
) -> Figure:
    """Draw the expected utility of the candidates, with the error that comes from having so many draws and no more.

    Numbers are drawn along an axis; events, actions, intervals and all else as rows, the best first.

    Parameters
    ----------
    response
        What to draw.
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    title
        Heading; by default it names the question and the answer.
    most_candidates
        How many rows to draw; None for all. Numbers along an axis are always all drawn.
    """
    check_most(most_candidates=most_candidates)
    numeric = isinstance(response.candidates, np.ndarray) and response.candidates.ndim == 1
    errors = np.isfinite(response.standard_errors).all()
    how = response.diagnostics
    words = "95% Monte Carlo intervals" if errors else "too few draws for standard errors"
    notes = [response.about, f"{how.draws_in_words}, {how.approximation_in_words}; {words}"]
    places = response.ranked(None if numeric else most_candidates)
    if len(places) < len(response.candidates):
        notes.append(
            f"best {len(places)} of {len(response.candidates):,} candidates (most_candidates=None draws all)"
        )
    if response.bound is not None:
        notes.append(response.bound.describe())
    question = str(response.question)
    hue, warning = look_of(how.engine)
    heading = title or f"{question[:1].upper()}{question[1:]}: {shown(response.candidate)}"
    height = 3.2 if numeric and len(places) > 1 else 0.9 + min(0.3 * len(places), _TALLEST)
    figure = new_figure(7.2, height, heading, notes, warning)
    axes = figure.add_subplot()
    if numeric and len(places) > 1:
        number_panel(axes, response, hue)
    else:
        row_panel(axes, response, places, hue)
    return finish(figure, path)


def number_panel(axes: Axes, response: Response, hue: str) -> None:
    """Draw expected utility over candidates that are numbers."""
    order = np.argsort(response.candidates, kind="stable")
    x, y = np.asarray(response.candidates)[order], response.utilities[order]
    reach = _SIGMAS * np.nan_to_num(response.standard_errors[order])
    if len(x) > _MOST_POINTS:
        axes.fill_between(x, y - reach, y + reach, color=hue, alpha=0.18, linewidth=0)
        axes.plot(x, y, color=hue, linewidth=1.6)
    else:
        axes.plot(x, y, color=HAIRLINE, linewidth=1.2, zorder=1)
        axes.errorbar(x, y, reach, fmt="o", color=hue, markersize=3.6, elinewidth=1.4, capsize=0)
    axes.axvline(response.candidate, color=QUIET, linewidth=0.9, zorder=0)
    hollow(axes, response.candidate, response.expected, hue, 7.5, 1.8, zorder=3)
    measure(axes)
    label(axes, "candidate", _measured(response))


def row_panel(axes: Axes, response: Response, places: list[int], hue: str) -> None:
    """Draw a row for each candidate, the best first."""
    y = response.utilities[places]
    reach = _SIGMAS * np.nan_to_num(response.standard_errors[places])
    rows = np.arange(len(places))
    names = [shown(response.question.plain(response.candidates[place])) for place in places]
    name_rows(axes, names)
    axes.hlines(rows, y - reach, y + reach, color=hue, linewidth=2.4)
    hollow(axes, y, rows, hue, 5.4, 1.6)
    axes.plot(y[:1], rows[:1], "o", color=hue, markersize=5.4, zorder=4)
    axes.get_yticklabels()[0].set_fontweight("bold")
    axes.margins(x=0.08)
    label(axes, _measured(response))


def _measured(response: Response) -> str:
    name, sign = response.question.measure
    if name.startswith("chance"):
        return name
    return f"expected {name}" if sign > 0 else f"minus expected {name}"
