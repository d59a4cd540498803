"""Posteriors as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from discreet.arguments import FilePath
from discreet.errors import UsageError
from discreet.reporting.style import (
    Figure,
    check_most,
    choose_hues,
    finish,
    look_of,
    name_axis,
    name_series,
    new_figure,
    title_panel,
)
from discreet.reporting.subplots import density_panel, interval_panel, interval_words, overlay, share_panel

if TYPE_CHECKING:
    from discreet.inference.posterior import Posterior

    Table = dict[str, np.ndarray]

#: Labels of a set of probabilities, and panels in one figure, shown unless the caller asks for more.
MOST_LABELS, MOST_PANELS = 40, 12
# Inches; a picture of thousands of labels is still one that a viewer can open.
_TALLEST = 200.0


def plot_posterior(
    posterior: Posterior,
    *,
    path: FilePath | None = None,
    prob: float = 0.95,
    title: str | None = None,
    parameters: Sequence[str] | None = None,
    most_labels: int | None = MOST_LABELS,
    most_panels: int | None = MOST_PANELS,
) -> Figure:
    """Draw each parameter of a posterior.

    A scalar is a density with its median and central interval, and so is each component of a vector or a matrix, on
    an axis of its own: means of 120 and of 3 cannot share one. Probabilities that sum to 1 do share one, as intervals.
    A label, such as a hidden state, is a bar for the share of draws that have it.

    Parameters
    ----------
    posterior
        What to draw.
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    prob
        Probability of the marked interval.
    title
        Heading; by default it names the engine.
    parameters
        Which parameters to draw, such as ``"mean"`` or ``"covariance[x, y]"``; all by default.
    most_labels, most_panels
        How many probabilities to show in a panel, and how many panels; None for all. The figure grows with them.
    """
    names = list(posterior.draws) if parameters is None else list(parameters)
    if not names:
        raise UsageError("plot_posterior needs at least one parameter.")
    posterior.summary(prob)  # refuses a bad prob before anything is drawn
    check_most(most_labels=most_labels, most_panels=most_panels)
    every = _plan(posterior, names)
    panels = dict(islice(every.items(), most_panels))
    cut = {name: dict(islice(table.items(), most_labels)) for name, table in panels.items()}
    heights = [
        2.5 if list(table) == [name] else 0.9 + min(0.26 * len(table), _TALLEST)
        for name, table in cut.items()
    ]
    # four panels are better as a square than as three and one
    columns = 2 if len(cut) == 4 else min(len(cut), 3)
    lines = [heights[start : start + columns] for start in range(0, len(cut), columns)]

    how = posterior.diagnostics
    notes = [f"{how.engine} engine, {how.draws_in_words}, {how.approximation_in_words}"]
    notes += [
        _cut_note(len(cut[name]), len(table)) for name, table in panels.items() if len(cut[name]) < len(table)
    ]
    if len(panels) < len(every):
        notes.append(f"first {len(panels)} of {len(every)} panels (most_panels=None draws all)")
    hue, warning = look_of(how.engine)
    width = max(4.9 * columns + 0.4, 5.9)
    heading = title or posterior.question or f"Posterior, {how.engine} engine"
    words_below = [posterior.about, "; ".join(notes)]
    figure = new_figure(width, sum(map(max, lines)), heading, words_below, warning, gap=0.08)
    grid = figure.add_gridspec(len(lines), columns, height_ratios=[max(line) for line in lines])
    for place, (name, table) in enumerate(cut.items()):
        axes = figure.add_subplot(grid[divmod(place, columns)])
        if labels := posterior.categories.get(name.partition("[")[0]):
            words = share_panel(axes, table[name], labels, hue)
        elif list(table) == [name]:
            words = density_panel(axes, name, table[name], hue, prob, posterior.units)
        else:
            interval_panel(axes, [table], [hue], prob)
            words = interval_words(prob)
        title_panel(axes, name, words)
    return finish(figure, path)


def plot_comparison(
    posteriors: Mapping[str, Posterior],
    parameter: str = "p",
    *,
    path: FilePath | None = None,
    prob: float = 0.95,
    title: str | None = None,
    note: str | None = None,
    axis_label: str | None = None,
    colors: Mapping[str, str] | None = None,
    most_labels: int | None = MOST_LABELS,
) -> Figure:
    """Set several readings of one parameter side by side.

    A scalar is drawn as overlaid densities above one interval each; a vector as intervals, one group to a component,
    each group on an axis of its own unless the components are probabilities.

    Parameters
    ----------
    posteriors
        The readings, by the name to show.
    parameter
        A parameter (``"p"``) or one component of one (``"p[b]"``).
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    prob
        Probability of the intervals.
    title, note
        Heading and the quiet line below it; by default the note says what the readings are about, if they agree.
    axis_label
        What the horizontal axis shows; the parameter's name by default.
    colors
        Colors by reading, where the default ones do not serve.
    most_labels
        How many components to show; None for all. The figure grows with them.
    """
    if not posteriors:
        raise UsageError("plot_comparison needs at least one posterior.")
    hues = choose_hues(list(posteriors), colors)
    for posterior in posteriors.values():
        posterior.summary(prob)  # refuses a bad prob before anything is drawn
    check_most(most_labels=most_labels)
    if any(parameter.partition("[")[0] in posterior.categories for posterior in posteriors.values()):
        raise UsageError(
            f"{parameter} is a label, and this picture compares numbers.", hint="use plot_states"
        )
    tables = {name: _components(posterior, parameter) for name, posterior in posteriors.items()}
    every = list(next(iter(tables.values())))
    if any(list(table) != every for table in tables.values()):
        raise UsageError(f"the posteriors do not have the same components of {parameter}.")
    cut = [dict(islice(table.items(), most_labels)) for table in tables.values()]
    components = list(cut[0])

    scalar = every == [parameter]
    together = scalar or all(_sum_to_one(table) for table in tables.values())
    naive = [name for name, posterior in posteriors.items() if posterior.diagnostics.engine == "naive"]
    words = f"{100 * prob:.4g}% intervals" if scalar else interval_words(prob)
    if len(components) < len(every):
        words += f"; {_cut_note(len(components), len(every))}"
    abouts = {posterior.about for posterior in posteriors.values()}
    about = abouts.pop() if len(abouts) == 1 else None
    shown = axis_label or parameter
    heading = (
        title or f"Posterior of {shown}",
        [about, words] if note is None else [note],
        f"{', '.join(naive)}: ignores the privacy noise" if naive else None,
    )
    group = 0.19 * len(tables) + 0.14
    if scalar:
        figure = new_figure(7.2, 3.4 + 0.34 * len(tables), *heading)
        series = {name: table[parameter] for name, table in tables.items()}
        beyond = overlay(figure, parameter, series, hues, prob)
        shown += f" ({beyond})" if beyond else ""
    elif together:
        figure = new_figure(7.2, min(len(components) * group, _TALLEST) + 1.0, *heading)
        axes = figure.add_subplot()
        interval_panel(axes, cut, hues, prob)
        name_series(axes, list(tables), hues)
    else:
        figure = new_figure(7.2, min(len(components) * (group + 0.4), _TALLEST) + 0.7, *heading)
        stack = figure.subplots(len(components), 1, squeeze=False)[:, 0]
        for axes, full in zip(stack, components, strict=True):
            interval_panel(axes, [{full: table[full]} for table in cut], hues, prob)
        name_series(stack[0], list(tables), hues)
    name_axis(figure.axes[-1], shown)
    return finish(figure, path)


def _components(posterior: Posterior, parameter: str) -> Table:
    """Return the scalars of a parameter, or the one scalar that has this full name."""
    scalars = posterior.scalars()
    if parameter in scalars:
        return {parameter: scalars[parameter]}
    if parameter in posterior.draws:
        return {full: x for full, x in scalars.items() if full.partition("[")[0] == parameter}
    known = list(dict.fromkeys([*posterior.draws, *scalars]))[:MOST_LABELS]
    raise UsageError(f"no parameter is named {parameter!r}.", hint=f"choose from {', '.join(known)}")


def _plan(posterior: Posterior, names: Sequence[str]) -> dict[str, Table]:
    """Return what each panel holds: probabilities together, row by row of a table; everything else one by one."""
    panels: dict[str, Table] = {}
    for name in names:
        table = _components(posterior, name)
        if list(table) != [name] and _sum_to_one(table):
            panels[name] = table
        elif name in posterior.draws and (rows := _rows(posterior, name, table)):
            panels.update(rows)
        else:
            panels.update({full: {full: x} for full, x in table.items()})
    return panels


def _rows(posterior: Posterior, name: str, table: Table) -> dict[str, Table]:
    """Return the rows of a table of which each is a distribution, by name; none if it is not such a table."""
    shape = posterior.draws[name].shape[1:]
    # of a symmetric matrix each entry is there once, and its rows are none
    if len(shape) < 2 or len(table) != np.prod(shape):
        return {}
    inner, width = [full[len(name) + 1 : -1] for full in table], shape[-1]
    axes = (posterior.labels or {}).get(name)
    ends = axes[-1] if axes and not isinstance(axes[0], str) else [str(i) for i in range(width)]
    rows: dict[str, Table] = {}
    for start in range(0, len(table), width):
        draws = list(table.values())[start : start + width]
        # all labels but the last are the row's own
        row = inner[start].removesuffix(f", {ends[0]}")
        rows[f"{name}[{row}]"] = {f"[{end}]": x for end, x in zip(ends, draws, strict=True)}
    return rows if all(_sum_to_one(row) for row in rows.values()) else {}


def _sum_to_one(table: Table) -> bool:
    """Tell whether the components of a vector are the probabilities of categories."""
    draws = np.array(list(table.values()))
    return bool((draws >= 0).all() and np.allclose(draws.sum(axis=0), 1, rtol=0, atol=1e-6))


def _cut_note(shown: int, n: int) -> str:
    return f"first {shown} of {n} labels (most_labels=None draws all)"
