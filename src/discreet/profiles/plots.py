"""Pictures of mechanisms: how much is flipped, how far reports spread, and what each category pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.arguments import FilePath
from discreet.errors import UsageError
from discreet.profiles.base import FittedMechanism, ProfileMechanism, check_one_bit
from discreet.profiles.exact import growth_of, read_epsilon
from discreet.profiles.graph import Name, ProfileGraph
from discreet.profiles.one_bit import flip_probability
from discreet.profiles.randomized_response import KRandomizedResponse
from discreet.profiles.smooth import SmoothCategorical, SmoothOneBit
from discreet.rational import Number, plain
from discreet.reporting.style import (
    PALETTE,
    QUIET,
    Axes,
    Figure,
    finish,
    label,
    measure,
    new_figure,
    title_panel,
)
from discreet.reporting.subplots import beside

_WIDTH, _HEIGHT = 8.6, 3.9
#: Budgets that pictures range over.
EPSILONS = (0.05, *np.linspace(0.1, 3.0, 30).round(3).tolist())
_DOTTED: dict[str, Any] = {"color": QUIET, "linewidth": 1.1, "linestyle": (0, (1, 1.5))}
_MOST_NAMES = 12
#: Shortest distance between two names, as a share of the axis.
_APART = 0.055


def default_mechanism(graph: ProfileGraph) -> ProfileMechanism:
    """Return the smooth mechanism for a graph: one bit, or categories."""
    return SmoothOneBit() if graph.n_categories == 2 else SmoothCategorical()


def plot_flips(
    graph: ProfileGraph | None = None,
    epsilons: Sequence[Number] = (0.2, 0.5, 1),
    *,
    path: FilePath | None = None,
) -> Figure:
    """Draw the flipping probability of two Bernoulli profiles against their difference (figure 7.2).

    A band shows every pair with that difference, the line the pair around 1/2; randomized response is dotted.

    Parameters
    ----------
    graph
        If given, what each of its edges needs by itself is drawn as a point.
    epsilons
        Budgets.
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    """
    if graph is not None:
        check_one_bit(graph, "a flipping probability")
    differences = [Fraction(i, 50) for i in range(51)]
    notes = [
        "two Bernoulli profiles, joined by an edge; line: around 1/2, band: wherever they are; "
        "dotted: randomized response" + ("" if graph is None else "; points: the edges of the graph")
    ]
    figure = new_figure(_WIDTH, _HEIGHT, "Flipping probability", notes)
    axes = figure.subplots()
    ends: list[tuple[float, str, str]] = []
    for epsilon, hue in zip(epsilons, _cycle(len(epsilons)), strict=True):
        growth = growth_of(read_epsilon(epsilon))
        low, middle, high = _flips(differences, growth)
        axes.fill_between([float(x) for x in differences], low, high, color=hue, alpha=0.16, linewidth=0)
        axes.plot([float(x) for x in differences], middle, color=hue, linewidth=1.9)
        axes.axhline(float(1 / (1 + growth)), **{**_DOTTED, "color": hue})
        for i, j in () if graph is None else graph.edges:
            p, q = graph.distributions[i][1], graph.distributions[j][1]  # pyright: ignore[reportOptionalMemberAccess]
            axes.plot(
                [float(abs(p - q))],
                [float(flip_probability(p, q, growth))],
                "o",
                color=hue,
                markersize=4,
                clip_on=False,
            )
        ends.append((middle[-1], f"ε = {plain(read_epsilon(epsilon))}", hue))
    measure(axes)
    label(axes, "difference of the two probabilities", "flipping probability")
    axes.set(xlim=(0, 1), ylim=(0, 0.5))
    _name_ends(axes, ends)
    return finish(figure, path)


def _flips(differences: Sequence[Fraction], growth: Fraction) -> tuple[list[float], list[float], list[float]]:
    """Return the least, the middle and the most that pairs with these differences need."""
    low, middle, high = [], [], []
    for gap in differences:
        places = [(1 - gap) * Fraction(i, 24) for i in range(25)]
        needed = [float(flip_probability(p, p + gap, growth)) for p in places]
        low.append(min(needed))
        high.append(max(needed))
        middle.append(needed[12])
    return low, middle, high


def plot_spread(
    graph: ProfileGraph,
    mechanism: ProfileMechanism | None = None,
    *,
    category: Any = None,
    epsilons: Sequence[Number] = EPSILONS,
    mark: float | None = None,
    path: FilePath | None = None,
) -> Figure:
    """Draw the probability of one report against epsilon, a line for each profile, beside randomized response.

    Without perturbation lines are as far apart as the profiles are (figures 7.5 to 7.8).

    Parameters
    ----------
    graph
        The profiles and edges.
    mechanism
        The mechanism to draw; by default the smooth one for the graph.
    category
        The report; by default the last category, which for bits is 1.
    epsilons
        Budgets.
    mark
        A budget to draw a vertical line at.
    path
        Where to write the figure; the suffix is the format (png, svg, pdf).
    """
    shown = graph.categories[-1] if category is None else category
    if shown not in graph.categories:
        raise UsageError(f"{shown!r:.40} is no category of the graph.")
    at = graph.categories.index(shown)
    notes = [
        f"probability that {shown} is reported, for each profile; dots at the right: what the profiles observe"
    ]

    def lines(fitted: Sequence[FittedMechanism]) -> tuple[np.ndarray, tuple[Name, ...], np.ndarray]:
        return np.array([one.outputs[:, at] for one in fitted]), graph.profiles, graph.probabilities[:, at]

    figure = _against_baseline(
        graph, mechanism, epsilons, lines, "Spread of the reports", notes, "probability of the report", mark
    )
    return finish(figure, path)


def plot_costs(
    graph: ProfileGraph,
    mechanism: ProfileMechanism | None = None,
    *,
    epsilons: Sequence[Number] = EPSILONS,
    path: FilePath | None = None,
) -> Figure:
    """Draw how far reports move the probability of each category, against epsilon (figures 7.3 and 7.4).

    Arguments as for :func:`plot_spread`.
    """
    notes = ["largest change of a category's probability over the profiles (equation 7.9), for each category"]

    def lines(fitted: Sequence[FittedMechanism]) -> tuple[np.ndarray, tuple[Name, ...], None]:
        return np.array([one.costs for one in fitted]), graph.categories, None

    figure = _against_baseline(
        graph,
        mechanism,
        epsilons,
        lines,
        "Cost of each category",
        notes,
        "largest change of probability",
        None,
    )
    for axes in figure.axes:
        axes.set_ylim(bottom=0)
    return finish(figure, path)


def _against_baseline(
    graph: ProfileGraph,
    mechanism: ProfileMechanism | None,
    epsilons: Sequence[Number],
    lines: Callable[[Sequence[FittedMechanism]], tuple[np.ndarray, tuple[Name, ...], np.ndarray | None]],
    title: str,
    notes: list[str],
    ylabel: str,
    mark: float | None,
) -> Figure:
    """Draw two panels, randomized response and the mechanism, on the same scale."""
    chosen = default_mechanism(graph) if mechanism is None else mechanism
    budgets = [float(read_epsilon(epsilon)) for epsilon in epsilons]
    if len(budgets) < 2:
        raise UsageError("a picture against epsilon needs at least two budgets.")
    figure = new_figure(_WIDTH, _HEIGHT, title, notes)
    panels = figure.subplots(1, 2, sharey=True)
    shown = ((KRandomizedResponse(), "Randomized response"), (chosen, type(chosen).__name__))
    for place, (axes, (method, name)) in enumerate(zip(panels, shown, strict=True)):
        fitted = [method.fit(graph, epsilon) for epsilon in epsilons]
        values, names, limits = lines(fitted)
        hues = _cycle(len(names))
        for column, hue in enumerate(hues):
            axes.plot(budgets, values[:, column], color=hue, linewidth=1.6)
            if limits is not None:
                axes.plot(
                    [budgets[-1]], [limits[column]], "o", color=hue, markersize=3.6, clip_on=False, zorder=3
                )
        if mark is not None:
            axes.axvline(mark, **_DOTTED)
        measure(axes)
        label(axes, "ε", ylabel if place == 0 else "")
        axes.set_xlim(0, max(budgets))
        title_panel(axes, name, "hides the observation" if place == 0 else "hides the profile")
        if place == 1 and len(names) <= _MOST_NAMES:
            if limits is None:
                _name_corner(axes, names, hues)
            else:
                _name_ends(axes, [(v, str(n), h) for v, n, h in zip(limits, names, hues, strict=True)])
    return figure


def _cycle(n: int) -> list[str]:
    """Return a color for each of n lines; the palette's, or shades of one where it is too small."""
    if n <= len(PALETTE):
        return list(PALETTE[:n])
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["viridis"](0.9 * i / (n - 1))) for i in range(n)]


def _name_corner(axes: Axes, names: Sequence[Name], hues: Sequence[str]) -> None:
    """Write names in the upper right corner, where lines that fall to 0 leave room."""
    for row, (name, hue) in enumerate(zip(names, hues, strict=True)):
        axes.annotate(
            str(name),
            (1, 1),
            (-4, -8 - 13 * row),
            xycoords="axes fraction",
            textcoords="offset points",
            color=hue,
            fontsize=9,
            ha="right",
            va="top",
            parse_math=False,
        )


def _name_ends(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write names at the right ends of lines, apart from one another; ``ends`` are height, name and color."""
    low, high = axes.get_ylim()
    ordered = sorted(ends, key=lambda end: end[0])
    heights = _apart([value for value, _, _ in ordered], _APART * (high - low))
    for height, (_, name, hue) in zip(heights, ordered, strict=True):
        beside(axes, height, name, hue)


def _apart(values: Sequence[float], distance: float) -> list[float]:
    """Return sorted values moved as little as is needed for neighbors to be ``distance`` apart."""
    # runs of names that touch are spaced evenly around the mean of their values
    runs: list[list[float]] = []
    for value in values:
        runs.append([value])
        while len(runs) > 1:
            below, above = runs[-2], runs[-1]
            room = np.mean(above) - np.mean(below) - distance * (len(above) + len(below)) / 2
            if room >= 0:
                break
            runs[-2:] = [below + above]
    return [
        float(np.mean(run) + distance * (place - (len(run) - 1) / 2))
        for run in runs
        for place in range(len(run))
    ]
