"""Pictures of hidden Markov models: which state when, what each state looks like, and how many there are.

Figures 3 to 7 of Foulds et al. (2016), with the share of draws that agree as the strength of the color.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from discreet.arguments import FilePath
from discreet.inference.summary import tails
from discreet.models import HiddenMarkov
from discreet.reporting.pictures import model_of
from discreet.reporting.style import (
    INK,
    PALETTE,
    QUIET,
    Axes,
    Figure,
    finish,
    hollow,
    label,
    look_of,
    name_rows,
    name_series,
    new_figure,
    shorten,
    strip,
)

# Labels of a feature that are drawn; the rest is said in words.
_MOST_LABELS = 10
_TICKS = 9
# States whose probabilities are drawn, and inches that sequences may take.
_MOST_STATES, _TALLEST = 12, 200.0


def plot_states(posterior: Any, *, title: str | None = None, path: FilePath | None = None) -> Figure:
    """Draw the most frequent state of every sequence at every time, fainter where fewer draws agree.

    Parameters
    ----------
    posterior
        What ``dc.infer`` returned for a hidden Markov model.
    title
        Heading; one that names the columns if left out.
    path
        Where to write the picture (.png, .svg or .pdf), if anywhere.
    """
    model = _model_of(posterior)
    states = posterior.draws["states"]
    names = ("all",) if model.chain is None else model.chain.labels
    place = model.time.name if model.chain is None else f"{model.chain.name} and {model.time.name}"
    notes = [posterior.about, "The most frequent state of the draws, fainter where fewer of them agree."]
    figure = new_figure(9.0, 0.62 + 0.3 * len(names), title or f"State by {place}", notes)
    draw_states(figure.add_subplot(), states, names, model.time.labels, model.states)
    return finish(figure, path)


def plot_hidden_markov(
    posterior: Any,
    path: FilePath | None = None,
    *,
    prob: float = 0.95,
    title: str | None = None,
) -> Figure:
    """Draw a hidden Markov model: which state when, and below it what each state looks like.

    Parameters
    ----------
    posterior
        What ``dc.infer`` returned for a hidden Markov model.
    path
        Where to write the picture (.png, .svg or .pdf), if anywhere.
    prob
        Probability of the intervals.
    title
        Heading.
    """
    model = _model_of(posterior)
    posterior.summary(prob)  # refuses a bad prob before anything is drawn
    names = ("all",) if model.chain is None else model.chain.labels
    # states are numbered by how frequent they are, so the first are those to show
    tables = {feature.name: posterior.draws[feature.name][:, :_MOST_STATES] for feature in model.features}
    panels = _Emissions.of(tables, {feature.name: feature.labels for feature in model.features}, prob)
    words = [posterior.about, "Above, the most frequent state of the draws, fainter where fewer agree."]
    if model.states > _MOST_STATES:
        words.append(f"Below, the {_MOST_STATES} most frequent of {model.states} states.")
    width = max(panels.width, 9.0)
    heading = title or "Hidden states, and what each looks like"
    warning = look_of(posterior.diagnostics.engine)[1]
    heights = [min(0.62 + 0.3 * len(names), _TALLEST), *[panels.row_height] * panels.n_states]
    figure = new_figure(width, sum(heights), heading, [*words, *panels.notes], warning, gap=0.05)
    grid = figure.add_gridspec(len(heights), len(panels.columns), height_ratios=heights)
    top = figure.add_subplot(grid[0, :])
    draw_states(top, posterior.draws["states"], names, model.time.labels, model.states)
    below = [
        [figure.add_subplot(grid[k + 1, c]) for c in range(len(panels.columns))]
        for k in range(panels.n_states)
    ]
    panels.draw(np.array(below, dtype=object))
    return finish(figure, path)


def draw_states(
    axes: Axes, states: np.ndarray, names: Sequence[str], times: Sequence[str], n_states: int
) -> None:
    """Draw a row for each sequence; ``states`` are numbered from 1, draws first."""
    shares = np.stack([(states == k + 1).mean(axis=0) for k in range(n_states)], axis=-1)
    likely = shares.argmax(axis=-1)
    colors = np.array([_rgb(_hue(k)) for k in range(n_states)])
    # as likely as by chance is white, all draws is the full color
    chance = 1 / n_states
    strength = ((shares.max(axis=-1) - chance) / (1 - chance) if n_states > 1 else np.ones(likely.shape))[
        ..., None
    ]
    axes.imshow(
        1 - strength * (1 - colors[likely]), aspect="auto", interpolation="nearest",
        extent=(-0.5, len(times) - 0.5, len(names) - 0.5, -0.5),
    )  # fmt: skip
    strip(axes)
    axes.hlines(np.arange(len(names) - 1) + 0.5, -0.5, len(times) - 0.5, color="white", linewidth=2.5)
    axes.set_yticks(
        range(len(names)), [shorten(str(name)) for name in names], color=INK, fontsize=9, parse_math=False
    )
    name_times(axes, times)
    used = np.unique(likely)
    name_series(axes, [f"State {k + 1}" for k in used[:10]], [_hue(int(k)) for k in used[:10]])


def name_times(axes: Axes, times: Sequence[str]) -> None:
    """Write some of the times below a panel, evenly apart."""
    ticks = range(0, len(times), -(-len(times) // _TICKS))
    names = [shorten(str(times[t])) for t in ticks]
    axes.set_xticks(ticks, names, color=QUIET, fontsize=8.5, parse_math=False)


def plot_emissions(posterior: Any, *, title: str | None = None, path: FilePath | None = None) -> Figure:
    """Draw each state's probabilities, a column of panels for each feature, with 95% intervals.

    Of a feature with many labels, the most frequent are drawn.
    """
    model = _model_of(posterior)
    tables = {feature.name: posterior.draws[feature.name] for feature in model.features}
    labels = {feature.name: feature.labels for feature in model.features}
    return draw_emissions(
        tables, labels, title=title or "What each state looks like", notes=[posterior.about or ""], path=path
    )


def draw_emissions(
    tables: dict[str, np.ndarray],
    labels: Mapping[str, Sequence[str]],
    *,
    title: str,
    notes: list[str],
    path: FilePath | None,
) -> Figure:
    """Draw tables of emission probabilities, draws first, then states and labels."""
    panels = _Emissions.of(tables, labels, 0.95)
    height = panels.n_states * panels.row_height
    figure = new_figure(panels.width, height, title, [*notes, *panels.notes], gap=0.05)
    panels.draw(figure.subplots(panels.n_states, len(panels.columns), squeeze=False))
    return finish(figure, path)


@dataclass(frozen=True)
class _Emissions:
    """Panels of emission probabilities: a row for each state, a column for each feature with more than two labels."""

    tables: Mapping[str, np.ndarray]
    labels: Mapping[str, Sequence[str]]
    prob: float
    #: Labels of each wide feature that are shown.
    shown: Mapping[str, np.ndarray]
    #: Features with two labels share a panel: the probability of the second.
    pairs: tuple[str, ...]

    @classmethod
    def of(cls, tables: Mapping[str, np.ndarray], labels: Mapping[str, Sequence[str]], prob: float) -> Self:
        """Choose what is shown."""
        pairs = tuple(name for name in tables if tables[name].shape[-1] == 2)
        shown = {name: _most_likely(tables[name]) for name in tables if name not in pairs}
        return cls(tables, labels, prob, shown, pairs)

    @property
    def columns(self) -> tuple[str | None, ...]:
        """The feature of each column of panels; None is for all those with two labels."""
        return (*self.shown, *([None] if self.pairs else []))

    @property
    def n_states(self) -> int:
        return next(iter(self.tables.values())).shape[1]

    @property
    def _n_rows(self) -> int:
        return max([len(rows) for rows in self.shown.values()] + [len(self.pairs)])

    @property
    def row_height(self) -> float:
        """Inches of the panels of one state."""
        return 0.55 + 0.21 * self._n_rows

    @property
    def width(self) -> float:
        """Inches of all columns."""
        return 1.2 + 3.1 * len(self.columns)

    @property
    def notes(self) -> list[str]:
        """What the panels show, in words."""
        words = [f"Posterior mean and {100 * self.prob:.4g}% interval of each probability."]
        hidden = [name for name, rows in self.shown.items() if len(rows) < len(self.labels[name])]
        if hidden:
            words.append(f"Of {' and '.join(hidden)}, the {_MOST_LABELS} most frequent labels are shown.")
        return words

    def draw(self, grid: np.ndarray) -> None:
        """Draw on axes, states by columns."""
        for k in range(self.n_states):
            for axes, name in zip(grid[k], self.columns, strict=True):
                if name is None:
                    draws = np.stack([self.tables[one][:, k, 1] for one in self.pairs], axis=1)
                    rows = [f"{shorten(one)} = {shorten(self.labels[one][1], 10)}" for one in self.pairs]
                else:
                    draws = self.tables[name][:, k, self.shown[name]]
                    rows = [shorten(str(self.labels[name][j])) for j in self.shown[name]]
                _bars(axes, draws, rows, _hue(k), max(len(rows), self._n_rows / 2), self.prob)
                if k == 0 and name is not None:
                    axes.set_title(shorten(name), loc="right", color=QUIET, fontsize=9, parse_math=False)
            title = f"State {k + 1}"
            grid[k][0].set_title(title, loc="left", color=_hue(k), fontsize=11, fontweight="bold")
        for column in range(len(self.columns)):
            most = max(axes.get_xlim()[1] for axes in grid[:, column])
            for axes in grid[:, column]:
                axes.set_xlim(0, most)


def _bars(axes: Axes, draws: np.ndarray, names: list[str], hue: str, room: float, prob: float) -> None:
    """Draw a bar for each probability; ``room`` is for how many bars the panel has room."""
    rows = np.arange(len(names))
    mean = draws.mean(axis=0)
    low, high = np.quantile(draws, tails(prob), axis=0)
    axes.barh(rows, mean, height=0.66, color=hue, alpha=0.55, linewidth=0)
    axes.hlines(rows, low, high, color=hue, linewidth=1.8)
    name_rows(axes, names, room, fontsize=8.5)


def _most_likely(table: np.ndarray) -> np.ndarray:
    """Return the labels with the largest mean probability in any state, in the order of their average."""
    mean = table.mean(axis=0)
    chosen = np.argsort(-mean.max(axis=0), kind="stable")[:_MOST_LABELS]
    return chosen[np.argsort(-mean.mean(axis=0)[chosen], kind="stable")]


def _model_of(posterior: Any) -> HiddenMarkov:
    return model_of(posterior, HiddenMarkov, "this picture is for the posterior of a hidden Markov model")


def _hue(state: int) -> str:
    """Return the color of a state; more than six states are told apart by lightness as well."""
    base = PALETTE[state % len(PALETTE)]
    fade = 0.35 * (state // len(PALETTE))
    mixed = _rgb(base) * (1 - min(fade, 0.7)) + min(fade, 0.7)
    return base if fade == 0 else "#" + "".join(f"{round(255 * part):02x}" for part in mixed)


def _rgb(color: str) -> np.ndarray:
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(color))


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
